"""eBay's pages: results and items, as they are laid out from 2020 to 2026."""

import re
from typing import Final
from urllib.parse import quote, quote_plus, urlsplit

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.currencies import Habits
from errands.prices import Money, money, number_money
from errands.transfer.sites.address import check_host, is_within, path_of
from errands.transfer.sites.markup import (
    MOST_BOXES,
    MOST_PARTS,
    absolute,
    all_texts,
    attribute,
    canonical,
    first_attribute,
    first_match,
    first_text,
    meta,
    parse,
    plain,
    result_count,
    steps_of,
    text_of,
)
from errands.transfer.sites.record import (
    SiteCard,
    SiteProduct,
    SiteResults,
    site_results,
    with_missing,
)
from errands.transfer.sites.shown import host_habits
from errands.transfer.sites.site import PageKind, RequestKind, SiteReader

__all__ = ["Ebay"]

_IN_URL: Final = re.compile(r"/itm/(?:[^/?#]+/)?(\d{6,15})")
_SEARCH_PATH: Final = re.compile(r"/sch/(?:[^/]+/){0,3}i\.html")
_ITEM_PATH: Final = re.compile(r"/itm/(?:[^/]+/)?\d{6,15}/?")
_DESCRIPTIONS: Final = ("ebaydesc.com",)
_IN_FRAME: Final = re.compile(r"[?&]item=(\d{6,15})")
_NUMBER: Final = re.compile(r"(\d{9,15})")
_ADVERT: Final = "shop on ebay"
_NO_ITEMS: Final = ("123456", "123456789012")
"""What adverts in a list have for an id."""
_ENTRIES: Final = (
    ".s-item__wrapper", ".s-item", "li.s-card", ".s-card", ".su-item-card", ".brwrvr__item-card",
)  # fmt: skip
"""Entries of results: of 2022, 2025 and 2026, and of categories."""
_CARD_TITLES: Final = (
    ".s-item__title", ".s-card__title .su-styled-text", ".s-card__title",
    ".su-item-card__title .su-styled-text", ".su-item-card__title", ".bsig__title__text",
    '[role="heading"]',
)  # fmt: skip
_CARD_PRICES: Final = (
    ".s-item__price", ".s-card__price", ".su-item-card__price", ".bsig__price--displayprice",
)  # fmt: skip
_NEW: Final = re.compile(
    r"^(?:new listing|neues angebot|nuevo anuncio|nouvelle annonce|nuova inserzione"
    r"|nieuwe aanbieding|nowa oferta)|opens in a new window or tab$",
    re.IGNORECASE,
)
_PRICE_BOXES: Final = (
    "div.mainPrice", ".x-price-primary", "#prcIsum", "#mm-saleDscPrc", "#prcIsum_bidPrice",
    ".vi-price",
)  # fmt: skip
_CELLS: Final = ".ux-labels-values__labels, .ux-labels-values__values"
_FEW: Final = 5
_TITLE_NOISE: Final = re.compile(
    r"^(?:details about|details zu|dettagli su|détails sur|detalles (?:acerca )?de|szczegóły o)\s+"
    r"|\s?- (?:show original title|mostra il titolo originale|originaltitel anzeigen"
    r"|afficher le titre d'origine|ver título original|mostrar título original)$"
    r"|(?:(?<!\s)\s+)?\|\s*ebay\s*$",
    re.IGNORECASE,
)
_NO_STEP: Final = re.compile(
    r"see more|back to|you are here|ebay$|vedi altri|mehr (?:an)?sehen|zurück|voir plus|retour"
    r"|ver más|volver|home$|next$",
    re.IGNORECASE,
)
_NOT_A_VALUE: Final = re.compile(r"^\W*select\b", re.I)


class Ebay(SiteReader):
    """ebay.com, or one of its sisters."""

    name = "ebay"
    hosts: tuple[str, ...] = ()

    def __init__(self, host: str = "www.ebay.com") -> None:
        check_host(host, "www.ebay.co.uk")
        self.host = host
        # Descriptions by sellers are kept apart from the shop, on a domain of their own.
        self._shop = (host.removeprefix("www."),)
        self.hosts = self._shop + _DESCRIPTIONS
        self._habits = host_habits(host)

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
        if _entries(tree):
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
        entries = _entries(tree)
        following = any(
            attribute(node, "aria-disabled") != "true" and attribute(node, "href")
            for node in tree.css("a.pagination__next")
        )
        return site_results(
            (self._card(entry, url) for entry in entries[:MOST_PARTS]),
            has_next=following,
            total=result_count(
                first_text(tree, ".srp-controls__count-heading", ".srp-controls__count")
            ),
        )

    def _card(self, entry: LexborNode, url: str) -> SiteCard:
        title = _NEW.sub("", first_text(entry, *_CARD_TITLES)).strip()
        links = entry.css("a.s-item__link, a[href]")[:MOST_BOXES]
        id = first_match(_IN_URL, (attribute(node, "href") for node in links))
        id = id or first_match(_NUMBER, [attribute(entry, "data-listingid")])
        if title.lower() == _ADVERT or id in _NO_ITEMS:
            return SiteCard(id="")
        return SiteCard(
            id=id,
            url=self.item_url(id),
            title=title,
            **_card_price(entry, self._habits)._asdict(),
            image=absolute(
                first_attribute(entry, "data-defer-load", "img")
                or first_attribute(entry, "src", "img"),
                url,
            ),
        )

    def read_item(self, html: str, url: str = "") -> SiteProduct:
        tree = parse(html)
        frame = first_attribute(tree, "src", "iframe#desc_ifr")
        id = _id_of(tree, url, frame)
        price, note = _price(tree, self._habits)
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
                **price._asdict(),
                price_note=note,
                rating=first_attribute(tree, "title", "span.reviews-star-rating")
                or first_attribute(tree, "content", '[itemprop="ratingValue"]')
                or first_text(tree, '[itemprop="ratingValue"]', ".ux-summary__start--rating"),
                bullets=_specifics(tree),
                description=description,
                image=absolute(
                    first_attribute(
                        tree, "src", "#mainImgHldr img#icImg", "img#icImg",
                        ".ux-image-carousel-item img",
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


def _id_of(tree: LexborHTMLParser, url: str, frame: str) -> str:
    id = first_match(_IN_URL, (meta(tree, "og:url"), canonical(tree), url))
    framed = first_match(_IN_FRAME, [frame])
    return id or (framed if framed and urlsplit(frame).query else "")


def _entries(tree: LexborHTMLParser) -> list[LexborNode]:
    """The entries of a page of results, in the layout that has most of them."""
    found = [
        [node for node in tree.css(selector)[:MOST_PARTS] if first_text(node, *_CARD_TITLES)]
        for selector in _ENTRIES
    ]
    return max(found, key=len)


def _card_price(entry: LexborNode, habits: Habits) -> Money:
    """The price of an entry, whose ends may be in parts of their own: `$5.00`, `to`, `$9.00`."""
    for selector in _CARD_PRICES:
        said = [
            text_of(node)
            for node in entry.css(selector)[:MOST_BOXES]
            if "strikethrough" not in attribute(node, "class")
            and node.css_first(".strikethrough, .STRIKETHROUGH") is None
        ]
        price = money(" ".join(text for text in said if text), habits)
        if price.prices:
            return price
    return Money()


def _price(tree: LexborHTMLParser, habits: Habits) -> tuple[Money, str]:
    """The price, and `bid` where it is only the highest bid so far."""
    for selector in _PRICE_BOXES:
        for box in tree.css(selector)[:MOST_BOXES]:
            said = first_text(box, '[itemprop="price"]', ".x-price-primary") or text_of(box)
            price = money(said, habits)
            if price.prices:
                return price, "bid" if _is_bid(box) else ""
    for node in tree.css('[itemprop="price"]')[:MOST_BOXES]:
        currency = first_attribute(tree, "content", '[itemprop="priceCurrency"]')
        price = number_money(attribute(node, "content") or text_of(node), currency, habits)
        if price.prices:
            return price, "bid" if _is_bid(node) else ""
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
    for label in tree.css(".itemAttr td.attrLabels")[:MOST_PARTS]:  # As until 2021.
        name = text_of(label).rstrip(": ")
        value: LexborNode | None = label.next
        for _ in range(_FEW):
            if value is None or value.tag == "td":
                break
            value = value.next
        if name and (said := text_of(value)):
            lines.append(f"{name}: {said}")
    if not lines:
        lines = all_texts(tree, ".x-about-this-item")[:1]
    return tuple(lines)


def _whole_value(cell: LexborNode) -> str:
    """A value; where only its beginning is shown, what unfolds."""
    unfolded = first_text(cell, '.hide [data-testid="text"]')
    return unfolded.split(" See all ")[0] if unfolded else text_of(cell)


def _options(tree: LexborHTMLParser) -> dict[str, tuple[str, ...]]:
    boxes = [
        (attribute(box, "selectboxlabel") or attribute(box, "name"), all_texts(box, "option"))
        for box in tree.css("select.msku-sel, .x-msku__select-box, .x-sku select")[:MOST_BOXES]
    ]
    boxes += [
        (
            first_text(box, ".btn__label", ".x-msku__label-text"),
            all_texts(box, ".listbox__option .listbox__value"),
        )
        for box in tree.css(".x-sku, .x-msku-evo")[:MOST_BOXES]
    ]
    groups: dict[str, tuple[str, ...]] = {}
    for label, texts in boxes:
        name = label.rstrip(": ")
        values = [value for value in texts if not _NOT_A_VALUE.match(value)]
        if name and values:
            groups.setdefault(name, tuple(dict.fromkeys(values)))
    return groups


def _category(tree: LexborHTMLParser) -> str:
    said = steps_of(tree, "nav.breadcrumbs li, #vi-VR-brumb-lnkLst li")
    kept = [step for step in said if not _NO_STEP.match(step)]
    return plain(" › ".join(step for step in kept if step not in ("›", ">", "|")))
