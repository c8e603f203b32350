"""Screenshots as arrays: a small PNG reader, and one size for all."""

import struct
import zlib
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from errands.browser.chromium import BrowserError

__all__ = ["HEIGHT", "WIDTH", "decode", "pixels"]

WIDTH: Final = 1280
HEIGHT: Final = 800
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"


def pixels(png: bytes) -> NDArray[np.uint8]:
    """The picture as height x width x 3, cut or padded with white to the window's size."""
    image = decode(png)
    if image.shape == (HEIGHT, WIDTH, 3):
        return image
    framed = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    height, width = min(HEIGHT, image.shape[0]), min(WIDTH, image.shape[1])
    framed[:height, :width] = image[:height, :width, :3]
    return framed


def decode(png: bytes) -> NDArray[np.uint8]:
    """Read an 8-bit, not interlaced RGB or RGBA picture, which is what browsers write."""
    if not png.startswith(_SIGNATURE):
        raise BrowserError("The screenshot is not a PNG picture.")
    at, data, channels, width, height = len(_SIGNATURE), [], 0, 0, 0
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            channels = {2: 3, 6: 4}.get(color, 0)
            if depth != 8 or not channels or interlaced:
                raise BrowserError("The screenshot is a PNG of a kind that browsers do not write.")
        elif kind == b"IDAT":
            data.append(body)
        at += 12 + length
    line = 1 + width * channels
    # With room for all of it at once it takes half the time.
    inflated = zlib.decompress(b"".join(data), bufsize=max(1, height * line))
    picture = np.empty((1 + height, width * channels), np.uint8)
    picture[0] = 0  # Above the first line is nothing.
    _kernel()(np.frombuffer(inflated, np.uint8).reshape(height, line), channels, picture)
    return picture[1:].reshape(height, width, channels)


@cache
def _kernel() -> Any:
    """Compiled when the first picture is read, as without pictures nobody needs the compiler."""
    from errands.compiled import compiled

    return compiled(_unfilter)


def _unfilter(lines: NDArray[np.uint8], step: int, out: NDArray[np.uint8]) -> None:
    """Undo the filter of each line, which its first byte names: none, left, up, mean or Paeth;
    `out` begins with an empty line.

    The branches stand outside the loops so that the loop of `up`, which is what Chromium takes when
    it hurries, adds many bytes at a time.
    """
    width = lines.shape[1] - 1
    for y in range(lines.shape[0]):
        kind, line, above, row = lines[y, 0], lines[y, 1:], out[y], out[y + 1]
        if kind == 0:
            row[:] = line
        elif kind == 1:
            row[:step] = line[:step]
            for x in range(step, width):
                row[x] = line[x] + row[x - step]
        elif kind == 2:
            for x in range(width):
                row[x] = line[x] + above[x]
        elif kind == 3:
            for x in range(width):
                left = int(row[x - step]) if x >= step else 0
                row[x] = line[x] + ((left + int(above[x])) >> 1)
        else:
            for x in range(width):
                left = int(row[x - step]) if x >= step else 0
                corner = int(above[x - step]) if x >= step else 0
                up = int(above[x])
                straight = left + up - corner
                away, higher, across = (
                    abs(straight - left), abs(straight - up), abs(straight - corner),
                )  # fmt: skip
                guess = corner
                if higher <= across:
                    guess = up
                if away <= higher and away <= across:
                    guess = left
                row[x] = line[x] + guess
