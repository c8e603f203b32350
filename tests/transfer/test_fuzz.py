"""Readers survive anything: elements deleted and moved at random, attributes lost, pages cut off.

Always a record, never an exception, and the record says what is missing. Pages are cut to their
main parts first, as the real ones are mostly scripts; some trials are over whole pages.
"""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from effort import effort
from made_up_shops import (
    GOODS,
    MICRODATA,
    amazon_item,
    amazon_results,
    ebay_item,
    ebay_results,
    shop_item,
    shop_results,
)
from selectolax.lexbor import LexborHTMLParser

from errands.transfer.sites.record import CARD_PARTS, PARTS, SiteProduct, SiteResults
from errands.transfer.sites.site import site_named

TRIALS = effort(25, 250)
WHOLE_PAGE_TRIALS = 4

MAIN_PARTS = {
    "item_page_amz.html": "#wayfinding-breadcrumbs_feature_div, #productTitle, #acrPopover,"
    " #corePriceDisplay_desktop_feature_div, #corePrice_feature_div, #twister_feature_div,"
    " #feature-bullets, #productDescription, #landingImage, input#ASIN, link[rel=canonical],"
    " #twister-plus-price-data-price",
    "item_page_ebay.html": ".x-item-title__mainTitle, .vi-price, #mainImgHldr, iframe#desc_ifr,"
    " .x-about-this-item, nav.breadcrumbs, meta[property]",
    "results_amz.html": "[data-component-type=s-search-result], .s-pagination-next",
    "results_ebay.html": ".s-item__wrapper, a.pagination__next",
    "item_page_ws.html": "body",
    "results_ws.html": "body",
}

MADE_UP: dict[tuple[str, str], Callable[[], str]] = {
    ("amazon", "item"): lambda: amazon_item(GOODS[0]),
    ("amazon", "search"): lambda: amazon_results(GOODS[:6], True),
    ("ebay", "item"): lambda: ebay_item(GOODS[0]),
    ("ebay", "search"): lambda: ebay_results(GOODS[:6], True),
    ("schema.org", "item"): lambda: shop_item(GOODS[0]),
    ("schema.org", "search"): lambda: shop_results(GOODS[:6], True),
    ("schema.org", "lamp"): lambda: MICRODATA,
}


def _damaged(html: str, chance: random.Random) -> str:
    """The page with some elements deleted, moved, stripped of attributes; or with its text cut."""
    tree = LexborHTMLParser(html)
    # Only ever one element at a time, found anew: those below a deleted one are gone with it.
    for _ in range(chance.randint(1, 12)):
        nodes = tree.css("body *, head *")
        if len(nodes) < 3:
            break
        node = chance.choice(nodes)
        what = chance.random()
        if what < 0.6:
            node.decompose()
        elif what < 0.8:
            for name in list(node.attributes):
                if chance.random() < 0.5:
                    del node.attrs[name]
        else:
            other = chance.choice(nodes)
            if other.mem_id != node.mem_id and other.parent is not None:
                other.insert_before(node)  # A copy in the wrong place.
                node.decompose()
    damaged = tree.html or ""
    if chance.random() < 0.2:
        at = chance.randrange(len(damaged) + 1)
        damaged = damaged[:at] + chance.choice(["", "<", "\x00", "</div>" * 9]) + damaged[at + 40 :]
    return damaged[: chance.randrange(len(damaged) + 1)] if chance.random() < 0.1 else damaged


def _check(site_name: str, html: str) -> Iterator[str]:
    """Read a page as everything it could be taken for; gives what the item lacks."""
    site = site_named(site_name)
    assert site.kind(html) in ("search", "item", "detail", "")
    assert isinstance(site.refusal(html), str)
    found = site.read_item(html, "https://shop.example/page")
    _check_item(found)
    _check_listing(site.read_results(html, "https://shop.example/page"))
    _check_item(site.read_detail(found, "description", html))
    yield from found.missing


def _check_item(found: SiteProduct) -> None:
    held: dict[str, Any] = {
        "id": found.id, "title": found.title, "price": found.prices, "rating": found.rating,
        "bullets": found.bullets, "description": found.description, "image": found.image,
        "options": found.options, "category": found.category,
    }  # fmt: skip
    assert found.missing == tuple(part for part in PARTS if not held[part])
    assert all(0 <= price < 1e9 for price in found.prices)
    assert all(values and all(values) for values in found.options.values())


def _check_listing(found: SiteResults) -> None:
    assert ("results" in found.missing) == (not found.cards)
    for card in found.cards:
        assert card.id
        assert card.url
        held: dict[str, Any] = {"title": card.title, "price": card.prices, "image": card.image}
        assert card.missing == tuple(part for part in CARD_PARTS if not held[part])


def _site_of(name: str) -> str:
    return "amazon" if "amz" in name else "ebay" if "ebay" in name else "webshop"


@pytest.mark.parametrize("key", MADE_UP, ids=" ".join)
def test_made_up_pages(key: tuple[str, str]) -> None:
    chance, page = random.Random(f"7 {key}"), MADE_UP[key]()
    missed = {part for _ in range(TRIALS) for part in _check(key[0], _damaged(page, chance))}
    # The damage does reach what is read.
    assert key[1] == "search" or {"title", "price"} <= missed


@pytest.mark.shared
@pytest.mark.parametrize("name", MAIN_PARTS)
def test_saved_pages(saved: Path, name: str) -> None:
    chance, site = random.Random(f"11 {name}"), _site_of(name)
    whole = (saved / name).read_text("utf-8")
    tree = LexborHTMLParser(whole)
    parts = [node.html or "" for node in tree.css(MAIN_PARTS[name])][:14]
    page = f"<html><body>{''.join(parts)}</body></html>"
    missed = {part for _ in range(TRIALS) for part in _check(site, _damaged(page, chance))}
    # The damage does reach what is read. (What a page tells twice is seldom lost.)
    intact = site_named(site).read_item(page)
    assert "results" in name or missed - set(intact.missing)
    for _ in range(WHOLE_PAGE_TRIALS):
        list(_check(site, _damaged(whole, chance)))
    # And with the parts in any order nothing is lost.
    chance.shuffle(parts)
    moved = site_named(site).read_item(f"<html><body>{''.join(parts)}</body></html>")
    assert (moved.id, moved.title, moved.prices) == (intact.id, intact.title, intact.prices)
    assert (moved.options, moved.bullets) == (intact.options, intact.bullets)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "deleted", "missing"),
    [
        ("item_page_amz.html", "#productTitle, #title, meta", "title"),
        ("item_page_amz.html", ".a-price, #twister-plus-price-data-price", "price"),
        ("item_page_amz.html", "#acrPopover, [data-hook=rating-out-of-text]", "rating"),
        ("item_page_amz.html", "#feature-bullets", "bullets"),
        ("item_page_amz.html", "#productDescription, #aplus", "description"),
        ("item_page_amz.html", "img, meta", "image"),
        ("item_page_amz.html", "#twister_feature_div", "options"),
        ("item_page_amz.html", "#wayfinding-breadcrumbs_feature_div", "category"),
        ("item_page_amz.html", "[name=ASIN], link", "id"),
        ("item_page_ebay.html", ".x-item-title__mainTitle, meta", "title"),
        ("item_page_ebay.html", "[itemprop=price], .vi-price", "price"),
        ("item_page_ebay.html", ".x-about-this-item", "bullets"),
        ("item_page_ebay.html", "iframe, link, meta", "id"),
        ("item_page_ws.html", "h4", "price"),
        ("item_page_ws.html", "h2", "title"),
        ("item_page_ws.html", "input", "options"),
    ],
)
def test_what_is_deleted_is_told_to_be_missing(
    saved: Path, name: str, deleted: str, missing: str
) -> None:
    site = site_named(_site_of(name))
    html = (saved / name).read_text("utf-8")
    before = site.read_item(html).missing
    tree = LexborHTMLParser(html)
    for node in tree.css(deleted):
        node.decompose()
    after = site.read_item(tree.html or "").missing
    assert missing not in before
    assert missing in after


@pytest.mark.parametrize(
    ("site", "part"),
    [
        ("amazon", '<div data-component-type="s-search-result" data-asin="B000"><h2>'),
        ("amazon", '<div id="twister_feature_div"><ul><li>x'),
        ("amazon", '<span class="a-price"><span id="productTitle">'),
        ("ebay", '<div class="s-item__wrapper clearfix"><b class="s-item__title">'),
        ("ebay", '<div class="x-about-this-item"><i class="ux-labels-values__values">'),
        ("schema.org", '<i itemscope itemtype="https://schema.org/Product" itemprop="offers">'),
        ("schema.org", '<div itemprop="name">'),
        ("webshop", '<div class="list-group-item"><a class="product-link"></a>'),
    ],
)
def test_pages_that_nest_their_parts_do_not_cost_hours(site: str, part: str) -> None:
    begun = time.process_time()
    list(_check(site, part * 1_000))
    assert time.process_time() - begun < 20
