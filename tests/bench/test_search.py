"""The search benchmark measures what it says, and takes another engine's word as it comes."""

import json
import sys
from pathlib import Path

import pytest

from errands.bench.search import bench_search, product_queries
from errands.errors import SettingError
from errands.shop.catalog.catalog import Catalog

ENGINE = """
import json, sys
from errands.shop.catalog.catalog import Catalog
queries = open(sys.argv[2], encoding="utf-8").read().splitlines()
catalog = Catalog.open(sys.argv[1])
hits = [[hit.asin for hit in catalog.search(query, int(sys.argv[3]))] for query in queries]
hits[0] = []
print("some remark")
print(json.dumps({"queries_per_second": 10.0, "hits": hits}))
"""


def test_figures_and_another_engine(little: Catalog, tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(ENGINE)
    program = f"{sys.executable} {engine} {little.path}"
    figures = {
        figure.name: figure
        for figure in bench_search(str(little.path), queries=100, processes=3, against=program)
    }
    assert (figures["search, median"].floor, figures["search, median"].aim) == (4, 1)
    together = figures["3 processes: all, shared pages once"].value
    assert 0 < together < figures["3 processes: if nothing were shared"].value
    assert figures["queries with another answer when all are scored"].value == 0
    assert figures["open in a new process"].verdict
    assert figures["ours / the other's"].value == pytest.approx(
        figures["ours, right after it"].value / 10
    )
    assert figures["the same hits in the same order"].value == 99


@pytest.mark.parametrize("answer", ["", "no JSON", "[]", "{}", '{"queries_per_second": "many"}'])
def test_an_engine_that_says_something_else(little: Catalog, answer: str, tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(f"print({answer!r})")
    with pytest.raises(SettingError, match=r'must be a JSON object with "queries_per_second"'):
        list(bench_search(str(little.path), queries=100, against=f"{sys.executable} {engine}"))


def test_queries_are_words_of_products(little: Catalog) -> None:
    queries = product_queries(little, 50, seed=3)
    assert queries == product_queries(little, 50, seed=3) != product_queries(little, 50, seed=4)
    assert all(1 <= len(query.split()) <= 16 for query in queries)
    assert all(little.search(query) for query in queries)
    assert json.dumps(queries)
