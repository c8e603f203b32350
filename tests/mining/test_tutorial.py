"""docs/tutorials/your-own-shop.md: from 200 lines of CSV to a shop, in under two minutes."""

import json
import os
import re
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import errands  # noqa: F401 - registers the environments
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'errands[mine]'")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "your-own-shop.md"
ANSWERS = "a3d1ua2n4q"
"""The keys that are pressed where the tutorial asks for an opinion."""


def _blocks() -> list[tuple[str, str]]:
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


class _Reader:
    """Somebody who does what the page says, in an empty folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: dict[str, str] = {}

    def _run(self, words: list[str]) -> str:
        done = subprocess.run(
            words,
            cwd=self.folder,
            input=ANSWERS,
            text=True,
            capture_output=True,
            check=False,
            timeout=600,
            env={**os.environ, "COLUMNS": "120"},
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout

    def python(self, code: str) -> None:
        self._run([sys.executable, "-c", code])

    def console(self, block: str) -> None:
        for line in block.splitlines():
            if not line.startswith("$ "):
                # What the page says is printed, is printed.
                assert line in self.said[self.last], line
                continue
            command = line.removeprefix("$ ")
            self.last = command
            if command.startswith("errands "):
                words = shlex.split(command)[1:]
                self.said[command] = self._run([sys.executable, "-m", "errands", *words])
            else:
                assert command.startswith("pip install"), command

    def toml(self, text: str) -> None:
        name = "map.toml" if "[columns]" in text else "my-shop.toml"
        (self.folder / name).write_text(text)


def test_the_tutorial(tmp_path: Path) -> None:
    reader = _Reader(tmp_path)
    began = os.times()
    for kind, text in _blocks():
        getattr(reader, kind)(text)
    # Of all commands together, on a machine that may have other things to do.
    spent = os.times()
    assert (
        spent.children_user + spent.children_system - (began.children_user + began.children_system)
        < 120
    )

    with (tmp_path / "products.csv").open(encoding="utf-8") as table:
        assert sum(1 for _ in table) == 200
    catalog = Catalog.open(tmp_path / "my-shop")
    assert len(catalog) == 196
    decided = [
        json.loads(line)
        for line in (tmp_path / "candidates.decisions.jsonl").read_text().splitlines()
    ]
    assert {"drop", "good for", "which is", None} <= {one["use"] for one in decided}
    store = open_run(tmp_path / "runs" / "oracle")
    try:
        assert 1.0 in [one.reward for one in store.summaries()]
    finally:
        store.close()
    assert _rewards(catalog, 20) == [1.0] * 20
    assert _front_page(tmp_path).startswith("<!DOCTYPE html>")


def _rewards(catalog: Catalog, goals: int) -> list[float]:
    """What is paid to somebody who buys what the first goals want."""
    env: Any = gymnasium.make(
        "errands/Shop-v0", catalog=str(catalog.path), goals="synthetic", observation="text"
    )
    rewards = []
    for number in range(goals):
        goal = catalog.goals("synthetic")[number]
        assert isinstance(goal.goal_options, dict)
        env.reset(options={"goal": number})
        for action in (
            f"search[{goal.name}]",
            f"click[{goal.asin.lower()}]",
            *(f"click[{value}]" for value in goal.goal_options.values()),
            "click[buy now]",
        ):
            _, reward, terminated, _, _ = env.step(action)
        assert terminated
        rewards.append(reward)
    env.close()
    return rewards


def _front_page(folder: Path) -> str:
    """The first page of `errands serve --data my-shop`."""
    serving = subprocess.Popen(
        [sys.executable, "-m", "errands", "serve", "--data", "my-shop", "--port", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert serving.stdout is not None
        address = serving.stdout.readline().split()[-1]
        with urllib.request.urlopen(address, timeout=30) as answer:
            page: str = answer.read().decode()
        return page
    finally:
        serving.terminate()
        serving.communicate(timeout=60)
