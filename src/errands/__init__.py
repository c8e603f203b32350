"""Errands: the shop and the office where web agents are trained and tested."""

__version__ = "0.1.0"
