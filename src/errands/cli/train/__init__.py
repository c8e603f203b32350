"""`errands train`."""
