"""eBay's pages: results and items, as they are laid out since 2022."""

import re
from typing import Final
from urllib.parse import quote, quote_plus, urlsplit

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.prices import Money, money, number_money
from errands.transfer.sites.address import check_host, is_within, path_of
from errands.transfer.sites.markup import (
    MOST_PARTS,
    absolute,
    all_texts,
    attribute,
    first_attribute,
    first_text,
    meta,
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

__all__ = ["Ebay"]

_IN_URL: Final = re.compile(r"/itm/(?:[^/?#]+/)?(\d{6,15})")
_SEARCH_PATH: Final = re.compile(r"/sch/(?:[^/]+/){0,3}i\.html")
_ITEM_PATH: Final = re.compile(r"/itm/(?:[^/]+/)?\d{6,15}/?")
_DESCRIPTIONS: Final = ("ebaydesc.com",)
_IN_FRAME: Final = re.compile(r"[?&]item=(\d{6,15})")
_ADVERT: Final = "shop on ebay"
_PRICE_BOXES: Final = (
    "div.mainPrice", ".x-price-primary", "#prcIsum", "#mm-saleDscPrc", "#prcIsum_bidPrice",
    ".vi-price",
)  # fmt: skip
_CELLS: Final = ".ux-labels-values__labels, .ux-labels-values__values"
_MOST_BOXES: Final = 30
_TITLE_NOISE: Final = re.compile(r"^details about\s+|\s*\|\s*ebay\s*$", re.I)
_NOT_A_VALUE: Final = re.compile(r"^\W*select\b", re.I)


class Ebay:
    """ebay.com, or one of its sisters."""

    name = "ebay"

    def __init__(self, host: str = "www.ebay.com") -> None:
        check_host(host, "www.ebay.co.uk")
        self.host = host
        # Descriptions by sellers are kept apart from the shop, on a domain of their own.
        self._shop = (host.removeprefix("www."),)
        self.hosts = self._shop + _DESCRIPTIONS

    def admits(self, kind: RequestKind, url: str) -> bool:
        path = path_of(url)
        if kind == "search":
            return is_within(url, self._shop) and bool(_SEARCH_PATH.fullmatch(path))
        if is_within(url, _DESCRIPTIONS):
            return True
        return is_within(url, self._shop) and bool(_ITEM_PATH.fullmatch(path))

    def search_url(self, query: str, page: int) -> str:
        return (
            f"https://{self.host}/sch/i.html?_nkw={quote_plus(query, errors='replace')}&_pgn={page}"
        )

    def item_url(self, id: str) -> str:
        return f"https://{self.host}/itm/{quote(id, safe='')}"

    def kind(self, html: str) -> PageKind:
        tree = parse(html)
        if tree.css_first(".s-item__wrapper, .s-item"):
            return "search"
        return "item" if tree.css_first(".x-item-title__mainTitle, #itemTitle") else ""

    def refusal(self, html: str) -> str:
        if len(html) > 200_000:
            return ""
        title = first_text(parse(html), "title", "h1")
        blocked = re.search(r"pardon our interruption|security measure|access denied", title, re.I)
        return title if blocked else ""

    def read_results(self, html: str, url: str = "") -> SiteResults:
        tree = parse(html)
        cards: list[SiteCard] = []
        left_out = no_id = 0
        entries = tree.css(".s-item__wrapper") or tree.css(".s-item")
        for entry in entries[:MOST_PARTS]:
            title = re.sub(
                "^new listing", "", first_text(entry, ".s-item__title"), flags=re.I
            ).strip()
            if title.lower() == _ADVERT:
                left_out += 1
                continue
            id = _id_in(entry)
            if not id:
                no_id += bool(title)
                left_out += not title
                continue
            price = money(first_text(entry, ".s-item__price"))
            cards.append(
                SiteCard(
                    id=id,
                    url=self.item_url(id),
                    title=title,
                    prices=price.prices,
                    currency=price.currency,
                    image=absolute(first_attribute(entry, [("img", "src")]), url),
                )
            )
        following = any(
            attribute(node, "aria-disabled") != "true" and attribute(node, "href")
            for node in tree.css("a.pagination__next")
        )
        claim = first_text(tree, ".srp-controls__count-heading")
        return site_results(
            cards,
            has_next=following,
            left_out=left_out,
            no_id=no_id,
            total=result_count(claim),
        )

    def read_item(self, html: str, url: str = "") -> SiteProduct:
        tree = parse(html)
        frame = first_attribute(tree, [("iframe#desc_ifr", "src")])
        id = _id_of(tree, url, frame)
        price, note = _price(tree)
        title = first_text(tree, "h1.x-item-title__mainTitle", ".x-item-title__mainTitle",
                           "#itemTitle") or meta(tree, "og:title")  # fmt: skip
        frame = absolute(frame, url or f"https://{self.host}/")
        frame = frame if is_within(frame, _DESCRIPTIONS) else ""
        description = first_text(tree, "#viTabs_0_desc", ".x-item-description-child")
        return with_missing(
            SiteProduct(
                id=id,
                url=self.item_url(id) if id else "",
                title=_TITLE_NOISE.sub("", title).strip(),
                prices=price.prices,
                currency=price.currency,
                price_note=note,
                rating=first_attribute(
                    tree,
                    [("span.reviews-star-rating", "title"),
                     ('[itemprop="ratingValue"]', "content")],
                )
                or first_text(tree, '[itemprop="ratingValue"]', ".ux-summary__start--rating"),
                bullets=_specifics(tree),
                description=description,
                image=absolute(
                    first_attribute(
                        tree,
                        [("#mainImgHldr img#icImg", "src"), ("img#icImg", "src"),
                         (".ux-image-carousel-item img", "src")],
                    )
                    or meta(tree, "og:image"),
                    url,
                ),
                options=_options(tree),
                category=_category(tree),
                details={"description": frame} if frame and not description else {},
            )
        )  # fmt: skip

    def read_detail(self, product: SiteProduct, part: str, html: str) -> SiteProduct:
        """The description, as its frame shows it."""
        if part != "description":
            return product
        tree = parse(html)
        said = first_text(tree, "#ds_div", "body")
        return with_missing(msgspec.structs.replace(product, description=said, details={}))


def _id_in(entry: LexborNode) -> str:
    for node in entry.css("a.s-item__link, a[href]")[:_MOST_BOXES]:
        if found := _IN_URL.search(attribute(node, "href")):
            return found[1]
    return ""


def _id_of(tree: LexborHTMLParser, url: str, frame: str) -> str:
    canonical = first_attribute(tree, [('link[rel="canonical"]', "href")])
    for link in (meta(tree, "og:url"), canonical, url):
        if found := _IN_URL.search(link):
            return found[1]
    held = _IN_FRAME.search(frame)
    return held[1] if held and urlsplit(frame).query else ""


def _price(tree: LexborHTMLParser) -> tuple[Money, str]:
    """The price, and `bid` where it is only the highest bid so far."""
    for selector in _PRICE_BOXES:
        for box in tree.css(selector)[:_MOST_BOXES]:
            found = money(first_text(box, '[itemprop="price"]') or text_of(box))
            if found.prices:
                return found, "bid" if _is_bid(box) else ""
    for node in tree.css('[itemprop="price"]')[:_MOST_BOXES]:
        currency = first_attribute(tree, [('[itemprop="priceCurrency"]', "content")])
        found = number_money(attribute(node, "content") or text_of(node), currency)
        if found.prices:
            return found, "bid" if _is_bid(node) else ""
    return Money(), ""


def _is_bid(node: LexborNode) -> bool:
    return "bid" in attribute(node, "id").lower() or bool(node.css_first('[id*="bidPrice"]'))


def _specifics(tree: LexborHTMLParser) -> tuple[str, ...]:
    """The item's specifics, `name: value` each; the text as a whole where it has no names."""
    lines: list[str] = []
    for table in tree.css(".x-about-this-item")[:3]:
        name = ""
        for cell in table.css(_CELLS)[:MOST_PARTS]:
            if "ux-labels-values__labels" in attribute(cell, "class").split():
                name = text_of(cell).rstrip(": ")
            elif said := _whole_value(cell):
                line = f"{name}: {said}" if name else said
                if line not in lines:
                    lines.append(line)
                name = ""
    if not lines:
        lines = all_texts(tree, ".x-about-this-item")[:1]
    return tuple(lines)


def _whole_value(cell: LexborNode) -> str:
    """A value; where only its beginning is shown, what unfolds."""
    unfolded = first_text(cell, '.hide [data-testid="text"]')
    return unfolded.split(" See all ")[0] if unfolded else text_of(cell)


def _options(tree: LexborHTMLParser) -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for box in tree.css("select.msku-sel, .x-msku__select-box, .x-sku select")[:_MOST_BOXES]:
        name = (attribute(box, "selectboxlabel") or attribute(box, "name")).rstrip(": ")
        values = [said for said in all_texts(box, "option") if not _NOT_A_VALUE.match(said)]
        if name and values:
            groups.setdefault(name, tuple(dict.fromkeys(values)))
    for box in tree.css(".x-sku, .x-msku-evo")[:_MOST_BOXES]:
        name = first_text(box, ".btn__label", ".x-msku__label-text").rstrip(": ")
        values = [
            said
            for said in all_texts(box, ".listbox__option .listbox__value")
            if not _NOT_A_VALUE.match(said)
        ]
        if name and values:
            groups.setdefault(name, tuple(dict.fromkeys(values)))
    return groups


def _category(tree: LexborHTMLParser) -> str:
    said = all_texts(tree, "nav.breadcrumbs li, #vi-VR-brumb-lnkLst li")
    kept = [step for step in said if not re.match(r"see more|back to|you are here", step, re.I)]
    return plain(" › ".join(step for step in kept if step not in ("›", ">", "|")))
