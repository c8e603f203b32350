"""What all parts of the server share: application, authentication, errors, assets, metrics."""
