"""Screenshots for a model: made smaller, and written as PNG."""

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["data_address", "png", "smaller"]


def smaller(pixels: NDArray[np.uint8], factor: float) -> NDArray[np.uint8]:
    """The picture shrunk by a factor in both directions, each new pixel the mean of old ones."""
    if factor <= 1:
        return pixels
    shrunk: NDArray[Any] = pixels.astype(np.float64)
    for axis in (0, 1):
        size = max(1, round(shrunk.shape[axis] / factor))
        starts = np.arange(size) * shrunk.shape[axis] // size
        counts = np.diff([*starts, shrunk.shape[axis]])
        shape = [1, 1, 1]
        shape[axis] = size
        shrunk = np.add.reduceat(shrunk, starts, axis=axis) / counts.reshape(shape)
    rounded: NDArray[np.uint8] = np.rint(shrunk).astype(np.uint8)
    return rounded


def png(pixels: NDArray[np.uint8]) -> bytes:
    """An RGB picture as PNG."""
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + width * 3), np.uint8)
    lines[:, 1:] = pixels.reshape(height, width * 3)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pieces = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines.tobytes(), 6))]
    return b"\x89PNG\r\n\x1a\n" + b"".join(pieces) + chunk(b"IEND", b"")


def data_address(pixels: NDArray[np.uint8], factor: float) -> tuple[str, tuple[int, int]]:
    """A shrunk screenshot as a `data:` address, with its width and height."""
    shrunk = smaller(pixels, factor)
    encoded = base64.b64encode(png(shrunk)).decode()
    return f"data:image/png;base64,{encoded}", (shrunk.shape[1], shrunk.shape[0])
