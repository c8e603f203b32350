"""The benchmark runs and reports what it should; how fast it is, no test says."""

from errands.bench.figure import Figure, machine, percentile, private_memory
from errands.bench.shop import bench_shop
from errands.shop.catalog.catalog import Catalog


def test_figures(little: Catalog) -> None:
    figures = {figure.name: figure for figure in bench_shop(str(little.path), steps=1000)}
    steps = figures["steps per second"]
    assert (steps.floor, steps.aim) == (10_000, 29_000)
    assert figures["reset, median"].floor == 100
    assert figures["memory of one more environment"].floor == 20
    # Memory that was freed before may serve: then more environments seem to cost nothing.
    assert all(figure.value > 0 for figure in figures.values() if figure.unit not in ("KB", "MB"))


def test_verdicts() -> None:
    assert Figure("a", 5, "", 3, 4).verdict == "aim"
    assert Figure("a", 3.5, "", 3, 4).verdict == "floor"
    assert Figure("a", 2, "", 3, 4).verdict == "missed"
    assert Figure("a", 2, "", 3, None, more_is_better=False).verdict == "floor"
    assert Figure("a", 4, "", 3, 1, more_is_better=False).verdict == "missed"
    assert Figure("a", 4, "").verdict == ""


def test_helpers() -> None:
    assert percentile([3, 1, 2], 0.5) == 2
    assert percentile([1], 0.99) == 1
    assert private_memory() > 1 << 20
    assert "cores" in machine()
