"""The command of a report repeats the run, to the last bit."""

import shlex
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from errands.agents.factory import SimpleFactory
from errands.agents.rule import RuleShopper
from errands.cli import app
from errands.reports.content import command_of
from errands.runs.runner import run
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog


def wordy(domain: str, env: Any, settings: dict[str, Any]) -> SimpleFactory:
    """An agent of somebody else's, with settings of its own."""

    class Wordy(RuleShopper):
        def act(self, observation: Any, info: Any) -> Any:
            if info["available_actions"]["has_search_bar"]:
                return f"search[{settings.get('words', 'red')}]"
            return super().act(observation, info)

    return SimpleFactory("repeating_agents:wordy", lambda seed: Wordy(), settings=settings)


def _episodes(place: str) -> list[Any]:
    with closing(open_run(place)) as store:
        return [
            msgspec.structs.replace(
                one,
                summary=msgspec.structs.replace(one.summary, seconds=0.0),
                steps=tuple(msgspec.structs.replace(step, seconds=0.0) for step in one.steps),
            )
            for one in store.episodes()
        ]


@pytest.fixture
def data(little: Catalog, tmp_path: Path) -> str:
    return str(shutil.copytree(little.path, tmp_path / 'my shop\'s "best"'))


@pytest.mark.parametrize(
    ("agent", "options"),
    [
        ("shopper", {"settings": {"errors": 0.4}, "rules": "paper", "seed": 7, "max_steps": 9,
                     "seconds": 77.5}),
        ("rule", {"observation": "text_rich", "observations": "none", "goals": "synthetic"}),
        ("random", {"split": "disjoint-train", "repeat": 2, "observations": "full",
                    "seconds": None}),
        ("replay", {"settings": {"actions": "do's and \"don'ts\".txt"}, "verify": "off"}),
    ],
)  # fmt: skip
def test_the_command_gives_the_same_episodes(
    data: str,
    agent: str,
    options: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("do's and \"don'ts\".txt").write_text("search[red shoes]\nclick[next >]\n")
    first = run("shop-demo", agent, data=data, episodes=5, out="first", **options)
    program, *words = shlex.split(command_of(first.info))
    assert program == "errands"
    app([*words, "--out", "again"], standalone_mode=False)
    with closing(open_run("again")) as store:
        assert store.info.protocol_key == first.info.protocol_key
        assert store.info.agent_settings == first.info.agent_settings
        assert store.info.verified == first.info.verified
        assert store.info.seconds == first.info.seconds
    episodes = _episodes("first")
    assert len(episodes) == first.info.episodes
    assert _episodes("again") == episodes


def test_settings_of_an_agent_of_somebody_elses(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "code"
    folder.mkdir()
    shutil.copy(__file__, folder / "repeating_agents.py")
    monkeypatch.syspath_prepend(folder)
    settings = {"words": ' it\'s a "red" = shoe  '}
    first = run(
        "shop-demo", "repeating_agents:wordy", data=data, episodes=2, settings=settings, out="first"
    )
    command = command_of(first.info)
    app([*shlex.split(command)[1:], "--out", "again"], standalone_mode=False)
    assert _episodes("again") == _episodes("first")
    assert "it's a" in _episodes("first")[0].steps[0].action


def test_a_protocol_of_a_file_says_everything(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(
        '[mine]\nversion = 1\ndomain = "shop"\ndata = "demo"\nmax_steps = 20\n'
    )
    first = run("mine.toml#mine", "rule", data=data, episodes=3, rules="paper", out="first")
    words = shlex.split(command_of(first.info))[1:]
    assert words[1] == "FILE.toml#mine"
    app([words[0], "mine.toml#mine", *words[2:], "--out", "again"], standalone_mode=False)
    assert _episodes("again") == _episodes("first")
