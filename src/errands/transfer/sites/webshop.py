"""WebShop's own website, the original's and ours: the way back for what was trained on it.

Both templates are read: the older one, whose radios lead on by `onclick`, and today's, which have
a `data-url`; and our own pages, which keep the same classes.
"""

import json
import re
from typing import Final
from urllib.parse import unquote

import msgspec
from selectolax.lexbor import LexborHTMLParser

from errands.errors import SettingError
from errands.prices import money
from errands.shop.navigation import ITEM, RESULTS
from errands.shop.urls import Address, build
from errands.transfer.sites.address import host_of, is_within, path_of
from errands.transfer.sites.markup import (
    MOST_PARTS,
    absolute,
    all_texts,
    attribute,
    first_attribute,
    first_text,
    parse,
    plain,
    result_count,
    text_of,
)
from errands.transfer.sites.record import (
    SiteCard,
    SiteProduct,
    SiteResults,
    site_results,
    with_missing,
)
from errands.transfer.sites.site import PageKind, RequestKind

__all__ = ["WebShopSite"]

_SESSION: Final = "abc"
_ITEM_PATH: Final = re.compile(r"/(?:item_page|item_sub_page|done)/[^/]+/([^/]+)/")
_DETAIL_PATH: Final = re.compile(
    r"/item_sub_page/[^/]+/[^/]+/[^/]+/[^/]+/(Description|Features)/", re.I
)
_LEADS_TO: Final = re.compile(r"location\.href\s*=\s*'([^']*)'")
_PICTURES: Final = re.compile(r"option_to_image\s*=\s*JSON\.parse\(`(\{.*?\})`\)", re.DOTALL)
_PARTS: Final = {"description": "description", "features": "bullets"}


class WebShopSite:
    """A running WebShop."""

    name = "webshop"

    def __init__(self, base: str = "http://127.0.0.1:8000") -> None:
        if "://" not in base:
            base = f"http://{base}"
        host = host_of(base)
        if not host:
            raise SettingError(f"--host {base!r}: expected an address, as http://127.0.0.1:8000.")
        self.base = base.rstrip("/")
        self.hosts = (host,)

    def admits(self, kind: RequestKind, url: str) -> bool:
        path, own = path_of(url), path_of(self.base)
        if not is_within(url, self.hosts) or not path.startswith(own):
            return False
        path = path.removeprefix(own)
        if kind == "search":
            return path.startswith("/search_results/")
        return path.startswith("/item_page/") or bool(_DETAIL_PATH.match(path))

    def search_url(self, query: str, page: int) -> str:
        return self.base + build(Address(RESULTS, _SESSION, query, page))

    def item_url(self, id: str) -> str:
        return self.base + build(Address(ITEM, _SESSION, "", 1, id.upper()))

    def kind(self, html: str) -> PageKind:
        tree = parse(html)
        if tree.css_first("a.product-link, .searched-product"):
            return "search"
        if tree.css_first("#product-image, input[type=radio]"):
            return "item"
        return "detail" if tree.css_first(".product-info") else ""

    def refusal(self, html: str) -> str:
        return ""

    def read_results(self, html: str, url: str = "") -> SiteResults:
        tree = parse(html)
        cards: list[SiteCard] = []
        left_out = no_id = 0
        for entry in tree.css(".list-group-item")[:MOST_PARTS]:
            link = first_attribute(entry, [("a.product-link", "href")])
            id = first_text(entry, "a.product-link") or _id_in([link])
            title = first_text(entry, ".product-title")
            if not id:
                no_id += bool(title)
                left_out += not title
                continue
            price = money(first_text(entry, ".product-price"))
            told = absolute(link, url or self.base)
            cards.append(
                SiteCard(
                    id=id,
                    url=told if self.admits("item", told) else self.item_url(id),
                    title=title,
                    prices=price.prices,
                    currency=price.currency,
                    image=absolute(first_attribute(entry, [("img", "src")]), url or self.base),
                )
            )
        following = any(text_of(node) == "Next >" for node in tree.css("button"))
        claim = " ".join(all_texts(tree, "h1, h3"))
        return site_results(
            cards,
            has_next=following and bool(cards),
            left_out=left_out,
            no_id=no_id,
            total=result_count(claim),
        )

    def read_item(self, html: str, url: str = "") -> SiteProduct:
        tree = parse(html)
        base = url or self.base
        links = [attribute(node, "action") for node in tree.css("form")]
        links += [attribute(node, "data-url") for node in tree.css("input[type=radio]")]
        links += [attribute(node, "onclick") for node in tree.css("input[type=radio]")]
        id = _id_in([*links, url])
        options, option_links = _options(tree, base)
        said = [
            text_of(node) for node in tree.css("h4, .price, .rating, .product-price")[:MOST_PARTS]
        ]
        price = next((money(text) for text in said if text.startswith("Price:")), money(""))
        rating = next((text for text in said if text.startswith("Rating:")), "")
        details = {
            _PARTS[found[1].lower()]: absolute(link, base)
            for link in links
            if (found := _DETAIL_PATH.search(link))
        }
        return with_missing(
            SiteProduct(
                id=id,
                url=self.item_url(id) if id else "",
                title=first_text(tree, ".heading h1", "h2:not([id])", ".product-title"),
                prices=price.prices,
                currency=price.currency,
                rating=rating.removeprefix("Rating:").strip(),
                image=absolute(first_attribute(tree, [("#product-image", "src")]), base),
                options=options,
                option_images=_pictures(html),
                option_links=option_links,
                details={part: link for part, link in details.items() if self.admits("item", link)},
            )
        )

    def read_detail(self, product: SiteProduct, part: str, html: str) -> SiteProduct:
        said = tuple(all_texts(parse(html), ".product-info"))
        left = {name: link for name, link in product.details.items() if name != part}
        if part == "description":
            product = msgspec.structs.replace(
                product, description=plain(" ".join(said)), details=left
            )
        elif part == "bullets":
            product = msgspec.structs.replace(product, bullets=said, details=left)
        return with_missing(product)


def _id_in(links: list[str]) -> str:
    for link in links:
        if found := _ITEM_PATH.search(link):
            return unquote(found[1])
    return ""


def _options(
    tree: LexborHTMLParser, base: str
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    groups: dict[str, list[str]] = {}
    links: dict[str, str] = {}
    for node in tree.css("input[type=radio]")[:MOST_PARTS]:
        name, value = attribute(node, "name"), attribute(node, "value")
        if not name or not value:
            continue
        held = groups.setdefault(name, [])
        if value not in held:
            held.append(value)
        clicked = _LEADS_TO.search(node.attributes.get("onclick") or "")
        link = attribute(node, "data-url") or (clicked[1] if clicked else "")
        if link := absolute(link, base):
            links.setdefault(value, link)
    return {name: tuple(values) for name, values in groups.items()}, links


def _pictures(html: str) -> dict[str, str]:
    """The pictures of option values: the page keeps them as data in its script."""
    found = _PICTURES.search(html)
    try:
        held = json.loads(found[1]) if found else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(held, dict):
        return {}
    pairs = {
        value: absolute(image, "https://")
        for value, image in held.items()
        if isinstance(image, str)
    }
    return {value: image for value, image in pairs.items() if image}
