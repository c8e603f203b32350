"""The driver with a browser: pages in Chromium, with real clicks and keys."""
