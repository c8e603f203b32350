"""Which product somebody writes about next: drawn, not searched, so the catalogue may be huge."""

from collections.abc import Callable, Iterator
from typing import Final

from errands.crowd.instructions.checks import shown
from errands.shop.catalog.catalog import Catalog
from errands.shop.product import Product
from errands.shop.synthetic.rng import Rng

__all__ = ["draw_product"]

DRAWS: Final = 200
"""Draws before those that are left must be so few that one had better look."""
WALK: Final = 20_000
"""Products that are then looked at, from a drawn one on: all of them in a small catalogue."""


def draw_product(
    catalog: Catalog,
    seed: int,
    number: int,
    is_free: Callable[[str], bool],
    free_among: Callable[[], Callable[[str], bool]],
) -> Product | None:
    """The product for the number-th writing: one that is free and has an attribute to write of.

    The same seed, number and free products give the same product. `is_free` is asked for a few
    products, what `free_among` gives for many.
    """
    if not len(catalog):
        return None
    dice = Rng(f"writing/{seed}/{number}")
    for _ in range(DRAWS):
        product = catalog.product_at(dice.below(len(catalog)))
        if shown(product).attributes and is_free(product.asin):
            return product
    is_left = free_among()
    for product in _walk(catalog, dice.below(len(catalog))):
        if shown(product).attributes and is_left(product.asin):
            return product
    return None


def _walk(catalog: Catalog, first: int) -> Iterator[Product]:
    count = len(catalog)
    return (catalog.product_at((first + step) % count) for step in range(min(WALK, count)))
