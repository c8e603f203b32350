"""Elements of a page as it is now: finding them, and naming them to actions that take selectors."""

from collections.abc import Iterator, Sequence
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

__all__ = [
    "Span", "buttons", "clickables", "name_of", "named", "openers", "selector_of", "span_of",
]  # fmt: skip

Span = tuple[str, int, int]
"""A selector, and where some words begin and end in its element's text."""

_BUTTONS: Final = (
    'button[type="button"], input[type="button"], [role="button"], summary, [data-toggle],'
    " [onclick]"
)
_HEADS: Final = frozenset("h1 h2 h3 h4 h5 h6 legend dt summary a button div span p".split())
_CONTROLS: Final = "input, select, textarea, button, label"
_BUTTON_TAGS: Final = frozenset({"button", "summary", "input"})
_DRAWN: Final = frozenset("td li img svg canvas figure".split())
"""Things to click even without any attribute."""
_CLOSED: Final = frozenset("label svg select button".split())
"""What is clicked as a whole."""
_NO_THINGS: Final = frozenset(
    "input select textarea option optgroup label script style form br hr".split()
)
_UNREAD: Final = frozenset("script style option textarea title".split())


def name_of(node: LexborNode) -> str | None:
    return node.attributes.get("name")


def named(tree: LexborHTMLParser, name: str) -> LexborNode | None:
    return next((node for node in tree.css("[name]") if name_of(node) == name), None)


def _before(node: LexborNode | None) -> Iterator[LexborNode]:
    """An element's siblings before it, the nearest first."""
    while node is not None:
        node = node.prev
        if node is not None and node.tag and not node.tag.startswith(("-", "!")):
            yield node


def _ancestors(node: LexborNode) -> Iterator[LexborNode]:
    """What an element is in, the nearest first, without the body."""
    above = node.parent
    while above is not None and above.tag != "body":
        yield above
        above = above.parent


def _plain(text: str) -> bool:
    """Whether a text can stand in a quoted part of a selector as it is."""
    return text.isprintable() and '"' not in text and "\\" not in text


def selector_of(tree: LexborHTMLParser, node: LexborNode) -> str:
    """A CSS selector of just this element: its id where that is the only one, or its place."""
    steps: list[str] = []
    each: LexborNode | None = node
    while each is not None and each.tag and not each.tag.startswith("-"):
        own = each.attributes.get("id")
        if own and _plain(own):
            by_id = f'[id="{own}"]'
            if len(tree.css(by_id)) == 1:
                steps.append(by_id)
                break
        steps.append(f":nth-child({1 + sum(1 for _ in _before(each))})")
        each = each.parent
    return " > ".join(reversed(steps))


def openers(tree: LexborHTMLParser, names: Sequence[str]) -> Iterator[str]:
    """Selectors of what opens the blocks around these fields, or stands over them."""
    for name in names:
        node = named(tree, name)
        while node is not None:
            for opener in _controllers(tree, node):
                yield selector_of(tree, opener)
            head = next(_before(node), None)
            if head is not None and _is_head(head):
                yield selector_of(tree, head)
            node = node.parent


def buttons(tree: LexborHTMLParser, *, clicked: bool = True) -> list[str]:
    """Selectors of all that looks like a button and neither sends nor empties the form; with
    `clicked`, also of what has a handler of clicks."""
    return [
        selector_of(tree, node)
        for node in tree.css(_BUTTONS)
        if _pressable(node) and (clicked or _is_button(node))
    ]


def _is_button(node: LexborNode) -> bool:
    has = node.attributes
    return node.tag in _BUTTON_TAGS or has.get("role") == "button" or "data-toggle" in has


def clickables(tree: LexborHTMLParser) -> list[str]:
    """Selectors of things that a click may do something to, though they are no fields or buttons:
    the smallest elements that are drawn or marked in some way. Plain text is left out."""
    things: list[LexborNode] = []
    holders: set[int] = set()
    for node in tree.css("body *"):
        if not _is_thing(node):
            continue
        above = list(_ancestors(node))
        if not any(each.tag in _CLOSED or _is_button(each) for each in above):
            things.append(node)
            holders.update(each.mem_id for each in above)
    return [selector_of(tree, node) for node in things if node.mem_id not in holders]


def _is_thing(node: LexborNode) -> bool:
    tag = node.tag or ""
    if tag.startswith(("-", "!")) or tag in _NO_THINGS or _is_button(node):
        return False
    return tag in _DRAWN or bool(node.attributes)


def _controllers(tree: LexborHTMLParser, block: LexborNode) -> list[LexborNode]:
    """Elements that say that they open a block."""
    own = block.attributes.get("id")
    if not own or not _plain(own):
        return []
    by = f'[data-target="#{own}"], [data-bs-target="#{own}"], [href="#{own}"]'
    return tree.css(f'{by}, [aria-controls="{own}"], [for="{own}"]')


def _is_head(node: LexborNode) -> bool:
    text = node.text().strip()
    plain = node.tag == "button" or node.css_first(_CONTROLS) is None
    return node.tag in _HEADS and plain and 0 < len(text) < 200


def _pressable(node: LexborNode) -> bool:
    has = node.attributes
    kind = (has.get("type") or "").lower()
    # A click on a field or its label is an answer, not a way to one.
    inside = node.tag in ("label", "form", "select", "textarea") or (
        node.tag == "input" and kind != "button"
    )
    return not inside and kind not in ("submit", "reset") and "disabled" not in has


def span_of(tree: LexborHTMLParser, text: str) -> Span | None:
    """The smallest element that has these words, and where they are in it."""
    smallest: tuple[LexborNode, str] | None = None
    for node in tree.css("body *"):
        content = node.text(deep=True)
        if node.tag in _UNREAD or text not in content:
            continue
        if smallest is None or len(content) <= len(smallest[1]):
            smallest = (node, content)
    if smallest is None:
        return None
    node, content = smallest
    start = _units(content[: content.index(text)])
    return selector_of(tree, node), start, start + _units(text)


def _units(text: str) -> int:
    """The length as scripts count it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
