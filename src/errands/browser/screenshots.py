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
    framed = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    height, width = min(HEIGHT, image.shape[0]), min(WIDTH, image.shape[1])
    framed[:height, :width] = image[:height, :width, :3]
    return framed


def decode(png: bytes) -> NDArray[Any]:
    """Read an 8-bit, not interlaced RGB or RGBA picture, which is what browsers write."""
    if not png.startswith(_SIGNATURE):
        raise BrowserError("The screenshot is not a PNG picture.")
    at, data, channels, width, height = len(_SIGNATURE), b"", 0, 0, 0
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            channels = {2: 3, 6: 4}.get(color, 0)
            if depth != 8 or not channels or interlaced:
                raise BrowserError("The screenshot is a PNG of a kind that browsers do not write.")
        elif kind == b"IDAT":
            data += body
        at += 12 + length
    lines = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * channels)
    picture: NDArray[Any] = _kernel()(lines, channels).reshape(height, width, channels)
    return picture


@cache
def _kernel() -> Any:
    """Compiled when the first picture is read, as without pictures nobody needs the compiler."""
    from errands.compiled import compiled

    return compiled(_unfilter)


def _unfilter(lines: NDArray[np.uint8], step: int) -> NDArray[np.uint8]:
    """Undo the filter of each line, which its first byte names: none, left, up, mean or Paeth."""
    height, width = lines.shape[0], lines.shape[1] - 1
    out = np.zeros((height, width), np.uint8)
    for y in range(height):
        kind = lines[y, 0]
        for x in range(width):
            left = int(out[y, x - step]) if x >= step else 0
            up = int(out[y - 1, x]) if y else 0
            guess = 0
            if kind == 1:
                guess = left
            elif kind == 2:
                guess = up
            elif kind == 3:
                guess = (left + up) >> 1
            elif kind == 4:
                corner = int(out[y - 1, x - step]) if y and x >= step else 0
                straight = left + up - corner
                away, above, across = (
                    abs(straight - left), abs(straight - up), abs(straight - corner),
                )  # fmt: skip
                guess = corner
                if above <= across:
                    guess = up
                if away <= above and away <= across:
                    guess = left
            out[y, x] = (int(lines[y, x + 1]) + guess) & 255
    return out
