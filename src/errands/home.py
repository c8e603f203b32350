"""Where Errands keeps what it downloads and builds: one directory that may be deleted at any time.

`ERRANDS_HOME` names it; without that it is `errands` in the user's cache directory. Nothing is
created here: who writes makes the directory.

Also paths as people name them. `pathlib` raises a RuntimeError for a home of nobody and for links
that go round in circles, and `exists` an OSError for a name that is too long. Here such a path
stays as it is: it leads nowhere, which whoever opens it will say.
"""

import os
import stat
from pathlib import Path
from typing import Final

__all__ = ["catalogs_dir", "data_dir", "exists", "expanded", "home", "is_endless", "real"]

_ENDLESS: Final = frozenset(os.makedev(1, minor) for minor in (5, 7, 8, 9))
"""Devices of Linux."""


def home() -> Path:
    """The directory of all downloads and built catalogues, always absolute."""
    if named := os.environ.get("ERRANDS_HOME"):
        return expanded(named).absolute()
    cache = expanded(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    # The XDG rules ask to ignore a relative path.
    return (cache if cache.is_absolute() else expanded("~/.cache")) / "errands"


def data_dir(name: str) -> Path:
    """Where the source files of the data set `name` go."""
    return home() / "data" / name


def catalogs_dir() -> Path:
    """Where catalogues that are known by name live."""
    return home() / "catalogs"


def expanded(path: str | os.PathLike[str]) -> Path:
    """With the home that `~` stands for."""
    return Path(os.path.expanduser(path))


def real(path: str | os.PathLike[str]) -> Path:
    """Absolute, and without links."""
    return Path(os.path.realpath(path))


def is_endless(path: str | os.PathLike[str]) -> bool:
    """Whether it can be read for ever: /dev/zero, /dev/full, /dev/random."""
    try:
        there = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISCHR(there.st_mode) and there.st_rdev in _ENDLESS


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is anything."""
    return os.path.exists(path)
