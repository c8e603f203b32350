"""The board as data: order, ceilings, significance, what is apart."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from submissions import rewritten

from errands.leaderboard.board import BoardTable, CheckedBoard, agent_kind, leaderboard, to_json
from errands.leaderboard.published import published_rows
from errands.leaderboard.site.writing import write_site
from errands.leaderboard.submission import AgentCard, SubmissionError, read_submission
from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.comparison import Contestant, compare
from errands.runs.protocol import named_protocols
from errands.runs.store.places import open_run

replace = msgspec.structs.replace


def little_table(checked: CheckedBoard) -> BoardTable:
    [table] = [table for table in checked.board.tables if table.id == "little"]
    return table


def test_rows_stand_in_order_and_ceilings_apart(
    send: Callable[..., Path], folder: Path, places: dict[str, str]
) -> None:
    for agent in ("random", "rule", "careful", "choice-oracle"):
        send(agent)
    checked = leaderboard(folder, places)
    table = little_table(checked)
    scores = [row.figures.score.mean for row in table.rows]
    assert scores == sorted(scores, reverse=True)
    assert {row.agent.name for row in table.rows} == {"random", "rule", "careful"}
    assert [row.agent.name for row in table.ceilings] == ["choice-oracle"]
    assert table.own
    assert table.title == "A submitter's own protocol: Goals of the little shop"
    assert not checked.board.refused
    assert not checked.board.unchecked
    assert all(row.failures for row in table.rows if row.figures.success.mean != 100)


def test_every_row_is_compared_with_the_best_and_the_one_above(
    send: Callable[..., Path], folder: Path, places: dict[str, str]
) -> None:
    for agent in ("random", "rule", "careful"):
        send(agent)
    checked = leaderboard(folder, places)
    first, second, third = little_table(checked).rows
    assert first.against_best is first.against_above is None
    assert second.against_best == second.against_above
    assert third.against_best is not None
    assert third.against_above is not None
    assert second.against_best is not None
    assert third.against_best.other == first.hash
    assert third.against_above.other == second.hash
    stores = [open_run(checked.replays[row.hash]) for row in (first, third)]
    plain = compare(
        *(
            Contestant(row.short, [(store, read_columns(store))])
            for row, store in zip((first, third), stores, strict=True)
        )
    )
    assert third.against_best.p == plain.p
    assert third.against_best.difference == plain.difference
    made = [second.against_best, third.against_best, third.against_above]
    smallest = min(made, key=lambda one: one.p or 0)
    assert smallest.p is not None
    assert smallest.p_holm == pytest.approx(min(1.0, 3 * smallest.p))
    assert all((one.p_holm or 0) >= (one.p or 0) for one in made)


def test_the_same_folder_gives_the_same_board(
    send: Callable[..., Path], folder: Path, places: dict[str, str]
) -> None:
    for agent in ("random", "rule"):
        send(agent)
    one, other = leaderboard(folder, places), leaderboard(folder, places)
    assert to_json(one.board) == to_json(other.board)
    read = json.loads(to_json(one.board))
    assert read["schema"] == 1
    assert read["tables"][-1]["rows"][0]["hash"]


def test_one_submission_twice_is_told_and_counts_once(
    send: Callable[..., Path], folder: Path, places: dict[str, str]
) -> None:
    path = send("rule")
    shutil.copy(path, folder / "copy.errands.json.gz")
    checked = leaderboard(folder, places)
    assert len(little_table(checked).rows) == 1
    assert checked.board.notes == (
        "rule.errands.json.gz is the same submission as copy.errands.json.gz.",
    )


def test_somebody_elses_actions_are_told(
    send: Callable[..., Path], folder: Path, places: dict[str, str]
) -> None:
    send("rule")
    send("rule", "theirs", name="Mine")
    checked = leaderboard(folder, places)
    assert len(little_table(checked).rows) == 2
    assert checked.board.notes == ("Mine did exactly what rule did, action by action.",)


def test_what_does_not_come_back_is_not_ranked(
    send: Callable[..., Path], folder: Path, places: dict[str, str]
) -> None:
    send("rule")
    rewritten(
        send("careful"),
        lambda run: replace(
            run,
            episodes=tuple(
                replace(each, reward=1.0) if (each.reward or 0) < 1 else each
                for each in run.episodes
            ),
        ),
    )
    (folder / "broken.errands.json.gz").write_bytes(b"PK" * 20)
    checked = leaderboard(folder, places)
    assert [row.agent.name for row in little_table(checked).rows] == ["rule"]
    broken, refused = checked.board.refused
    assert broken.reason == "broken.errands.json.gz is not packed by gzip, or damaged."
    assert refused.reason.startswith("It does not come back. episode ")
    assert refused.mismatches[0].claimed.startswith("reward 1")


def test_without_the_data_figures_are_claims(send: Callable[..., Path], folder: Path) -> None:
    path = send("rule")
    checked = leaderboard(folder, {})
    [row] = checked.board.unchecked
    assert row.claimed == read_submission(path)[0].figures
    assert row.reason.startswith("data absent")
    assert all(not table.date for table in checked.board.tables)


def test_published_figures_stand_with_their_protocol() -> None:
    known = named_protocols()
    assert {row.protocol for row in published_rows()} == {"webshop-paper", "turk-test"}
    assert all(row.protocol in known for row in published_rows())
    rule = next(row for row in published_rows() if row.name == "rule")
    assert (rule.score, rule.success) == (45.6, 9.6)


def test_links_and_other_places_are_not_followed(
    send: Callable[..., Path], folder: Path, places: dict[str, str], tmp_path: Path
) -> None:
    path = send("rule")
    elsewhere = tmp_path / "elsewhere.errands.json.gz"
    shutil.move(path, elsewhere)
    (folder / "link.errands.json.gz").symlink_to(elsewhere)
    with pytest.raises(SubmissionError, match="has no file"):
        leaderboard(folder, places)
    with pytest.raises(SubmissionError, match="is no folder"):
        leaderboard(folder / "none", places)


def test_copies_in_a_site_are_not_submissions(
    send: Callable[..., Path], folder: Path, places: dict[str, str]
) -> None:
    send("rule")
    for _ in range(2):
        checked = leaderboard(folder, places)
        assert checked.board.notes == ()
        write_site(checked, folder / "site")


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"agent": "rule"}, "scripted"),
        ({"agent": "il"}, "trained"),
        ({"agent": "human"}, "person"),
        ({"agent": "llm"}, "language model"),
        ({"agent": "mine:Agent", "tokens_in": 5}, "language model"),
        ({"agent": "mine:Agent"}, "other"),
        ({"agent": "mine:Agent", "privileged": True}, "ceiling"),
    ],
)
def test_kinds_of_agents(fields: dict[str, str], kind: str) -> None:
    assert agent_kind(AgentCard(name="x", **fields)) == kind  # type: ignore[arg-type]
