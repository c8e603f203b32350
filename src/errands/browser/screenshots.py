"""Screenshots as arrays: a small PNG reader, and one size for all."""

import struct
import zlib
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
    return _unfilter(lines, channels).reshape(height, width, channels)


def _unfilter(lines: NDArray[np.uint8], step: int) -> NDArray[np.uint8]:
    """Undo each line's filter; the costly kinds go pixel by pixel."""
    out = np.zeros((len(lines), lines.shape[1] - 1), np.uint8)
    above = np.zeros(out.shape[1], np.uint8)
    for number, line in enumerate(lines):
        kind, raw = line[0], line[1:]
        if kind == 0:
            out[number] = raw
        elif kind == 1:
            columns = raw.reshape(-1, step)
            out[number] = np.cumsum(columns, axis=0, dtype=np.uint8).reshape(-1)
        elif kind == 2:
            out[number] = raw + above
        else:
            out[number] = _predicted(raw, above, step, paeth=kind == 4)
        above = out[number]
    return out


def _predicted(
    raw: NDArray[np.uint8], above: NDArray[np.uint8], step: int, *, paeth: bool
) -> NDArray[np.uint8]:
    line = bytearray(raw.tobytes())
    up = above.tobytes()
    for i in range(len(line)):
        left = line[i - step] if i >= step else 0
        corner = up[i - step] if i >= step else 0
        if paeth:
            guess = left + up[i] - corner
            distances = (abs(guess - left), abs(guess - up[i]), abs(guess - corner))
            best = distances.index(min(distances))
            line[i] = (line[i] + (left, up[i], corner)[best]) & 255
        else:
            line[i] = (line[i] + ((left + up[i]) >> 1)) & 255
    return np.frombuffer(bytes(line), np.uint8)
