"""Screenshots as arrays: a small PNG reader, and one size for all."""

import struct
import zlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from errands.browser.chromium import BrowserError
from errands.native import Array, Size, native

__all__ = ["HEIGHT", "WIDTH", "decode", "pixels"]

WIDTH: Final = 1280
HEIGHT: Final = 800
_MOST_PIXELS: Final = 100_000_000
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"

_unfilter = native("png_unfilter", Array(np.uint8), Size, Size, Size, Array(np.uint8))


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
    if width * height > _MOST_PIXELS:
        raise BrowserError(f"The screenshot has more than {_MOST_PIXELS:,} pixels.")
    # At once, and no more than the picture needs.
    inflated = zlib.decompressobj().decompress(b"".join(data), height * line + 1)
    picture = np.empty((1 + height, width * channels), np.uint8)
    picture[0] = 0  # Above the first line is nothing.
    if len(inflated) != height * line:
        raise BrowserError("The screenshot is a PNG that was cut off.")
    _unfilter(np.frombuffer(inflated, np.uint8), height, width * channels, channels, picture)
    return picture[1:].reshape(height, width, channels)
