"""People who shop: assignments, the log of their steps, demonstrations made from it."""
