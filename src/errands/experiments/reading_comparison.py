"""What the original reads from saved pages, beside what we read: see docs/guides/real-shops.md.

The original's own readers are here for comparing, and for nothing else. By the specification's
section 10: the selectors that it had, its `N/A` where one finds nothing, its cut at ten products,
and its habit of failing where a result has no price.
"""

import re
from pathlib import Path
from typing import Any, Final, NamedTuple

from errands.errors import DataError
from errands.reports.markdown import table, text
from errands.transfer.fetch.saved_pages import read_page
from errands.transfer.live_catalog import price_tag
from errands.transfer.sites.markup import attribute, first_attribute, parse, plain, text_of
from errands.transfer.sites.record import SiteProduct, SiteResults
from errands.transfer.sites.site import SiteReader, site_named

__all__ = ["Fact", "compared", "original_item", "original_results", "to_markdown"]

_SITES: Final = ("amazon", "ebay", "webshop")
_LONGEST: Final = 48
_MOST: Final = 10
_MISSING: Final = "N/A"
_APART: Final = "on a page of its own"


class Fact(NamedTuple):
    """One thing on one page."""

    page: str
    part: str
    original: str
    ours: str


def compared(folder: Path) -> list[Fact]:
    """Every page of a folder that one of the three sites knows, part by part."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; expected one with saved pages.")
    facts: list[Fact] = []
    for path in sorted(folder.glob("*.html")):
        html = read_page(path)
        for name in _SITES:
            site = site_named(name)
            kind = site.kind(html)
            if kind == "item":
                facts += _item(path.name, site, html)
            elif kind == "search":
                facts += _results(path.name, site, html)
            if kind:
                break
    if not facts:
        raise DataError(f"{folder} has no page of {', '.join(_SITES)}.")
    return facts


def to_markdown(facts: list[Fact]) -> str:
    """The facts as one table."""
    rows = [[text(cell) for cell in fact] for fact in facts]
    return (
        "\n".join(table(["page", "part", "the original", "errands"], rows))
        .replace("|---|---:|---:|---:|", "|---|---|---|---|")
        .rstrip()
        + "\n"
    )


def _results(page: str, site: SiteReader, html: str) -> list[Fact]:
    theirs = original_results(site.name, html)
    ours: SiteResults = site.read_results(html)
    rows: list[tuple[str, Any, Any]] = [
        ("products", len(theirs), len(ours.cards)),
        (
            "with a price",
            sum(each["price"] not in ("", _MISSING) for each in theirs),
            sum(bool(card.prices) for card in ours.cards),
        ),
        (
            "with a price range",
            sum(isinstance(each["price"], list) for each in theirs),
            sum(len(card.prices) == 2 for card in ours.cards),
        ),
        ("results in all", "not read", _short(ours.total)),
        ("a next page", "never looked for", "yes" if ours.has_next else "no"),
        ("left out", "adverts unnoticed in the ten", ours.left_out),
    ]
    return [Fact(page, part, str(original), str(own)) for part, original, own in rows]


def _item(page: str, site: SiteReader, html: str) -> list[Fact]:
    theirs = original_item(site.name, html)
    product: SiteProduct = site.read_item(html)
    note = f" ({product.price_note})" if product.price_note else ""
    ours: dict[str, Any] = {
        "title": product.title,
        "price": price_tag(product.prices, product.currency) + note,
        "rating": product.rating,
        "options": {name: list(values) for name, values in product.options.items()},
        "bullets": product.bullets,
        "description": product.description,
        "image": product.image,
    }
    ours |= dict.fromkeys(product.details, "on a page of its own (--details)")
    facts = [Fact(page, part, _short(theirs[part]), _short(ours[part])) for part in ours]
    facts.append(Fact(page, "category", "not read", _short(product.category)))
    facts.append(Fact(page, "missing", "not told", ", ".join(product.missing) or "nothing"))
    return facts


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {', '.join(values)}" for name, values in value.items()) or "none"
    if isinstance(value, tuple):
        return f"{len(value)} lines" if value else "none"
    text = str(value) if value else "none"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


def original_results(site: str, html: str) -> list[dict[str, Any]]:
    """The first ten products: id, title, price."""
    return {"amazon": _amazon_results, "ebay": _ebay_results, "webshop": _webshop_results}[site](
        html
    )


def original_item(site: str, html: str) -> dict[str, Any]:
    """The product: title, price, rating, options, and whether there are texts and a picture."""
    return {"amazon": _amazon_item, "ebay": _ebay_item, "webshop": _webshop_item}[site](html)


def _amazon_results(html: str) -> list[dict[str, Any]]:
    cards = []
    for entry in parse(html).css('div[data-component-type="s-search-result"]')[:_MOST]:
        box = entry.css_first("div.s-price-instructions-style")
        price = text_of(box.css_first("span.a-offscreen") if box else None)
        title = text_of(entry.css_first("h2.a-size-mini"))
        cards.append(
            {"id": attribute(entry, "data-asin"), "title": title, "price": price.strip("$")}
        )
    return cards


def _ebay_results(html: str) -> list[dict[str, Any]]:
    cards = []
    # The advert is among the ten that are looked at, so nine are left.
    for entry in parse(html).css(".s-item__wrapper.clearfix")[:_MOST]:
        title = text_of(entry.css_first(".s-item__title"))
        if "shop on ebay" in title.lower():
            continue
        link = first_attribute(entry, "href", ".s-item__link")
        price: Any = text_of(entry.css_first(".s-item__price"))
        if "to" in price:
            price = [end.strip(" $") for end in price.split("to")]
        id = link.partition("?")[0].rsplit("/", 1)[-1]
        cards.append({"id": id, "title": title, "price": price})
    return cards


def _webshop_results(html: str) -> list[dict[str, Any]]:
    cards = []
    for entry in parse(html).css(".list-group-item")[:_MOST]:
        tag = text_of(entry.css_first(".product-price"))
        ends = [float(end) for end in re.findall(r"\$([\d.]+)", tag)]
        price: Any = ends if len(ends) > 1 else ends[0] if ends else _MISSING
        cards.append(
            {"id": text_of(entry.css_first("a.product-link")),
             "title": text_of(entry.css_first(".product-title")), "price": price}
        )  # fmt: skip
    return cards


def _amazon_item(html: str) -> dict[str, Any]:
    tree = parse(html)
    paid = tree.css_first("span.apexPriceToPay")
    price = text_of(paid.css_first("span.a-offscreen") if paid else None)
    options: dict[str, list[str]] = {}
    box = tree.css_first("#softlinesTwister_feature_div") or tree.css_first("#twister_feature_div")
    for group in box.css("ul") if box else []:
        named = re.search(r'"name":\s*"([^"]*)"', group.attributes.get("data-a-button-group") or "")
        name = (named[1] if named else "").replace("_name", "").replace("twister_", "")
        values = [first_attribute(each, "alt", "img") or text_of(each) for each in group.css("li")]
        options[name] = values
    return {
        "title": text_of(tree.css_first("span#productTitle")).replace(",", "") or _MISSING,
        "price": price or _MISSING,
        "rating": text_of(tree.css_first("#acrPopover")) or _MISSING,
        "options": options,
        "bullets": text_of(tree.css_first("#feature-bullets")) or _MISSING,
        "description": plain(" ".join(text_of(each) for each in tree.css("#productDescription p")))
        or _MISSING,
        "image": first_attribute(tree, "src", "img#landingImage") or _MISSING,
    }


def _ebay_item(html: str) -> dict[str, Any]:
    tree = parse(html)
    number = re.search(r"\d[\d.,]*", text_of(tree.css_first("div.mainPrice")))
    rating = first_attribute(tree, "title", "span.reviews-star-rating")
    options = {
        attribute(box, "name"): [
            said for each in box.css("option") if "select" not in (said := text_of(each)).lower()
        ]
        for box in tree.css("select.msku-sel")
    }
    return {
        "title": text_of(tree.css_first("h1.x-item-title__mainTitle")) or _MISSING,
        "price": number[0] if number else _MISSING,
        "rating": rating.split()[0] if rating else None,
        "options": options,
        "bullets": text_of(tree.css_first("div.x-about-this-item")) or _MISSING,
        # It sends a request for the frame each time; over saved pages there is no answer.
        "description": _MISSING,
        "image": first_attribute(tree, "src", "#mainImgHldr img#icImg") or _MISSING,
    }


def _webshop_item(html: str) -> dict[str, Any]:
    tree = parse(html)
    lines = [text_of(each) for each in tree.css("h4")]
    price = next((line for line in lines if line.startswith("Price:")), "")
    rating = next((line for line in lines if line.startswith("Rating:")), "")
    options: dict[str, list[str]] = {}
    for radio in tree.css("input[type=radio]"):
        if "onclick" in radio.attributes:  # Today's template has none, and nothing is found.
            options.setdefault(attribute(radio, "name"), []).append(attribute(radio, "value"))
    return {
        "title": text_of(tree.css_first("h2")) or _MISSING,
        "price": price.removeprefix("Price:").strip(" $") or _MISSING,
        "rating": rating.removeprefix("Rating:").strip() or _MISSING,
        "options": options,
        "bullets": _APART,
        "description": _APART,
        "image": first_attribute(tree, "src", "#product-image") or _MISSING,
    }
