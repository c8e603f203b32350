"""How cost grows: every size is built from files and measured; table and curves show it."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from errands.bench.figure import Figure
from errands.bench.scale import Point, bench_scale, markdown, plot
from errands.errors import SettingError
from errands.reports.html.plots import log_curves


def test_two_sizes(tmp_path: Path) -> None:
    said: list[str] = []
    points = list(bench_scale(tmp_path / "out", (60, 200), workers=1, say=said.append))
    assert [point.products for point in points] == [60, 200]
    for point in points:
        figures = {figure.name: figure for figure in point.figures}
        assert figures["catalogue / items file"].value > 0
        assert figures["build"].floor is None  # Bounds are for the full size.
        assert figures["queries with another answer then"].value == 0
        assert figures["steps per second"].value > 0
    assert any("building" in stage for stage in said)
    assert list((tmp_path / "out").iterdir()) == []  # Nothing was to be kept.
    assert "| 60 | 200 |" in markdown(points)
    assert len(ElementTree.fromstring(plot(points)).findall(".//{*}polyline")) == 8


def test_what_else_lies_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "200").mkdir()
    (tmp_path / "200" / "precious.txt").write_text("mine")
    [point] = bench_scale(tmp_path, [200])
    assert point.products == 200
    assert [path.name for path in (tmp_path / "200").iterdir()] == ["precious.txt"]


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
