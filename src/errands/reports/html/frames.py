"""Pages of an episode packed into one small block, from which the browser shows one at a time.

A frame in a document costs a browser more than the page in it, and a thousand of them stop it, so
the report holds no frames: it holds packed pages, and a few lines of script (`report.js`) unpack
the one that is looked at. Where scripts do not run, the page's text is there to be read.

Three walls stand between such a page and the reader: the frame's sandbox runs nothing, the policy
written at the page's beginning lets nothing be loaded, and what would only try is taken out
beforehand, so that not even the console complains.
"""

import base64
import hashlib
import re
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
from selectolax.lexbor import LexborHTMLParser

from errands.markup import Markup, html
from errands.nesting import shallow

__all__ = [
    "PAGE_POLICY",
    "StyleSheets",
    "is_page",
    "pack",
    "policy",
    "script",
    "visible_text",
]

PAGE_POLICY: Final = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:;"
    " form-action 'none'; base-uri 'none'"
)
"""What a page in a frame may load: nothing that is not in it."""
_PAGE: Final = re.compile(r"<(?:!doctype|html|head|body|form|table|div|p|h[1-6])\b", re.IGNORECASE)
_BLANKS: Final = re.compile(r"(?<!\s)\s*\n\s*")

_STYLE: Final = re.compile(r"<style>([^<]{400,})</style>")


class StyleSheets:
    """Style sheets that many pages share, kept once for a whole report."""

    def __init__(self) -> None:
        self._sheets: dict[str, int] = {}

    def put(self, html: str) -> str:
        """The page with a number in place of each large style sheet."""
        return _STYLE.sub(self._numbered, html)

    def _numbered(self, match: re.Match[str]) -> str:
        number = self._sheets.setdefault(match[1], len(self._sheets))
        return f'<style data-sheet="{number}"></style>'

    def block(self) -> str:
        """All sheets, packed."""
        return pack(list(self._sheets))


def is_page(text: str) -> bool:
    """Whether what an agent saw is the source of a page."""
    return text.lstrip()[:1] == "<" and bool(_PAGE.search(text[:4000]))


def visible_text(html: str) -> str:
    """What a page says, without its tags."""
    tree = LexborHTMLParser(shallow(html))
    tree.strip_tags(["script", "style", "template", "head"])
    body = tree.body
    return _BLANKS.sub("\n", body.text(separator="\n")).strip() if body is not None else ""


def pack(pages: Sequence[str]) -> str:
    """Pages as one line of letters: each as its change to the one before, then deflated.

    Places are counted as JavaScript counts them, in UTF-16 units, where a rare letter is two.
    """
    changes: list[tuple[int, int, str]] = []
    before = b""
    for page in pages:
        now = page.encode("utf-16-le", "replace")
        start = _common(before, now)
        room = min(len(before), len(now)) - start
        end = min(_common(before[::-1], now[::-1]), room) & ~1
        changes.append(
            (start // 2, end // 2, now[start : len(now) - end].decode("utf-16-le", "replace"))
        )
        before = now
    return base64.b64encode(zlib.compress(msgspec.json.encode(changes), 9)).decode()


def _common(first: bytes, second: bytes) -> int:
    """How many bytes two texts begin with alike, to a whole letter."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    low &= ~1
    # Not between the two halves of a rare letter.
    return low - 2 if low and 0xD8 <= first[low - 1] <= 0xDB else low


@cache
def script() -> Markup:
    """The script of the page, character for character."""
    source = Path(__file__).with_name("report.js").read_text(encoding="utf-8")
    return Markup(source.replace("PAGE_POLICY", PAGE_POLICY))  # noqa: S704 (our own file)


@cache
def policy() -> Markup:
    """What the report itself may do: run that one script, and load nothing."""
    checksum = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    return html(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline';"
        " img-src data:; font-src data:; form-action 'none'; base-uri 'none'",
        checksum,
    )
