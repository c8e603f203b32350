"""The original WebShop's package, played by Errands: see docs/guides/original-code.md."""

__all__: list[str] = []
