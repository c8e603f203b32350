"""Crowd work on the website: accounts and what is common to its parts."""
