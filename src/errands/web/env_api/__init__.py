"""Environments over HTTP and WebSocket."""
