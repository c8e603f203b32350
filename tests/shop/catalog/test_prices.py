"""Prices by row: drawn once in load order, and drawn anew by another seed."""

import random
from pathlib import Path

import numpy as np

from errands.shop.catalog.catalog import Catalog
from errands.shop.catalog.prices import Prices, PricesWriter


def test_ranges_are_drawn_in_order(tmp_path: Path) -> None:
    writer = PricesWriter(random.Random(5))
    writer.take(np.array([1.0, 10.0, 3.0]), np.array([1], np.uint32), np.array([20.0]))
    writer.take(np.array([30.0]), np.array([0], np.uint32), np.array([10.0]))
    writer.finish(tmp_path)
    rng = random.Random(5)
    drawn = [1.0, rng.uniform(10, 20), 3.0, rng.uniform(30, 10)]
    prices = Prices.open(tmp_path, lambda asin: 0)
    assert [prices.at(row) for row in range(4)] == drawn
    other = random.Random(6)
    again = prices.drawn_anew(random.Random(6))
    assert again.at(1) == other.uniform(10, 20)
    assert again.at(3) == other.uniform(30, 10)
    assert again.at(0) == 1.0
    assert prices.at(1) == drawn[1]


def test_a_product_costs_what_was_drawn(little: Catalog) -> None:
    ranged = [product for product in little if len(product.prices) == 2]
    assert ranged
    for product in ranged:
        assert product.prices[0] < product.price < product.prices[1]
        assert little[product.asin] == product
        assert little.goals("human").price(product) == product.price
        assert little.goals("human", 4).price(product) != product.price
