"""Readers of real shops' pages: one file a site, and what they share."""
