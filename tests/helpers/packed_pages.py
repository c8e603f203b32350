"""What `report.js` does with the packed pages of a report."""

import base64
import zlib

import msgspec


def unpack(block: str) -> list[str]:
    """The pages of a block."""
    packed = zlib.decompress(base64.b64decode(block))
    pages: list[bytes] = []
    before = b""
    for start, end, middle in msgspec.json.decode(packed, type=list[tuple[int, int, str]]):
        before = before[: 2 * start] + middle.encode("utf-16-le") + before[len(before) - 2 * end :]
        pages.append(before)
    return [page.decode("utf-16-le") for page in pages]
