"""`errands crowd`: what people wrote and did."""
