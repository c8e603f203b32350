"""The encoding of a page: what it was sent as, what it names itself, or UTF-8."""

import codecs
import re
from typing import Final

__all__ = ["decoded"]

_NAMED: Final = re.compile(rb"<meta[^<>]+charset=[\"']?([A-Za-z0-9_-]+)", re.IGNORECASE)
_BEGINNING: Final = 4096
_NO_CHARSETS: Final = frozenset({"idna", "punycode", "raw-unicode-escape", "unicode-escape"})
"""Encodings of Python's that no page has; some take time that grows with the square of it."""
_MEANT: Final = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949",
}  # fmt: skip
"""What pages are that name the smaller one, as browsers read them: ISO 8859-1 has no euro sign."""


def decoded(data: bytes, told: str | None = None) -> str:
    """A page's text; `told` is the encoding that it was sent as.

    >>> decoded(b"<meta charset=iso-8859-1>\\x80 5")
    '<meta charset=iso-8859-1>€ 5'
    """
    if told is None and (found := _NAMED.search(data[:_BEGINNING])):
        told = found[1].decode("ascii")
    try:
        name = codecs.lookup(told or "utf-8").name
        return data.decode("utf-8" if name in _NO_CHARSETS else _MEANT.get(name, name), "replace")
    except LookupError:
        return data.decode("utf-8", "replace")
