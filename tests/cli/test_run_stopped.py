"""`errands run` and its kin: stopped, resumed, and said in sentences."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from effort import SLOW

from errands.runs.store.places import open_run

_SLEEPER = """
import glob, time
class Sleeper:
    "Plays two or three episodes, then waits until it may go on."
    def begin(self, observation, info): pass
    def act(self, observation, info):
        open(f"turn-{info['goal']}", "w").close()
        while len(glob.glob("turn-*")) > 3 and not glob.glob("go"):
            time.sleep(0.05)
        return "search[tea]"
class Failing:
    def begin(self, observation, info): pass
    def act(self, observation, info): raise ValueError("no idea")
"""
_COMMAND = (sys.executable, "-c", "from errands.cli import main; main()")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sleeper.py").write_text(_SLEEPER)
    return tmp_path


def _errands(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*_COMMAND, *words], cwd=folder, env={**os.environ, "COLUMNS": "80"},
        text=True, capture_output=True, check=False,
    )  # fmt: skip


def _episodes(place: Path) -> set[int]:
    """Those that a run has stored so far."""
    if not (place / "run.sqlite").exists():
        return set()
    with closing(open_run(place)) as store:
        return store.numbers()


SAMPLE = [("1", signal.SIGINT), ("2", signal.SIGTERM)]
ALL = [*SAMPLE, ("1", signal.SIGTERM), ("2", signal.SIGINT)]


@pytest.mark.parametrize(("workers", "sent"), ALL if SLOW else SAMPLE)
def test_a_run_that_is_stopped_says_how_it_goes_on(
    folder: Path, workers: str, sent: signal.Signals
) -> None:
    words = ["run", "shop-demo", "--agent", "sleeper:Sleeper", "--episodes", "8", "--max-steps",
             "1", "--workers", workers, "--out", "kept here"]  # fmt: skip
    child = subprocess.Popen([*_COMMAND, *words], cwd=folder, stderr=subprocess.PIPE, text=True)
    while not _episodes(folder / "kept here"):
        assert child.poll() is None, "it was over before it could be stopped"
        time.sleep(0.1)
    child.send_signal(sent)
    _, said = child.communicate()
    assert child.returncode == 130
    assert "Traceback" not in said
    assert said.startswith("Stopped: ")
    assert "of 8 episodes are kept; the same command with --out 'kept here' --resume goes" in said
    (folder / "go").touch()
    done = json.loads(_errands(folder, *words, "--resume", "--json").stdout)
    assert done["episodes"] == 8
    assert 0 < done["played"] < 8


def test_sentences_about_failures(folder: Path) -> None:
    run = _errands(folder, "run", "shop-demo", "--agent", "sleeper:Failing", "--episodes", "2",
                   "--out", "r")  # fmt: skip
    assert "2 failed (agent): for example, ValueError: no idea" in run.stderr
    assert run.returncode == 1
    again = " ".join(_errands(folder, "replay", "r").stdout.split())
    assert "(they failed before their first action), so pages could not be compared" in again


def test_a_protocol_that_is_shown_is_json(folder: Path) -> None:
    shown = json.loads(_errands(folder, "protocols", "--show", "webshop-1k").stdout)
    assert shown["id"] == "webshop-1k"
