"""schema.org data in a page: JSON-LD and microdata, both as plain dictionaries.

Whoever wrote a page may have written anything: what cannot be read is left out, what nests too
deeply is cut off, and nothing is followed or run.
"""

import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.transfer.sites.markup import attribute, plain, text_of

__all__ = ["Thing", "inside", "kinds_of", "things", "value_text", "values"]

Thing = dict[str, Any]

_DEEPEST: Final = 12
_NAMED_BY: Final = 3
"""Things that name one another, until somebody says a text."""
_WIDEST: Final = 20
"""Values that are tried, and names that one value has."""
_HIGHEST: Final = 200
"""Elements between a property and its item."""
_MOST: Final = 5_000
"""Things of one page that are looked at."""
_OPENING: Final = re.compile(r"\s*+(?:<!--|/\*\s*+<!\[CDATA\[\s*+\*/|//\s*+<!\[CDATA\[)")
_CLOSING: Final = re.compile(r"\s*+;?\s*+(?:>--|/\*\s*+>\]\]\s*+\*/|>\]\]\s*+//)?")
"""Backwards, as it is read from a script's end."""
_FROM: Final = {
    "meta": "content", "link": "href", "a": "href", "area": "href", "img": "src", "source": "src",
    "iframe": "src", "embed": "src", "audio": "src", "video": "src", "object": "data",
    "time": "datetime", "data": "value", "meter": "value",
}  # fmt: skip


def things(tree: LexborHTMLParser) -> list[Thing]:
    """Everything that a page says about itself, outermost first; scripts must still be in it."""
    everything: list[Thing] = []
    for document in [*_json_ld(tree), *_microdata(tree)]:
        everything.extend(_flat(document))
        if len(everything) > _MOST:
            break
    return everything[:_MOST]


def kinds_of(thing: Thing) -> set[str]:
    """The types of a thing, without the vocabulary's address."""
    kinds = (
        kind.strip().rstrip("/").rsplit("/", 1)[-1].rsplit(":", 1)[-1].rsplit("#", 1)[-1]
        for kind in values(thing, "@type")
        if isinstance(kind, str)
    )
    return {kind[:1].upper() + kind[1:] for kind in kinds}


def values(thing: Any, name: str) -> list[Any]:
    """All values of a property; one alone is a list of one."""
    if not isinstance(thing, dict):
        return []
    value = thing.get(name)
    if isinstance(value, list):
        return [each for each in value if each is not None]
    return [] if value is None else [value]


def inside(thing: Thing) -> Iterator[Thing]:
    """All things that are inside of one."""
    yield from (part for part in _flat(thing) if part is not thing)


def value_text(thing: Any, *names: str) -> str:
    """The first of these properties that can be read as a text."""
    return _first_said(thing, names, 0)


def _first_said(thing: Any, names: tuple[str, ...], depth: int) -> str:
    for name in names:
        for value in values(thing, name)[:_WIDEST]:
            if said := _said(value, depth):
                return said
    return ""


def _said(value: Any, depth: int) -> str:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, bool):
        return ""
    if isinstance(value, int | float):
        return plain(f"{value}")
    if isinstance(value, dict) and depth < _NAMED_BY:
        return _first_said(value, ("@value", "name", "url", "@id"), depth + 1)
    return ""


def _flat(thing: Any) -> Iterator[Thing]:
    """A thing and all that is inside it, breadth first."""
    waiting: deque[tuple[Any, int]] = deque([(thing, 0)])
    while waiting:
        part, depth = waiting.popleft()
        if depth > _DEEPEST or len(waiting) > _MOST:
            continue
        if isinstance(part, list):
            waiting += [(each, depth + 1) for each in part[:_MOST]]
        elif isinstance(part, dict):
            yield part
            waiting += [
                (each, depth + 1) for each in part.values() if isinstance(each, dict | list)
            ]


def _json_ld(tree: LexborHTMLParser) -> Iterator[Any]:
    for script in tree.css("script"):
        if "ld+json" not in attribute(script, "type").lower():
            continue
        source = script.text(deep=True) or ""
        cleaned = _unwrapped(source)
        for text in (source, cleaned, re.sub(r"[\x00-\x1f]", " ", cleaned)):
            try:
                # What is no JSON is often JSON with line breaks inside of texts.
                yield json.loads(text, strict=False, parse_constant=lambda name: None)
            except (ValueError, RecursionError):
                continue
            break


def _unwrapped(source: str) -> str:
    """A script without the comment that hides it from very old browsers."""
    opening, closing = _OPENING.match(source), _CLOSING.match(source[::-1])
    start = opening.end() if opening else 0
    end = len(source) - (closing.end() if closing else 0)
    return source[start:end].strip()


def _microdata(tree: LexborHTMLParser) -> list[Thing]:
    """The page's items; one inside another is a value of it."""
    items: dict[int, Thing] = {}
    outermost: list[Thing] = []
    for node in tree.css("[itemscope], [itemprop]")[:_MOST]:
        value: Any
        is_item = "itemscope" in node.attributes
        if is_item:
            value = {"@type": attribute(node, "itemtype").split()}
            if link := _first_link(node):
                value["@link"] = link
            items[node.mem_id] = value
        else:
            value = _value(node)
        names = list(dict.fromkeys(attribute(node, "itemprop").split()))[:_WIDEST]
        above = _item_above(node, items)
        if names and above is not None:
            if not value and is_item is False:
                continue
            for name in names:
                above.setdefault(name, []).append(value)
        elif is_item:
            outermost.append(value)
    return outermost


def _first_link(node: LexborNode) -> str:
    """Where an item leads if it does not say so: products in lists often only have a link."""
    links = (attribute(one, "href") for one in node.css("a[href]")[:_WIDEST])
    return next((link for link in links if link and not link.startswith(("#", "javascript:"))), "")


def _item_above(node: LexborNode, items: dict[int, Thing]) -> Thing | None:
    above = node.parent
    for _ in range(_HIGHEST):
        if above is None:
            break
        if above.mem_id in items:
            return items[above.mem_id]
        above = above.parent
    return None


def _value(node: LexborNode) -> str:
    """What a property says: an attribute for elements that have one, else the text."""
    for name in ("content", _FROM.get(node.tag or "", "")):
        if name and (said := attribute(node, name)):
            return said
    return text_of(node)
