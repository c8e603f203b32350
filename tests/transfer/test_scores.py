"""Scores by hand, and the paper's two tables."""

import csv
import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from made_up_shops import MadeUpShop, run_transfer

from errands.errors import DataError
from errands.transfer.goals import instruction_goal
from errands.transfer.journal import ScoreLine, TransferJournal, TransferRun, read_run
from errands.transfer.scores import (
    MatchCount,
    match_count,
    read_scores,
    score,
    unscored,
    write_form,
)
from errands.transfer.sites.site import site_named
from errands.transfer.tables import PAPER, rows_of, to_markdown


@pytest.fixture
def run(tmp_path: Path) -> TransferRun:
    errands = [instruction_goal(text) for text in ("a red shoe", "=a blue shoe", "a green shoe")]
    out = tmp_path / "run.jsonl"
    return run_transfer(errands, site_named("amazon"), MadeUpShop("amazon"), "rule", out=out)[0]


def test_equation_1_by_hand() -> None:
    # Two of three attributes, one of two options, the price: four of six, times the type.
    made = score(0, MatchCount(2, 3), MatchCount(1, 2), 0.5, 1.0, "ada")
    assert (made.attribute, made.option, made.type, made.price) == (
        pytest.approx(2 / 3), 0.5, 0.5, 1.0,
    )  # fmt: skip
    assert made.total == pytest.approx(4 / 6 * 0.5)
    without = score(0, MatchCount(1, 1), MatchCount(0, 0), 1.0, 1.0, "ada")
    assert (without.option, without.total) == (None, 1.0)


@pytest.mark.parametrize("said", ["3/2", "x", "1", "1/2/3", "-1/2", "1/9999"])
def test_shares_that_make_no_sense(said: str) -> None:
    with pytest.raises(ValueError, match="expected RIGHT/WANTED"):
        match_count(said)


@pytest.mark.parametrize(
    ("attribute", "type_", "price"),
    [(MatchCount(0, 0), 1.0, 1.0), (MatchCount(1, 1), 0.7, 1.0), (MatchCount(1, 1), 1.0, 0.5)],
)
def test_scores_that_make_no_sense(attribute: MatchCount, type_: float, price: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        score(0, attribute, MatchCount(0, 0), type_, price, "ada")


def test_a_form_is_written_filled_in_and_read(run: TransferRun, tmp_path: Path) -> None:
    assert [played.number for played in unscored(run)] == [0, 1, 2]
    rows = list(csv.DictReader(io.StringIO(write_form(run))))
    assert [row["episode"] for row in rows] == ["0", "1", "2"]
    assert rows[0]["title"].startswith("Red Trail Runner")
    assert rows[1]["instruction"] == "'=a blue shoe", "no formula for a spreadsheet"
    path = tmp_path / "form.csv"
    path.write_text("episode,attribute,option,type,price\n0,1/1,-,1,1\n1,1/2,1/1,0.5,1\n2,,,,\n")
    with TransferJournal(run.path) as journal:
        for line in read_scores(path, run, "ada"):
            journal.write(line)
    run = read_run(run.path)
    assert [played.number for played in unscored(run)] == [2]
    (row,) = rows_of([run])
    assert (row.episodes, row.unscored, row.errors) == (2, 1, 0)
    assert row.score == pytest.approx(100 * (1 + 0.5 * 3 / 4) / 2)
    assert row.success == 50
    assert row.attribute == pytest.approx(75)
    assert row.option == 100, "over those that wanted any"
    assert row.type == 75
    assert row.price == 100
    assert row.requests == 2
    assert row.scored_by == ("ada",)
    # A correction is a new line, and the last one counts.
    with TransferJournal(run.path) as journal:
        journal.write(score(1, MatchCount(2, 2), MatchCount(1, 1), 1.0, 1.0, "bob"))
    assert rows_of([read_run(run.path)])[0].score == 100


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("episode,attribute\n0,1/1\n", "no column 'option'"),
        ("", "no column 'episode'"),
        ("episode,attribute,option,type,price\n7,1/1,-,1,1\n", "episode 7 is no purchase"),
        ("episode,attribute,option,type,price\nx,1/1,-,1,1\n", "line 2"),
        ("episode,attribute,option,type,price\n0,1/1,-,2,1\n", "type 2"),
        ("episode,attribute,option,type,price\n0,1/1\n", "line 2"),
    ],
)
def test_forms_that_make_no_sense(run: TransferRun, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "form.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        list(read_scores(path, run, "ada"))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="UTF-8"):
        list(read_scores(path, run, "ada"))


def test_the_tables(run: TransferRun, tmp_path: Path) -> None:
    site = site_named("ebay")
    other, _ = run_transfer(
        [instruction_goal("a shoe")], site, MadeUpShop("ebay"), "rule", out=tmp_path / "ebay.jsonl",
        max_steps=2,
    )  # fmt: skip
    more, _ = run_transfer(
        [instruction_goal("a shoe")], site_named("amazon"), MadeUpShop("amazon"), "rule",
        out=tmp_path / "more.jsonl", seed=1,
    )  # fmt: skip
    rows = rows_of([run, other, more, run])
    assert [(row.agent, row.site) for row in rows] == [("rule", "amazon"), ("rule", "ebay")]
    assert rows[0].unscored == 4, "two runs of one agent on one site are one row, each once"
    assert rows[0].score is None
    assert (rows[1].score, rows[1].success, rows[1].type) == (0, 0, 0)
    said = to_markdown([*rows, *PAPER])
    assert "| rule | amazon | 45.8 | – | 19.0 % |" in said
    assert "| il+rl | ebay | 62.3 | 69.1 | 39.5 | 91.7 | 97.0 |" in said
    assert "| rule | amazon | – | – | – |" in said
    assert isinstance(other.episodes[0].score, ScoreLine)


def test_agents_of_one_name_that_differ_have_rows_of_their_own(run: TransferRun) -> None:
    def changed(id: str, **fields: Any) -> TransferRun:
        info = msgspec.structs.replace(run.info, id=id, **fields)
        return TransferRun(run.path, info, run.episodes, run.requests)

    taught = {"checkpoint": "a", "choose": "best"}
    runs = [
        changed("1", agent="il", agent_settings=taught),
        changed("2", agent="il", agent_settings={**taught, "checkpoint": "b"}),
        changed("3", agent="il", agent_settings=taught, seed=9),
        changed("4", rules="paper"),
        changed("5", max_steps=None),
        changed("6", pages="saved pages in x"),
        run,
    ]
    rows = rows_of(runs)
    assert [row.agent for row in rows[:2]] == ["il (checkpoint a)", "il (checkpoint b)"]
    assert [row.unscored for row in rows] == [6, 3, 3, 3, 3, 3]
    assert [row.agent for row in rows[2:]] == [
        "rule (rules paper, steps 50, pages)",
        "rule (rules released, steps any, pages)",
        "rule (rules released, steps 50, pages saved pages in x)",
        "rule (rules released, steps 50, pages)",
    ]
