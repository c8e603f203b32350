"""Functions that are compiled when first called, and kept for other processes."""

from typing import Any

import numba

__all__ = ["compiled"]


def compiled(function: Any) -> Any:
    """The function as machine code; it runs without the interpreter's lock."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        # Nowhere to keep compiled code (a read-only machine): compile in every process.
        return numba.njit(nogil=True)(function)
