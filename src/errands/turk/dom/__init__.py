"""The driver without a browser: forms, style sheets, visibility, learned effects applied."""
