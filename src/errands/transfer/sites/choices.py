"""The options of an item's page that are buttons: round ones of a form, or a list of swatches.

Only what is named as an option of the product counts, by the words that shops choose alike (`size`,
`swatch`, `product-options`): a page has many more buttons, of which most are about something else.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.prices import money
from errands.transfer.sites.markup import (
    MOST_BOXES,
    MOST_PARTS,
    attribute,
    text_of,
    upwards,
)

__all__ = ["shown_choices"]

_FEWEST: Final = 2
_MOST: Final = 60
_LONGEST: Final = 40
_CLOSE_BY: Final = 4
_NAMES: Final = {
    "size": re.compile(r"sizes?|taille|größe|groesse|talla|taglia|maat|rozmiar|velikost|tamanho"),
    "color": re.compile(r"colou?r(?:s|pattern)?|couleur|farbe|colore|kleur|kolor|barva|cor"),
    "style": re.compile(r"styles?|finish|material|length|width|capacity|storage|flavou?r|scent"),
}
"""What an option is called, where the page has no better word."""
_A_LIST: Final = re.compile(
    r"swatch|selector|select|list|options?|values|chips|buttons|picker|row|group|product|items"
)
_LISTS: Final = (
    'ul[class*="size" i], ul[class*="colo" i], ul[class*="swatch" i], ul[id*="size" i],'
    ' ol[class*="size" i], ul[id*="colo" i], div[class*="size" i], div[class*="colo" i],'
    ' div[class*="swatch" i], [role="radiogroup"], [role="listbox"]'
)  # fmt: skip
_PARTS: Final = ("li", "button", "a", "label")
_CLICKED: Final = "a, button, input, img, label"
_NOT_OPTIONS: Final = re.compile(
    r"guide|chart|info|image|font|text|title|back|country|search|sort|review|rating|filter|facet"
    r"|nav|menu|footer|header|gallery|thumb|related|recommend|similar|upsell|also|recently"
    r"|viewed|gender|payment|ship|deliver|warrant|plan|qty|quantity|language|currency|sign|login"
    r"|report|modal|popup|acsb|compare|minicart|bundle|recipient|card"
)
_OTHERS: Final = re.compile(
    r"related|(?<!not-)recommend|similar|upsell|also-|recently|review|footer|mini-?cart|bundle|filter|facet"
    r"|question|acsb|search"
)
_NOT_A_VALUE: Final = re.compile(
    r"select|choose|please|size guide|size chart|more|view|show|\+ ?\d|clear|reset|find|notify"
    r"|add ",
    re.IGNORECASE,
)
_GONE: Final = re.compile(
    r"\s{0,2}(?:[-–(] ?)?(?:out of stock|sold out|coming soon|unavailable|ausverkauft|épuisé"
    r"|agotado|esaurito|notify me|only \d{1,3} left).{0,60}$",
    re.IGNORECASE,
)
_LETTERS: Final = re.compile(r"[^\W\d_]{2}")
_WORD: Final = re.compile(r"[^\W\d_]+")


def shown_choices(tree: LexborHTMLParser) -> dict[str, tuple[str, ...]]:
    """Options by name, from the round buttons of forms, else from lists; nothing where unsure."""
    labels = {attribute(node, "for"): node for node in tree.css("label[for]")[: 2 * MOST_PARTS]}
    groups: dict[str, tuple[str, ...]] = {}
    for name, values in (*_round_buttons(tree, labels), *_swatches(tree)):
        distinct = tuple(dict.fromkeys(value for value in values if value))
        is_color = name != "color" or all(map(_LETTERS.search, distinct))
        if _FEWEST <= len(distinct) <= _MOST and is_color and not _is_count(distinct):
            groups.setdefault(name, distinct)
    return groups


def _round_buttons(
    tree: LexborHTMLParser, labels: dict[str, LexborNode]
) -> Iterator[tuple[str, list[str]]]:
    by_name: dict[str, list[LexborNode]] = {}
    for node in tree.css('input[type="radio"][name]')[:MOST_PARTS]:
        by_name.setdefault(attribute(node, "name"), []).append(node)
    for name, nodes in by_name.items():
        group = _name(name)
        if group and not _is_elsewhere(nodes[0]) and not _NOT_OPTIONS.search(name.lower()):
            yield group, [_label(node, labels) for node in nodes]


def _label(node: LexborNode, labels: dict[str, LexborNode]) -> str:
    """What is written at a round button."""
    label: LexborNode | None = labels.get(attribute(node, "id"))
    above = node.parent
    for _ in range(_CLOSE_BY):
        if label is not None or above is None:
            break
        label = above if above.tag == "label" else None
        above = above.parent
    said = text_of(label) or attribute(node, "aria-label") or attribute(node, "value")
    return _value(said)


def _swatches(tree: LexborHTMLParser) -> Iterator[tuple[str, list[str]]]:
    for box in tree.css(_LISTS)[: 4 * MOST_BOXES]:
        names = _names_of(box)
        own = f"{names} {attribute(box, 'aria-label')}".lower()
        group = _name(own)
        parts = list(box.iter()) if group and _A_LIST.search(own) else []
        if (
            _FEWEST <= len(parts) <= _MOST
            and len({part.tag for part in parts}) == 1
            and all(part.tag in _PARTS or part.css_first(_CLICKED) is not None for part in parts)
            and not _NOT_OPTIONS.search(names)
            and not _is_elsewhere(box)
        ):
            values = [_part_value(part) for part in parts]
            if all(len(value) <= _LONGEST for value in values) and not any(
                money(value).prices for value in values
            ):
                yield group, values


def _part_value(part: LexborNode) -> str:
    """What a swatch is called: its text, or what it says of itself or of its picture."""
    texts: Iterable[str] = (
        text_of(part), attribute(part, "title"), attribute(part, "aria-label"),
        attribute(part, "data-value"),
        *(attribute(one, "title") for one in part.css("a, button, span")[:3]),
        *(attribute(one, "alt") for one in part.css("img")[:1]),
    )  # fmt: skip
    return next((value for text in texts if (value := _value(text))), "")


def _value(said: str) -> str:
    said = _GONE.sub("", said).strip(" *:")
    return "" if _NOT_A_VALUE.match(said) or len(said) > _LONGEST else said


def _name(names: str) -> str:
    """Which option some names are of; empty where none of their words is one."""
    words = _WORD.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", names).lower())
    return next(
        (name for name, known in _NAMES.items() if any(known.fullmatch(word) for word in words)),
        "",
    )


def _names_of(node: LexborNode) -> str:
    return re.sub(
        r"(?<=[a-z])(?=[A-Z])", "-", f"{attribute(node, 'class')} {attribute(node, 'id')}"
    ).lower()


def _is_elsewhere(node: LexborNode) -> bool:
    return node.parent is not None and any(
        above.tag in ("header", "footer", "nav") or _OTHERS.search(_names_of(above))
        for above in upwards(node.parent)
    )


def _is_count(values: tuple[str, ...]) -> bool:
    return values == tuple(str(number) for number in range(1, len(values) + 1))
