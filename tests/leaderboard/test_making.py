"""Submissions of runs."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from submissions import Failing

from errands.leaderboard.making import figures_of, is_reproducible, submit
from errands.leaderboard.submission import SubmissionError, actions_digest, read_submission
from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.runs.store.places import open_run


def test_a_submission_has_all_of_a_run(runs: Callable[..., Path], tmp_path: Path) -> None:
    path = submit(
        runs("careful"),
        tmp_path / "a.errands.json.gz",
        name="Mine",
        authors="A. Person",
        url="https://example.org/mine",
        note="The first one.",
    )
    made, _ = read_submission(path)
    with contextlib.closing(open_run(runs("careful"))) as store:
        assert made.figures == figures_of(store)
        for episode, sent in zip(store.episodes(), made.episodes, strict=True):
            assert sent.actions == tuple(step.action for step in episode.steps)
            assert (sent.key, sent.reward) == (episode.summary.key, episode.summary.reward)
        assert made.checksum == store.info.checksum
        assert made.seed == store.info.seed
        assert made.versions == store.info.versions
    card = made.agent
    assert (card.name, card.authors, card.url) == ("Mine", "A. Person", "https://example.org/mine")
    assert card.agent == "careful"
    assert card.observation == "text"


def test_no_path_of_the_submitter_is_told(
    runs: Callable[..., Path], protocol: Protocol, tmp_path: Path
) -> None:
    path = submit(runs("rule"), tmp_path / "a.errands.json.gz")
    made, _ = read_submission(path)
    assert "/" in protocol.data
    assert made.protocol["data"] == Path(protocol.data).name
    assert str(Path(protocol.data).parent).encode() not in path.read_bytes()


def test_a_reproducible_one_has_no_words(runs: Callable[..., Path], tmp_path: Path) -> None:
    made, _ = read_submission(
        submit(runs("rule"), tmp_path / "a.errands.json.gz", kind="reproducible")
    )
    sent, _ = read_submission(submit(runs("rule"), tmp_path / "b.errands.json.gz"))
    for one, other in zip(made.episodes, sent.episodes, strict=True):
        assert one.actions == actions_digest(other.actions)


@pytest.mark.parametrize(
    ("agent", "settings", "can"),
    [
        ("rule", {}, True),
        ("choice-oracle", {"query": "instruction", "queries": ""}, True),
        ("choice-oracle", {"query": "human-first", "queries": "mine.json"}, False),
        ("il", {"checkpoint": "model"}, False),
        ("replay", {"actions": "file"}, False),
        ("llm", {"model": "m"}, False),
        ("human", {}, False),
        ("mine:Agent", {}, False),
    ],
)
def test_which_agents_can_be_played_again(agent: str, settings: dict[str, Any], can: bool) -> None:
    assert is_reproducible(agent, settings) is can


def test_a_run_of_others_is_not_sent_as_reproducible(protocol: Protocol, tmp_path: Path) -> None:
    run(protocol, Failing, out=tmp_path / "run", episodes=2)
    with pytest.raises(SubmissionError, match="only agents that ship with Errands"):
        submit(tmp_path / "run", tmp_path / "a.errands.json.gz", kind="reproducible")


def test_an_unfinished_run_is_refused(protocol: Protocol, tmp_path: Path) -> None:
    place = tmp_path / "run"
    run(protocol, "rule", out=place)
    with contextlib.closing(open_run(place)) as store:
        store.drop([3])
    with pytest.raises(SubmissionError, match=r"it has 11 of 12 episodes.*--resume"):
        submit(place, tmp_path / "a.errands.json.gz")


def test_errors_are_sent_along_and_count_as_nothing(protocol: Protocol, tmp_path: Path) -> None:
    run(protocol, Failing, out=tmp_path / "run")
    made, _ = read_submission(submit(tmp_path / "run", tmp_path / "a.errands.json.gz"))
    failed = [episode for episode in made.episodes if episode.status == "error"]
    assert made.figures.errors == len(failed) > 0
    assert {episode.error for episode in failed} == {"Out of ideas."}
    rewards = [episode.reward or 0.0 for episode in made.episodes]
    assert made.figures.score.mean == pytest.approx(100 * sum(rewards) / len(rewards))


def test_the_file_is_found_by_its_name(
    runs: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(submit(runs("rule"), name="Mine: a/b")) == "Mine--a-b@little@1.errands.json.gz"
    with pytest.raises(SubmissionError, match=r"--force"):
        submit(runs("rule"), name="Mine: a/b")
    submit(runs("rule"), name="Mine: a/b", replace=True)
    with pytest.raises(SubmissionError, match=r"must end in \.errands\.json\.gz"):
        submit(runs("rule"), "mine.json")
    with pytest.raises(SubmissionError, match="not a web address"):
        submit(runs("rule"), "b.errands.json.gz", url="ftp://example.org")
