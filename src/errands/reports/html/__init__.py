"""Figures and episodes as HTML pages with inline plots."""
