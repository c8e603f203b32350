"""The figures that the WebShop paper gives of its catalogue, counted for any catalogue.

The paper does not say how it counted; docs/guides/catalogs.md has how we do, and why.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Final

import msgspec

from errands.progress import Progress, silent
from errands.shop.build.hash_counter import HashCounter
from errands.shop.catalog.catalog import Catalog
from errands.shop.product import UNMINED, Product

__all__ = ["PAPER", "CatalogStatistics", "Census", "catalog_statistics", "spoken_words"]

RARE: Final = 10
"""Words that occur no more often are not counted as vocabulary."""

_CHUNK = 512
_PUNCTUATION = '.,?!:;()-"'


class CatalogStatistics(msgspec.Struct, frozen=True):
    """What the paper tells of a catalogue."""

    products: int
    words_per_product: float
    """Of title, description and bullets."""
    vocabulary: int
    """Different words that occur more than ten times."""
    option_values: int
    """Different values, whatever the option."""
    options_per_product: float
    """Option names, such as colour and size."""
    attributes: int
    attributes_per_product: float
    subcategories: int
    """Different queries."""
    categories: dict[str, float]
    """Each with its share of the products."""
    human_goals: int
    words_per_human_goal: float
    human_vocabulary: int


PAPER: Final = CatalogStatistics(
    products=1_181_436,
    words_per_product=262.9,
    vocabulary=224_041,
    option_values=842_849,
    options_per_product=0.67,
    attributes=670,
    attributes_per_product=3.1,
    subcategories=313,
    categories={},
    human_goals=12_087,
    words_per_human_goal=15.9,
    human_vocabulary=9_036,
)
"""Sections 3.2 and A.1 of the paper, which gives no shares for its five categories."""


class Census:
    """Counts products and instructions."""

    def __init__(self) -> None:
        self._words = HashCounter()
        self._values = HashCounter()
        self._said = HashCounter()
        self._attributes: set[str] = set()
        self._queries: set[str] = set()
        self._categories: Counter[str] = Counter()
        self._numbers: Counter[str] = Counter()

    def add_products(self, products: Iterable[Product]) -> None:
        numbers = self._numbers
        texts: list[str] = []
        values: list[str] = []
        for product in products:
            texts += (product.title, product.description, *product.bullets)
            for offered in product.options.values():
                values += offered
            numbers["products"] += 1
            numbers["options"] += len(product.options)
            if product.attributes != UNMINED:
                numbers["attributes"] += len(product.attributes)
                self._attributes.update(product.attributes)
            self._queries.add(product.query)
            self._categories[product.category] += 1
        numbers["words"] += self._words.add_words("\n".join(texts))
        self._values.add(values)

    def add_instructions(self, instructions: Iterable[str]) -> None:
        words = [word for said in instructions for word in spoken_words(said)]
        self._numbers["said"] += self._said.add(words)

    def statistics(self, human_goals: int) -> CatalogStatistics:
        """The figures, of a catalogue with so many human goals."""
        products = self._numbers["products"]

        def each(name: str) -> float:
            return self._numbers[name] / products if products else 0.0

        return CatalogStatistics(
            products=products,
            words_per_product=each("words"),
            vocabulary=self._words.more_often_than(RARE),
            option_values=len(self._values),
            options_per_product=each("options"),
            attributes=len(self._attributes),
            attributes_per_product=each("attributes"),
            subcategories=len(self._queries),
            categories={name: count / products for name, count in sorted(self._categories.items())},
            human_goals=human_goals,
            words_per_human_goal=self._numbers["said"] / human_goals if human_goals else 0.0,
            human_vocabulary=len(self._said),
        )


def spoken_words(instruction: str) -> list[str]:
    """The words of an instruction: between spaces, in lower case, without punctuation around.

    >>> spoken_words("I'd like a (soft) one - size 9.5.")
    ["i'd", 'like', 'a', 'soft', 'one', 'size', '9.5']
    """
    words = (word.strip(_PUNCTUATION) for word in instruction.lower().split())
    return [word for word in words if word]


def catalog_statistics(catalog: Catalog, progress: Progress = silent) -> CatalogStatistics:
    """Count all of a catalogue; memory grows with the number of different words only."""
    census = Census()
    products = iter(catalog)
    counted = 0
    while chunk := list(islice(products, _CHUNK)):
        census.add_products(chunk)
        counted += len(chunk)
        progress("counting products", counted, len(catalog))
    human = catalog.manifest.goals.get("human", 0)
    if human:
        census.add_instructions(said for _, said in catalog.goals("human").entries()[0])
    return census.statistics(human)
