"""Any shop whose pages carry schema.org product data, as JSON-LD or as microdata.

The proof that a third site is easy: no selector of any shop is in here. Where results are must be
told (`search`, an address with `{query}` and `{page}`); a page of results is an `ItemList`, or
just several products, each with its address.
"""

import re
from collections import Counter
from typing import Any, Final
from urllib.parse import quote_plus, unquote, urlsplit

import msgspec

from errands.errors import SettingError
from errands.prices import Money, money, number_money
from errands.transfer.sites.address import host_of, is_within, looks_only, path_of
from errands.transfer.sites.markup import (
    MOST_PARTS,
    absolute,
    canonical,
    first_attribute,
    meta,
    parse,
)
from errands.transfer.sites.markup import first_text as _first_text
from errands.transfer.sites.record import (
    SiteCard,
    SiteProduct,
    SiteResults,
    site_results,
    with_missing,
)
from errands.transfer.sites.schema_data import Thing, inside, kinds_of, things, value_text, values
from errands.transfer.sites.site import PageKind, RequestKind, SiteReader

__all__ = ["SAVED", "SchemaOrg"]

SAVED: Final = "https://saved.invalid/?q={query}&page={page}"
"""Where results are that somebody saved: nowhere, so that an item may be anywhere."""

_PRODUCT: Final = {"Product", "ProductGroup", "ProductModel", "IndividualProduct", "SomeProducts",
                   "Vehicle", "Book", "Car"}  # fmt: skip
_OPTIONS: Final = ("color", "size", "material", "pattern")
_SAID: Final = ("brand", "model", "color", "size", "material", "pattern", "width", "height",
                "depth", "weight")  # fmt: skip
_NOT_IN_ID: Final = re.compile(r"[^A-Za-z0-9._~-]+")
_LONGEST_ID: Final = 40


class SchemaOrg(SiteReader):
    """A shop that describes itself."""

    name = "schema.org"
    hosts: tuple[str, ...] = ()

    def __init__(self, search: str = "") -> None:
        host = host_of(search).removeprefix("www.")
        if search and (
            "{query}" not in search or not search.startswith(("http://", "https://")) or not host
        ):
            raise SettingError(
                f"--search-url {search!r}: expected an address with {{query}} in it, as"
                " 'https://shop.example/search?q={query}&page={page}'."
            )
        self.search = search
        self.hosts = (host,) if search not in ("", SAVED) else ()
        parts = [re.escape(part) for part in re.split(r"\{query\}|\{page\}", path_of(search))]
        self._search_path = re.compile("[^/]*".join(parts).rstrip("/") + "/?")

    def admits(self, kind: RequestKind, url: str) -> bool:
        if self.search == SAVED:
            return bool(absolute(url, ""))  # Nobody is asked.
        if not is_within(url, self.hosts):
            return False
        if kind == "search":
            return bool(self._search_path.fullmatch(path_of(url)))
        return looks_only(url)

    def search_url(self, query: str, page: int) -> str:
        if not self.search:
            raise SettingError(
                "The site schema.org must be told where results are: --search-url"
                " 'https://shop.example/search?q={query}&page={page}'."
            )
        return self.search.replace("{page}", str(page)).replace(
            "{query}", quote_plus(query, errors="replace")
        )

    def item_url(self, id: str) -> str:
        return ""

    def kind(self, html: str) -> PageKind:
        data = things(parse(html, keep_scripts=True))
        if len(_offered(data)) == 1:
            return "item"
        if len(_entries(data)) > 1 or any("ItemList" in kinds_of(each) for each in data):
            return "search"
        return "item" if _main(data) is not None else ""

    def read_results(self, html: str, url: str = "") -> SiteResults:
        tree = parse(html, keep_scripts=True)
        cards: list[SiteCard] = []
        left_out = no_id = 0
        data = things(tree)
        for entry in _entries(data):
            link = absolute(value_text(entry, "url", "@id"), url)
            id = _id(entry, link)
            if not link or not id:
                no_id += 1
                continue
            if self.hosts and not self.admits("item", link):
                left_out += 1
                continue
            cards.append(
                SiteCard(
                    id=id,
                    url=link,
                    title=value_text(entry, "name"),
                    **_price(entry)._asdict(),
                    image=absolute(value_text(entry, "image"), url),
                )
            )
        following = first_attribute(tree, "href", 'link[rel="next"]', 'a[rel="next"]')
        claims = [
            value_text(each, "numberOfItems") for each in data if "ItemList" in kinds_of(each)
        ]
        total = next((int(said) for said in claims if said.isdecimal() and len(said) < 13), None)
        return site_results(
            _distinct(cards), has_next=bool(following), left_out=left_out, no_id=no_id, total=total
        )

    def read_item(self, html: str, url: str = "") -> SiteProduct:
        tree = parse(html, keep_scripts=True)
        data = things(tree)
        product = _main(data) or {}
        for node in tree.css("script, style, noscript, template"):
            node.decompose()
        link = value_text(product, "url") or meta(tree, "og:url") or canonical(tree)
        link = absolute(link, url) or url
        price = _price(product)
        if not price.prices:
            price = number_money(
                meta(tree, "product:price:amount"), meta(tree, "product:price:currency")
            )
        options, images = _options(product)
        return with_missing(
            SiteProduct(
                id=_id(product, link),
                url=link,
                title=value_text(product, "name") or meta(tree, "og:title")
                or _first_text(tree, "h1", "title"),
                **price._asdict(),
                rating=_rating(product),
                bullets=_bullets(product),
                description=value_text(product, "description") or meta(tree, "og:description")
                or meta(tree, "description"),
                image=absolute(
                    value_text(product, "image", "thumbnailUrl") or meta(tree, "og:image"), url
                ),
                options=options,
                option_images=images,
                category=_category(data, product),
            )
        )  # fmt: skip


def _main(data: list[Thing]) -> Thing | None:
    """The product a page is about: one that stands for itself and can be bought, or the first."""
    products = [each for each in data if kinds_of(each) & _PRODUCT]
    return next(iter([*_offered(data), *products]), None)


def _offered(data: list[Thing]) -> list[Thing]:
    """Products with an offer or variants, but for those in a list and those like another one."""
    within: set[int] = set()
    for each in data:
        # What is inside of a thing inside another is inside that, too: once is enough.
        if id(each) not in within and ("ItemList" in (kinds := kinds_of(each)) or kinds & _PRODUCT):
            within.update(id(part) for part in inside(each))
    return [
        each
        for each in data
        if kinds_of(each) & _PRODUCT
        and id(each) not in within
        and (each.get("offers") or each.get("hasVariant"))
    ]


def _entries(data: list[Thing]) -> list[Thing]:
    """What a page of results lists: the parts of its lists, or its products."""
    listed: list[Thing] = []
    for each in data:
        if "ItemList" not in kinds_of(each) or "BreadcrumbList" in kinds_of(each):
            continue
        for element in values(each, "itemListElement")[: MOST_PARTS - len(listed)]:
            if isinstance(element, str):
                listed.append({"url": element})
            elif isinstance(element, dict):
                inner = next((one for one in values(element, "item") if isinstance(one, dict)), {})
                told = {name: element[name] for name in ("url", "name", "image") if name in element}
                if isinstance(element.get("item"), str):
                    told["url"] = element["item"]
                listed.append({**told, **inner})
    if listed:
        return listed
    products = [
        each for each in data if kinds_of(each) & _PRODUCT and (each.get("url") or each.get("@id"))
    ]
    return products[:MOST_PARTS]


def _id(thing: Thing, link: str) -> str:
    """A short name for a product: its number, or the last part of its address."""
    said = value_text(thing, "sku", "productID", "productGroupID", "mpn", "gtin13", "gtin")
    if not said and link:
        try:
            path = urlsplit(link).path.rstrip("/")
        except ValueError:
            path = ""
        said = unquote(path.rsplit("/", 1)[-1]).removesuffix(".html")
    return _NOT_IN_ID.sub("-", said).strip("-")[:_LONGEST_ID]


def _distinct(cards: list[SiteCard]) -> list[SiteCard]:
    """Two products of one name are told apart by their addresses."""
    by_id: dict[str, str] = {}
    told_apart: dict[tuple[str, str], str] = {}
    numbers: Counter[str] = Counter()
    distinct: list[SiteCard] = []
    for card in cards:
        name = card.id.lower()
        id = told_apart.get((name, card.url), card.id)
        while by_id.setdefault(id.lower(), card.url) != card.url:
            numbers[name] += 1
            id = f"{card.id}-{numbers[name] + 1}"
        told_apart[name, card.url] = id
        distinct.append(msgspec.structs.replace(card, id=id))
    return distinct


def _price(product: Thing) -> Money:
    """The price of a product, or the range over its offers and variants."""
    offers: list[Thing] = []
    for place in (product, *values(product, "hasVariant")):
        offers += [one for one in values(place, "offers") if isinstance(one, dict)]
    # An offer of offers: the price is in one of them.
    offers += [
        one for offer in list(offers) for one in values(offer, "offers") if isinstance(one, dict)
    ]
    found: list[float] = []
    currency = ""
    for offer in offers:
        inner = [one for one in values(offer, "priceSpecification") if isinstance(one, dict)]
        for place in (offer, *inner):
            letters = value_text(place, "priceCurrency") or value_text(offer, "priceCurrency")
            low, high = value_text(place, "lowPrice"), value_text(place, "highPrice")
            told = [low, high] if low else [value_text(place, "price")]
            amounts = [_amount(said, letters) for said in told if said]
            for amount in amounts:
                currency = currency or amount.currency
                if amount.currency in ("", currency):  # A range has one currency: the first.
                    found += amount.prices
            if amounts:
                break
    if not found:
        return Money()
    least, most = min(found), max(found)
    return Money((least,) if least == most else (least, most), currency)


def _amount(said: str, letters: str) -> Money:
    marked = money(said)
    return marked if marked.prices else number_money(said, letters)


def _rating(product: Thing) -> str:
    for rating in values(product, "aggregateRating"):
        if said := value_text(rating, "ratingValue"):
            best = value_text(rating, "bestRating") or "5"
            return f"{said} out of {best} stars"
    return ""


def _bullets(product: Thing) -> tuple[str, ...]:
    """What is said in single properties, `name: value` each."""
    lines = [f"{name}: {said}" for name in _SAID if (said := value_text(product, name))]
    for each in values(product, "additionalProperty"):
        name, said = value_text(each, "name"), value_text(each, "value")
        if said:
            lines.append(f"{name}: {said}" if name else said)
    for notes in values(product, "positiveNotes"):
        told = [{"name": note} if isinstance(note, str) else note
                for note in values(notes, "itemListElement")]  # fmt: skip
        lines += [said for note in told if (said := value_text(note, "name"))]
    return tuple(dict.fromkeys(lines))


def _options(product: Thing) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """How the variants of a product differ, and the pictures of those values."""
    groups: dict[str, dict[str, None]] = {}
    images: dict[str, str] = {}
    variants: list[Any] = [one for one in values(product, "hasVariant") if isinstance(one, dict)]
    named = [value_text({"by": by}, "by").rsplit("/", 1)[-1] for by in values(product, "variesBy")]
    for variant in variants:
        for name in dict.fromkeys([*(by for by in named if by), *_OPTIONS]):
            if said := value_text(variant, name):
                groups.setdefault(name, {})[said] = None
                if name == "color" and (picture := value_text(variant, "image")):
                    images.setdefault(said, absolute(picture, "https://"))
    varying = {name: tuple(said) for name, said in groups.items() if len(said) > 1 or name in named}
    return varying, {value: image for value, image in images.items() if image}


def _category(data: list[Thing], product: Thing) -> str:
    if said := value_text(product, "category"):
        return re.sub(r"\s*[>/|]\s*", " › ", said)
    for each in data:
        if "BreadcrumbList" in kinds_of(each):
            steps = [one for one in values(each, "itemListElement") if isinstance(one, dict)]
            names = [value_text(step, "name") or value_text(step, "item") for step in steps]
            return " › ".join(name for name in names if name and not name.startswith("http"))
    return ""
