"""Screenshots as arrays."""

import struct
import zlib

import numpy as np
import pytest

from errands.browser.chromium import BrowserError
from errands.browser.screenshots import HEIGHT, WIDTH, pixels


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(image: np.ndarray, filters: list[int]) -> bytes:  # type: ignore[type-arg]
    """Write a picture, each line with the filter asked for, by the book."""
    height, width, channels = image.shape
    lines = b""
    for y, kind in enumerate(filters):
        row = image[y].reshape(-1).astype(int)
        up = image[y - 1].reshape(-1).astype(int) if y else np.zeros_like(row)
        left = np.concatenate([np.zeros(channels, int), row[:-channels]])
        corner = np.concatenate([np.zeros(channels, int), up[:-channels]])
        guess = left + up - corner
        distances = np.abs(np.stack([guess - left, guess - up, guess - corner]))
        paeth = np.choose(distances.argmin(axis=0), [left, up, corner])
        predicted = [np.zeros_like(row), left, up, (left + up) // 2, paeth][kind]
        lines += bytes([kind]) + ((row - predicted) % 256).astype(np.uint8).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 6, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("channels", [3, 4])
def test_every_filter(channels: int) -> None:
    rng = np.random.default_rng(1)
    image = rng.integers(0, 256, (10, 7, channels), np.uint8)
    read = pixels(png(image, [0, 1, 2, 3, 4, 4, 3, 2, 1, 0]))
    assert read.shape == (HEIGHT, WIDTH, 3)
    assert (read[:10, :7] == image[:, :, :3]).all()
    assert (read[10:] == 255).all()


def test_what_is_no_screenshot() -> None:
    with pytest.raises(BrowserError, match="not a PNG"):
        pixels(b"GIF89a")


def test_a_picture_that_claims_to_be_huge_is_not_unpacked() -> None:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + bytes(4)

    def png(width: int, height: int, data: bytes) -> bytes:
        header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        return (
            b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data, 9))
        )

    with pytest.raises(BrowserError, match="more than 100,000,000 pixels"):
        pixels(png(2**31, 2**31, b""))
    with pytest.raises(BrowserError, match="cut off"):
        pixels(png(2, 2, bytes(10_000_000)))
