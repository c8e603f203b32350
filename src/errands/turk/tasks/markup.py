"""Start tags of a page, found without building a tree: for counting fields and telling types.

One pass from left to right, in time that grows with the length of the page and nothing else,
whatever the page is. Comments and the insides of scripts, styles and the like are passed over.
What a page really shows is for a driver to say; this is the static view.
"""

import html
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from errands.turk.pages.field import INPUT_TYPES

__all__ = ["RAW", "effective_type", "field_types", "start_tags"]

RAW: Final = frozenset(
    {"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"}
)
"""Elements whose inside is text, not markup."""

_OPEN = re.compile(r"<(?:(!--)|([a-zA-Z][^\t\n\r\f />]*+)|([!/?]))")
_ATTRIBUTE = re.compile(
    r"""[\s/]*+([^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)))?+"""
)
_TIDY = re.compile(
    r"""(?:\s++[a-zA-Z_:][\w:.-]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'=<>`/]++))?+)*+\s*+/?+>"""
)
"""The rest of a start tag that is written as it should be."""
_SLACK = re.compile(r"[\s/=\"']*+")


def start_tags(
    page: str, *, raw: Collection[str] = RAW, only: Collection[str] | None = None
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Every start tag in order: its name in lower case, and its attributes, the first of a name.

    With `only`, tags of other names are passed over.
    """
    place = 0
    while (match := _OPEN.search(page, place)) is not None:
        comment, name, other = match.groups()
        if comment:
            # `<!-->` is a whole comment.
            place = page.find("-->", match.end() - 2)
            if place < 0:
                return
            place += 3
            continue
        if other:
            place = page.find(">", match.end())
            if place < 0:
                return
            continue
        tag = name.lower()
        passed = only is not None and tag not in only
        if passed and (tidy := _TIDY.match(page, match.end())) is not None:
            place = tidy.end()
        else:
            place, attributes = _attributes(page, match.end())
            if place < 0:
                return
            if not passed:
                yield tag, attributes
        if tag in raw:
            close = re.compile(rf"</{re.escape(tag)}(?=[\s/>])", re.IGNORECASE)
            ending = close.search(page, place)
            if ending is None:
                return
            place = ending.start()


def _attributes(page: str, place: int) -> tuple[int, dict[str, str]]:
    """The attributes from a place on, and where their tag ends; -1 if it never does."""
    attributes: dict[str, str] = {}
    while True:
        match = _ATTRIBUTE.match(page, place)
        if match is None:
            place = _SLACK.match(page, place).end()  # type: ignore[union-attr]
            if place >= len(page):
                return -1, attributes
            if page[place] == ">":
                return place + 1, attributes
            continue
        place = match.end()
        name, double, single, bare = match.groups()
        value = next((text for text in (double, single, bare) if text is not None), "")
        attributes.setdefault(name.lower(), html.unescape(value))


def effective_type(tag: str, attributes: Mapping[str, str]) -> str:
    """The type of a control as browsers see it: of an `input` its type, of others the tag."""
    if tag != "input":
        return tag
    kind = attributes.get("type", "").lower()
    return kind if kind in INPUT_TYPES else "text"


def field_types(page: str, names: Sequence[str]) -> dict[str, str]:
    """Name to type, for the names of which the first element is a form control.

    That is how fields are found on a page, and so a name that only a script puts there, or that
    another element bears first, is left out.
    """
    first: dict[str, str | None] = {}
    for tag, attributes in start_tags(page):
        if (name := attributes.get("name")) is not None:
            control = tag in ("input", "select", "textarea")
            first.setdefault(name, effective_type(tag, attributes) if control else None)
    return {name: kind for name in names if (kind := first.get(name)) is not None}
