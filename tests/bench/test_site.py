"""`errands bench site`: it measures, and shoppers of its kind get through."""

from errands.bench.site import bench_site
from errands.shop.catalog.catalog import Catalog


def test_figures(little: Catalog) -> None:
    measured = bench_site(str(little.path), shoppers=20, seconds=3.0, think=0.02)
    figures = {figure.name: figure for figure in measured}
    assert figures["errors"].value == 0
    assert figures["shoppers at once"].value == 20
    assert figures["purchases"].value > 5
    assert figures["pages"].value > 200
    assert (figures["answer, median"].floor, figures["errors"].floor) == (50.0, 0)
