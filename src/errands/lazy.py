"""Public names of a package, imported when first used: `import errands` stays fast."""

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["lazy_exports"]


def lazy_exports(package: str, names: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """A module's `__getattr__` that finds names in the modules that `names` lists them under.

    if TYPE_CHECKING:
        from errands.shop.product import Product
    else:
        __getattr__ = lazy_exports(__name__, {"errands.shop.product": ["Product"]})
    """
    home = {name: module for module, held in names.items() for name in held}

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(home[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
