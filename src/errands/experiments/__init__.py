"""Experiments: the tables of the paper on our data, each one command."""
