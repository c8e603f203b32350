"""WebShop's own website, the original's and ours: the way back for what was trained on it.

Both templates are read: the older one, whose radios lead on by `onclick`, and today's, which have
a `data-url`; and our own pages, which keep the same classes.
"""

import json
import re
from typing import Final
from urllib.parse import unquote

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

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
    first_match,
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
from errands.transfer.sites.site import PageKind, RequestKind, SiteReader

__all__ = ["WebShopSite"]

_SESSION: Final = "abc"
_ITEM_PATH: Final = re.compile(r"/(?:item_page|item_sub_page|done)/[^/]+/([^/]+)/")
_DETAIL_PATH: Final = re.compile(
    r"/item_sub_page/[^/]+/[^/]+/[^/]+/[^/]+/(Description|Features)/", re.I
)
_LEADS_TO: Final = re.compile(r"location\.href\s*=\s*'([^']*)'")
_PICTURES: Final = re.compile(r"option_to_image\s*=\s*JSON\.parse\(`(\{[^`]*(?<=\}))`\)")
_PARTS: Final = {"description": "description", "features": "bullets"}


class WebShopSite(SiteReader):
    """A running WebShop."""

    name = "webshop"
    hosts: tuple[str, ...] = ()

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

    def read_results(self, html: str, url: str = "") -> SiteResults:
        tree = parse(html)
        entries = tree.css(".list-group-item")[:MOST_PARTS]
        results = site_results(
            (self._card(entry, url or self.base) for entry in entries),
            has_next=any(text_of(node) == "Next >" for node in tree.css("button")),
            total=result_count(" ".join(all_texts(tree, "h1, h3"))),
        )
        return results if results.cards else msgspec.structs.replace(results, has_next=False)

    def _card(self, entry: LexborNode, base: str) -> SiteCard:
        link = first_attribute(entry, "href", "a.product-link")
        id = first_text(entry, "a.product-link") or unquote(first_match(_ITEM_PATH, [link]))
        url = absolute(link, base)
        return SiteCard(
            id=id,
            url=url if self.admits("item", url) else self.item_url(id),
            title=first_text(entry, ".product-title"),
            **money(first_text(entry, ".product-price"))._asdict(),
            image=absolute(first_attribute(entry, "src", "img"), base),
        )

    def read_item(self, html: str, url: str = "") -> SiteProduct:
        tree = parse(html)
        base = url or self.base
        links = [attribute(node, "action") for node in tree.css("form")]
        links += [attribute(node, "data-url") for node in tree.css("input[type=radio]")]
        links += [attribute(node, "onclick") for node in tree.css("input[type=radio]")]
        id = unquote(first_match(_ITEM_PATH, [*links, url]))
        options, option_links = _options(tree, base)
        said = [
            text_of(node) for node in tree.css("h4, .price, .rating, .product-price")[:MOST_PARTS]
        ]
        price = next((money(text) for text in said if text.startswith("Price:")), money(""))
        rating = next((text for text in said if text.startswith("Rating:")), "")
        details = {
            _PARTS[match[1].lower()]: absolute(link, base)
            for link in links
            if (match := _DETAIL_PATH.search(link))
        }
        return with_missing(
            SiteProduct(
                id=id,
                url=self.item_url(id) if id else "",
                title=first_text(tree, ".heading h1", "h2:not([id])", ".product-title"),
                **price._asdict(),
                rating=rating.removeprefix("Rating:").strip(),
                image=absolute(first_attribute(tree, "src", "#product-image"), base),
                options=options,
                option_images=_pictures(html),
                option_links=option_links,
                details={part: link for part, link in details.items() if self.admits("item", link)},
            )
        )

    def read_detail(self, product: SiteProduct, part: str, html: str) -> SiteProduct:
        said = tuple(all_texts(parse(html), ".product-info"))
        if part not in _PARTS.values():
            return with_missing(product)
        left = {name: link for name, link in product.details.items() if name != part}
        value = plain(" ".join(said)) if part == "description" else said
        return with_missing(msgspec.structs.replace(product, details=left, **{part: value}))


def _options(
    tree: LexborHTMLParser, base: str
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    groups: dict[str, dict[str, None]] = {}
    links: dict[str, str] = {}
    for node in tree.css("input[type=radio]")[:MOST_PARTS]:
        name, value = attribute(node, "name"), attribute(node, "value")
        if not name or not value:
            continue
        groups.setdefault(name, {})[value] = None
        clicked = _LEADS_TO.search(node.attributes.get("onclick") or "")
        link = attribute(node, "data-url") or (clicked[1] if clicked else "")
        if link := absolute(link, base):
            links.setdefault(value, link)
    return {name: tuple(values) for name, values in groups.items()}, links


def _pictures(html: str) -> dict[str, str]:
    """The pictures of option values: the page keeps them as data in its script."""
    try:
        images = json.loads(first_match(_PICTURES, [html]) or "{}")
    except (ValueError, RecursionError):
        return {}
    pairs = images.items() if isinstance(images, dict) else ()
    links = {value: absolute(image, "https://") for value, image in pairs if isinstance(image, str)}
    return {value: link for value, link in links.items() if link}
