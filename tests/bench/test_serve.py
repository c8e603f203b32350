"""The benchmark of serving runs against a real server, with every transport."""

import pytest

from errands.bench.serve import bench_serve
from errands.errors import ErrandsError, SettingError
from errands.shop.catalog import Catalog


@pytest.mark.parametrize("transport", ["http", "websocket", "batch"])
def test_figures(little: Catalog, transport: str) -> None:
    measured = bench_serve(str(little.path), sessions=40, seconds=1.0, transport=transport)
    figures = {figure.name: figure for figure in measured}
    assert figures["errors"].value == 0
    assert (figures["open sessions"].value, figures["open sessions"].floor) == (40, 2000)
    assert figures["steps per second, by the clock"].floor == 3000
    assert figures["steps"].value > 40
    assert figures["resets"].value >= 40
    assert figures["server's memory, end"].value > 1


def test_mistakes() -> None:
    with pytest.raises(SettingError, match="transport='pigeon'"):
        next(bench_serve("demo", transport="pigeon"))
    with pytest.raises(ErrandsError, match="The server did not start: errands: "):
        next(bench_serve("/nowhere/at/all"))
