"""Pages as text, as HTML, and products as pictures: all made from the same page."""
