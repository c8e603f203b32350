"""The original's engine: loading, searching, goals and rewards."""

__all__: list[str] = []
