"""Crowd tasks: the worker's pages, the frame a task runs in, the requester's pages."""
