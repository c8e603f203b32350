"""The networks: search and choice models, their encoders, pretrained ones among them."""
