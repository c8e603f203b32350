"""`errands mine`."""
