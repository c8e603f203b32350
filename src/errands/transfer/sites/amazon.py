"""Amazon's pages: results and items, as they are laid out today and were ten years ago."""

import json
import re
from typing import Final
from urllib.parse import quote, quote_plus

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
    text_of,
)
from errands.transfer.sites.record import (
    SiteCard,
    SiteProduct,
    SiteResults,
    site_results,
    with_missing,
)
from errands.transfer.sites.shown import contradiction, host_habits
from errands.transfer.sites.site import PageKind, RequestKind, SiteReader

__all__ = ["Amazon"]

_RESULT: Final = '[data-component-type="s-search-result"]'
_OLD_RESULTS: Final = (".s-result-item[data-asin]", '[id^="result_"]', ".prod[name]")
"""Entries of results until 2018."""
_ID: Final = re.compile(r"[A-Za-z0-9]{4,20}")
_IN_URL: Final = re.compile(r"/(?:dp|gp/product)/([A-Za-z0-9]{10})")
_ITEM_PATH: Final = re.compile(r"(?:/[^/]+)?/(?:dp|gp/product)/[A-Za-z0-9]{4,20}(?:/ref=[^/]*)?/?")
_PRICE_BOXES: Final = (
    ".apexPriceToPay", ".priceToPay", "#corePriceDisplay_desktop_feature_div",
    "#corePrice_feature_div", "#corePrice_desktop", "#price_inside_buybox", "#newBuyBoxPrice",
    "#priceblock_dealprice", "#priceblock_saleprice", "#priceblock_ourprice", "#kindle-price",
    "#digital-button-price", "#buyNewSection .offer-price", "#newOfferAccordionRow .header-price",
    "#buyNewSection", "#tmmSwatches .swatchElement.selected .a-color-price",
    "#tmmSwatches .swatchElement.selected .slot-price", "#tmmSwatches .selected .a-color-price",
    "#actualPriceValue", "#buyingPriceValue", "#priceBlock .priceLarge", "#price .offer-price",
)  # fmt: skip
"""From today's pages to those of 2013; the last are of books, films and music."""
_OPTION_BOXES: Final = (
    "#softlinesTwister_feature_div", "#twister_feature_div", "#twister-plus-inline-twister",
)  # fmt: skip
_IN_QUOTES: Final = re.compile(r'"(https?://[^"]{1,500})"')
_OFFERS: Final = 'a[href*="/offer-listing/"]'
_LONGEST_BRAND: Final = 40
_REFUSAL: Final = re.compile(r"robot check|something went wrong|page not found", re.I)
_BEFORE_NAME: Final = re.compile("twister_|variation_|inline-twister-row-")
_AFTER_NAME: Final = re.compile(r"(?:eman_|\d++_)*+")
"""Backwards, as it is read from a name's end."""
_NOT_A_BULLET: Final = re.compile(
    r"^(›|see more|about this item$|make sure this fits|enter your model number"
    r"|clicca qui per verificare|inserisci il tuo numero|gib deine modellnummer"
    r"|geben sie ihr modell|dieser artikel passt|saisissez votre numéro|cela correspond"
    r"|introduce tu número|comprueba que)",
    re.IGNORECASE,
)


class Amazon(SiteReader):
    """amazon.com, or one of its sisters."""

    name = "amazon"
    hosts: tuple[str, ...] = ()

    def __init__(self, host: str = "www.amazon.com") -> None:
        check_host(host, "www.amazon.co.uk")
        self.host = host
        self.hosts = (host.removeprefix("www."),)
        self._habits = host_habits(host)

    def admits(self, kind: RequestKind, url: str) -> bool:
        if not is_within(url, self.hosts):
            return False
        path = path_of(url)
        return path == "/s" if kind == "search" else bool(_ITEM_PATH.fullmatch(path))

    def search_url(self, query: str, page: int) -> str:
        return f"https://{self.host}/s?k={quote_plus(query, errors='replace')}&page={page}"

    def item_url(self, id: str) -> str:
        return f"https://{self.host}/dp/{quote(id, safe='')}"

    def kind(self, html: str) -> PageKind:
        tree = parse(html)
        if _entries(tree):
            return "search"
        return "item" if tree.css_first("#productTitle, #dp, #ppd") else ""

    def refusal(self, html: str) -> str:
        if len(html) > 200_000:
            return ""
        tree = parse(html)
        if tree.css_first('form[action*="validateCaptcha"], #captchacharacters'):
            return "a robot check"
        title = first_text(tree, "title")
        return title if _REFUSAL.search(title) else ""

    def read_results(self, html: str, url: str = "") -> SiteResults:
        tree = parse(html)
        following = any(
            "s-pagination-disabled" not in attribute(node, "class")
            for node in tree.css("a.s-pagination-next, li.a-last a, a#pagnNextLink")
        )
        claim = first_text(
            tree, '[data-component-type="s-result-info-bar"]', "#s-result-count", "#resultCount"
        )
        return site_results(
            (self._card(entry, url) for entry in _entries(tree)),
            has_next=following,
            total=result_count(claim),
        )

    def _card(self, entry: LexborNode, url: str) -> SiteCard:
        links = (attribute(node, "href") for node in entry.css("a[href]"))
        named = attribute(entry, "data-asin") or attribute(entry, "name")
        id = _valid(named or first_match(_IN_URL, links))
        return SiteCard(
            id=id,
            url=self.item_url(id),
            title=_card_title(entry) or first_attribute(entry, "alt", "img.s-image"),
            **_card_price(entry, self._habits)._asdict(),
            image=absolute(
                first_attribute(entry, "src", "img.s-image", "img.s-access-image", "img"), url
            ),
        )

    def read_item(self, html: str, url: str = "") -> SiteProduct:
        tree = parse(html)
        id = first_attribute(tree, "value", "input#ASIN", 'input[name="ASIN"]')
        id = _valid(id or first_match(_IN_URL, (canonical(tree), url)))
        price, doubts = _item_price(tree, self._habits)
        options, images, links = _options(tree, url or f"https://{self.host}/")
        paragraphs = all_texts(tree, "#productDescription p, #bookDescription_feature_div p")
        return with_missing(
            SiteProduct(
                id=id,
                url=self.item_url(id) if id else "",
                title=first_text(tree, "#productTitle", "#title", "h1#btAsinTitle")
                or meta(tree, "og:title")
                or meta(tree, "title"),
                **price._asdict(),
                price_note="used" if price.prices and _is_used(tree) else "",
                rating=first_attribute(tree, "title", "#acrPopover")
                or first_text(tree, "#acrPopover", '[data-hook="rating-out-of-text"]'),
                bullets=_bullets(tree),
                description=plain(" ".join(paragraphs))
                or first_text(tree, "#productDescription")
                or _book_description(html)
                or first_text(tree, "#aplus"),
                image=_image(tree, url),
                options=options,
                option_images=images,
                option_links=links,
                category=_category(tree),
                doubts=doubts,
            )
        )


def _book_description(html: str) -> str:
    """A book's description, which until 2019 was only for those without scripts."""
    if "bookDesc" not in html:
        return ""
    return first_text(parse(html, keep_scripts=True), "#bookDescription_feature_div noscript")


def _image(tree: LexborHTMLParser, url: str) -> str:
    """The picture; where it is in the page itself, the address of a larger one beside it."""
    boxes = ("img#landingImage", "img#imgBlkFront", "#imgTagWrapperId img")
    larger = _IN_QUOTES.findall(first_attribute(tree, "data-a-dynamic-image", *boxes))
    for link in (first_attribute(tree, "src", *boxes), *larger[:1], meta(tree, "og:image")):
        if image := absolute(link, url):
            return image
    return ""


def _entries(tree: LexborHTMLParser) -> list[LexborNode]:
    """The entries of a page of results, in today's layout or an older one."""
    entries = tree.css(_RESULT)[:MOST_PARTS]
    for selector in _OLD_RESULTS:
        if not entries:
            entries = [
                node
                for node in tree.css(selector)[:MOST_PARTS]
                if node.css_first('a[href*="/dp/"], a[href*="/gp/product/"]') is not None
            ]
    return entries


def _valid(id: str) -> str:
    """An id, if it is one."""
    return id if _ID.fullmatch(id) else ""


def _card_title(entry: LexborNode) -> str:
    """The title of an entry; where its brand has a heading of its own, with that before it."""
    heads = list(dict.fromkeys(all_texts(entry, "h2")))[:2]
    if len(heads) == 2 and len(heads[0]) < _LONGEST_BRAND < len(heads[1]):
        brand, title = heads
        is_said = title.casefold().startswith(brand.casefold())
        return title if is_said else f"{brand} {title}"
    return first_text(entry, "h2", "h3 a", "h3", '[data-cy="title-recipe"]')


def _card_price(entry: LexborNode, habits: Habits) -> Money:
    """The price asked now: not the one struck out, and not that of a month."""
    said = first_text(entry, ".a-color-price", ".s-price", "span.sx-price", ".newp .red")
    is_new = attribute(entry, "data-component-type") == "s-search-result"
    if entry.css_first(".a-price") is None and is_new and entry.css_first(_OFFERS) is not None:
        return Money()  # What others sell it for, used or new.
    if entry.css_first(".a-price") is None and (price := money(said, habits)).prices:
        return price
    price = _in_box(entry, habits) or money(said, habits)
    if price.prices and not price.prices[-1]:
        # Free for members of something; what others pay is said behind it.
        texts = [text for text in all_texts(entry, "span") if len(text) < _LONGEST_BRAND]
        others = (found for text in texts if (found := money(text, habits)).prices)
        return next((one for one in others if one.prices[-1]), Money())
    return price


def _item_price(tree: LexborHTMLParser, habits: Habits) -> tuple[Money, tuple[str, ...]]:
    """The price of the buy box; the page's data of it may contradict."""
    price = Money()
    for selector in _PRICE_BOXES:
        for box in tree.css(selector)[:MOST_BOXES]:
            if not price.prices:
                price = _in_box(box, habits) or Money()
    amount = first_attribute(tree, "value", "#twister-plus-price-data-price")
    sign = first_attribute(tree, "value", "#twister-plus-price-data-price-unit")
    told = money(f"{sign}{amount}", habits) if sign else Money()
    told = told if told.prices else number_money(amount, habits.currency, habits)
    if not price.prices:
        return told, ()
    return price, contradiction(told, price)


def _in_box(box: LexborNode, habits: Habits) -> Money | None:
    """The price in a part of a page that is about the price; None where there is none."""
    ends = [money(text_of(node), habits) for node in box.css(".a-price-range .a-offscreen")[:2]]
    if len(ends) == 2 and all(end.prices for end in ends):
        return Money((ends[0].prices[0], ends[1].prices[0]), ends[0].currency)
    for node in box.css(".a-price")[:MOST_BOXES]:
        if attribute(node, "data-a-strike") != "true":
            price = money(first_text(node, ".a-offscreen") or text_of(node, ""), habits)
            if price.prices:
                return price
    if box.css_first(".a-price") is None:
        price = money(first_text(box, ".a-offscreen") or text_of(box), habits)
        # The part itself is a price, and not something larger with amounts in it.
        if price.prices and len(text_of(box)) < 60:
            return price
    return None


def _is_used(tree: LexborHTMLParser) -> bool:
    """Whether only used ones are offered."""
    return (
        tree.css_first("#usedBuySection, #usedOnlyBuybox") is not None
        and tree.css_first("#buyNewSection, #newOnlyBuybox, #newAccordionRow") is None
    )


_BACK: Final = re.compile(
    r"\W*(?:back to|zurück|retour|volver|torna|terug|voltar|tillbaka|geri|wróć|検索結果に戻る)",
    re.IGNORECASE,
)


def _category(tree: LexborHTMLParser) -> str:
    """The way to the item; a link back to the results is no step of it."""
    boxes = (
        "#wayfinding-breadcrumbs_feature_div li a", "#wayfinding-breadcrumbs_container li a",
        "#showing-breadcrumbs_div li a", ".a-breadcrumb li a",
    )  # fmt: skip
    for selector in boxes:
        nodes = tree.css(selector)[:MOST_BOXES]
        said = [
            text_of(node)
            for node in nodes
            if "breadcrumb-back-link" not in attribute(node, "id")
            and "back-link" not in attribute(node, "class")
        ]
        if steps := [step for step in said if step and not _BACK.match(step)]:
            return " › ".join(steps)
    return ""


def _bullets(tree: LexborHTMLParser) -> tuple[str, ...]:
    for selector in (
        "#feature-bullets li", "#featurebullets_feature_div li", "#productFactsDesktopExpander li",
    ):  # fmt: skip
        bullets = [said for said in all_texts(tree, selector) if not _NOT_A_BULLET.match(said)]
        if bullets:
            return tuple(bullets)
    whole = first_text(tree, "#feature-bullets")
    return (whole,) if whole else ()


def _options(
    tree: LexborHTMLParser, base: str
) -> tuple[dict[str, tuple[str, ...]], dict[str, str], dict[str, str]]:
    """Option groups by name, the values' pictures, and where each value would lead."""
    groups: dict[str, dict[str, None]] = {}
    images: dict[str, str] = {}
    links: dict[str, str] = {}
    left = MOST_PARTS
    for selector in _OPTION_BOXES:
        for box in tree.css(selector)[:MOST_BOXES]:
            for group in box.css("ul, select")[:MOST_BOXES]:
                entries = group.css("li" if group.tag == "ul" else "option")[:MOST_PARTS]
                name = _group_name(group, entries)
                entries, left = entries[:left], left - len(entries[:left])
                for entry in entries:
                    value, image = _value(entry)
                    if not value or not name or value.lower().startswith("select"):
                        continue
                    groups.setdefault(name, {})[value] = None
                    if image:
                        images.setdefault(value, image)
                    if link := absolute(attribute(entry, "data-dp-url"), base):
                        links.setdefault(value, link)
        if groups:
            break
    return {name: tuple(values) for name, values in groups.items()}, images, links


def _group_name(group: LexborNode, entries: list[LexborNode]) -> str:
    """What a group of values is called: size, color, style."""
    try:
        button_group = json.loads(group.attributes.get("data-a-button-group") or "{}")
        name = button_group.get("name", "") if isinstance(button_group, dict) else ""
    except (ValueError, RecursionError):
        name = ""
    candidates = [name if isinstance(name, str) else ""]
    candidates.append(attribute(group, "name").removeprefix("dropdown_selected_"))
    candidates += [attribute(entry, "id") for entry in entries[:1]]
    above = group.parent
    for _ in range(4):
        if above is None:
            break
        if (key := attribute(above, "id")).startswith(("variation_", "inline-twister-row-")):
            candidates.append(key)
        above = above.parent
    for candidate in candidates:
        if cleaned := _without_noise(candidate).replace("_", " ").strip():
            return cleaned
    return ""


def _without_noise(name: str) -> str:
    if before := _BEFORE_NAME.match(name):
        name = name[before.end() :]
    after = _AFTER_NAME.match(name[::-1])
    return name[: len(name) - after.end()] if after else name


def _value(entry: LexborNode) -> tuple[str, str]:
    """An option's value and its picture."""
    for picture in entry.css("img"):
        if said := attribute(picture, "alt"):
            return said, absolute(attribute(picture, "src"), "https://")
    said = first_text(entry, ".twisterTextDiv", ".swatch-title-text-display") or text_of(entry)
    return said or attribute(entry, "title").removeprefix("Click to select ").strip(), ""
