"""The C functions of Errands: loops over bytes and numbers that Python is too slow for.

`*.c` beside this file become one library, called through ctypes: they need no headers of Python's
and release its lock. `pip install` builds it beside them (`hatch_build.py`, with a compiler from
PyPI where the machine has none); its name has the checksum of the sources, so that one of other
sources is never loaded. A checkout that was not installed builds it on first use, in Errands' home.

    scale = native("scale", Array(np.float32), Size, ctypes.c_float)
    scale(weights, len(weights), 0.5)
"""

import ctypes
import functools
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["Array", "Size", "build", "compiler", "library_name", "native"]

_FOLDER: Final = Path(__file__).resolve().parent
# Sums are scores: no two operations are contracted to one that rounds otherwise.
_FLAGS: Final = ("-std=c11", "-O3", "-ffp-contract=off", "-fvisibility=hidden", "-fPIC", "-shared")

Size = ctypes.c_int64


class Array:
    """An argument of a C function that is an array of this type, contiguous."""

    def __init__(self, dtype: "DTypeLike") -> None:
        self._dtype = dtype

    def from_param(self, array: "NDArray[Any]") -> ctypes.c_void_p:
        if array.dtype != self._dtype or not array.flags.c_contiguous:
            raise TypeError(f"expected a contiguous array of {self._dtype}, not {array.dtype}")
        return ctypes.c_void_p(array.ctypes.data)


def native(name: str, *arguments: Any, returns: Any = None) -> Callable[..., Any]:
    """A C function; the library is loaded when it is first called."""
    function: Any = None

    def call(*values: Any) -> Any:
        nonlocal function
        if function is None:
            function = getattr(_library(), name)
            function.argtypes, function.restype = arguments, returns
        return function(*values)

    return call


def library_name() -> str:
    """The library's file, which is another one for other sources."""
    digest = hashlib.sha256(" ".join(_FLAGS).encode())
    for source in sorted(_FOLDER.glob("*.[ch]")):
        digest.update(source.read_bytes())
    return f"errands-{platform.machine()}-{digest.hexdigest()[:16]}.so"


def compiler() -> list[str] | None:
    """The command of a C compiler: the machine's, or the one in the package `ziglang`."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name):
            return [name]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    return None


def build(out: Path, command: Sequence[str]) -> None:
    """Compile the library; `out` appears whole or not at all."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".native-", dir=out.parent) as folder:
        made = Path(folder) / out.name
        sources = map(str, sorted(_FOLDER.glob("*.c")))
        subprocess.run([*command, *_FLAGS, *sources, "-o", str(made), "-lm"], check=True)
        made.replace(out)


@functools.cache
def _library() -> ctypes.CDLL:
    from errands.home import home

    name = library_name()
    for folder in (_FOLDER, home() / "native"):
        if (folder / name).is_file():
            return ctypes.CDLL(os.fspath(folder / name))
    try:
        return _built(home() / "native" / name)
    except OSError:
        # Nowhere to keep it (a read-only machine): every process builds its own.
        with tempfile.TemporaryDirectory(prefix="errands-native-") as own:
            return _built(Path(own) / name)


def _built(out: Path) -> ctypes.CDLL:
    from errands.errors import ErrandsError

    again = f"run: {sys.executable} -m pip install --editable {_FOLDER.parents[2]}"
    command = compiler()
    if command is None:
        raise ErrandsError(
            "The C library of Errands is not built, and there is no C compiler to build it;"
            f" {again}"
        )
    try:
        build(out, command)
    except subprocess.CalledProcessError:
        raise ErrandsError(
            f"The C library of Errands is not built, and {command[0]} could not build it; {again}"
        ) from None
    return ctypes.CDLL(os.fspath(out))
