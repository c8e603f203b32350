"""The options that an item's page lets people choose, whatever shop it is of.

Nothing here knows a shop: what is a choice of the product, and what is one of the page, its names
tell (`size`, `sort`), in the languages of shops, and whether it goes into the cart with it.
"""

import re
from collections.abc import Iterator
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.prices import money
from errands.transfer.sites.markup import (
    MOST_BOXES,
    MOST_PARTS,
    attribute,
    hyphenated,
    text_of,
    upwards,
)

__all__ = ["shown_options"]

_LONGEST: Final = 80
_LONGEST_NAME: Final = 40
_NOT_AN_OPTION: Final = re.compile(
    r"qty|quantity|amount|menge|anzahl|quantit|cantidad|country|land\b|pays|state|province|currency"
    r"|devise|währung|lang|sprache|idioma|sort|order|filter|search|rating|review|month|year|day|date"
    r"|delivery|shipping|report|store|branch|location|page|categor|limit|warrant|reason|subject|wishlist"
    r"|comp\d|guide|chart|convert|\bslt|\bcat\b|navigation|menu|perpage|per_page|show|currencies|zip|postcode"
)
_AN_OPTION: Final = re.compile(
    r"\boptions?\b|varia|attribut|super|size|colou?r|taille|couleur|größe|groesse|farbe|talla|taglia|colore"
    r"|maat|kleur|rozmiar|kolor|velikost|barv|\bcor\b|tamanho|swatch|style|flavou?r|scent|material"
    r"|sku|pack|finish|length|width|edition|model|storage|capacity|размер|цвет|尺寸|颜色|サイズ|カラー"
)
_CART: Final = re.compile(r"cart|basket|bag\b|panier|warenkorb|carrito|carrinho|carrello|kosik|buy")
_PROMPT: Final = re.compile(
    r"please|choose|select|pick|bitte|wählen|auswahl|choisi|sélection|veuillez|elige|seleccion"
    r"|escoge|scegli|selezion|kies|selecteer|maak|wybierz|vyberte|zvolte|izberi|selecione|escolha"
    r"|выбер|seç|chọn|pilih|all\b|any\b|none\b|first|zuerst|d'abord|primero|default title$",
    re.IGNORECASE,
)
_NOISE: Final = re.compile(
    r"\s{0,2}[-–(]\s?(?:out of stock|sold out|ausverkauft|épuisé|agotado|unavailable|esaurito"
    r"|in stock|em stock|en stock|auf lager|disponible|disponibile|na skladě|op voorraad"
    r"|\d{1,4} (?:left|in stock|available|verfügbar)).{0,20}$",
    re.IGNORECASE,
)
_IN_BRACKETS: Final = re.compile(r"\s{0,2}\(([^()]{1,40})\)$")
_MORE_OR_LESS: Final = re.compile(r"[+-] ?\D{0,4}\d")


def shown_options(tree: LexborHTMLParser) -> dict[str, tuple[str, ...]]:
    """The options that an item's page lets people choose in its `<select>` elements."""
    groups: dict[str, tuple[str, ...]] = {}
    for box in tree.css("select")[:MOST_BOXES]:
        name = _name_of(tree, box)
        names = _names(box, name)
        if not name or _is_elsewhere(box) or _NOT_AN_OPTION.search(names):
            continue
        if not (_AN_OPTION.search(names) or _is_for_the_cart(box)):
            continue
        values = [
            said
            for entry in box.css("option")[:MOST_PARTS]
            if (said := _option_value(text_of(entry), name)) and not _PROMPT.match(said)
        ]
        values = _without_common(
            [value for value in dict.fromkeys(values) if value and len(value) <= _LONGEST]
        )
        if values and not _is_count(values):
            # Shopify's `id` is of a product and all its options together.
            groups.setdefault("variant" if name == "id" else name, tuple(values))
    return groups


def _option_value(text: str, name: str) -> str:
    """What an entry is, without what it costs more, whether it is there, and the group's name."""
    said = _NOISE.sub("", text.strip("-–—.:*… "))
    costs = _IN_BRACKETS.search(said)
    if costs and (money(costs[1]).prices or _MORE_OR_LESS.match(costs[1])):
        said = said[: costs.start()]
    if money(said).prices and not re.search(r"[^\W\d_]{3}", said):
        return ""  # Only what it costs.
    before, mark, value = said.partition(": ")
    return value.strip() if mark and before.casefold() == name.casefold() else said


def _without_common(values: list[str]) -> list[str]:
    """Values without what all of them begin with, as `Size: `."""
    before = values[0].partition(": ")[0] + ": " if values else ""
    is_common = len(values) > 1 and all(value.startswith(before) for value in values)
    return [value.removeprefix(before) for value in values] if is_common else values


def _is_for_the_cart(box: LexborNode) -> bool:
    """Whether what is chosen goes into the cart with the product."""
    form = next((above for above in upwards(box) if above.tag == "form"), None)
    names = " ".join(attribute(form, name) for name in ("action", "class", "id"))
    return bool(_CART.search(names.lower()))


def _names(box: LexborNode, name: str) -> str:
    parts = (name, attribute(box, "name"), attribute(box, "id"), attribute(box, "class"))
    return hyphenated(" ".join(parts))


def _is_count(values: list[str]) -> bool:
    """1, 2, 3 ...: how many of it."""
    return len(values) > 1 and values == [str(number) for number in range(1, len(values) + 1)]


def _is_elsewhere(box: LexborNode) -> bool:
    for above in upwards(box):
        if above.tag in ("header", "footer", "nav"):
            return True
        names = f"{attribute(above, 'class')} {attribute(above, 'id')}".lower()
        if above is not box and re.search(r"footer|header|search|newsletter|review", names):
            return True
    return False


def _name_of(tree: LexborHTMLParser, box: LexborNode) -> str:
    """What a group is called: its label, or what it says of itself."""
    id = attribute(box, "id")
    labels: Iterator[str] = (
        text_of(label)
        for label in tree.css("label[for]")[:MOST_PARTS]
        if id and attribute(label, "for") == id
    )
    said = next((text for text in labels if text), "") or attribute(box, "aria-label")
    if not said:
        named = attribute(box, "data-attribute_name") or attribute(box, "name")
        for before in ("attribute_", "options[", "option_", "dropdown_selected_", "pa_"):
            named = named.removeprefix(before)
        said = named.removesuffix("]").removesuffix("_name").replace("_", " ")
        if not said and _AN_OPTION.search(id.lower()):
            said = " ".join(
                word
                for word in id.rstrip("0123456789-_").replace("-", " ").split()
                if word.lower() not in ("select", "product", "selector", "dropdown")
            )
        if any(mark in said for mark in "[]{}$:") or not any(map(str.isalpha, said)):
            said = ""
    name = said.split(":")[0].rstrip(" *").strip()
    return name if len(name) <= _LONGEST_NAME else ""
