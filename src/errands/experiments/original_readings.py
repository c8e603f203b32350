"""What the original's own readers take from a page: for comparing, and for nothing else.

By the specification's section 10: the selectors that the original had, its `N/A` where one finds
nothing, its cut at ten products, and its habit of failing where a result has no price.
"""

import re
from typing import Any, Final

from errands.transfer.sites.markup import attribute, first_attribute, parse, plain, text_of

__all__ = ["read_item", "read_results"]

_MOST: Final = 10
_ABSENT: Final = "N/A"
_APART: Final = "on a page of its own"


def read_results(site: str, html: str) -> list[dict[str, Any]]:
    """The first ten products: id, title, price."""
    return {"amazon": _amazon_results, "ebay": _ebay_results, "webshop": _webshop_results}[site](
        html
    )


def read_item(site: str, html: str) -> dict[str, Any]:
    """The product: title, price, rating, options, and whether there are texts and a picture."""
    return {"amazon": _amazon_item, "ebay": _ebay_item, "webshop": _webshop_item}[site](html)


def _amazon_results(html: str) -> list[dict[str, Any]]:
    found = []
    for entry in parse(html).css('div[data-component-type="s-search-result"]')[:_MOST]:
        box = entry.css_first("div.s-price-instructions-style")
        price = text_of(box.css_first("span.a-offscreen") if box else None)
        title = text_of(entry.css_first("h2.a-size-mini"))
        found.append(
            {"id": attribute(entry, "data-asin"), "title": title, "price": price.strip("$")}
        )
    return found


def _ebay_results(html: str) -> list[dict[str, Any]]:
    found = []
    # The advert is among the ten that are looked at, so nine are left.
    for entry in parse(html).css(".s-item__wrapper.clearfix")[:_MOST]:
        title = text_of(entry.css_first(".s-item__title"))
        if "shop on ebay" in title.lower():
            continue
        link = first_attribute(entry, [(".s-item__link", "href")])
        price: Any = text_of(entry.css_first(".s-item__price"))
        if "to" in price:
            price = [end.strip(" $") for end in price.split("to")]
        id = link.partition("?")[0].rsplit("/", 1)[-1]
        found.append({"id": id, "title": title, "price": price})
    return found


def _webshop_results(html: str) -> list[dict[str, Any]]:
    found = []
    for entry in parse(html).css(".list-group-item")[:_MOST]:
        tag = text_of(entry.css_first(".product-price"))
        ends = [float(end) for end in re.findall(r"\$([\d.]+)", tag)]
        price: Any = ends if len(ends) > 1 else ends[0] if ends else _ABSENT
        found.append(
            {"id": text_of(entry.css_first("a.product-link")),
             "title": text_of(entry.css_first(".product-title")), "price": price}
        )  # fmt: skip
    return found


def _amazon_item(html: str) -> dict[str, Any]:
    tree = parse(html)
    paid = tree.css_first("span.apexPriceToPay")
    price = text_of(paid.css_first("span.a-offscreen") if paid else None)
    options: dict[str, list[str]] = {}
    box = tree.css_first("#softlinesTwister_feature_div") or tree.css_first("#twister_feature_div")
    for group in box.css("ul") if box else []:
        named = re.search(r'"name":\s*"([^"]*)"', group.attributes.get("data-a-button-group") or "")
        name = (named[1] if named else "").replace("_name", "").replace("twister_", "")
        values = [
            first_attribute(each, [("img", "alt")]) or text_of(each) for each in group.css("li")
        ]
        options[name] = values
    return {
        "title": text_of(tree.css_first("span#productTitle")).replace(",", "") or _ABSENT,
        "price": price or _ABSENT,
        "rating": text_of(tree.css_first("#acrPopover")) or _ABSENT,
        "options": options,
        "bullets": text_of(tree.css_first("#feature-bullets")) or _ABSENT,
        "description": plain(" ".join(text_of(each) for each in tree.css("#productDescription p")))
        or _ABSENT,
        "image": first_attribute(tree, [("img#landingImage", "src")]) or _ABSENT,
    }


def _ebay_item(html: str) -> dict[str, Any]:
    tree = parse(html)
    number = re.search(r"\d[\d.,]*", text_of(tree.css_first("div.mainPrice")))
    rating = first_attribute(tree, [("span.reviews-star-rating", "title")])
    options = {
        attribute(box, "name"): [
            said for each in box.css("option") if "select" not in (said := text_of(each)).lower()
        ]
        for box in tree.css("select.msku-sel")
    }
    return {
        "title": text_of(tree.css_first("h1.x-item-title__mainTitle")) or _ABSENT,
        "price": number[0] if number else _ABSENT,
        "rating": rating.split()[0] if rating else None,
        "options": options,
        "bullets": text_of(tree.css_first("div.x-about-this-item")) or _ABSENT,
        # It sends a request for the frame each time; over saved pages there is no answer.
        "description": _ABSENT,
        "image": first_attribute(tree, [("#mainImgHldr img#icImg", "src")]) or _ABSENT,
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
        "title": text_of(tree.css_first("h2")) or _ABSENT,
        "price": price.removeprefix("Price:").strip(" $") or _ABSENT,
        "rating": rating.removeprefix("Rating:").strip() or _ABSENT,
        "options": options,
        "bullets": _APART,
        "description": _APART,
        "image": first_attribute(tree, [("#product-image", "src")]) or _ABSENT,
    }
