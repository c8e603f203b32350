"""The driver without a browser: forms, style sheets, visibility, inferred effects applied."""
