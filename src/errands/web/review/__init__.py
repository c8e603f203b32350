"""Review by one person on this machine: mined attributes, and purchases scored by hand."""
