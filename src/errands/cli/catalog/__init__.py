"""`errands catalog`."""
