"""Environments that another machine plays: the client, and what goes over the wire."""
