"""Runs whose pages are shown in another format than the protocol's."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import errands
from errands.errors import SettingError
from errands.runs.replay import reopen_source, replay
from errands.runs.runner import RunResult, run
from errands.runs.store.base import StoreError
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog

SOURCE = Path(errands.__file__).parents[1]


def brief(page: Any, instruction: str, score: float | None) -> str:
    return f"{page.state.page}: {instruction} ({score})"


def lengths(page: Any) -> str:
    return f"{len(page.text())} characters"


class Named:
    def __init__(self, name: str) -> None:
        self.name = name
        self.version = "2"

    def __call__(self, page: Any, instruction: str, score: float | None) -> str:
        return f"{self.name}: {instruction}"


@pytest.fixture
def played(little: Catalog, tmp_path: Path) -> Any:
    def play(observation: Any, episodes: int = 4, **options: Any) -> RunResult:
        place = tmp_path / "run"
        return run(
            *("shop-demo", "random"), data=str(little.path), observation=observation,
            episodes=episodes, out=place, **options,
        )  # fmt: skip

    return play


def _replayed(result: RunResult) -> None:
    """Every page of a run comes back in its own format."""
    with closing(open_run(result.place)) as store, closing(reopen_source(store.info)) as source:
        for episode in store.episodes(sorted(store.numbers())):
            again = replay(source, episode)
            assert again.same, again.differences
            assert again.compared == again.pages > 0


def test_the_protocols_own_format_is_not_told(played: Any) -> None:
    assert played("text").info.protocol_key.endswith(" episodes=4")
    assert "observation" not in played("text", resume=True).info.protocol_key


def test_another_format_of_ours_is_part_of_the_key(played: Any) -> None:
    result = played("text_rich")
    assert result.info.protocol_key.endswith(" episodes=4 observation=text_rich")
    _replayed(result)
    with pytest.raises(StoreError, match="holds another run: its protocol"):
        played("text", resume=True)


@pytest.mark.parametrize("observation", [brief, f"{__name__}:brief"])
def test_a_format_of_yours_is_resumed_and_replayed(
    played: Any, little: Catalog, observation: Any
) -> None:
    class Stop(Exception):
        pass

    def stop(summary: Any) -> None:
        raise Stop

    with pytest.raises(Stop):
        played(observation, on_episode=stop)
    result = played(observation, resume=True)
    assert (result.kept, result.played) == (4, 3)
    assert result.info.protocol["observation"] == f"{__name__}:brief"
    assert result.info.protocol_key.endswith(f" observation:{__name__}:brief@0 episodes=4")
    _replayed(result)
    assert played(f"{__name__}:brief", resume=True, workers=2).played == 0


def test_a_format_that_no_name_finds_plays_in_one_process(played: Any) -> None:
    with pytest.raises(SettingError, match="for several workers name it: observation="):
        played(Named("mine"), workers=2)
    result = played(Named("mine"))
    assert " observation:mine@2 " in result.info.protocol_key
    with pytest.raises(SettingError, match=r"has no 'Named\(\)'"):
        reopen_source(result.info)


def test_form_pages(tmp_path: Path) -> None:
    def play(observation: Any, name: str) -> RunResult:
        return run(
            *("turk-demo", "do-nothing"), observation=observation, driver="dom", per_task=1,
            episodes=3, out=tmp_path / name,
        )  # fmt: skip

    ours = play("text", "ours")
    assert " observation=text " in ours.info.protocol_key
    theirs = play(lengths, "theirs")
    assert f" observation:{__name__}:lengths@0 " in theirs.info.protocol_key
    for result in (ours, theirs):
        _replayed(result)


def test_wrong_formats_are_one_sentence(played: Any) -> None:
    with pytest.raises(SettingError, match=r"no observation format 'txt'; did you mean 'text'"):
        played("txt")
    with pytest.raises(SettingError, match=r"observation format 7 cannot be called"):
        played(7)


TOY = """
def toy(page, instruction, score):
    return f"toy: {instruction}"


def toy_form(page):
    return "a form"


toy.version = toy_form.version = "3"
"""


@pytest.fixture
def toy_package(tmp_path: Path) -> Path:
    """A package as pip installs it, with formats of both domains behind entry points."""
    site = tmp_path / "site"
    about = site / "toy_formats-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "toy_formats.py").write_text(TOY)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-formats\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[errands.observations]\ntoy = toy_formats:toy\n"
        "[errands.turk_observations]\ntoy = toy_formats:toy_form\n"
    )
    return site


@pytest.mark.parametrize(
    ("protocol", "agent", "observation", "key"),
    [
        ("shop-demo", "random", "toy", "observation:toy_formats:toy@3"),
        ("shop-demo", "random", "toy_formats:toy", "observation:toy_formats:toy@3"),
        ("turk-demo", "do-nothing", "toy", "observation:toy_formats:toy_form@3"),
    ],
)
def test_a_strangers_format_is_run_resumed_and_replayed(
    little: Catalog, tmp_path: Path, toy_package: Path,
    protocol: str, agent: str, observation: str, key: str,
) -> None:  # fmt: skip
    def command(*words: object) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "errands", *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{toy_package}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    domain = ("--data", little.path) if protocol == "shop-demo" else ("--driver", "dom")
    words = (
        *("run", protocol, "--agent", agent, "--observation", observation, *domain),
        *("--episodes", 2, "--out", "run", "--json"),
    )
    assert f" {key} " in command(*words)
    assert '"played": 0' in command(*words, "--resume")
    assert "2 episodes replayed" in command("replay", "run")
