"""How cost grows: every size is built from files and measured; table and curves show it."""

import functools
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

import pytest

from errands.bench.figure import Figure
from errands.bench.scale import Point, bench_scale, markdown, plot
from errands.bench.search import bench_queries
from errands.bench.shop import bench_steps
from errands.errors import SettingError
from errands.reports.html.plots import log_curves


class Measured(NamedTuple):
    """Two sizes that were measured, in a folder in which something lay already."""

    folder: Path
    points: list[Point]
    said: list[str]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Few steps and queries: here it matters that they are measured, not how many."""
    folder = tmp_path_factory.mktemp("scale")
    (folder / "200").mkdir()
    (folder / "200" / "precious.txt").write_text("mine")
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        scale = "errands.bench.scale"
        patch.setattr(f"{scale}.bench_steps", functools.partial(bench_steps, steps=1000))
        patch.setattr(f"{scale}.bench_queries", functools.partial(bench_queries, queries=200))
        points = list(bench_scale(folder, (60, 200), workers=1, say=said.append))
    return Measured(folder, points, said)


def test_two_sizes(measured: Measured) -> None:
    points = measured.points
    assert [point.products for point in points] == [60, 200]
    for point in points:
        figures = {figure.name: figure for figure in point.figures}
        assert figures["catalogue / items file"].value > 0
        assert figures["build"].floor is None  # Bounds are for the full size.
        assert figures["queries with another answer when all are scored"].value == 0
        assert figures["steps per second"].value > 0
    assert any("building" in stage for stage in measured.said)
    assert not (measured.folder / "60").exists(), "nothing was to be kept"
    assert "| 60 | 200 |" in markdown(points)
    assert len(ElementTree.fromstring(plot(points)).findall(".//{*}polyline")) == 8


def test_what_else_lies_there_is_left_alone(measured: Measured) -> None:
    assert [path.name for path in measured.folder.iterdir()] == ["200"]
    assert [path.name for path in (measured.folder / "200").iterdir()] == ["precious.txt"]


def test_a_place_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingError, match=r"file/200 cannot be made \("):
        list(bench_scale(tmp_path / "file", [200]))


def test_a_table_with_bounds() -> None:
    points = [
        Point(1000, (Figure("build", 1.23456, "s"),)),
        Point(2_000_000, (Figure("build", 1234.5, "s", 720, 240, False), Figure("x", 1, ""))),
    ]
    lines = markdown(points).splitlines()
    assert lines[0] == "|  | 1,000 | 2,000,000 | floor | aim |"
    assert lines[2] == "| build (s) | 1.23 | 1,234 | 720 | 240 |"
    assert lines[3] == "| x |  | 1 |  |  |"


def test_curves_escape_and_stand_alone() -> None:
    drawn = log_curves("t", [("a < b & c", [(1000, 0.5), (1e6, 0.5)])], unit="products")
    root = ElementTree.fromstring(drawn)
    assert "a < b & c" in [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "href" not in drawn
