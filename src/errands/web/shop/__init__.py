"""The shop as a website."""
