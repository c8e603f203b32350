"""Reading a page's parts with care: texts, attributes, addresses and prices.

Everything here answers with something empty where a part is not there. Nothing of a page is ever
run: scripts and styles are dropped before a text is taken.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

__all__ = [
    "LONGEST_PAGE", "MOST_PARTS", "Money", "absolute", "all_texts", "attribute", "first_attribute",
    "first_text", "meta", "money", "number_money", "parse", "plain", "result_count", "text_of",
]  # fmt: skip

LONGEST_PAGE: Final = 12_000_000
"""Characters of the longest page that is read; the rest of a longer one is cut off."""
MOST_PARTS: Final = 500
"""Parts of one kind that are looked at: a page that nests its parts must not cost hours."""
_MOST_TRIED: Final = 10
_LONGEST_TEXT: Final = 20_000
_DROPPED: Final = "script, style, noscript, template"
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffc]")  # noqa: E501  # fmt: skip


class Money(NamedTuple):
    """One price or the two ends of a range, and their currency."""

    prices: tuple[float, ...] = ()
    currency: str = ""


def parse(html: str, *, keep_scripts: bool = False) -> LexborHTMLParser:
    """A page as a tree; without what is not for reading, unless scripts are data."""
    # A lone surrogate, as of a damaged file, cannot be handed to the parser.
    safe = html[:LONGEST_PAGE].encode("utf-8", "replace").decode("utf-8")
    tree = LexborHTMLParser(safe or "<html></html>")
    if not keep_scripts:
        for node in tree.css(_DROPPED):
            node.decompose()
    return tree


def plain(text: str | None) -> str:
    """A text in one line, without characters that steer a terminal or hide."""
    if not text:
        return ""
    return " ".join(_CONTROL.sub(" ", text[: 4 * _LONGEST_TEXT]).split())[:_LONGEST_TEXT]


def text_of(node: LexborNode | None, separator: str = " ") -> str:
    """What a part of the page says."""
    if node is None:
        return ""
    return plain(node.text(separator=separator))


def first_text(tree: LexborHTMLParser | LexborNode, *selectors: str) -> str:
    """The first text that one of the selectors finds, tried in order."""
    for selector in selectors:
        for node in tree.css(selector)[:_MOST_TRIED]:
            if said := text_of(node):
                return said
    return ""


def all_texts(tree: LexborHTMLParser | LexborNode, selector: str) -> list[str]:
    return [said for node in tree.css(selector)[:MOST_PARTS] if (said := text_of(node))]


def attribute(node: LexborNode | None, name: str) -> str:
    """An attribute's value, as a text in one line."""
    return "" if node is None else plain(node.attributes.get(name))


def first_attribute(tree: LexborHTMLParser | LexborNode, pairs: Iterable[tuple[str, str]]) -> str:
    """The first attribute that is there, of (selector, name) pairs tried in order."""
    for selector, name in pairs:
        for node in tree.css(selector)[:_MOST_TRIED]:
            if said := attribute(node, name):
                return said
    return ""


def meta(tree: LexborHTMLParser, name: str) -> str:
    """The content of a `meta` element, by its property or name."""
    return first_attribute(
        tree, ((f'meta[property="{name}"]', "content"), (f'meta[name="{name}"]', "content"))
    )


def absolute(link: str, base: str) -> str:
    """An address as a whole; empty where it is none that could be opened.

    >>> absolute("/dp/B01", "https://shop.example/s?k=x"), absolute("javascript:x()", "")
    ('https://shop.example/dp/B01', '')
    """
    try:
        joined = urljoin(base, link.strip()) if link else ""
        parts = urlsplit(joined)
        usable = parts.scheme in ("http", "https") and parts.hostname
    except ValueError:  # a bracket that is no address of the sixth version
        return ""
    return joined if usable else ""


_COUNT: Final = re.compile(
    r"(\d[\d.,]{0,14})\s?\+?\s?results|Total results: (\d{1,12})", re.IGNORECASE
)


def result_count(text: str) -> int | None:
    """How many results a page claims to have.

    >>> result_count("1-48 of over 2,000 results for x"), result_count("many")
    (2000, None)
    """
    found = _COUNT.search(text)
    return int(re.sub("[.,]", "", found[1] or found[2])) if found else None


_SYMBOLS: Final = {
    "$": "USD", "us $": "USD", "us$": "USD", "usd": "USD", "£": "GBP", "gbp": "GBP", "€": "EUR",
    "eur": "EUR", "¥": "JPY", "jpy": "JPY", "₹": "INR", "inr": "INR", "c $": "CAD", "ca$": "CAD",
    "cad": "CAD", "au $": "AUD", "a$": "AUD", "aud": "AUD", "chf": "CHF", "zł": "PLN",
    "kr": "SEK", "rs.": "INR",
}  # fmt: skip
_SYMBOL: Final = "|".join(re.escape(each) for each in sorted(_SYMBOLS, key=len, reverse=True))
_SPACED: Final = r"(?<!\d)(?<!\d[.,])\d{1,3}(?:[ \u00a0\u202f]\d{3}){1,4}(?:[.,]\d{1,2})?(?!\d)"
_NUMBER: Final = rf"(?:{_SPACED}|\d(?:[\d.,'’]{{0,18}}\d)?)"
_MONEY: Final = re.compile(
    rf"(?P<before>{_SYMBOL})\s?(?P<one>{_NUMBER})|(?P<two>{_NUMBER})\s?(?P<after>{_SYMBOL})",
    re.IGNORECASE,
)
_BARE: Final = re.compile(_NUMBER)
_MACHINE: Final = re.compile(r"[-+]?\d{1,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?")
_MINUS: Final = re.compile(r"(?:^|[\s(:])[-−]$")
_NEVER_SPACED: Final = ("USD", "GBP", "INR", "JPY", "AUD", "CAD")
"""Behind a sign of these, a space ends the number: `$20 300 sold`."""
_TO: Final = re.compile(r"\s*(?:to|-|–|—)\s*", re.IGNORECASE)
_LEAST: Final = 0.005
_HIGHEST: Final = 1e9


def money(text: str) -> Money:
    """The first price in a text, with the second end where it is a range.

    >>> money("$1,299.00"), money("US $5.00 to $20.50"), money("1.299,50 €"), money("free")
    (Money(prices=(1299.0,), currency='USD'), Money(prices=(5.0, 20.5), currency='USD'), \
Money(prices=(1299.5,), currency='EUR'), Money(prices=(), currency=''))
    """
    found = list(_MONEY.finditer(text[:2000]))
    at = next(
        (at for at, one in enumerate(found) if not _MINUS.search(text[: one.start()][-2:])), None
    )
    if at is None:
        return Money()
    first = found[at]
    currency = _SYMBOLS[(first["before"] or first["after"]).lower()]
    prices = [_written(first, currency)]
    if at + 1 < len(found) and _TO.fullmatch(text[first.end() : found[at + 1].start()]):
        prices.append(_written(found[at + 1], currency))
    usable = tuple(price for price in prices if price is not None)
    return Money(usable, currency) if usable else Money()


def _written(found: re.Match[str], currency: str) -> float | None:
    digits = found["one"] or found["two"]
    if found["one"] and currency in _NEVER_SPACED:
        digits = digits.split()[0]
    return _amount(digits, currency)


def number_money(text: str, currency: str) -> Money:
    """A price that is written without its currency, as attributes and data have it.

    What is a number to a machine is that number, its only mark a decimal point, as schema.org wants
    it; anything else is read as people write it.

    >>> number_money("12.500", "EUR").prices, number_money("1 299,00", "EUR").prices
    ((12.5,), (1299.0,))
    """
    said, letters = text[:200].strip(), currency.strip().upper()[:3]
    found = _BARE.search(said)
    if _MACHINE.fullmatch(said):
        price = _possible(float(said))
    elif found and not _MINUS.search(said[: found.start()].rstrip()[-2:]):
        price = _amount(found[0], letters)
    else:
        price = None
    return Money() if price is None else Money((price,), letters)


def _amount(digits: str, currency: str) -> float | None:
    """A number as people write it, thousands marked or not."""
    digits = re.sub(r"['’\s]", "", digits)
    last = max(digits.rfind("."), digits.rfind(","))
    if last >= 0:
        mark, behind = digits[last], len(digits) - last - 1
        both = "." in digits and "," in digits
        repeated = digits.count(mark) > 1
        # 1,299 is a thousand; 1.299 is one where the currency has a decimal point.
        thousand = behind == 3 and not both and (mark == "," or currency in ("EUR", "CHF"))
        if repeated or thousand:
            digits = digits.replace(mark, "")
        else:
            head = re.sub("[.,]", "", digits[:last])
            digits = f"{head}.{digits[last + 1 :]}"
    try:
        return _possible(float(digits))
    except ValueError:
        return None


def _possible(price: float) -> float | None:
    """A price that can be paid; None for less than nothing, for specks and for fortunes."""
    return price if price == 0 or _LEAST <= price < _HIGHEST else None
