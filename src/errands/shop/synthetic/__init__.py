"""The generator of products and instructions of our own, and its word bank."""
