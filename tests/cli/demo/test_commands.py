"""`errands demo`: what it shows, and that what it proposes works when it is pasted."""

import shlex
from pathlib import Path

import gymnasium
import pytest
from command import in_process as errands

from errands.shop.catalog.catalog import Catalog


@pytest.mark.parametrize("words", [(), ("shop",)])
def test_the_shop_can_be_followed(little: Catalog, words: tuple[str, ...]) -> None:
    done = errands("demo", *words, "--data", little.path, "--goal", "1")
    assert done.returncode == 0, done.stderr
    for part in ("Somebody says", "1. search[", "click[buy now]", "Reward:", "What to try next"):
        assert part in done.stdout


def test_what_the_shop_proposes_is_about_this_catalogue(little: Catalog) -> None:
    said = errands("demo", "--data", little.path).stdout
    commands = _proposed(said)
    assert [words[:2] for words in commands] == [
        ["demo", "--data"], ["search", str(little.path)], ["catalog", "info"], ["bench", "shop"],
    ]  # fmt: skip
    for words in commands[:3]:
        done = errands(*words)
        assert done.returncode == 0, done.stderr
    assert "rank" in errands(*commands[1]).stdout
    names: dict[str, object] = {}
    exec(said.partition("In Python:\n")[2], names)
    env = names["env"]
    assert isinstance(env, gymnasium.Env)
    assert env.unwrapped.episode.context.catalog.path == little.path  # type: ignore[attr-defined]


def test_few_goals(tmp_path: Path) -> None:
    """A small shop has not so many goals as the demo."""
    place = tmp_path / "few"
    assert errands("catalog", "generate", place, "--products", 3).returncode == 0
    done = errands("demo", "--data", place)
    assert done.returncode == 0, done.stderr
    wrong = errands("demo", "--data", place, "--goal", 999)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)


def test_a_form_can_be_followed() -> None:
    done = errands("demo", "turk")
    assert done.returncode == 0, done.stderr
    for part in ("Teapot Reviews", "1. modify_radio(", "Scores", "doing nothing"):
        assert part in done.stdout
    wrong = errands("demo", "turk", "--row", "999")
    assert wrong.returncode == 2
    assert "has no row 999" in wrong.stderr
    info, _, another = _proposed(done.stdout)
    for words in (info, another):
        assert errands(*words).returncode == 0


def _proposed(said: str) -> list[list[str]]:
    """The commands of a list of proposals, without how the program is called."""
    lines = said.partition("What to try next:\n")[2].splitlines()
    words = [shlex.split(line, comments=True) for line in lines if line.startswith("  ")]
    return [line[line.index("errands") + 1 :] for line in words]
