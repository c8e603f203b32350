"""Functions that numba compiles when one of them is first called, and keeps for other processes.

Numba itself is imported then, too: it takes longer than all the rest of Errands' base together.
New functions are better written in C (`errands.native`), which costs nothing at the start.
"""

from typing import Any

__all__ = ["compiled"]


class _Waiting:
    """A function that is not compiled yet."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._ready: Any = None

    def __call__(self, *arguments: Any) -> Any:
        if self._ready is None:
            _make_ready(self._function.__globals__)
            self.make()
        return self._ready(*arguments)

    def make(self) -> Any:
        import numba

        if self._ready is None:
            try:
                self._ready = numba.njit(cache=True, nogil=True)(self._function)
            except RuntimeError:
                # Nowhere to keep compiled code (a read-only machine): compile in every process.
                self._ready = numba.njit(nogil=True)(self._function)
        return self._ready


def compiled(function: Any) -> Any:
    """The function as machine code; it runs without the interpreter's lock."""
    return _Waiting(function)


def _make_ready(module: dict[str, Any]) -> None:
    """Put what numba understands in the place of all functions of a module that wait: they call
    each other by their names there."""
    for name, value in list(module.items()):
        if isinstance(value, _Waiting):
            module[name] = value.make()
