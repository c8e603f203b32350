"""`errands instructions` and `errands demonstrations`: what people wrote and did."""
