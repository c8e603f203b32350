"""Every benchmark runs, briefly; what is measured is kept, and stands beside what was."""

import json
from pathlib import Path

import pytest
from command import in_process
from effort import SLOW

from errands.bench.every import Measured, Part, environments_plot, markdown, read_measured
from errands.bench.figure import Figure
from errands.errors import SettingError
from errands.shop.catalog.catalog import Catalog

TITLES = [
    "Starting", "The shop", "Searching", "Vector environments", "Vector environments, 2 threads",
    "Form pages", "Pixels", "Runs", "Serving (websocket)", "Serving (batch)",
]  # fmt: skip
ONLY = () if SLOW else ("The shop", "searching", "Vector")


def test_all_of_it(little: Catalog, tmp_path: Path) -> None:
    people = tmp_path / "people.txt"
    people.write_text("red shoes\nsoft blanket\n")
    words = [
        *("bench", "all", "--data", little.path, "--out", "here", "--quick", "--people", people),
        *(word for part in ONLY for word in ("--only", part)),
    ]
    done = in_process(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "here" / "performance.md").read_text()
    titles = [line[3:].partition(":")[0] for line in page.splitlines() if line.startswith("## ")]
    assert titles == (TITLES if SLOW else TITLES[1:5])
    assert "people's queries: search, median (ms)" in page
    figures = tmp_path / "here" / "figures.json"
    first = json.loads(figures.read_bytes())
    # What was measured is not measured again, and stands beside.
    again = in_process(*words, "--before", figures, cwd=tmp_path)
    assert json.loads(figures.read_bytes()) == first, again.stderr
    assert "| figure | before | now |" in (tmp_path / "here" / "performance.md").read_text()


def measured(value: float) -> Measured:
    figure = Figure("16 environments: steps per second", value, "1/s", 10.0, 20.0)
    parts = (
        Part("Vector environments: 5 products", "errands", (figure,)),
        Part("Pixels", "e", (), "no"),
    )
    return Measured("1", "here", parts)


def test_before_and_after() -> None:
    page = markdown(measured(15), measured(5))
    assert "| 16 environments: steps per second (1/s) | 5 | 15 | 10 | 20 | floor |" in page
    assert "Not measured: no" in page
    assert "before" not in markdown(measured(15)).lower()
    assert "5 products" in environments_plot(measured(15))


def test_cost_over_the_number_of_products(little: Catalog, tmp_path: Path) -> None:
    words = [
        *("bench", "all", "--data", little.path, "--out", "here", "--quick"),
        *("--sizes", "60,300", "--only", "Built"),
    ]
    done = in_process(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "here" / "performance.md").read_text()
    assert "|  | 60 | 300 | floor | aim |" in page
    assert "| build (s) |" in page
    assert "<svg" in (tmp_path / "here" / "sizes.svg").read_text()
    in_process(*words, "--before", tmp_path / "here", cwd=tmp_path)
    assert "products, before" in (tmp_path / "here" / "performance.md").read_text()


def test_no_such_part(little: Catalog, tmp_path: Path) -> None:
    done = in_process("bench", "all", "--data", little.path, "--only", "Flying", cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no such part; expected Starting, The shop, Searching" in done.stderr


def test_no_figures(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="cannot be read"):
        read_measured(tmp_path)
    (tmp_path / "figures.json").write_text("[]")
    with pytest.raises(SettingError, match="expected what `errands bench all` wrote"):
        read_measured(tmp_path)
