"""Finding a catalogue by name: a directory, one in Errands' home, or one of the built-in ones.

`demo` and `demo-easy` are generated on first use and kept; processes that ask for one at the same
time wait for the one that makes it.
"""

import contextlib
import difflib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from errands.errors import CatalogError, SettingError
from errands.home import catalogs_dir, exists, expanded, real
from errands.shop.catalog.manifest import FORMAT

__all__ = [
    "BUILT_IN",
    "DEMO",
    "DEMO_PRODUCTS",
    "DEMO_SEED",
    "demo_folder",
    "ensure",
    "locate",
    "names",
]

DEMO = "demo"
BUILT_IN: Final = {DEMO: "paper", "demo-easy": "easy"}
"""The catalogues that make themselves, each with its difficulty."""
DEMO_PRODUCTS = 5000
DEMO_SEED = 1
DEMO_EDITION = 4
"""Raised whenever the generator, the tagger or the index would make other bytes."""


def locate(catalog: str | os.PathLike[str]) -> Path:
    """The directory of a catalogue given by name or path; makes a built-in one if need be."""
    if not isinstance(catalog, str | os.PathLike):
        raise SettingError(f"catalog={catalog!r}: expected a name, a directory, or a Catalog.")
    path = expanded(catalog)
    if str(path) in BUILT_IN and not (path / "manifest.json").is_file():
        return ensure_demo(str(path))
    if exists(path):
        return real(path)
    home = catalogs_dir() / path
    if len(path.parts) == 1 and home.is_dir():
        return real(home)
    near = difflib.get_close_matches(str(catalog), names(), 1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise CatalogError(
        f"There is no catalogue {str(catalog)!r}; expected a directory made by `errands catalog"
        f" build` or `errands catalog generate`, or one of {', '.join(names())}.{hint}"
    )


def names() -> list[str]:
    """The catalogues that can be opened by name."""
    folder = catalogs_dir()
    folders = folder.iterdir() if folder.is_dir() else ()
    made = sorted(path.name for path in folders if (path / "manifest.json").is_file())
    return [*BUILT_IN, *(name for name in made if not name.startswith(f"{DEMO}-"))]


def demo_folder(name: str = DEMO) -> Path:
    """Where a built-in catalogue of this version is kept."""
    return catalogs_dir() / f"{name}-{FORMAT}.{DEMO_EDITION}"


def ensure_demo(name: str = DEMO) -> Path:
    """A built-in catalogue, generated if it is not there yet."""

    def generate(folder: Path) -> None:
        from errands.shop.build.builder import generate_catalog

        generate_catalog(folder, products=DEMO_PRODUCTS, seed=DEMO_SEED, difficulty=BUILT_IN[name])

    return ensure(demo_folder(name), generate)


def ensure(folder: Path, make: Callable[[Path], object]) -> Path:
    """A folder's catalogue, made if it is not there yet; who asks meanwhile waits for it."""
    if not (folder / "manifest.json").is_file():
        with _lock(folder.with_suffix(".lock")):
            if not (folder / "manifest.json").is_file():
                make(folder)
    return real(folder)


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError as failure:
        raise CatalogError(
            f"{path.parent} cannot be written ({failure.strerror}); set ERRANDS_HOME to a"
            " directory that can be written."
        ) from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
