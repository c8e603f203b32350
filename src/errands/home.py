"""Where Errands keeps what it downloads and builds: one directory that may be deleted at any time.

`ERRANDS_HOME` names it; without that it is `errands` in the user's cache directory. Nothing is
created here: who writes makes the directory.
"""

import os
from pathlib import Path

__all__ = ["catalogs_dir", "data_dir", "home"]


def home() -> Path:
    """The directory of all downloads and built catalogues, always absolute."""
    if named := os.environ.get("ERRANDS_HOME"):
        return Path(named).expanduser().absolute()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    # The XDG rules ask to ignore a relative path.
    return (cache if cache.is_absolute() else Path("~/.cache").expanduser()) / "errands"


def data_dir(name: str) -> Path:
    """Where the source files of the data set `name` go."""
    return home() / "data" / name


def catalogs_dir() -> Path:
    """Where catalogues that are known by name live."""
    return home() / "catalogs"
