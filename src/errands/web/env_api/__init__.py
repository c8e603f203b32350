"""Environments over HTTP and WebSocket: sessions, the calls they take, and who provides them."""
