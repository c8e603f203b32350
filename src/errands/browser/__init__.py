"""Chromium for both domains: the engine, tabs, what pages may load, screenshots."""
