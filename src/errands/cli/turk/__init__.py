"""`errands turk`."""
