"""`errands experiment`."""
