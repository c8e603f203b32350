"""Scripts are read in both forms, and an episode they cannot finish is an error."""

import json
from pathlib import Path
from typing import Any

import pytest

from errands.agents.agent import AgentError
from errands.agents.registry import make_factory
from errands.agents.replay import read_script
from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.errors import DataError
from errands.shop.catalog.catalog import Catalog


def test_by_episode(little: Catalog, turk_env: TurkEnv, play: Any, tmp_path: Path) -> None:
    env = ShopEnv(little, max_steps=50)
    rule = make_factory("rule", "shop", env, {})
    lines = [
        {"key": "goal 0", "actions": play(env, rule, {"goal": 0}).actions},
        {"goal": 1, "actions": play(env, rule, {"goal": 1}).actions},
        {"goal": 2, "actions": ["search[x]"]},
    ]
    path = tmp_path / "script.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n")
    factory = make_factory("replay", "shop", env, {"actions": str(path)})
    for goal in (0, 1):
        assert play(env, factory, {"goal": goal}) == play(env, rule, {"goal": goal})
    with pytest.raises(AgentError, match=r"The 1 actions of .* for goal 2 are used up"):
        play(env, factory, {"goal": 2})
    with pytest.raises(AgentError, match="no actions for goal 3"):
        play(env, factory, {"goal": 3})


def test_paperwork(turk_env: TurkEnv, play: Any, tmp_path: Path) -> None:
    name = turk_env.tasks.names[0]
    oracle = make_factory("oracle", "turk", turk_env, {})
    wanted = play(turk_env, oracle, {"task": name, "row": 0})
    path = tmp_path / "script.jsonl"
    call = {"name": "submit", "arguments": {}}
    lines = [
        {"task": name, "row": 0, "actions": wanted.actions},
        {"key": f"{name}/1", "actions": [call]},
        {"task": name, "row": 2, "actions": "submit()"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    factory = make_factory("replay", "turk", turk_env, {"actions": path})
    assert play(turk_env, factory, {"task": name, "row": 0}).reward == wanted.reward > 0
    for row in (1, 2):
        assert play(turk_env, factory, {"task": name, "row": row}).terminated


def test_one_list_for_all() -> None:
    script = read_script(b'search[a]\n\n{"name": "submit", "arguments": {}}\n', "x")
    assert script.actions("goal 7") == ["search[a]", '{"name": "submit", "arguments": {}}']


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"actions": ["a"]}', "does not say what was played"),
        (b'{"task": "t", "actions": ["a"]}', "does not say what was played"),
        (b'{"goal": 1, "actions": [3]}', "Line 1 of x has no actions"),
        (b'{"goal": 1, "actions": ["a"]}\nsearch[b]', "Line 2 of x has no actions"),
        (b'{"goal": 1, "actions": []}\n{"key": "goal 1", "actions": []}', "second one for goal 1"),
    ],
)
def test_mistakes(data: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_script(data, "x")


def test_the_file_must_stay_the_same(little: Catalog, tmp_path: Path) -> None:
    env = ShopEnv(little)
    path = tmp_path / "s.txt"
    path.write_text("search[a]")
    settings = dict(make_factory("replay", "shop", env, {"actions": path}).settings)
    path.write_text("search[b]")
    with pytest.raises(DataError, match="has changed"):
        make_factory("replay", "shop", env, settings)
    with pytest.raises(DataError, match="cannot be read"):
        make_factory("replay", "shop", env, {"actions": tmp_path})
