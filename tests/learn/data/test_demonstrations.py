"""Demonstrations come from runs and from the original's files, and from nothing else."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from protocols import Rules

from errands.errors import DataError
from errands.learn.data.demonstrations import read_choices_file, read_demonstrations
from errands.runs.runner import run
from errands.runs.store.places import open_run


def test_what_was_done_is_among_what_could_be_done(demos: str) -> None:
    shown = read_demonstrations(demos)
    with closing(open_run(demos)) as store:
        good = [one for one in store.episodes() if (one.summary.reward or 0) >= 0.99]
        actions = [step.action for one in good for step in one.steps]
    assert shown.episodes == len(good) > 0
    assert shown.episodes + shown.left_out == 30
    done = [f"click[{view.names[taken]}]" for view, taken in shown.choices]
    assert done == [action for action in actions if action.startswith("click[")]
    assert [f"search[{query.query}]" for query in shown.queries] == [
        action for action in actions if action.startswith("search[")
    ]
    assert not any("$" in query.instruction for query in shown.queries)


def test_every_reward_or_only_the_best(demos: str) -> None:
    everything = read_demonstrations(demos, least=0)
    best = read_demonstrations(demos)
    assert everything.episodes == 30
    assert everything.left_out == 0
    assert len(everything.choices) > len(best.choices)


def test_a_run_on_another_catalogue_is_refused(demos: str) -> None:
    checksum = read_demonstrations(demos).checksum
    assert read_demonstrations(demos, checksum=checksum).episodes
    with pytest.raises(DataError, match="another catalogue"):
        read_demonstrations(demos, checksum="0" * 64)


def test_other_observations_are_refused(rules: Rules, tmp_path: Path) -> None:
    protocol = rules(episodes=1)
    run(protocol, "rule", out=tmp_path / "run", observations="full")
    with pytest.raises(DataError, match=r"shows pages as text; .*text_rich"):
        read_demonstrations(str(tmp_path / "run"))


def test_a_run_without_observations_is_refused(rules: Rules, tmp_path: Path) -> None:
    run(rules(episodes=2), "shopper", out=tmp_path / "run", observations="hash")
    with pytest.raises(DataError, match="--observations full"):
        read_demonstrations(str(tmp_path / "run"), least=0)


def test_a_run_with_nothing_to_learn_is_refused(rules: Rules, tmp_path: Path) -> None:
    run(rules(episodes=2, max_steps=1), "shopper", out=tmp_path / "run", observations="full")
    with pytest.raises(DataError, match=r"no episode with a reward of 0.99"):
        read_demonstrations(str(tmp_path / "run"))


STATE = (
    "Instruction:\ni want a red hat, and price lower than 20.00 dollars\n[button] Search [button_]"
)
ITEM = STATE.replace("Search", "Buy Now")


def _line(**changes: object) -> str:
    record = {
        "states": [STATE, ITEM],
        "available_actions": [["search"], ["click[red]", "click[buy now]"]],
        "action_idxs": [-1, 1],
    }
    return json.dumps({**record, **changes}) + "\n"


def test_the_original_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "choices.jsonl"
    path.write_text(_line() + "\n" + _line(action_idxs=[-1, 0]))
    shown = read_choices_file(str(path))
    assert shown.episodes == 2
    assert [taken for _, taken in shown.choices] == [1, 0]
    view = shown.choices[0].view
    assert view.names == ("red", "buy now")
    assert view.instruction == "i want a red hat $20.00"


@pytest.mark.parametrize(
    "line",
    [
        _line(action_idxs=[-1]),
        _line(action_idxs=[-1, 7]),
        _line(states=3),
        _line(states=["", 3]),
        _line(available_actions=[[], [3, 4]]),
        '{"states": []}\n',
        "[1]\n",
    ],
)
def test_what_is_no_trajectory_is_named_by_its_line(line: str, tmp_path: Path) -> None:
    path = tmp_path / "choices.jsonl"
    path.write_text(_line() + line)
    with pytest.raises(DataError, match="line 2, is no trajectory"):
        read_choices_file(str(path))


def test_what_is_no_json_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "choices.jsonl"
    path.write_text(_line() + "{half")
    with pytest.raises(DataError, match="line 2, is no JSON"):
        read_choices_file(str(path))
    path.write_text(_line() + "[" * 100_000)
    with pytest.raises(DataError, match="line 2, is no JSON"):
        read_choices_file(str(path))
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(DataError, match="is not UTF-8 text"):
        read_choices_file(str(path))
    with pytest.raises(DataError, match="cannot be read"):
        read_choices_file(str(tmp_path / "absent.jsonl"))
