"""The benchmark of pixels runs and reports what it should; how fast it is, no test says."""

import pytest

from errands.bench.pixels import bench_pixels, random_pages
from errands.browser import chromium
from errands.browser.chromium import BrowserError
from errands.shop.catalog.catalog import Catalog


def test_figures(little: Catalog) -> None:
    try:
        figures = {each.name: each for each in bench_pixels(str(little.path), steps=8, tabs=2)}
    except BrowserError as failure:
        if str(failure) not in (chromium.MISSING_BROWSER, chromium.MISSING_PACKAGE):
            raise
        pytest.skip(str(failure))
    assert figures["of 2 pages, other pixels than a fresh load"].value == 0
    assert figures["one tab: a picture, median"].aim == 30
    assert figures["2 tabs, 8 environments: steps per second"].aim == 60
    assert "2 tabs, 8 environments, pictures remembered: steps per second" in figures
    assert all(figure.value > 0 for name, figure in figures.items() if "other pixels" not in name)


def test_pages_differ_and_repeat(little: Catalog) -> None:
    pages = random_pages(little, 30, seed=2)
    assert len(set(pages)) == 30
    assert random_pages(little, 30, seed=2) == pages
