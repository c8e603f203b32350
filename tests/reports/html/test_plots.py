from xml.etree import ElementTree

import pytest

from errands.reports.html import plots
from errands.reports.html.plots import DotRow, PlotLine, PlotMark, Series
from errands.reports.statistics.estimate import NOTHING, Estimate

HALF = Estimate(50.0, 40.0, 60.0, 10)
ODD = 'a<b>&"c"\x00\ud800'


def drawn() -> dict[str, str]:
    marks = [PlotMark("one", 0, HALF), PlotMark(ODD, 9, NOTHING)]
    return {
        "bars": plots.bars("t", marks),
        "no bars": plots.bars("t", []),
        "histogram": plots.histogram("t", [("a", 0.25, 1), (ODD, 0.75, 3)], axis="x"),
        "empty histogram": plots.histogram("t", [], axis="x"),
        "dots": plots.dots("t", [DotRow(ODD, marks), DotRow("none", [])]),
        "scatter": plots.scatter(
            ODD, [("r", 0, [(10, 5.0), (2000, 90.0), (0, 1.0)])],
            [Series("r", 0, [(100, HALF), (500, NOTHING)])], x_title="x", y_title="y",
        ),
        "one point": plots.scatter("t", [("r", 0, [(7, 5.0)])], [], x_title="x", y_title="y"),
        "no points": plots.scatter("t", [], [], x_title="x", y_title="y"),
        "lines": plots.lines("t", [Series(ODD, 1, [(0, HALF), (7, HALF)])], x_title="", y_title=""),
        "no lines": plots.lines("t", [], x_title="", y_title=""),
        "differences": plots.differences(
            "t", [0, 5, 20, 0, 1], Estimate(-12.0, -20.0, -1.0, 9), first=ODD, second="b",
            colours=(0, 1),
        ),
        "curves": plots.curves(
            ODD,
            [
                PlotLine(ODD, 0, [(0, 1.2), (50, 0.4)]),
                PlotLine("b", 9, [(7, -0.3)], is_checked=True),
            ],
            x_title="x", y_title="y",
        ),
        "flat curves": plots.curves("t", [PlotLine("a", 0, [(0, 0.0)])], x_title="", y_title=""),
        "far curves": plots.curves(
            "t", [PlotLine("a", 0, [(1e9, 1e300), (2e9, -1e300)])], x_title="", y_title=""
        ),
        "no curves": plots.curves("t", [PlotLine("a", 0, [])], x_title="", y_title=""),
        "split": plots.split_bar("t", [("better", 1000, "c0"), ("same", 1, "muted"), ("b", 0, "")]),
    }  # fmt: skip


@pytest.mark.parametrize("name", list(drawn()))
def test_every_plot_is_well_formed_named_and_inside_its_box(name: str) -> None:
    picture = drawn()[name]
    root = ElementTree.fromstring(picture)
    assert root.get("role") == "img"
    assert root.get("aria-label")
    assert root.find("title") is not None
    assert "nan" not in picture
    width, height = (float(part) for part in root.get("viewBox", "").split()[2:])
    for shape in root.iter():
        for where, room in (
            ("x", width),
            ("x1", width),
            ("x2", width),
            ("cx", width),
            ("y", height),
            ("y1", height),
            ("y2", height),
            ("cy", height),
        ):
            spot = shape.get(where)
            assert spot is None or -1 <= float(spot) <= room + 1, (where, spot)


def test_the_bar_is_as_long_as_its_value() -> None:
    root = ElementTree.fromstring(plots.bars("t", [PlotMark("a", 0, HALF)]))
    track, bar = [rect for rect in root.iter("rect") if rect.get("class") in ("track", "c0")]
    ratio = float(bar.get("width", "")) / float(track.get("width", ""))
    assert ratio == pytest.approx(0.5, abs=0.001)


def test_what_is_pointed_at_says_its_figures() -> None:
    assert "<title>one: 50.0 % (95 % interval 40.0 to 60.0)</title>" in drawn()["bars"]
    assert "no figure" in drawn()["bars"]


def test_nothing_foreign_gets_out_of_its_text() -> None:
    for picture in drawn().values():
        assert "<b>" not in picture
        picture.encode("utf-8")


def test_a_curve_stands_where_its_figures_are() -> None:
    line = PlotLine("a", 0, [(0, -1.0), (100, 0.0), (200, 1.0)], is_checked=True)
    root = ElementTree.fromstring(plots.curves("t", [line], x_title="x", y_title="y"))
    dots = [(float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in root.iter("circle")]
    assert [x for x, _ in dots] == [40.0, 213.0, 386.0]
    assert [y for _, y in dots] == [214.0, 122.0, 30.0]
    ticks = {text.text: float(text.get("y", "")) - 4 for text in root.iter("text")}
    assert (ticks["-1"], ticks["0.5"], ticks["1"]) == (214.0, 76.0, 30.0)
