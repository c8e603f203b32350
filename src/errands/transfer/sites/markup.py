"""Reading a page's parts with care: texts, attributes and addresses.

Everything here answers with something empty where a part is not there. Nothing of a page is ever
run: scripts and styles are dropped before a text is taken.
"""

import re
from collections.abc import Iterable, Iterator
from html import unescape
from typing import Final
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.nesting import shallow

__all__ = [
    "HIGHEST", "LONGEST_PAGE", "MOST_BOXES", "MOST_PARTS", "absolute", "all_texts", "attribute",
    "canonical", "drop_scripts", "first_attribute", "first_match", "first_text", "hyphenated",
    "meta", "parse", "plain", "result_count", "steps_of", "text_of", "upwards", "without_tags",
]  # fmt: skip

LONGEST_PAGE: Final = 12_000_000
"""Characters of the longest page that is read; the rest of a longer one is cut off."""
MOST_PARTS: Final = 500
"""Parts of one kind that are looked at: a page that nests its parts must not cost hours."""
MOST_BOXES: Final = 30
"""Parts of one kind that hold further parts."""
HIGHEST: Final = 25
"""Parts around a part that are looked at."""
_MOST_TRIED: Final = 10
_LONGEST_TEXT: Final = 20_000
_ENTITY: Final = re.compile(r"&(?:amp;)?(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]\w{1,30});")
_TAG: Final = re.compile(r"<(?:/|!--)?[a-zA-Z][^<>]{0,1000}>")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DROPPED: Final = "script, style, noscript, template"
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\uf8ff\ufeff\ufffc]")  # noqa: E501  # fmt: skip


def parse(html: str, *, keep_scripts: bool = False) -> LexborHTMLParser:
    """A page as a tree; without what is not for reading, unless scripts are data."""
    # A lone surrogate, as of a damaged file, cannot be handed to the parser.
    safe = shallow(html[:LONGEST_PAGE]).encode("utf-8", "replace").decode("utf-8")
    tree = LexborHTMLParser(safe or "<html></html>")
    if not keep_scripts:
        drop_scripts(tree)
    return tree


def drop_scripts(tree: LexborHTMLParser) -> None:
    """Leave out what is not for reading, once it was read as data."""
    for node in tree.css(_DROPPED):
        node.decompose()


def plain(text: str | None) -> str:
    """A text in one line, without characters that steer a terminal or hide."""
    if not text:
        return ""
    text = text[: 4 * _LONGEST_TEXT]
    if "&" in text:
        # What was escaped twice, as `Lock &amp;amp; Stock`, still has entities once it is parsed.
        text = _ENTITY.sub(_character, text)
    return " ".join(_CONTROL.sub(" ", text).split())[:_LONGEST_TEXT]


def _character(entity: re.Match[str]) -> str:
    """What an entity stands for, were it escaped once more."""
    return unescape(f"&{entity[1]};")


def without_tags(text: str) -> str:
    """A text in one line where it may be markup, as descriptions in data are.

    >>> without_tags("<p>Warm &amp; dry</p>"), without_tags("1 < 2")
    ('Warm & dry', '1 < 2')
    """
    if not _TAG.search(text):
        return plain(text)
    return text_of(parse(text[: 4 * _LONGEST_TEXT]).body)


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


def steps_of(box: LexborHTMLParser | LexborNode, selector: str = "li") -> list[str]:
    """The steps of a way to somewhere; what unfolds at a step is no step of it."""
    steps: list[str] = []
    within: set[int] = set()
    for node in box.css(selector)[:MOST_PARTS]:
        inner = node.css("li")[:MOST_PARTS]
        within.update(one.mem_id for one in inner if one.mem_id != node.mem_id)
        if node.mem_id not in within:
            has_more = any(one.mem_id != node.mem_id for one in inner)
            said = first_text(node, "a", "span") if has_more else text_of(node)
            steps.append(said)
    return [step for step in dict.fromkeys(steps) if step]


def attribute(node: LexborNode | None, name: str) -> str:
    """An attribute's value, as a text in one line."""
    return "" if node is None else plain(node.attributes.get(name))


def first_attribute(tree: LexborHTMLParser | LexborNode, name: str, *selectors: str) -> str:
    """The first attribute of that name at what one of the selectors finds, tried in order."""
    for selector in selectors:
        for node in tree.css(selector)[:_MOST_TRIED]:
            if said := attribute(node, name):
                return said
    return ""


def hyphenated(names: str) -> str:
    """Names as most shops spell theirs.

    >>> hyphenated("oldPrice Box")
    'old-price box'
    """
    return _CAMEL.sub("-", names).lower()


def upwards(node: LexborNode) -> Iterator[LexborNode]:
    """A part and what it is in, up to the whole page."""
    above: LexborNode | None = node
    for _ in range(HIGHEST):
        if above is None or above.tag in ("body", "html"):
            return
        yield above
        above = above.parent


def meta(tree: LexborHTMLParser, name: str) -> str:
    """The content of a `meta` element, by its property or name."""
    return first_attribute(tree, "content", f'meta[property="{name}"]', f'meta[name="{name}"]')


def canonical(tree: LexborHTMLParser) -> str:
    """The address that a page says it has."""
    return first_attribute(tree, "href", 'link[rel="canonical"]')


def first_match(pattern: re.Pattern[str], texts: Iterable[str]) -> str:
    """A pattern's group in the first text that has it."""
    return next((match[1] for text in texts if (match := pattern.search(text))), "")


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


_RESULTS: Final = (
    r"results?\b|ergebniss?e?n?\b|treffern?\b|résultats?\b|resultados?\b|risultat[io]\b|resultaten\b"
    r"|resultaat\b|resultater?\b|resultat\b|wynik(?:i|ów)?\b|výsledk(?:y|ů)\b|rezultate?\b"
    r"|sonuç\b|результат(?:а|ов)?\b|kết quả|hasil\b|件|개의?|个结果|筆"
)
_GOODS: Final = (
    r"products?\b|items?\b|artikeln?\b|produkten?\b|produits?\b|articles?\b|productos?\b"
    r"|artículos?\b|prodotti\b|articoli\b|produtos?\b|produkt(?:y|ów|er)?\b|varer\b|товар(?:а|ов)?\b"
    r"|ürün\b|sản phẩm|produk\b|tuotetta\b|termék\b"
)
_COUNTED: Final = r"(?<![\d.,])(\d{1,3}(?:[.,' ]\d{3}){1,4}|\d{1,12})\s?\+?\s?"
_COUNT: Final = re.compile(
    rf"{_COUNTED}(?:{_RESULTS})|(?:results|の結果):? ?(\d[\d.,]{{0,14}})", re.I
)
_COUNT_OF_GOODS: Final = re.compile(
    rf"(?:of|von|de|di|sur|van|z|из|found|there are|il y a|hay|showing)\b[^\d]{{0,20}}{_COUNTED}"
    rf"(?:{_GOODS})|{_COUNTED}(?:{_GOODS}) (?:found|gefunden|trouvés|encontrados|trovati)",
    re.IGNORECASE,
)


def result_count(text: str) -> int | None:
    """How many results a page claims to have.

    >>> result_count("1-48 of over 2,000 results for x"), result_count("many")
    (2000, None)
    >>> result_count("97.000+ Ergebnisse für apple"), result_count("Showing 1-20 of 48 products")
    (97000, 48)
    """
    found = _COUNT.search(text) or _COUNT_OF_GOODS.search(text)
    said = next((group for group in found.groups() if group), "") if found else ""
    return int(digits) if (digits := re.sub(r"\D", "", said)) else None
