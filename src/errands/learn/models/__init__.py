"""Models: search and choice, their encoders, pretrained ones among them."""
