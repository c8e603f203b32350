"""The original's functions for loading and searching, over a catalogue."""

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from errands.errors import SettingError
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import PER_PAGE, RESULT_LIMIT, parse_action
from errands_legacy.goals import in_load_order
from errands_legacy.records import GoalList, ProductItems, ProductList, ProductPrices
from errands_legacy.sources import PathLike, find_catalog

__all__ = [
    "ACTION_TO_TEMPLATE",
    "BACK_TO_SEARCH",
    "END_BUTTON",
    "NEXT_PAGE",
    "PREV_PAGE",
    "PRODUCT_WINDOW",
    "SEARCH_RETURN_N",
    "TOP_K_ATTR",
    "SearchEngine",
    "generate_product_prices",
    "get_goals",
    "get_product_per_page",
    "get_top_n_product_from_keywords",
    "init_search_engine",
    "load_products",
    "parse_action",
]

SEARCH_RETURN_N: Final = RESULT_LIMIT
PRODUCT_WINDOW: Final = PER_PAGE
TOP_K_ATTR: Final = 10
END_BUTTON: Final = "Buy Now"
NEXT_PAGE: Final = "Next >"
PREV_PAGE: Final = "< Prev"
BACK_TO_SEARCH: Final = "Back to Search"
ACTION_TO_TEMPLATE: Final = {
    "Description": "description_page.html",
    "Features": "features_page.html",
    "Reviews": "review_page.html",
    "Attributes": "attributes_page.html",
}


class FoundDocument(NamedTuple):
    """One search result, with the names that Pyserini gives it."""

    docid: str
    score: float

    def raw(self) -> str:
        return json.dumps({"id": self.docid})


class SearchEngine:
    """A catalogue's search with the two methods of Pyserini's searcher that WebShop calls."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def search(self, q: str, k: int = 10) -> list[FoundDocument]:
        return [FoundDocument(hit.asin, round(hit.score, 4)) for hit in self.catalog.search(q, k)]

    def doc(self, docid: str) -> FoundDocument | None:
        return FoundDocument(docid, 0.0) if docid in self.catalog else None


def init_search_engine(num_products: int | None = None) -> SearchEngine:
    """The search over the default products, or so many of them."""
    return SearchEngine(find_catalog(num_products=num_products))


def load_products(
    filepath: PathLike | None = None,
    attrpath: PathLike | int | None = None,
    num_products: int | None = None,
    human_goals: Any = True,
) -> tuple[ProductList, ProductItems, ProductPrices, Mapping[str, set[str]]]:
    """Views of a catalogue's products, by place and by asin, their prices, and attributes' asins.

    The products do not hold instructions; `human_goals` is taken for the original's sake. Where
    verl-agent has `attrpath`, the original has `num_products`: both are understood.
    """
    if isinstance(attrpath, int):
        attrpath, num_products = None, attrpath
    catalog = find_catalog(file_path=filepath, attr_path=attrpath, num_products=num_products)
    attribute_to_asins: defaultdict[str, set[str]] = defaultdict(set)
    for product in catalog:
        for attribute in product.attributes:
            attribute_to_asins[attribute].add(product.asin)
    prices = ProductPrices(catalog, lambda product: product.price)
    return ProductList(catalog), ProductItems(catalog), prices, attribute_to_asins


def get_goals(
    all_products: Sequence[Mapping[str, Any]], product_prices: Any = None, human_goals: Any = True
) -> GoalList:
    """The goals of a catalogue in load order, before any shuffle."""
    if not isinstance(all_products, ProductList):
        raise SettingError(
            "get_goals needs the products of load_products or of a server (server.all_products);"
            " for products of your own build a catalogue: `errands catalog build`."
        )
    kind = "human" if human_goals else "synthetic"
    return GoalList(in_load_order(all_products.catalog.goals(kind)))


def generate_product_prices(all_products: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """What products cost: of a range a price drawn by Python's global generator."""
    prices = {}
    for product in all_products:
        low, *high = product["pricing"] or [100.0]
        prices[product["asin"]] = random.uniform(low, high[0]) if high else low
    return prices


def get_top_n_product_from_keywords(
    keywords: Sequence[str],
    search_engine: SearchEngine,
    all_products: Any,
    product_item_dict: Mapping[str, Any],
    attribute_to_asins: Any = None,
) -> list[Any]:
    """The products that a search finds; the original's hidden queries (`<r>`, ...) are words."""
    hits = search_engine.search(" ".join(keywords), SEARCH_RETURN_N)
    return [product_item_dict[hit.docid] for hit in hits if hit.docid in product_item_dict]


def get_product_per_page(top_n_products: Sequence[Any], page: int) -> Sequence[Any]:
    """The products of a results page."""
    return top_n_products[(page - 1) * PRODUCT_WINDOW : page * PRODUCT_WINDOW]
