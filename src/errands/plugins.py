"""Open edges: agents, reward rules, observation formats, page drivers and site readers by name.

Each kind is a `Registry`. A name is looked up among our own, then among the entry points of the
registry's group (`errands.rules`, for example) of all installed packages; `module:attribute` names
anything importable, the folder of the call included. Objects are passed through by callers.
"""

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from errands.errors import ErrandsError, SettingError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["Registry", "import_attribute", "nearest", "path_of", "reference_of"]


def nearest(name: str, names: Iterable[str], most: int = 2) -> str:
    """ " did you mean 'x'?", where a known name is close; else nothing."""
    import difflib

    close = difflib.get_close_matches(name.lower(), list(names), most, 0.5)
    return f" did you mean {' or '.join(map(repr, close))}?" if close else ""


def import_attribute(path: str, what: str = "attribute") -> Any:
    """What `module:attribute` names; `what` is said in the sentences of failures."""
    module, _, attribute = path.partition(":")
    expected = "expected module:attribute, for example mine:Name for Name in the file mine.py"
    if not module or not attribute or module.startswith("."):
        raise SettingError(f"The {what} {path!r} cannot be found; {expected}.")
    top = module.partition(".")[0]
    if top not in sys.modules and importlib.util.find_spec(top) is None:
        # A command does not look into the folder it is called from, but that is where mine.py is.
        sys.path.append(os.getcwd())
    try:
        value: Any = importlib.import_module(module)
    except ErrandsError:
        raise
    except Exception as failure:
        if isinstance(failure, ModuleNotFoundError) and module.endswith(".py"):
            plain = module.removesuffix(".py").replace("/", ".")
            raise SettingError(
                f"The {what} {path!r} cannot be found; name the module without .py:"
                f" {plain}:{attribute}."
            ) from None
        if isinstance(failure, ModuleNotFoundError) and failure.name == module.split(".")[0]:
            raise SettingError(f"There is no module {module!r}; {expected}.") from None
        raise SettingError(
            f"The module {module!r} cannot be imported ({type(failure).__name__}: {failure})."
        ) from failure
    for part in attribute.split("."):
        if not hasattr(value, part):
            public = [name for name in dir(value) if not name.startswith("_")]
            raise SettingError(
                f"{module!r} has no {attribute!r};{nearest(part, public)} {expected}."
            )
        value = getattr(value, part)
    return value


def path_of(thing: Any) -> str:
    """`module:name` of what defines something: a function, a class, or the class of an object."""
    defined = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{defined.__module__}:{defined.__qualname__}"


def reference_of(thing: Any) -> str:
    """The `module:name` by which other processes find something; empty where they cannot."""
    path = path_of(thing)
    module = path.partition(":")[0]
    if module == "__main__":  # Which is another module in every process.
        return ""
    with contextlib.suppress(SettingError):
        if import_attribute(path) is thing:
            return path
    names = vars(sys.modules[module]).items() if module in sys.modules else ()
    return next((f"{module}:{name}" for name, value in names if value is thing), "")


@cache
def _installed(group: str) -> "Mapping[str, EntryPoint]":
    # Slow to import, and most names are our own.
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=group)}


class Registry:
    """One kind of thing that can be named: our own, installed ones, and `module:attribute`."""

    def __init__(self, what: str, group: str, own: Mapping[str, str]) -> None:
        """`what` is how messages call one; `own` maps names to `module:attribute` of ours."""
        self.what = what
        self.group = group
        self.own = own

    def names(self) -> list[str]:
        """Every name that can be given: ours first, then installed ones."""
        return [*self.own, *(name for name in _installed(self.group) if name not in self.own)]

    def installed(self) -> dict[str, str]:
        """What other packages offer: names and their `module:attribute`."""
        points = _installed(self.group).values()
        return {point.name: point.value for point in points if point.name not in self.own}

    def find(self, name: str) -> Any:
        """The thing of that name, imported now."""
        if ":" in name:
            return import_attribute(name, self.what)
        if name in self.own:
            return import_attribute(self.own[name], self.what)
        if name in _installed(self.group):
            return import_attribute(_installed(self.group)[name].value, self.what)
        raise self.unknown(name)

    def unknown(self, name: str) -> SettingError:
        """That there is no such thing, and what there is."""
        names = self.names()
        return SettingError(
            f"There is no {self.what} {name!r};{nearest(name, names)} expected"
            f" {', '.join(names)}, or module:attribute of your own code."
        )
