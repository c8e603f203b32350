"""Public names of a package, imported when first used: `import errands` stays fast."""

import ast
import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["lazy_exports"]


def lazy_exports(package: str) -> Callable[[str], Any]:
    """A package's `__getattr__`, for the names that its source imports for type checkers only.

    if TYPE_CHECKING:
        from errands.shop.product import Product
    else:
        __getattr__ = lazy_exports(__name__)
    """

    @functools.cache
    def modules() -> dict[str, str]:
        source = sys.modules[package].__loader__.get_source(package)  # type: ignore[union-attr]
        imports = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom))
        return {alias.name: str(node.module) for node in imports for alias in node.names}

    def get(name: str) -> Any:
        if name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(modules()[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
