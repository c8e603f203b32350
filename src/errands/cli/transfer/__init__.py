"""`errands transfer`."""
