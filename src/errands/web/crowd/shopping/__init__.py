"""Shopping assignments, and the demonstrations that come of them."""
