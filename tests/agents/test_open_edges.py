"""Agents that are not ours: as objects, as `module:attribute`, and from installed packages."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import errands
from errands.agents.factory import SimpleFactory
from errands.agents.registry import agent_reference, make_factory
from errands.envs.shop import ShopEnv
from errands.errors import SettingError
from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.shop.catalog.catalog import Catalog

SOURCE = Path(errands.__file__).resolve().parents[1]


class First:
    """Opens and buys the first thing there is."""

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None: ...

    def act(self, observation: Any, info: Mapping[str, Any]) -> str:
        actions = info["available_actions"]
        if actions["has_search_bar"] and not actions["clickables"][2:]:
            return "search[shoes]"
        wanted = [name for name in actions["clickables"] if name == "buy now"]
        return f"click[{(wanted or actions['clickables'])[-1]}]"


class Slow(First):
    async def act(self, observation: Any, info: Mapping[str, Any]) -> str:  # type: ignore[override]
        return super().act(observation, info)


def protocol(catalog: Catalog) -> Protocol:
    return Protocol(
        id="t", version=1, title="t", domain="shop", data=str(catalog.path), max_steps=4
    )


def test_classes_instances_functions_and_factories_are_agents(
    little: Catalog, tmp_path: Path
) -> None:
    agents = (
        First,
        First(),
        lambda domain, env, settings: SimpleFactory("made", lambda seed: First()),
        SimpleFactory("ready", lambda seed: First()),
        f"{__name__}:First",
    )
    names, scores = [], set()
    for number, agent in enumerate(agents):
        result = run(protocol(little), agent, episodes=3, out=tmp_path / str(number))
        assert result.kept == 3
        names.append(result.info.agent)
        with_it = errands.runs.open_run(result.place)  # type: ignore[attr-defined]
        scores.add(tuple(summary.reward for summary in with_it.summaries()))
        with_it.close()
    path = f"{__name__}:First"
    assert names == [path, path, "made", "ready", path]
    assert len(scores) == 1


def test_other_processes_find_what_can_be_imported() -> None:
    assert agent_reference("rule") == "rule"
    assert agent_reference(First) == f"{__name__}:First"
    assert agent_reference(First()) == ""
    assert agent_reference(lambda domain, env, settings: None) == ""


def test_what_is_no_agent_is_one_sentence(little: Catalog, tmp_path: Path) -> None:
    env = ShopEnv(little)
    with pytest.raises(SettingError, match="give its class"):
        make_factory(Slow(), "shop", env, {})
    with pytest.raises(SettingError, match="has no method 'begin' and no 'act'"):
        make_factory({}, "shop", env, {})
    with pytest.raises(SettingError, match="without settings, but 'a' was set"):
        make_factory(First(), "shop", env, {"a": 1})
    with pytest.raises(SettingError, match="for several workers name it"):
        run(protocol(little), First(), episodes=3, workers=2, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_agents_of_installed_packages_are_listed_and_play(little: Catalog, tmp_path: Path) -> None:
    site = tmp_path / "site"
    about = site / "toy_agent-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-agent\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[errands.agents]\ntoy = toy_agent:Toy\n")
    (site / "toy_agent.py").write_text(
        "class Toy:\n"
        "    def begin(self, observation, info): ...\n"
        "    def act(self, observation, info): return 'click[buy now]'\n"
    )

    def command(*words: str) -> list[Any]:
        done = subprocess.run(
            [sys.executable, "-m", "errands", *words, "--json"],
            env={**os.environ, "PYTHONPATH": f"{SOURCE}:{site}"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    assert command("agents")[-1]["name"] == "toy"
    [played] = command(
        *("run", "shop-demo", "--data", str(little.path), "--agent", "toy", "--episodes", "4"),
        *("--workers", "2", "--max-steps", "3", "--out", "run"),
    )
    assert (played["agent"], played["episodes"], played["errors"]) == ("toy", 4, 0)
