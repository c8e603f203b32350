"""Shops that never were: small pages laid out as the real ones are, for tests to bridge to."""

import json
from collections.abc import Sequence
from typing import Any

from errands.transfer.fetch.fetcher import Fetch, FetchedPage, FetchError, PageRequest
from errands.transfer.goals import TransferGoal
from errands.transfer.journal import TransferRun
from errands.transfer.play import TransferConfig, transfer
from errands.transfer.sites.site import SiteReader

GOODS: tuple[dict[str, Any], ...] = tuple(
    {
        "id": f"B0SHOE{number:04d}",
        "number": f"40000000{number:04d}",
        "title": f"{colour} Trail Runner {number}, Non Slip Sole",
        "price": 20.0 + number,
        "was": 60.0 + number,
        "colours": ("Red", "Night/Blue"),
        "sizes": ("8", "9", "10"),
    }
    for number, colour in enumerate(["Red", "Blue", "Green", "Black"] * 6)
)


def amazon_results(goods: tuple[dict[str, Any], ...], following: bool) -> str:
    rows = "".join(
        f'<div data-component-type="s-search-result" data-asin="{each["id"]}">'
        f'<img class="s-image" src="https://pictures.example/{each["id"]}.jpg" alt="">'
        f'<h2 class="a-size-mini"><a href="/x/dp/{each["id"]}/ref=1">{each["title"]}</a></h2>'
        '<div class="s-price-instructions-style">'
        f'<span class="a-price" data-a-strike="true"><span class="a-offscreen">${each["was"]}'
        "</span></span>"
        f'<span class="a-price"><span class="a-offscreen">${each["price"]:.2f}</span>'
        f'<span aria-hidden="true">${each["price"]:.2f}</span></span></div></div>'
        for each in goods
    )
    more = '<a class="s-pagination-item s-pagination-next" href="?page=2">Next</a>' * following
    return f"<!DOCTYPE html><html><body><script>var x = '$1';</script>{rows}{more}</body></html>"


def amazon_item(each: dict[str, Any]) -> str:
    sizes = "".join(
        f'<li id="size_name_{at}"><p>{size}</p></li>' for at, size in enumerate(each["sizes"])
    )
    colours = "".join(
        f'<li><img alt="{colour}" src="https://pictures.example/{at}.jpg"></li>'
        for at, colour in enumerate(each["colours"])
    )
    return f"""<!DOCTYPE html><html><head><title>{each["title"]}</title></head><body>
    <div id="wayfinding-breadcrumbs_feature_div"><ul><li><a>Clothing</a></li><li>›</li>
    <li><a>Shoes</a></li></ul></div>
    <input type="hidden" id="ASIN" name="ASIN" value="{each["id"]}">
    <h1><span id="productTitle"> {each["title"]} </span></h1>
    <span id="acrPopover" title="4.2 out of 5 stars">4.2</span>
    <div id="corePriceDisplay_desktop_feature_div"><style>.a {{ color: $9.99 }}</style>
    <span class="a-price" data-a-strike="true"><span class="a-offscreen">${each["was"]}</span>
    </span><span class="a-price priceToPay"><span class="a-offscreen">${each["price"]:.2f}</span>
    </span></div>
    <div id="twister_feature_div">
    <div id="variation_color_name">
    <ul data-a-button-group='{{"name":"twister_color_name"}}'>{colours}</ul></div>
    <div id="variation_size_name"><ul>{sizes}</ul></div></div>
    <div id="feature-bullets"><h1>About this item</h1><ul><li>Non slip rubber sole</li>
    <li>Light &lt;b&gt;mesh&lt;/b&gt;</li></ul></div>
    <div id="productDescription"><p>A shoe for trails.</p><script>steal()</script></div>
    <img id="landingImage" src="https://pictures.example/{each["id"]}.jpg">
    </body></html>"""


def ebay_results(goods: tuple[dict[str, Any], ...], following: bool) -> str:
    advert = (
        '<div class="s-item__wrapper clearfix">'
        '<a class="s-item__link" href="https://ebay.com/itm/123456">'
        '<h3 class="s-item__title">Shop on eBay</h3></a>'
        '<span class="s-item__price">$20.00</span></div>'
    )
    rows = "".join(
        '<div class="s-item__wrapper clearfix">'
        f'<img src="https://pictures.example/{each["number"]}.webp">'
        f'<a class="s-item__link" href="https://www.ebay.com/itm/{each["number"]}?hash=x">'
        f'<h3 class="s-item__title">{each["title"]}</h3></a>'
        f'<span class="s-item__price">${each["price"]:.2f}<span> to </span>'
        f"${each['was']:.2f}</span>"
        "</div>"
        for each in goods
    )
    more = (
        '<a class="pagination__next" href="https://www.ebay.com/sch/i.html?_pgn=2"></a>' * following
    )
    return f"<html><body>{advert}{rows}{more}</body></html>"


def ebay_item(each: dict[str, Any]) -> str:
    values = "".join(f"<option>{size}</option>" for size in each["sizes"])
    return f"""<html><head><meta property="og:url" content="https://www.ebay.com/itm/{each["number"]}">
    </head><body><nav class="breadcrumbs"><ul><li>Clothing</li><li>Shoes</li></ul></nav>
    <h1 class="x-item-title__mainTitle"><span>{each["title"]}</span></h1>
    <div class="x-price-primary"><span>US ${each["price"]:.2f}/ea</span></div>
    <div id="mainImgHldr"><img id="icImg" src="https://pictures.example/1.jpg"></div>
    <select class="msku-sel" name="Size"><option>- Select -</option>{values}</select>
    <div class="x-about-this-item"><h2>Item specifics</h2>
    <div class="ux-labels-values__labels">Sole:</div>
    <div class="ux-labels-values__values">Rubber</div>
    <div class="ux-labels-values__labels">Brand:</div>
    <div class="ux-labels-values__values">Trail</div>
    </div><iframe id="desc_ifr" src="https://vi.vipr.ebaydesc.com/d?item={each["number"]}"></iframe>
    </body></html>"""


def ebay_description(each: dict[str, Any]) -> str:
    return f'<html><body><div id="ds_div">Sold by  us: {each["title"]}</div></body></html>'


def shop_results(goods: tuple[dict[str, Any], ...], following: bool) -> str:
    """A page of results with JSON-LD."""
    held = {
        "@context": "https://schema.org",
        "@type": "ItemList",
        "itemListElement": [
            {
                "@type": "ListItem",
                "position": at,
                "item": {
                    "@type": "Product",
                    "name": each["title"],
                    "sku": each["id"],
                    "url": f"/goods/{each['id']}.html",
                    "image": f"/pictures/{each['id']}.jpg",
                    "offers": {"price": f"{each['price']:.2f}", "priceCurrency": "USD"},
                },
            }
            for at, each in enumerate(goods, 1)
        ],
    }
    more = '<link rel="next" href="?page=2">' * following
    return (
        f"<html><head>{more}<script type='application/ld+json'>{json.dumps(held)}</script>"
        "</head><body></body></html>"
    )


def shop_item(each: dict[str, Any]) -> str:
    """An item with JSON-LD: a group whose variants differ in size and colour."""
    variants = [
        {
            "@type": "Product",
            "name": f"{each['title']} {size}",
            "size": size,
            "color": colour,
            "offers": {"@type": "Offer", "price": each["price"], "priceCurrency": "USD"},
        }
        for size in each["sizes"]
        for colour in each["colours"]
    ]
    held = {
        "@context": "https://schema.org",
        "@graph": [
            {
                "@type": "BreadcrumbList",
                "itemListElement": [
                    {"@type": "ListItem", "name": "Clothing"},
                    {"@type": "ListItem", "name": "Shoes"},
                ],
            },
            {
                "@type": "ProductGroup",
                "name": each["title"],
                "productGroupID": each["id"],
                "url": f"https://shop.example/goods/{each['id']}.html",
                "description": "A shoe for trails.",
                "image": ["https://shop.example/1.jpg"],
                "brand": {"@type": "Brand", "name": "Trail"},
                "aggregateRating": {"ratingValue": 4.2, "bestRating": 5},
                "variesBy": ["https://schema.org/size", "https://schema.org/color"],
                "additionalProperty": [{"name": "Sole", "value": "non slip rubber"}],
                "hasVariant": variants,
            },
        ],
    }
    return (
        f"<html><head><script type='application/ld+json'>{json.dumps(held)}</script></head></html>"
    )


MICRODATA = """<html><body><div itemscope itemtype="https://schema.org/Product">
<h1 itemprop="name">Brass Lamp</h1><img itemprop="image" src="/lamp.jpg">
<span itemprop="sku" content="LAMP-1"></span><p itemprop="description">It glows.</p>
<div itemprop="brand" itemscope itemtype="https://schema.org/Brand">
<b itemprop="name">Glow</b></div>
<div itemprop="offers" itemscope itemtype="https://schema.org/Offer">
<meta itemprop="priceCurrency" content="EUR">
<span itemprop="price" content="1299.50">1.299,50</span>
</div><div itemprop="aggregateRating" itemscope><span itemprop="ratingValue">4.5</span></div>
</div></body></html>"""


class MadeUpShop:
    """All pages of a made-up shop, as a fetcher: ten or so results a page, whatever is sought."""

    def __init__(self, site: str, per_page: int = 12) -> None:
        self.asked: list[PageRequest] = []
        self._site = site
        self._per_page = per_page

    def __call__(self, request: PageRequest) -> FetchedPage:
        self.asked.append(request)
        results, item = {
            "amazon": (amazon_results, amazon_item),
            "ebay": (ebay_results, ebay_item),
            "schema.org": (shop_results, shop_item),
        }[self._site]
        if request.kind == "search":
            page = int(request.url.rsplit("=", 1)[-1])
            first = (page - 1) * self._per_page
            goods = GOODS[first : first + self._per_page]
            return FetchedPage(
                request.url, 200, results(goods, first + self._per_page < len(GOODS))
            )
        for each in GOODS:
            if "ebaydesc" in request.url and each["number"] in request.url:
                return FetchedPage(request.url, 200, ebay_description(each))
            if each["id"] in request.url or each["number"] in request.url:
                return FetchedPage(request.url, 200, item(each))
        raise FetchError(f"{request.url} is not a page of this shop.")


def run_transfer(
    goals: Sequence[TransferGoal], site: SiteReader, fetch: Fetch, agent: str, **options: Any
) -> tuple[TransferRun, str]:
    """A run of an agent; `options` are those of `TransferConfig`."""
    return transfer(goals, site, fetch, TransferConfig(agent=agent, **options))
