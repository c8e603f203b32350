"""The original WebShop's package, played by Errands: see docs/legacy.md."""

__all__: list[str] = []
