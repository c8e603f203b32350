"""Instructions that people write for products."""
