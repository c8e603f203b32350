"""Errands over the network: one process that owns the catalogue, and clients for it.

`app` makes one ASGI application out of parts; `environments` is the part that serves
environments to trainers on other machines. Needs the extra `errands[serve]`.
"""
