"""The paper's human rows, of sessions on our own site."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crowd_shopping import Street
from typer.testing import CliRunner

from errands.cli import app
from errands.crowd.shopping.assignments import ShoppingSettings
from errands.crowd.shopping.demonstrations import SessionFilter, export_run
from errands.crowd.store.database import Database
from errands.errors import DataError, SettingError
from errands.experiments.people import PeopleRow, people_rows, to_markdown
from errands.runs.protocol import find_protocol
from errands.runs.runner import run
from errands.shop.catalog.catalog import Catalog


@pytest.fixture
def street(database: Database, little: Catalog) -> Street:
    street = Street(database, little)
    street.outings.set_settings(ShoppingSettings(is_open=True, budget=1000.0, trials=1, bar=0.1))
    return street


@pytest.fixture
def people(street: Street, tmp_path: Path) -> str:
    """Three workers; Bob never picks an option, and everybody's first session is a trial."""
    for name, picks, sessions in (("Ann", True, 4), ("Bob", False, 6), ("Cy", True, 3)):
        worker = street.worker(name)
        for _ in range(sessions):
            street.errand(worker, options=picks)
    return _export(street, tmp_path / "people", include_trials=True)


def _export(street: Street, out: Path, **wanted: Any) -> str:
    chosen = SessionFilter(**wanted)
    return export_run(street.database, out, chosen, catalog=str(street.catalog.path)).place


def _by_name(rows: list[PeopleRow]) -> dict[str, PeopleRow]:
    return {row.name: row for row in rows}


def test_everybody_experts_the_best_and_the_last(people: str) -> None:
    rows = _by_name(people_rows([people]))
    assert list(rows) == ["everybody", "experts", "the best", "the last"]
    assert {name: (row.people, row.episodes) for name, row in rows.items()} == {
        "everybody": (3, 10),
        "experts": (2, 5),
        "the best": (1, 3),
        "the last": (1, 5),
    }
    assert rows["experts"].score.mean == rows["the best"].score.mean == 100
    last = rows["the last"]
    assert last.score.mean is not None
    assert last.score.mean < 100
    assert last.parts["options"] is not None
    assert rows["experts"].parts["options"] in (100, None)
    everybody = rows["everybody"]
    assert everybody.score.mean == pytest.approx((5 * 100 + 5 * last.score.mean) / 10)
    assert everybody.paper == "75.5 / 50.0 %"


def test_what_is_counted_has_a_mean_a_maximum_and_a_minimum(people: str) -> None:
    from contextlib import closing

    from errands.runs.store.places import open_run

    row = _by_name(people_rows([people], include_trials=True))["everybody"]
    with closing(open_run(people)) as store:
        held = list(store.summaries())
    assert row.episodes == len(held) == 13
    for name in ("states", "items", "searches", "steps"):
        counts = [getattr(one, name) for one in held]
        found = row.counted[name]
        assert found.mean == pytest.approx(np.mean(counts))
        assert (found.max, found.min) == (max(counts), min(counts))
    steps = row.counted["steps"]
    assert f"| {steps.mean:.1f} / {steps.max:.0f} / {steps.min:.0f} |" in to_markdown([row])


def test_an_agent_on_the_same_goals_is_a_row(people: str, tmp_path: Path) -> None:
    protocol = find_protocol(str(Path(people) / "protocol.toml"))
    rule = run(protocol, "rule", out=tmp_path / "rule")
    out = tmp_path / "people.md"
    words = ["experiment", "people", people, str(rule.place), "--json", "--out", str(out)]
    told = CliRunner().invoke(app, words, catch_exceptions=False)
    assert told.exit_code == 0, told.output
    rows = {row["name"]: row for row in json.loads(told.stdout)}
    assert rows["rule"]["people"] is None
    assert rows["rule"]["counted"]["searches"] == {"mean": 1.0, "max": 1.0, "min": 1.0}
    assert "| rule |" in out.read_text()
    with pytest.raises(SettingError, match=r"None of these runs is of people"):
        people_rows([rule.place])


def test_an_export_of_experts_is_not_halved_again(street: Street, tmp_path: Path) -> None:
    for name in ("Ann", "Bob", "Cy"):
        worker = street.worker(name)
        for _ in range(3):
            street.errand(worker)
    rows = _by_name(people_rows([_export(street, tmp_path / "experts", experts=True)]))
    assert list(rows) == ["experts", "the best", "the last"]
    assert rows["experts"].people == 2


def test_trials_alone_are_told(street: Street, tmp_path: Path) -> None:
    street.errand(street.worker("Ann"))
    place = _export(street, tmp_path / "trials", include_trials=True)
    with pytest.raises(DataError, match="--include-trials"):
        people_rows([place])
    assert _by_name(people_rows([place], include_trials=True))["everybody"].episodes == 1
