"""What all parts of the server share: the application, access, errors, documents, assets, metrics,
OpenAPI, limits."""
