"""Calibration: what a seed gave is what the agents score, it is kept, and its table tells it."""

import json
from pathlib import Path
from statistics import mean

import pytest
from effort import effort

from errands import run
from errands.errors import DataError, SettingError
from errands.experiments import calibration
from errands.experiments.calibration import SeedFigures, calibrate, to_markdown
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog

PRODUCTS = effort(200, 400)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("calibration")


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[SeedFigures]:
    return calibrate(folder, products=PRODUCTS, seeds=[5, 6, 5], sample=1000, keep=True)


def test_a_row_for_each_seed(rows: list[SeedFigures]) -> None:
    assert [(row.difficulty, row.products, row.seed) for row in rows] == [
        ("paper", PRODUCTS, 5),
        ("paper", PRODUCTS, 6),
    ]
    assert rows[0].figures != rows[1].figures


def test_figures_are_what_agents_score(
    rows: list[SeedFigures], folder: Path, tmp_path: Path
) -> None:
    """All goals are drawn here, so playing them all must give the very same."""
    catalog = Catalog.open(folder / f"paper-{PRODUCTS}-5")
    count = len(catalog.goals("human"))
    mine = tmp_path / "mine.toml"
    mine.write_text(
        f'[all]\nversion = 1\ntitle = "All"\ndomain = "shop"\ndata = "{catalog.path}"\n'
        f'goals = "human"\nepisodes = {count}\nmax_steps = 100\n'
    )
    for agent, name in (("rule", "rule"), ("choice-oracle", "choice_oracle")):
        played = run(f"{mine}#all", agent=agent, out=tmp_path / agent, prove=0)
        rewards = [one.reward for one in open_run(played.place).summaries()]
        assert len(rewards) == count
        assert mean(rewards) == pytest.approx(rows[0].figures[f"{name}_score"])


def test_what_is_kept_is_not_counted_again(
    rows: list[SeedFigures], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "generate_catalog", None)
    monkeypatch.setattr(calibration, "goal_statistics", None)
    assert calibrate(folder, products=PRODUCTS, seeds=[5, 6], sample=1000) == rows


def test_the_table_has_the_papers_figures_and_the_differences(rows: list[SeedFigures]) -> None:
    text = to_markdown(rows)
    [rule] = [line for line in text.splitlines() if line.startswith("| rule |")]
    cells = [cell.strip() for cell in rule.strip("|").split("|")]
    assert cells[1] == "45.6 / 9.6"
    scores = [100 * row.figures["rule_score"] for row in rows]
    assert cells[2].startswith(f"{scores[0]:.1f} / ")
    assert cells[-1].startswith(f"{sum(scores) / 2 - 45.6:+.1f} / ")
    assert text.count("| choice oracle, ") == 4
    assert "| words per instruction | 14.36 |" in text


def test_a_damaged_result_and_an_impossible_wish_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "paper-400-5-9.json").write_text(json.dumps({"seed": "five"}))
    with pytest.raises(DataError, match=r"paper-400-5-9\.json is damaged"):
        calibrate(tmp_path, products=400, seeds=[5], sample=9)
    with pytest.raises(SettingError, match="at least one product"):
        calibrate(tmp_path, products=400, seeds=[])
