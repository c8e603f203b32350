"""Asking for pages: over HTTP with care, from saved pages, from a cassette."""
