"""Whether an element is displayed, without layout.

The answer of Selenium's "is displayed" as far as markup and style sheets decide it: display,
visibility, opacity, no size with clipping, off the page, on the element or an ancestor. By hand:
without laying the page out, which takes a browser, no library says it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from errands.turk.dom.css import CHECKED, Declaration, Rule, StyleSheet, parse_declarations
from errands.turk.pages.driver import DriverError

__all__ = ["Box", "Cascade"]

_NONE: Final = frozenset(
    "area base basefont datalist head link meta noembed noframes noscript param rp script style "
    "template title".split()
)
_OPAQUE: Final = frozenset("audio canvas iframe meter progress select textarea video".split())
"""Elements whose children are not boxes of their own."""
_BLOCKS: Final = frozenset(
    "html body address article aside blockquote center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 header hgroup hr legend "
    "listing main menu nav ol optgroup option p plaintext pre search section summary ul "
    "xmp".split()
)
_DISPLAYS: Final = {
    **dict.fromkeys(_BLOCKS, "block"),
    **dict.fromkeys("button input meter progress select textarea marquee".split(), "inline-block"),
    "li": "list-item", "table": "table", "caption": "table-caption", "tr": "table-row",
    "td": "table-cell", "th": "table-cell", "thead": "table-header-group",
    "tbody": "table-row-group", "tfoot": "table-footer-group", "col": "table-column",
    "colgroup": "table-column-group", "slot": "contents", "rt": "ruby-text", "ruby": "ruby",
    "text": "block", "foreignObject": "block",
}  # fmt: skip
"""What browsers give tags without any style; all others are `inline`."""
_FLEX: Final = frozenset("flex inline-flex grid inline-grid".split())
_OUTER: Final = {
    "inline-flex": "flex", "inline-grid": "grid", "inline-table": "table", "list-item": "list-item",
    "flex": "flex", "grid": "grid", "table": "table", "flow-root": "flow-root",
}  # fmt: skip
"""What a box is outside of a line of text; all others are `block`."""
_PRE: Final = frozenset("pre listing plaintext textarea xmp".split())
_CELLS: Final = frozenset("tr td th thead tbody tfoot".split())
"""Parts of tables, which grow with what is in them."""
_BARE: Final = frozenset({"radio", "checkbox", "range", "file"})
"""Inputs without border and padding: no width or height of their own, no box."""
_AWAY: Final = -500.0
_MANY: Final = 20
"""Rules from which on it pays to pass over those that cannot match."""
_MOST_TRIED: Final = 100_000_000
"""Rules times tags."""
_MOST_FOUND: Final = 1_000_000
"""Elements that rules are found for, one for each rule."""
_TOO_MANY: Final = "The page's style sheets have too many rules for so many elements."

_TAGS = re.compile(r"<([a-z][^\s/>]*)")
_CLASSES = re.compile(r"""class\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""")
_IDS = re.compile(r"""id\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""")

_Key = tuple[bool, bool, bool, tuple[int, int, int], int]
_Declared = dict[str, tuple[_Key, str | float]]
"""Properties of an element, each with what ranks it among others."""
_Style = Mapping[str, str | float]
_AXES: Final = (("overflow-x", "width", "max-width"), ("overflow-y", "height", "max-height"))


class Box(NamedTuple):
    """How an element is shown."""

    display: str
    rendered: bool
    visibility: str
    transparent: bool
    clips: bool
    """It has no room, and cuts off what is in it."""
    clipped: bool
    away: bool
    sized: bool
    """False where a width or height of 0 is set."""
    preserves: bool
    """Whether a line of the source is a line of the text."""

    @property
    def shown(self) -> bool:
        return self.rendered and self.visibility == "visible" and not (
            self.transparent or self.clipped or self.away
        )  # fmt: skip


_START: Final = Box("block", True, "visible", False, False, False, False, True, False)


class Cascade:
    """Boxes of a document's elements, worked out when they are asked for."""

    def __init__(
        self,
        tree: LexborHTMLParser,
        source: str,
        sheets: Iterable[StyleSheet],
        checked: Callable[[], list[LexborNode]],
    ) -> None:
        self._tree = tree
        self._checked = checked
        self._source = source
        self._sheets = tuple(sheets)
        self._declared: dict[int, _Declared] | None = None
        self._boxes: dict[int, Box] = {}
        self._shown: dict[int, bool] = {}
        self._words: dict[str, None] | None = None
        self._stateful = any(rule.stateful for sheet in self._sheets for rule in sheet.rules)

    def changed(self) -> None:
        """An action changed the page's state: what depends on it is worked out anew."""
        if self._stateful and self._declared is not None:
            self._declared = None
            self._boxes.clear()

    def show(self, node: LexborNode, *, shown: bool) -> None:
        """Display an element, or not, whatever the style sheets say; `restyled` makes it so."""
        self._shown[node.mem_id] = shown

    def add_classes(self, names: Iterable[str]) -> None:
        """Classes that come to be on the page; `restyled` makes it so."""
        if self._words is None:
            self._words = _vocabulary(self._source)
        self._words |= dict.fromkeys(f".{name.lower()}" for name in names)

    def restyled(self) -> None:
        """Attributes of elements changed, or what is shown: all is worked out anew."""
        self._declared = None
        self._boxes.clear()

    def displayed(self, node: LexborNode) -> bool:
        box = self.box(node)
        if not box.shown:
            return False
        return box.sized or node.tag != "input" or _type(node) not in _BARE

    def box(self, node: LexborNode) -> Box:
        """The box of an element; iterative, since pages may nest deeply."""
        boxes = self._boxes
        known = boxes.get(node.mem_id)
        if known is not None:
            return known
        chain: list[LexborNode] = []
        above = _START
        current: LexborNode | None = node
        while current is not None and current.is_element_node:
            box = boxes.get(current.mem_id)
            if box is not None:
                above = box
                break
            chain.append(current)
            current = current.parent
        parent = current if current is not None and current.is_element_node else None
        for each in reversed(chain):
            above = self._step(each, parent, above)
            boxes[each.mem_id] = above
            parent = each
        return above

    def _step(self, node: LexborNode, parent: LexborNode | None, above: Box) -> Box:
        if self._declared is None:
            self._declared = self._match()
        own = self._declared.get(node.mem_id)
        attributes = node.attributes
        style = attributes.get("style")
        if style:
            inline = parse_declarations(style)
            if inline:
                own = dict(own or {})
                for declaration in inline:
                    _declare(own, declaration, (declaration.important, True, True, (0, 0, 0), 0))
        tag = node.tag or ""
        display = _default_display(tag, attributes)
        rendered = above.rendered and not (parent is not None and _withheld(tag, parent))
        clipped = above.clipped or above.clips
        preserves = tag in _PRE or above.preserves
        shown = self._shown.get(node.mem_id)
        if own is None:
            display = _set_shown(display, shown)
            if above.display in _FLEX:
                display = _blockified(display)
            return Box(
                display, rendered and display != "none", above.visibility, above.transparent,
                False, clipped, above.away, True, preserves,
            )  # fmt: skip
        values = {name: value for name, (_, value) in own.items()}
        value = values.get("display")
        if value is not None and not _forced(tag, attributes):
            display = _resolved(value, display, above.display, "inline")
        display = _set_shown(display, shown)
        if display == "contents" and tag in ("input", "select", "textarea"):
            display = "none"
        if above.display in _FLEX or tag == "legend" or _out_of_line(values):
            display = _blockified(display)
        value = values.get("white-space")
        if value is not None:
            white = _resolved(
                value,
                "pre" if preserves else "normal",
                "pre" if above.preserves else "normal",
                "normal",
            )
            preserves = white in ("pre", "pre-wrap", "pre-line", "break-spaces")
        visibility = above.visibility
        value = values.get("visibility")
        if value is not None:
            visibility = _resolved(value, visibility, visibility, "visible")
        return Box(
            display, rendered and display != "none", visibility,
            above.transparent or values.get("opacity") == 0,
            tag not in _CELLS and _clips(values, display), clipped,
            above.away or _off_page(values), not _flat(values), preserves,
        )  # fmt: skip

    def _match(self) -> dict[int, _Declared]:
        """Declarations by element, of all rules that match something."""
        declared: dict[int, _Declared] = {}
        boxes = any(sheet.boxes for sheet in self._sheets)
        rules = [
            rule
            for sheet in self._sheets
            for rule in self._possible(sheet)
            if boxes or rule.deciding
        ]
        if not rules:
            return declared
        if len(rules) * self._source.count("<") > _MOST_TRIED:
            raise DriverError(_TOO_MANY)
        self._stateful = any(rule.stateful and self._within_reach(rule) for rule in rules)
        marked = self._checked() if self._stateful else []
        for node in marked:
            node.attrs[CHECKED] = ""
        try:
            self._collect(rules, declared)
        finally:
            for node in marked:
                del node.attrs[CHECKED]
        return declared

    def _collect(self, rules: list[Rule], declared: dict[int, _Declared]) -> None:
        left = _MOST_FOUND
        for order, rule in enumerate(rules):
            nodes = self._find(rule)
            left -= len(nodes)
            if left < 0:
                raise DriverError(_TOO_MANY)
            for node in nodes:
                own = declared.setdefault(node.mem_id, {})
                for declaration in rule.declarations:
                    key = (declaration.important, not rule.layered, False, rule.specificity, order)
                    _declare(own, declaration, key)

    def _possible(self, sheet: StyleSheet) -> Sequence[Rule]:
        """Without rules whose tags, classes or ids are nowhere on the page."""
        if len(sheet.rules) <= _MANY:
            return sheet.rules
        if self._words is None:
            self._words = _vocabulary(self._source)
        words = self._words
        places = [
            place
            for need in words.keys() & sheet.by_need.keys()
            for place in sheet.by_need[need]
            if _met(sheet.rules[place], words)
        ]
        return [sheet.rules[place] for place in sorted(places)]

    def _within_reach(self, rule: Rule) -> bool:
        """Whether a rule may come to match when something is checked or cleared."""
        if f"[{CHECKED}]" not in rule.selector or "(" in rule.selector:
            return True
        nodes = self._find(rule._replace(selector=rule.selector.replace(f"[{CHECKED}]", ":is(*)")))
        return bool(nodes)

    def _find(self, rule: Rule) -> list[LexborNode]:
        try:
            return self._tree.css(rule.selector)
        except SelectolaxError:  # A selector that is not understood matches nothing.
            return []


def _vocabulary(source: str) -> dict[str, None]:
    """Tags, `.classes` and `#ids` that may occur: a quick way to pass over most rules."""
    source = source.lower()
    words = dict.fromkeys(("", "html", "head", "body", "tbody", "tr", "colgroup", "p"))
    words |= dict.fromkeys(_TAGS.findall(source))
    for match in set(_CLASSES.findall(source)):
        words |= dict.fromkeys(f".{name}" for part in match for name in part.split())
    words |= dict.fromkeys(f"#{part}" for match in _IDS.findall(source) for part in match if part)
    return words


def _met(rule: Rule, words: Mapping[str, None]) -> bool:
    """Whether all that a rule needs may occur."""
    ids, classes, tags = rule.needs
    return (
        all(tag in words for tag in tags)
        and all(f".{name}" in words for name in classes)
        and all(f"#{name}" in words for name in ids)
    )


def _declare(own: _Declared, declaration: Declaration, key: _Key) -> None:
    known = own.get(declaration.property)
    if known is None or known[0] <= key:
        own[declaration.property] = key, declaration.value


def _resolved(value: str | float, default: str, inherited: str, initial: str) -> str:
    if value == "inherit":
        return inherited
    if value == "initial" or (value == "unset" and initial == "inline"):
        return initial
    if value in ("unset", "revert", "revert-layer"):
        return default
    return str(value)


def _type(node: LexborNode) -> str:
    return (node.attributes.get("type") or "").lower()


def _forced(tag: str, attributes: dict[str, str | None]) -> bool:
    """Whether an element is not displayed whatever its style says."""
    return tag == "noscript" or (
        tag == "input" and (attributes.get("type") or "").lower() == "hidden"
    )


def _default_display(tag: str, attributes: dict[str, str | None]) -> str:
    if tag in _NONE or "hidden" in attributes or _forced(tag, attributes):
        return "none"
    if (tag == "dialog" and "open" not in attributes) or "popover" in attributes:
        return "none"
    return _DISPLAYS.get(tag, "inline")


def _out_of_line(style: _Style) -> bool:
    """Whether an element leaves the line that it would be in."""
    if style.get("position") in ("absolute", "fixed"):
        return True
    return style.get("float", "none") in ("left", "right", "inline-start", "inline-end")


def _blockified(display: str) -> str:
    return display if display in ("none", "contents") else _OUTER.get(display, "block")


def _set_shown(display: str, shown: bool | None) -> str:
    if shown is None or shown == (display != "none"):
        return display
    return "block" if shown else "none"


def _withheld(tag: str, parent: LexborNode) -> bool:
    """Whether the parent does not show this child."""
    holder = parent.tag
    if holder == "details" and "open" not in parent.attributes:
        return tag != "summary"
    return holder in _OPAQUE


def _padded(style: _Style) -> bool:
    return "other" in (style.get("padding"), style.get("border"))


def _flat(style: _Style) -> bool:
    if _padded(style):
        return False
    if style.get("appearance") == "none":
        return not ("width" in style and "height" in style)
    return any(style.get(name) == 0.0 for _, *sizes in _AXES for name in sizes)


def _clips(style: _Style, display: str) -> bool:
    if display == "inline" and style.get("position") not in ("absolute", "fixed"):
        return False
    return not _padded(style) and any(
        style.get(overflow, "visible") != "visible" and 0.0 in (style.get(size), style.get(most))
        for overflow, size, most in _AXES
    )


def _off_page(style: _Style) -> bool:
    margin = style.get("margin-left")
    if isinstance(margin, float) and margin <= _AWAY:
        return True
    position = style.get("position")
    if position not in ("absolute", "fixed", "relative"):
        return False
    return any(
        isinstance(place := style.get(name), float)
        and (place <= _AWAY or (position == "fixed" and place >= size))
        for name, size in (("left", 1280), ("top", 800))
    )
