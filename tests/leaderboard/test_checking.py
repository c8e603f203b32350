"""What comes back counts; what does not is refused, with the episode; the rest is not checked."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from submissions import Failing, rewritten

from errands.leaderboard import replaying
from errands.leaderboard.checking import CheckedRun, check
from errands.leaderboard.making import submit
from errands.leaderboard.replaying import Limits
from errands.leaderboard.submission import SubmittedRun, read_submission
from errands.runs.protocol import Protocol, named_protocols
from errands.runs.runner import run
from errands.shop.build.builder import generate_catalog
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import select_goals, write_goals

replace = msgspec.structs.replace
LIMITS = Limits()


def checked(
    path: Path, places: dict[str, str], limits: Limits = LIMITS, said: list[int] | None = None
) -> CheckedRun:
    submitted, digest = read_submission(path)
    numbers = [] if said is None else said
    return check(
        submitted, path, digest, places, limits, lambda summary: numbers.append(summary.number)
    )


def told(result: CheckedRun) -> str:
    assert result.mismatched == len(result.mismatches) > 0
    assert not result.verified
    return " | ".join(map(str, result.mismatches))


def changed_episode(number: int, **fields: Any) -> Callable[[SubmittedRun], SubmittedRun]:
    def change(run: SubmittedRun) -> SubmittedRun:
        episodes = list(run.episodes)
        episodes[number] = replace(episodes[number], **fields)
        return replace(run, episodes=tuple(episodes))

    return change


@pytest.mark.parametrize("kind", ["actions", "reproducible"])
@pytest.mark.parametrize("agent", ["random", "choice-oracle"])
def test_an_honest_submission_comes_back(
    agent: str, kind: str, send: Callable[..., Path], places: dict[str, str]
) -> None:
    path = send(agent, kind=kind)
    result = checked(path, places)
    assert result.verified
    assert result.figures == read_submission(path)[0].figures
    assert result.remarks == ()


def test_a_second_time_plays_nothing(send: Callable[..., Path], places: dict[str, str]) -> None:
    path, first, second = send("careful"), list[int](), list[int]()
    one, other = checked(path, places, said=first), checked(path, places, said=second)
    assert one == other
    assert set(first) <= set(range(12))  # Nothing, where another test has played it.
    assert second == []


def test_other_code_plays_again(
    send: Callable[..., Path], places: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = send("careful")
    checked(path, places)
    monkeypatch.setattr(replaying, "code_fingerprint", lambda *packages: "another")
    again = list[int]()
    assert checked(path, places, said=again).verified
    assert len(again) == 12


def test_what_was_lost_of_a_replay_is_played_again(
    send: Callable[..., Path], places: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaying, "code_fingerprint", lambda *packages: "damage")
    path = send("careful")
    kept = checked(path, places).place
    Path(kept).write_bytes(b"no database")
    assert checked(path, places).verified


def test_a_better_reward_is_refused_by_its_episode(
    send: Callable[..., Path], places: dict[str, str]
) -> None:
    path = send("rule")
    run, _ = read_submission(path)
    number = next(at for at, each in enumerate(run.episodes) if (each.reward or 0) < 0.9)
    reward = run.episodes[number].reward
    said = told(checked(rewritten(path, changed_episode(number, reward=1.0)), places))
    key = run.episodes[number].key
    assert said == (
        f"episode {number} ({key}): reward 1, done, 3 steps was claimed,"
        f" reward {reward:.6g}, done, 3 steps came"
    )


TAMPERED: dict[str, tuple[Callable[[SubmittedRun], SubmittedRun], str]] = {
    "another end": (
        changed_episode(2, status="truncated"),
        "episode 2 .*truncated, 3 steps was claimed, .*done, 3 steps came",
    ),
    "an action less": (
        lambda run: changed_episode(2, steps=2, actions=run.episodes[2].actions[:2])(run),
        r"2 steps was claimed, no reward, error, 2 steps \(Its actions are used up, .*\) came",
    ),
    "an action more": (
        lambda run: changed_episode(2, steps=4, actions=(*run.episodes[2].actions, "back"))(run),
        "4 steps was claimed, .*3 steps came",
    ),
    "another goal": (changed_episode(2, key="goal 99999"), "episode 2: goal 99999 was claimed"),
    "an error that was none": (
        changed_episode(2, status="error", reward=None),
        "no reward, error, 3 steps was claimed, reward .*, done, 3 steps came",
    ),
    "an episode less": (
        lambda run: replace(run, episodes=run.episodes[:-1]),
        "the number of episodes: 11 was claimed, 12 came",
    ),
    "another score": (
        lambda run: replace(
            run, figures=replace(run.figures, score=replace(run.figures.score, mean=99.0))
        ),
        "the score: 99 was claimed, .* came",
    ),
    "another success rate": (
        lambda run: replace(
            run, figures=replace(run.figures, success=replace(run.figures.success, mean=99.0))
        ),
        "the success rate: 99 was claimed",
    ),
    "other steps": (
        lambda run: replace(run, figures=replace(run.figures, steps=1.0)),
        "the mean of steps: 1 was claimed, 3 came",
    ),
    "no part of the reward": (
        lambda run: replace(run, figures=replace(run.figures, parts={})),
        "the mean of r_type: none was claimed",
    ),
    "a hidden error": (
        lambda run: replace(run, figures=replace(run.figures, errors=1)),
        "the number of errors: 1 was claimed, 0 came",
    ),
}


@pytest.mark.parametrize("case", TAMPERED.values(), ids=TAMPERED.keys())
def test_what_was_changed_is_refused(
    case: tuple[Callable[[SubmittedRun], SubmittedRun], str],
    send: Callable[..., Path],
    places: dict[str, str],
) -> None:
    change, reason = case
    result = checked(rewritten(send("rule"), change), places)
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(told(result))


def test_actions_that_were_not_done_are_refused(
    send: Callable[..., Path], places: dict[str, str]
) -> None:
    path = rewritten(send("rule", kind="reproducible"), changed_episode(4, actions="0" * 24))
    assert "actions 000000000000000000000000 was claimed" in told(checked(path, places))


def test_an_oracle_cannot_hide(send: Callable[..., Path], places: dict[str, str]) -> None:
    path = rewritten(
        send("choice-oracle"),
        lambda run: replace(run, agent=replace(run.agent, privileged=False)),
    )
    assert "the agent choice-oracle: not shown the answers was claimed" in told(
        checked(path, places)
    )


def test_intervals_are_computed_anew(send: Callable[..., Path], places: dict[str, str]) -> None:
    path = rewritten(
        send("rule"),
        lambda run: replace(
            run, figures=replace(run.figures, score=replace(run.figures.score, low=0.0, high=100.0))
        ),
    )
    result = checked(path, places)
    assert result.verified
    assert result.figures is not None
    assert result.figures.score.low != 0.0
    assert "computed anew" in result.remarks[0]


def test_errors_come_back_as_errors(
    protocol: Protocol, folder: Path, places: dict[str, str]
) -> None:
    run(protocol, Failing, out=folder.parent / "run")
    result = checked(submit(folder.parent / "run", folder / "a.errands.json.gz"), places)
    assert result.verified
    assert result.figures is not None
    assert (
        f"{result.figures.errors} of 12 episodes are errors, which count as 0"
        in (result.remarks[0])
    )


def test_attempts_of_one_goal_may_differ(
    protocol: Protocol, folder: Path, places: dict[str, str]
) -> None:
    run(protocol, "random", out=folder.parent / "run", episodes=4, repeat=3)
    path = submit(folder.parent / "run", folder / "a.errands.json.gz")
    submitted, _ = read_submission(path)
    assert len(submitted.episodes) == 12
    assert len({episode.actions for episode in submitted.episodes}) > 4
    result = checked(path, places)
    assert result.verified
    assert result.found is not None
    assert "own:" in result.found.key
    assert result.figures is not None
    assert result.figures.repeats is not None
    assert [point.k for point in result.figures.repeats.points] == [1, 2, 3]
    rewritten(path, lambda run: replace(run, figures=replace(run.figures, repeats=None)))
    assert "pass@1: none was claimed" in told(checked(path, places))


def test_absent_data_is_told(send: Callable[..., Path], little: Catalog) -> None:
    result = checked(send("rule"), {})
    assert not result.verified
    assert result.unchecked.startswith("data absent: 'little' with the checksum ")
    assert result.unchecked.endswith("--data little=PATH says where it is")


def test_other_data_is_told(send: Callable[..., Path], tmp_path: Path, little: Catalog) -> None:
    generate_catalog(tmp_path / "other", products=50, seed=1)
    result = checked(send("rule"), {"little": str(tmp_path / "other")})
    assert "data absent" in result.unchecked
    assert "other has the checksum" in result.unchecked


FOREIGN: dict[str, tuple[dict[str, Any], str]] = {
    "rules": ({"rules": "trap:rules"}, "rules, 'trap:rules', is not among"),
    "a driver": ({"settings": {"driver": "trap:driver"}}, "driver, 'trap:driver', is not among"),
    "settings": ({"settings": {"camera": 1}}, "the setting 'camera'"),
    "a path of data": ({"data": "/etc"}, "data absent"),
    "a path above": ({"data": ".."}, "data absent"),
    "a path of goals": ({"goals": "/etc/passwd"}, "data absent"),
    "too many rounds": ({"repeat": 9999}, "more than a leaderboard plays"),
    "too many shuffles": (
        {"shuffle_workers": 10**9, "episodes": 10**9},
        "more than a leaderboard plays",
    ),
    "nonsense": ({"half": "kitchen"}, "makes no sense"),
    "an unknown field": ({"code": "import os"}, "makes no sense"),
    "goals that are not there": ({"picked": [10**6]}, "data absent"),
}


@pytest.mark.parametrize("case", FOREIGN.values(), ids=FOREIGN.keys())
def test_nothing_that_a_stranger_names_is_opened_or_run(
    case: tuple[dict[str, Any], str],
    send: Callable[..., Path],
    places: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "trap.py").write_text("raise SystemExit('it was run')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    fields, reason = case
    path = rewritten(send("rule"), lambda run: replace(run, protocol={**run.protocol, **fields}))
    result = checked(path, places)
    assert reason in result.unchecked
    assert "trap" not in sys.modules


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"agent": "trap:Agent"}, "not one that can be played once more"),
        ({"agent": "llm"}, "not one that can be played once more"),
        ({"settings": {"speed": 3}}, "no setting 'speed'"),
        ({"agent": "choice-oracle", "privileged": True, "settings": {"queries": "/etc/passwd"}},
         "not one that can be played once more"),
        ({"observation": "trap:look"}, "observation, 'trap:look', is not among"),
    ],
)  # fmt: skip
def test_only_agents_of_ours_are_played_again(
    fields: dict[str, Any],
    reason: str,
    send: Callable[..., Path],
    places: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "trap.py").write_text("raise SystemExit('it was run')")
    monkeypatch.syspath_prepend(tmp_path)
    path = rewritten(
        send("rule", kind="reproducible"),
        lambda run: replace(run, agent=replace(run.agent, **fields)),
    )
    result = checked(path, places)
    assert reason in result.unchecked
    assert "trap" not in sys.modules


def test_what_an_agent_of_others_saw_does_not_matter(
    send: Callable[..., Path], places: dict[str, str]
) -> None:
    path = rewritten(
        send("rule"),
        lambda run: replace(run, agent=replace(run.agent, observation="mine:look", agent="mine:A")),
    )
    assert checked(path, places).verified


def test_goals_of_a_file_are_found_by_its_name(
    protocol: Protocol, little: Catalog, folder: Path, places: dict[str, str]
) -> None:
    file = folder.parent / "mine.json"
    write_goals(file, select_goals(little.goals("human"), limit=5), little)
    own = replace(protocol, goals=str(file), episodes=None)
    run(own, "rule", out=folder.parent / "run")
    path = submit(folder.parent / "run", folder / "a.errands.json.gz")
    assert read_submission(path)[0].protocol["goals"] == "mine.json"
    assert "data absent" in checked(path, places).unchecked
    assert checked(path, {**places, "mine.json": str(file)}).verified


def test_time_is_bounded_and_the_next_call_goes_on(
    send: Callable[..., Path], places: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaying, "code_fingerprint", lambda *packages: "deadline")
    path = send("random")
    late = Limits(deadline=time.monotonic())
    first, second = list[int](), list[int]()
    result = checked(path, places, late, said=first)
    assert "the time is up: 1 of 12 episodes are replayed; the same command goes on" in (
        result.unchecked
    )
    assert checked(path, places, said=second).verified
    assert len(first) == 1
    assert len(second) == 11


def test_the_keys_of_tables_are_computed(
    send: Callable[..., Path], places: dict[str, str], little: Catalog
) -> None:
    """A protocol that only calls itself by a known name has a fingerprint in its key, and its title
    says whose it is: one was ranked and cited as "WebShop as published"."""
    known = named_protocols()["shop-demo"]
    path = rewritten(
        send("rule"),
        lambda run: replace(
            run,
            protocol_key="shop-demo@1 data:000000000000",
            protocol={
                **run.protocol,
                "id": known.id,
                "version": known.version,
                "seed": 7,
                "title": known.title,
                "source": "Yao et al. 2022",
            },
        ),
    )
    result = checked(path, places)
    assert result.found is not None
    assert result.found.title == f"A submitter's own protocol: {known.title}"
    assert result.found.protocol.source == ""
    assert result.found.key.startswith(f"{known.id}@{known.version} data:")
    assert " own:" in result.found.key


def test_a_known_protocol_keeps_its_key(tmp_path: Path) -> None:
    for name, options in {
        "plain": {"episodes": 3},
        "other": {"episodes": 3, "max_steps": 7, "rules": "paper"},
    }.items():
        finished = run("shop-demo", "rule", out=tmp_path / name, **options)  # type: ignore[arg-type]
        path = submit(tmp_path / name, tmp_path / f"{name}.errands.json.gz")
        result = checked(path, {})
        assert result.verified
        assert result.found is not None
        assert result.found.key == finished.info.protocol_key


def test_words_of_a_submitter_do_not_change_a_known_protocol(tmp_path: Path) -> None:
    """Neither its title nor its warning; and who learnt from what it played stands apart."""
    run("shop-demo", "rule", out=tmp_path / "run", episodes=3)
    path = submit(tmp_path / "run", tmp_path / "a.errands.json.gz")
    key = read_submission(path)[0].protocol_key
    words = {"title": "WebShop as published", "warning": "none", "source": "Yao et al."}
    rewritten(
        path,
        lambda run: replace(
            run, protocol={**run.protocol, **words}, protocol_key=f"{key} overlap=2"
        ),
    )
    result = checked(path, {})
    assert result.found is not None
    known = named_protocols()["shop-demo"]
    assert result.found.title == known.title
    assert result.found.protocol.warning == known.warning
    assert result.found.key == f"{key} overlap=2"


@pytest.fixture
def forms(tmp_path: Path) -> Callable[..., Path]:
    def sent(agent: str, kind: str = "actions", **more: Any) -> Path:
        place = tmp_path / agent
        run("turk-demo", agent, out=place, episodes=6, **more)
        return submit(place, tmp_path / f"{agent}.errands.json.gz", kind=kind)  # type: ignore[arg-type]

    return sent


@pytest.mark.parametrize("kind", ["actions", "reproducible"])
def test_form_pages_come_back(kind: str, forms: Callable[..., Path]) -> None:
    path = forms("random", kind, driver="dom")
    result = checked(path, {})
    assert result.verified
    assert result.figures is not None
    assert set(result.figures.rules) >= {"paper", "released"}
    assert result.found is not None
    assert "driver=dom" in result.found.key


def test_pages_that_need_a_browser_are_not_checked_without_one(
    forms: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = rewritten(
        forms("do-nothing", driver="dom"),
        lambda run: replace(run, protocol={**run.protocol, "settings": {"driver": "browser"}}),
    )
    monkeypatch.setenv("ERRANDS_CHROMIUM", "/nowhere/chromium")
    result = checked(path, {})
    assert result.unchecked.startswith("6 episodes could not be played here, the first one: ")
    assert "/nowhere/chromium" in result.unchecked
