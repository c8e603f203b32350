"""A site reader of your own, in one file: a shop with plain tables, so that agents can shop there.

    errands transfer --site examples.site_reader:CornerShop --instruction "a red mug" --pages saved
    python examples/site_reader.py            # one purchase over two pages written below

To test it, subclass `errands.testing.SiteConformance`: see tests/examples/test_site_reader.py. To
give it a name, add to your package's pyproject.toml:

    [project.entry-points."errands.sites"]
    corner-shop = "my_package:CornerShop"
"""

import re
from html import unescape
from urllib.parse import parse_qsl, quote, urlsplit

from errands.transfer import (
    FetchedPage,
    LiveShopEnv,
    PageRequest,
    SiteCard,
    SiteProduct,
    SiteResults,
    site_results,
    with_missing,
)

HOST = "corner.example"
RESULTS = """<table id="results"><tr><td><a href="/item/7">Red Mug</a><td>$4.50</tr>
<tr><td><a href="/item/8">Blue Mug, large</a><td>$6.00</tr></table>"""
ITEM = """<table id="item" data-id="7"><caption>Red Mug</caption><tr><th>Price<td>$4.50</tr>
<tr><th>Size<td>small, large</tr><tr><th>About<td>A mug for tea.</tr></table>"""

_ROW = re.compile(r'<a href="/item/(\d+)">([^<]*)</a><td>\$([\d.]+)')
_CELL = re.compile(r"<th>(\w+)<td>([^<]*)")


class CornerShop:
    """A reader: which addresses are the shop's, and what its pages say."""

    name = "corner-shop"
    hosts = (HOST,)

    def admits(self, kind: str, url: str) -> bool:
        try:
            parts = urlsplit(url)
            at_home = (parts.scheme, parts.netloc) == ("https", HOST)
        except ValueError:
            return False
        if kind == "search":
            return at_home and parts.path == "/find" and "q" in dict(parse_qsl(parts.query, True))
        return at_home and bool(re.fullmatch(r"/item/\d+", parts.path))

    def search_url(self, query: str, page: int) -> str:
        return f"https://{HOST}/find?q={quote(query, safe='', errors='replace')}&page={page}"

    def item_url(self, id: str) -> str:
        return f"https://{HOST}/item/{quote(id, safe='')}"

    def kind(self, html: str) -> str:
        if 'id="results"' in html:
            return "search"
        return "item" if 'id="item"' in html else ""

    def refusal(self, html: str) -> str:
        return ""

    def read_results(self, html: str, url: str = "") -> SiteResults:
        cards = [
            SiteCard(id=id, url=self.item_url(id), title=unescape(title), prices=_prices(price),
                     currency="USD")
            for id, title, price in _ROW.findall(html)
        ]  # fmt: skip
        return site_results(cards, has_next=False, left_out=0, no_id=0)

    def read_item(self, html: str, url: str = "") -> SiteProduct:
        id = re.search(r'data-id="(\d+)"', html)
        title = re.search(r"<caption>([^<]*)", html)
        cells = {name.lower(): unescape(text).strip() for name, text in _CELL.findall(html)}
        sizes = [size.strip() for size in cells.get("size", "").split(",")]
        values = tuple(dict.fromkeys(size for size in sizes if size))
        return with_missing(
            SiteProduct(
                id=id[1] if id else "",
                title=unescape(title[1]).strip() if title else "",
                prices=_prices(cells.get("price", "")),
                currency="USD",
                description=cells.get("about", ""),
                options={"size": values} if values else {},
            )
        )

    def read_detail(self, product: SiteProduct, part: str, html: str) -> SiteProduct:
        return product


def _prices(text: str) -> tuple[float, ...]:
    price = re.search(r"\d{1,9}(?:\.\d{1,2})?", text)
    return (float(price[0]),) if price else ()


def fetch(request: PageRequest) -> FetchedPage:
    """In place of the network: the two pages above."""
    return FetchedPage(request.url, 200, RESULTS if request.kind == "search" else ITEM)


def main() -> None:
    env = LiveShopEnv(["a small red mug"], CornerShop(), fetch)
    env.reset()
    for action in ("search[red mug]", "click[7]", "click[small]", "click[buy now]"):
        observation, *_, info = env.step(action)
        print(f"{action}\n{observation}\n")
    print(info["purchase"]["product"]["title"], info["purchase"]["options"])


if __name__ == "__main__":
    main()
