"""Asking a chat model: messages, one request on the wire, retries, cache, rate and budget."""
