"""Layouts of shops that differ by year and country, each as small as it can be."""

import json
from typing import Any

import pytest

from errands.transfer.sites.record import SiteResults
from errands.transfer.sites.schema_org import SAVED
from errands.transfer.sites.site import site_named

CARD_2025 = (
    '<li class="s-card s-card--horizontal" data-listingid="{id}"><div class="su-card-container">'
    '<img class="s-card__image" src="https://i.example/{id}-s.webp"'
    ' data-defer-load="https://i.example/{id}.webp">'
    '<a class="su-link" href="https://www.ebay.com/itm/{id}?hash=x"><div role="heading"'
    ' class="s-card__title"><span class="su-styled-text primary default">{title}</span>'
    '<span class="clipped">Opens in a new window or tab</span></div></a>'
    '<div class="s-card__attribute-row">{price}</div></div></li>'
)
CARD_2026 = (
    '<div class="su-item-card s-item-card--search-evo"><a href="https://www.ebay.co.uk/itm/{id}">'
    '<div class="su-item-card__title">{title}</div></a><img src="https://i.example/{id}.webp">'
    '<span class="su-item-card__price">{price}</span></div>'
)
CATEGORY_CARD = (
    '<li class="brwrvr__item-card"><a class="bsig__title__wrapper" href="https://www.ebay.com/itm/{id}">'
    '<h3 class="bsig__title__text">{title}</h3></a><span class="bsig__price--displayprice">{price}'
    "</span></li>"
)


def _span(price: str, kind: str = "su-styled-text") -> str:
    return f'<span class="{kind} s-card__price">{price}</span>'


@pytest.mark.parametrize(
    ("card", "price", "host", "read", "currency"),
    [
        (CARD_2025, _span("$68.99"), "www.ebay.com", (68.99,), "USD"),
        (
            CARD_2025,
            _span("$5.00") + _span("to") + _span("$9.50"),
            "www.ebay.com",
            (5.0, 9.5),
            "USD",
        ),
        (
            CARD_2025,
            _span("$50.00") + _span("$80.00", "strikethrough"),
            "www.ebay.com",
            (50.0,),
            "USD",
        ),
        (CARD_2025, _span("EUR 1.299,00"), "www.ebay.de", (1299.0,), "EUR"),
        (CARD_2025, _span("C $19.95"), "www.ebay.ca", (19.95,), "CAD"),
        (CARD_2025, _span("AU $19.95"), "www.ebay.com.au", (19.95,), "AUD"),
        (CARD_2025, _span("3,858 円"), "www.ebay.com", (3858.0,), "JPY"),
        (CARD_2026, "£12.50", "www.ebay.co.uk", (12.5,), "GBP"),
        (CATEGORY_CARD, "$7.25", "www.ebay.com", (7.25,), "USD"),
    ],
)
def test_ebays_results_of_2025_and_later(
    card: str, price: str, host: str, read: tuple[float, ...], currency: str
) -> None:
    advert = card.format(id="123456", title="Shop on eBay", price=_span("$20.00"))
    cards = "".join(
        card.format(id=f"40000000000{number}", title=f"New listing Lamp {number}", price=price)
        for number in range(3)
    )
    page = f'<h1 class="srp-controls__count-heading">1,500+ results for lamp</h1>{advert}{cards}'
    site = site_named("ebay", host=host)
    assert site.kind(page) == "search"
    found = site.read_results(page)
    assert [one.id for one in found.cards] == [f"40000000000{number}" for number in range(3)]
    assert [one.title for one in found.cards] == [f"Lamp {number}" for number in range(3)]
    assert all((one.prices, one.currency) == (read, currency) for one in found.cards)
    assert (found.total, found.missing) == (1500, ())


def test_ebays_item_of_2020() -> None:
    page = """<h1 id="itemTitle"><span class="g-hdn">Dettagli su </span>Lamp - mostra il titolo
    originale</h1><span id="prcIsum" itemprop="price" content="12.99">EUR 12,99</span>
    <div class="itemAttr"><table><tr><td class="attrLabels">Marca:</td><td>Glow</td></tr></table>
    </div>
    <ul id="vi-VR-brumb-lnkLst"><li>Torna</li><li>Casa</li><li>Luci</li></ul>
    <link rel="canonical" href="https://www.ebay.it/itm/400000000001">"""
    found = site_named("ebay", host="www.ebay.it").read_item(page)
    assert (found.title, found.prices, found.currency) == ("Lamp", (12.99,), "EUR")
    assert found.bullets == ("Marca: Glow",)
    assert found.category.endswith("Casa › Luci")


@pytest.mark.parametrize(
    ("host", "box", "price", "currency"),
    [
        ("www.amazon.co.uk", '<span id="priceblock_ourprice">£1,299.00</span>', 1299.0, "GBP"),
        ("www.amazon.es", '<span id="priceblock_ourprice">1.299,00&nbsp;€</span>', 1299.0, "EUR"),
        ("www.amazon.es", '<span id="priceblock_ourprice">EUR 19,95</span>', 19.95, "EUR"),
        ("www.amazon.de", '<span id="price_inside_buybox">1.130,00&nbsp;€</span>', 1130.0, "EUR"),
        ("www.amazon.com.br", '<span id="priceblock_ourprice">R$ 1.299,90</span>', 1299.9, "BRL"),
        ("www.amazon.co.jp", '<span id="priceblock_ourprice">￥1,980</span>', 1980.0, "JPY"),
        ("www.amazon.com.mx", '<span id="priceblock_ourprice">$1,299.00</span>', 1299.0, "MXN"),
        ("www.amazon.se", '<span id="priceblock_ourprice">1 299,00 kr</span>', 1299.0, "SEK"),
        ("www.amazon.pl", '<span id="priceblock_ourprice">1 299,50 zł</span>', 1299.5, "PLN"),
        # Books, as in 2016.
        (
            "www.amazon.com",
            '<div id="buyNewSection"><span class="a-color-price offer-price">$18.62</span></div>',
            18.62, "USD",
        ),
        (
            "www.amazon.co.uk",
            '<div id="tmmSwatches"><ul><li class="swatchElement unselected"><span'
            ' class="a-color-price">£4.99</span></li><li class="swatchElement selected"><span'
            ' class="a-color-price">£12.08</span></li></ul></div>',
            12.08, "GBP",
        ),
        (
            "www.amazon.de",
            '<div id="corePrice_feature_div"><span class="a-price"><span class="a-offscreen">'
            "12,99&nbsp;€</span></span></div>",
            12.99, "EUR",
        ),
    ],
)  # fmt: skip
def test_amazons_prices(host: str, box: str, price: float, currency: str) -> None:
    found = site_named("amazon", host=host).read_item(f'<span id="productTitle">x</span>{box}')
    assert (found.prices, found.currency) == ((price,), currency)
    assert found.doubts == ()


def test_amazons_price_in_two_places() -> None:
    page = """<span id="productTitle">x</span><div id="corePrice_feature_div"><span class="a-price">
    <span class="a-offscreen">$12.99</span></span></div>
    <input id="twister-plus-price-data-price" value="15.99">
    <input id="twister-plus-price-data-price-unit" value="$">"""
    found = site_named("amazon").read_item(page)
    assert found.prices == (12.99,)
    assert found.doubts == ("price: 15.99 USD in its data, 12.99 USD where it is shown",)


@pytest.mark.parametrize(
    "back",
    [
        '<li><a id="breadcrumb-back-link">‹ Back to results</a></li>',
        "<li><a>Back to search results for lamps</a></li>",
        "<li><a>‹ Zurück zu den Ergebnissen</a></li>",
        "<li><a>Volver a los resultados</a></li>",
        "",
    ],
)
def test_a_way_back_is_no_category(back: str) -> None:
    page = (
        f'<div id="wayfinding-breadcrumbs_feature_div"><ul>{back}<li>›</li><li><a>Home</a></li>'
        "<li>›</li><li><a>Lamps</a></li></ul></div>"
    )
    assert site_named("amazon").read_item(page).category == "Home › Lamps"
    only = f'<div id="wayfinding-breadcrumbs_feature_div"><ul>{back}</ul></div>'
    assert site_named("amazon").read_item(only).category == ""


def test_amazons_results_of_2014() -> None:
    rows = "".join(
        f'<div id="result_{at}" class="prod" name="B00000000{at}"><a href="/x/dp/B00000000{at}">'
        f'<img src="https://i.example/{at}.jpg"></a><h3 class="newaps">'
        f'<a href="/x/dp/B00000000{at}"><span class="lrg bold">Lamp {at}</span></a></h3><ul>'
        '<li class="newp"><del>$20.00</del>'
        f'<span class="bld lrg red">$1{at}.50</span></li></ul></div>'
        for at in range(3)
    )
    page = f'<h2 id="resultCount">Showing 1 - 3 of 44,120 Results</h2>{rows}'
    found = site_named("amazon").read_results(page)
    assert [(one.id, one.title, one.prices) for one in found.cards] == [
        (f"B00000000{at}", f"Lamp {at}", (10.5 + at,)) for at in range(3)
    ]
    assert found.total == 44120


def _results(page: str, url: str = "https://shop.example/search") -> SiteResults:
    return site_named("schema.org", search=SAVED).read_results(page, url)


def _script(data: Any) -> str:
    return f'<script type="application/ld+json">{json.dumps(data)}</script>'


def test_a_list_of_addresses_has_the_titles_of_its_links() -> None:
    listed = [{"@type": "ListItem", "position": at, "url": f"/goods/{at}"} for at in range(3)]
    rows = "".join(
        f'<div class="tile"><a href="/goods/{at}"><img src="/{at}.jpg" alt="Red lamp number {at}">'
        "</a>"
        f'<a href="/goods/{at}">Red lamp {at}</a><a href="/goods/{at}">Add to cart</a>'
        f'<span class="price">1{at},50 €</span></div>'
        for at in range(3)
    )
    found = _results(_script({"@type": "ItemList", "itemListElement": listed}) + rows)
    assert [one.title for one in found.cards] == [f"Red lamp {at}" for at in range(3)]
    assert [(one.prices, one.currency) for one in found.cards] == [
        ((10.5 + at,), "EUR") for at in range(3)
    ]
    assert found.cards[1].image == "https://shop.example/1.jpg"


@pytest.mark.parametrize(
    ("links", "ids"),
    [
        (
            [
                "/Product/Product.aspx?Item=N82E1&cm_re=a",
                "/Product/Product.aspx?Item=N82E2&cm_re=a",
            ],
            ["N82E1", "N82E2"],
        ),
        (["/index.php?route=product/product&product_id=50&path=1"], ["50"]),
        (["/?p=12", "/?p=13"], ["12", "13"]),
        (["/view.php?colour=red&size=9"], ["red-9"]),
        (["/goods/lamp?utm_source=x", "/goods/bulb?ref=1"], ["lamp", "bulb"]),
        (["/goods/lamp.html?sku=7"], ["lamp"]),
        (["/a/lamp?v=1", "/a/lamp?v=2"], ["lamp", "lamp-2"]),
    ],
)
def test_ids_by_addresses(links: list[str], ids: list[str]) -> None:
    listed = [{"url": link, "name": "Lamp"} for link in links]
    found = _results(_script({"@type": "ItemList", "itemListElement": listed}))
    assert [one.id for one in found.cards] == ids


def test_offers_tell_where_products_are() -> None:
    graph = [
        {"@type": "Product", "name": f"Lamp {at}",
         "offers": {"url": f"https://shop.example/g/{at}", "price": at, "priceCurrency": "PEN"}}
        for at in range(1, 4)
    ]  # fmt: skip
    found = _results(_script({"@context": "https://schema.org", "@graph": graph}))
    assert [(one.id, one.prices) for one in found.cards] == [
        ("1", (1.0,)), ("2", (2.0,)), ("3", (3.0,)),
    ]  # fmt: skip


def test_microdata_products_lead_where_their_links_do() -> None:
    rows = "".join(
        f'<div itemscope itemtype="https://schema.org/Product"><a href="/g/{at}">'
        f'<b itemprop="name">Lamp {at}</b></a></div>'
        for at in range(3)
    )
    assert [one.url for one in _results(rows).cards] == [
        f"https://shop.example/g/{at}" for at in range(3)
    ]


def test_data_vocabulary() -> None:
    page = """<html lang="en-US"><div itemscope itemtype="http://data-vocabulary.org/Breadcrumb">
    <a itemprop="url" href="/l"><span itemprop="title">Lights</span></a></div>
    <div itemscope itemtype="http://data-vocabulary.org/Breadcrumb"><a itemprop="url" href="/l/d">
    <span itemprop="title">Desk lamps</span></a></div>
    <div itemscope itemtype="http://data-vocabulary.org/Product"><h1 itemprop="name">Lamp</h1>
    <img itemprop="photo" src="/lamp.jpg"><span itemprop="identifier" content="sku:L7">7</span>
    <p itemprop="description">It glows.</p>
    <div itemprop="offerDetails" itemscope itemtype="http://data-vocabulary.org/Offer">
    <meta itemprop="currency" content="USD"><span itemprop="price">$29.95</span></div></div>"""
    site = site_named("schema.org")
    found = site.read_item(page, "https://shop.example/lamp")
    assert site.kind(page) == "item"
    assert (found.title, found.prices, found.currency) == ("Lamp", (29.95,), "USD")
    assert (found.image, found.description) == ("https://shop.example/lamp.jpg", "It glows.")
    assert found.category == "Lights › Desk lamps"


def test_variants_of_a_product_group() -> None:
    variants = [
        {"@type": "Product", "color": color, "size": size, "image": f"https://i.example/{color}.jpg",
         "additionalProperty": [{"@type": "PropertyValue", "name": "Fit", "value": fit}],
         "offers": {"price": price, "priceCurrency": "EUR"}}
        for color, size, fit, price in (("red", "S", "slim", 20), ("blue", "M", "wide", 25))
    ]  # fmt: skip
    group = {"@type": "ProductGroup", "name": "Shirt", "productGroupID": "44",
             "variesBy": ["https://schema.org/color", "https://schema.org/size", "Fit"],
             "hasVariant": variants}  # fmt: skip
    found = site_named("schema.org").read_item(_script(group), "https://shop.example/shirt")
    assert (found.id, found.prices, found.currency) == ("44", (20.0, 25.0), "EUR")
    assert found.options == {"color": ("red", "blue"), "size": ("S", "M"), "Fit": ("slim", "wide")}
    assert found.option_images["blue"] == "https://i.example/blue.jpg"


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("Lock &amp;amp; Stock", "Lock & Stock"),
        ("Men&amp;#39;s &amp;quot;9&amp;quot;", 'Men\'s "9"'),
        ("5 &amp;lt; 6", "5 < 6"),
        ("R&amp;D &amp; more", "R&D & more"),
        ("a &copy b", "a © b"),
        ("Bed&amp;nbsp;Frame", "Bed Frame"),
    ],
)
def test_what_was_escaped_twice(said: str, read: str) -> None:
    page = f'<meta property="og:title" content="{said}"><h1 id="itemTitle">{said}</h1>'
    assert site_named("schema.org").read_item(page).title == read
    assert site_named("ebay").read_item(page).title == read
    data = {"@type": "Product", "name": said.replace("&amp;", "&", 1), "offers": {"price": 1}}
    assert site_named("schema.org").read_item(_script(data)).title == read.replace("©", "&copy")


def test_descriptions_lose_their_tags() -> None:
    data = {
        "@type": "Product",
        "name": "Lamp",
        "description": "<p>It <b>glows</b>.</p><p>Twice</p>",
    }
    assert site_named("schema.org").read_item(_script(data)).description == "It glows . Twice"


# What a third round of pages showed.


def test_amazons_brand_above_a_title_is_no_title() -> None:
    entry = (
        '<div data-component-type="s-search-result" data-asin="B0000000{at}1">'
        "<h2>Lumo</h2><a href='/dp/B0000000{at}1'><h2>{title}</h2></a>{price}</div>"
    )
    price = '<span class="a-price"><span class="a-offscreen">{}</span></span>'
    long = "Desk lamp with three arms and a very long cable"
    offers = '<a href="/gp/offer-listing/x"><span class="a-color-price">$4.00</span></a> used'
    page = (
        entry.format(at=1, title=long, price=price.format("$20.00"))
        + entry.format(at=2, title=f"LUMO {long}", price=price.format("$0.00") + "<span>Or $7.50 to"
                       " buy</span>")
        + entry.format(at=3, title=long, price=offers)
    )  # fmt: skip
    cards = site_named("amazon").read_results(page).cards
    assert [card.title for card in cards] == [f"Lumo {long}", f"LUMO {long}", f"Lumo {long}"]
    assert [card.prices for card in cards] == [(20.0,), (7.5,), ()]


def test_amazons_older_and_newer_parts_of_an_item() -> None:
    page = (
        '<span id="productTitle">A book</span><div id="productFactsDesktopExpander"><li>Bound</li>'
        '<li>Long</li></div><img id="imgBlkFront" src="data:image/png;base64,x"'
        " data-a-dynamic-image='{\"https://m.example/large.jpg\": [1, 2]}'>"
        '<div id="bookDescription_feature_div"><noscript><p>About lamps.</p></noscript></div>'
    )
    found = site_named("amazon").read_item(page)
    assert found.bullets == ("Bound", "Long")
    assert found.image == "https://m.example/large.jpg"
    assert found.description == "About lamps."


def test_what_unfolds_at_a_step_is_no_step() -> None:
    way = "<li><a>Toys</a></li><li><a>Sets</a><ul><li>Blocks</li><li>Trains</li></ul></li><li>Sets"
    found = site_named("ebay").read_item(f'<nav class="breadcrumbs"><ul>{way}</li></ul></nav>')
    assert found.category == "Toys › Sets"


@pytest.mark.parametrize(
    ("steps", "category"),
    [
        (("Anasayfa", "Lambalar", "Masa"), "Lambalar › Masa"),
        (("Lampi", "Cod produs: 82R"), "Lampi"),
        (("Shop (Austria)", "Lampen"), "Lampen"),
        (("Lamps", "More by Lumo"), "Lamps"),
        (("Home", "Lumo"), "Lumo"),
        (("Home", "Lamps", "Lumo"), "Lamps"),
    ],
)
def test_steps_that_are_no_category(steps: tuple[str, ...], category: str) -> None:
    crumbs = "".join(f"<li>{step}</li>" for step in steps)
    data = _script({"@type": "Product", "name": "Lumo desk lamp", "brand": "Lumo",
                    "offers": {"price": 5}})  # fmt: skip
    page = f'{data}<h1>Lumo desk lamp</h1><ul class="breadcrumb">{crumbs}</ul>'
    found = site_named("schema.org").read_item(page, "https://shop.example/lamp")
    assert found.category == category


def test_what_a_template_left_is_no_picture_and_markup_no_description() -> None:
    page = (
        '<meta property="og:image" content="Models.Image"><meta property="og:title" content="Lamp">'
        '<meta property="og:description" content="&lt;b&gt;Warm&lt;/b&gt; light">'
    )
    found = site_named("schema.org").read_item(page, "https://shop.example/lamp")
    assert (found.image, found.description) == ("", "Warm light")


def test_a_windows_title_is_cut_where_a_heading_ends() -> None:
    page = "<title>Milk-white lamp-The Shop</title><h3>Milk-white lamp</h3>"
    assert site_named("schema.org").read_item(page).title == "Milk-white lamp"


def test_what_an_option_costs_is_no_option() -> None:
    options = "<option>Choose</option><option>S (7)</option><option>M (+$2.00)</option>"
    page = f'<select name="size">{options}</select><select name="style"><option>$5.99</select>'
    found = site_named("schema.org").read_item(page)
    assert found.options == {"size": ("S (7)", "M")}
