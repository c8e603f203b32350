"""Style sheets, as far as they decide whether something is shown, and on which line of the text.

Only declarations that can hide an element or break a line are kept. Syntax errors are recovered
from as browsers do; what is not understood is passed over, never raised.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from errands.turk.dom.media import media_matches

__all__ = ["CHECKED", "Declaration", "Rule", "StyleSheet", "parse_declarations", "parse_sheet"]

CHECKED: Final = "errands-checked"
"""Attribute that stands for `:checked` while rules are matched: state is not in the markup."""
_LIMIT: Final = 20_000
"""Rules of one sheet that are read."""
_LONGEST: Final = 2_000
"""Characters of a selector; no browser's page needs as many."""
_MOST_NESTED: Final = 1_000_000
"""Characters of selectors that the nested rules of one sheet may add up to."""
_DEEPEST: Final = 40
"""Brackets of a selector."""

_DISPLAYS: Final = frozenset(
    "none contents block inline inline-block flow flow-root list-item flex inline-flex grid "
    "inline-grid table inline-table table-row table-cell table-row-group table-header-group "
    "table-footer-group table-column table-column-group table-caption ruby ruby-text ruby-base "
    "math -webkit-box -webkit-inline-box -webkit-flex -webkit-inline-flex run-in".split()
)
_OVERFLOWS: Final = frozenset("visible hidden clip scroll auto overlay".split())
_GLOBAL: Final = frozenset("inherit initial unset revert revert-layer".split())
_WORDS: Final[dict[str, frozenset[str]]] = {
    "display": _DISPLAYS,
    "visibility": frozenset({"visible", "hidden", "collapse"}),
    "position": frozenset("static relative absolute fixed sticky -webkit-sticky".split()),
    "overflow-x": _OVERFLOWS,
    "overflow-y": _OVERFLOWS,
    "float": frozenset("none left right inline-start inline-end".split()),
    "white-space": frozenset("normal nowrap pre pre-wrap pre-line break-spaces".split()),
}
_LENGTHS: Final = frozenset("width height max-width max-height left top margin-left".split())
_EDGES: Final = frozenset("padding border".split())
"""Shorthands that give even an empty box a size."""
_PROPERTIES: Final = frozenset(
    [*_WORDS, *_LENGTHS, *_EDGES, "opacity", "overflow", "appearance", "-webkit-appearance"]
)
_DECIDING: Final = frozenset({"display", "visibility", "opacity", "float", "white-space"})
_MENTIONS = re.compile(
    r"display|visibility|opacity|width|height|overflow|position|left|top|appear|float|white", re.I
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?")
_UNITS: Final = {
    "": 0.0, "px": 1.0, "em": 16.0, "rem": 16.0, "pt": 4 / 3, "%": 0.0, "vw": 12.8, "vh": 8.0,
    "ex": 8.0, "ch": 8.0, "cm": 37.8, "mm": 3.78, "in": 96.0, "pc": 16.0,
}  # fmt: skip

_COMMENT_OR_STRING = re.compile(
    r"""/\*.*?(?:\*/|\Z)|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|<!--|-->""", re.S
)
_SIGNIFICANT = re.compile(r"""\"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|\\.|[{}()\[\];,]""", re.S)
_AT_RULE = re.compile(r"\s*+@")
_CLOSERS: Final = {"(": ")", "[": "]", "{": "}"}
_STATE: Final = (CHECKED, "[value", "[checked", "[selected", ":placeholder-shown", ":empty")
_IMPORTANT = re.compile(r"!\s*important\s*$", re.I)
_IDENT: Final = r"-?(?:[A-Za-z_\u0080-\U0010ffff]|\\.)(?:[\w\-\u0080-\U0010ffff]|\\.)*|--[\w\-]+"
_SIMPLE = re.compile(
    rf"(#)({_IDENT}|[\w-]+)|(\.)({_IDENT})|(\[)[^\]]*+(?:\]|\Z)|(::?)({_IDENT})|({_IDENT})|\*"
)
_BARE_STEP = re.compile(r"(?:^|(?<=[\s>+~]))(?=:)")
_PSEUDO = re.compile(rf"(::?)({_IDENT})", re.I)

_NEVER: Final = frozenset(
    "hover focus active focus-within focus-visible visited target target-within fullscreen modal "
    "popover-open autofill -webkit-autofill user-invalid user-valid playing picture-in-picture "
    "-webkit-full-screen indeterminate".split()
)
"""States of nothing on a page that nobody has touched."""
_ATTENTION = re.compile(r":(?:hover|focus|active)", re.I)
_KNOWN: Final = frozenset(
    "checked disabled enabled required optional read-only read-write empty root first-child "
    "last-child only-child first-of-type last-of-type only-of-type nth-child nth-last-child "
    "nth-of-type nth-last-of-type not is where has link any-link placeholder-shown".split()
)
_VALID_ONLY: Final = frozenset(
    "valid invalid in-range out-of-range lang dir default defined host scope matches "
    "-webkit-any".split()
)
"""Pseudo-classes of browsers that cannot be matched here: the selector alone is left out."""
_ELEMENTS: Final = frozenset("before after first-line first-letter".split())


class Declaration(NamedTuple):
    property: str
    value: str | float
    important: bool


class Rule(NamedTuple):
    """One selector with its declarations."""

    source: str
    """The selector as it is written."""
    selector: str
    """As it is matched here."""
    specificity: tuple[int, int, int]
    needs: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    """Ids, classes and tags without which nothing can match, in lower case."""
    declarations: tuple[Declaration, ...]
    deciding: bool
    """Whether it hides, shows or breaks lines, whatever the sizes and places of boxes."""
    layered: bool
    stateful: bool
    """Whether it depends on what actions change."""


class StyleSheet(NamedTuple):
    rules: tuple[Rule, ...]
    imports: tuple[str, ...]
    boxes: bool
    """Whether a rule gives something no size or puts it off the page."""
    attentive: bool
    """Whether a rule shows or hides something under the mouse or the focus."""
    by_need: Mapping[str, tuple[int, ...]]
    """The places of rules by one thing each of them needs: an id, a class, else a tag; `""` where
    it is none."""


def _uncommented(text: str) -> str:
    return _COMMENT_OR_STRING.sub(lambda m: m[0] if m[0][0] in "\"'" else "", text)


def _blocks(text: str) -> Iterator[tuple[str, str | None]]:
    """Prelude and body of each rule, None for the body of an at-rule that has none."""
    start, body, prelude = 0, -1, ""
    at_rule = _AT_RULE.match(text) is not None
    stack: list[str] = []
    for match in _SIGNIFICANT.finditer(text):
        mark = match[0]
        if mark in _CLOSERS:
            if mark == "{" and not stack:
                prelude, body = text[start : match.start()].strip(), match.end()
            stack.append(_CLOSERS[mark])
        elif stack:
            if mark == stack[-1]:
                stack.pop()
                if not stack and body >= 0 and mark == "}":
                    yield prelude, text[body : match.start()]
                    start, body = match.end(), -1
                    at_rule = _AT_RULE.match(text, start) is not None
        elif mark == ";" and at_rule:
            yield text[start : match.start()].strip(), None
            start = match.end()
            at_rule = _AT_RULE.match(text, start) is not None
    if body >= 0:
        yield prelude, text[body:]


def _split(text: str, mark: str) -> list[str]:
    """Parts between marks that are in no string, bracket or block."""
    if not any(each in text for each in "\"'([{\\"):
        return text.split(mark)
    parts: list[str] = []
    stack: list[str] = []
    start = 0
    for match in _SIGNIFICANT.finditer(text):
        character = match[0]
        if character in _CLOSERS:
            stack.append(_CLOSERS[character])
        elif stack and character == stack[-1]:
            stack.pop()
            if character == "}" and mark == ";" and not stack:  # a nested rule ends here
                start = match.end()
        elif character == mark and not stack:
            parts.append(text[start : match.start()])
            start = match.end()
    parts.append(text[start:])
    return parts


def _length(value: str) -> str | float | None:
    """Pixels; `other` for what needs layout; None for what is no length."""
    match = _NUMBER.match(value)
    if match is None:
        keyword = re.fullmatch(r"auto|none|-?[a-z-]*content|stretch|[a-z-]+\(.*\)", value, re.S)
        return None if keyword is None else "other"
    unit = value[match.end() :]
    number = float(match[0])
    if unit not in _UNITS:
        return "other" if unit.isalpha() else None
    if number == 0:
        return 0.0
    if unit == "":
        return None
    return "other" if unit == "%" else number * _UNITS[unit]


def _checked(name: str, value: str) -> list[tuple[str, str | float]]:
    """The longhands of a declaration, none where it is invalid."""
    if value in _GLOBAL:
        names = ["overflow-x", "overflow-y"] if name == "overflow" else [name]
        return [(each, value) for each in names]
    if name.endswith("appearance"):
        return [("appearance", "none" if value == "none" else "auto")]
    if name in _EDGES:
        empty = not re.search(r"[1-9]|thin|medium|thick", value) or "none" in value.split()
        return [(name, 0.0 if empty else "other")]
    if "var(" in value:  # not known here: as if it were not valid, which is found out too late
        if name in _LENGTHS:
            return [(name, "other")]
        return [(name, 1.0 if name == "opacity" else "unset")] if name != "overflow" else []
    if name in _LENGTHS:
        length = _length(value)
        return [] if length is None else [(name, length)]
    if name == "opacity":
        match = _NUMBER.match(value)
        if match is None or value[match.end() :] not in ("", "%"):
            return []
        return [(name, max(0.0, float(match[0])))]
    words = value.split()
    if name == "overflow":
        if not 1 <= len(words) <= 2 or not _OVERFLOWS.issuperset(words):
            return []
        return [("overflow-x", words[0]), ("overflow-y", words[-1])]
    if name == "display" and 1 < len(words) <= 3 and _DISPLAYS.issuperset(words):
        return [(name, "block")]
    return [(name, value)] if value in _WORDS[name] else []


@lru_cache(maxsize=4096)
def parse_declarations(text: str) -> tuple[Declaration, ...]:
    """What a style attribute or the body of a rule declares, of the properties that matter."""
    if len(text) > 100_000 or not _MENTIONS.search(text):
        return ()
    declarations: list[Declaration] = []
    for part in _split(_uncommented(text), ";"):
        name, colon, value = part.partition(":")
        name = name.strip().lower()
        if not colon or name not in _PROPERTIES:
            continue
        value = value.strip().lower()
        bare = _IMPORTANT.sub("", value).rstrip()
        declarations += [Declaration(*each, bare != value) for each in _checked(name, bare)]
    return tuple(declarations)


def _specificity(selector: str) -> tuple[int, int, int]:
    ids = classes = types = 0
    position = 0
    while match := _SIMPLE.search(selector, position):
        position = match.end()
        if match[1]:
            ids += 1
        elif match[3] or match[5]:
            classes += 1
        elif match[6]:
            name = match[7].lower()
            inside: tuple[int, int, int] | None = None
            if selector[position : position + 1] == "(":
                end = _closing(selector, position)
                if name in ("not", "is", "has", "matches"):
                    parts = _split(selector[position + 1 : end], ",")
                    inside = max(_specificity(part) for part in parts)
                elif name == "where":
                    inside = (0, 0, 0)
                position = end + 1
            if inside is not None:
                ids, classes, types = ids + inside[0], classes + inside[1], types + inside[2]
            elif match[6] == "::" or name in _ELEMENTS:
                types += 1
            else:
                classes += 1
        elif match[8]:
            types += 1
    return ids, classes, types


def _closing(text: str, start: int) -> int:
    depth = 0
    for index in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index
    return len(text)


def _needs(selector: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    flat, bare = "", selector
    while bare != flat:
        flat, bare = bare, re.sub(r"\([^()]*\)", "", bare)
    ids, classes, tags = (
        tuple(
            match[group].lower()
            for match in _SIMPLE.finditer(bare)
            if match[group] and "\\" not in match[group]
        )
        for group in (2, 4, 8)
    )
    return ids, classes, tags


def _prepared(selector: str) -> str | bool:
    """The selector as the engine takes it; False: matches no element or is not understood here;
    True: browsers refuse it, and with it the whole rule."""
    if not selector or len(selector) > _LONGEST or selector.count(" ") > 40:
        return True
    if selector.count("(") > _DEEPEST:
        return True
    if "&" in selector:
        return False
    if ":" not in selector:
        return selector
    if "::" in selector and re.search(r"::-moz|::-ms|::-o-", selector):
        return True
    skip = False
    for colons, raw in _PSEUDO.findall(re.sub(r"\[[^\]]*+(?:\]|\Z)", "", selector)):
        name = raw.lower()
        if name.startswith(("-moz-", "-ms-", "-o-")):
            return True
        if colons == "::" or name in _ELEMENTS or name in _VALID_ONLY:
            skip = True
        elif name not in _KNOWN and name not in _NEVER:
            return True
    if skip:
        return False

    def replaced(match: re.Match[str]) -> str:
        name = match[2].lower()
        if name == "checked":
            return f"[{CHECKED}]"
        return ":not(*)" if name in _NEVER else match[0]

    # The engine does not find a step that begins with a pseudo-class.
    return _BARE_STEP.sub("*", _PSEUDO.sub(replaced, selector))


class _Reader:
    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.imports: list[str] = []
        self.attentive = False
        self._nested_length = 0

    def read(self, text: str, *, layered: bool = False, depth: int = 0) -> None:
        for prelude, body in _blocks(text):
            if len(self.rules) >= _LIMIT:
                return
            if not prelude.startswith("@"):
                if body is not None:
                    self._rule(prelude, body, layered)
                continue
            name, _, rest = prelude[1:].partition(" ")
            name, paren, tail = name.lower().partition("(")
            rest = (paren + tail + " " + rest).strip()
            if body is None:
                if name == "import" and not self.rules:
                    self._import(rest)
            elif depth < 8 and (
                name == "layer"
                or (name == "media" and media_matches(rest))
                or (name == "supports" and not rest.lower().startswith("not"))
            ):
                self.read(body, layered=layered or name == "layer", depth=depth + 1)

    def _import(self, rest: str) -> None:
        match = re.match(r"""(?:url\(\s*)?["']?([^"')\s]+)["']?\s*\)?\s*(.*)""", rest, re.S)
        if match and media_matches(match[2]):
            self.imports.append(match[1])

    def _rule(self, prelude: str, body: str, layered: bool, depth: int = 0) -> None:
        if "{" in body and depth < 4:
            self._nested(prelude, body, layered, depth + 1)
        declarations = parse_declarations(body)
        if not declarations:
            return
        deciding = any(each.property in _DECIDING for each in declarations)
        parts = [part.strip() for part in _split(prelude, ",")]
        prepared = [_prepared(part) for part in parts]
        if True in prepared:
            return
        self.attentive = self.attentive or _ATTENTION.search(prelude) is not None
        for part, selector in zip(parts, prepared, strict=True):
            if not isinstance(selector, bool) and len(self.rules) < _LIMIT:
                stateful = any(mark in selector for mark in _STATE)
                specificity, needs = _specificity(part), _needs(selector)
                self.rules.append(
                    Rule(
                        part,
                        selector,
                        specificity,
                        needs,
                        declarations,
                        deciding,
                        layered,
                        stateful,
                    )
                )

    def _nested(self, parent: str, body: str, layered: bool, depth: int) -> None:
        """Rules inside a rule."""
        for before, inner in _blocks(body):
            prelude = _split(before, ";")[-1].strip()
            if inner is None or not prelude:
                continue
            if prelude.startswith("@"):
                if prelude.startswith("@media") and media_matches(prelude[6:]):
                    self._rule(parent, inner, layered, depth)
                continue
            own = f":is({parent})"
            parts = _split(prelude, ",")
            # Before it is written out: what would be refused for its length may be endless.
            lengths = [len(part) + max(1, part.count("&")) * len(own) for part in parts]
            self._nested_length += sum(lengths)
            if max(lengths) > 2 * _LONGEST or self._nested_length > _MOST_NESTED:
                continue
            parts = [
                part.replace("&", own) if "&" in part else f"{own} {part.strip()}" for part in parts
            ]
            self._rule(",".join(parts), inner, layered, depth)


@lru_cache(maxsize=256)
def parse_sheet(text: str) -> StyleSheet:
    """The rules of a style sheet that may hide or show something on a screen of 1280 x 800."""
    reader = _Reader()
    reader.read(_uncommented(text))
    boxes = any(
        (isinstance(d.value, float) and d.property in _LENGTHS and d.value <= 0)
        or d.property in ("appearance", "position")
        for rule in reader.rules
        for d in rule.declarations
    )
    by_need: dict[str, list[int]] = {}
    for place, rule in enumerate(reader.rules):
        by_need.setdefault(_need(rule), []).append(place)
    return StyleSheet(
        tuple(reader.rules),
        tuple(reader.imports),
        boxes,
        reader.attentive,
        {need: tuple(places) for need, places in by_need.items()},
    )


def _need(rule: Rule) -> str:
    """The rarest thing that a rule needs."""
    ids, classes, tags = rule.needs
    return f"#{ids[0]}" if ids else f".{classes[0]}" if classes else tags[0] if tags else ""
