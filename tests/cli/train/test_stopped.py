"""`errands train` killed in the middle, or stopped by a key: resumed, the weights are the same."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from effort import SLOW
from school import Said, call, same_weights, started, wait_for

from errands.shop.catalog.catalog import Catalog

pytest.importorskip("torch", reason="needs torch: pip install 'errands[train]'")

Errands = Callable[..., Said]


class Lesson(NamedTuple):
    """A training of a second or two, and what it leads to when nothing happens."""

    words: tuple[object, ...]
    whole: Path


SIGNALS = {"killed": signal.SIGKILL, "stopped": signal.SIGINT}
SAMPLE = [("choice", "killed"), ("ppo", "killed")]
TRAINERS = ("choice", "search", "rl", "dagger", "ppo")
ALL = [(model, end) for model in TRAINERS for end in SIGNALS]


@pytest.fixture(scope="module")
def lesson(
    request: pytest.FixtureRequest,
    demos: Path,
    il: Path,
    little: Catalog,
    tmp_path_factory: pytest.TempPathFactory,
) -> Lesson:
    words: dict[str, tuple[object, ...]] = {
        "choice": (demos, "--epochs", 3, "--width", 16, "--threads", 1, "--evaluate", "0.1"),
        "search": (demos, "--epochs", 30, "--threads", 1),
        "rl": (
            "--from", il, "--data", little.path, "--total-timesteps", 480,
            "--evaluate-every", 240, "--evaluate-episodes", 2,
        ),
        "dagger": (
            "--data", little.path, "--num-iterations", 3, "--num-envs", 8, "--num-steps", 24,
            "--looks", 2, "--epochs", 4, "--evaluate-episodes", 2,
        ),
        "ppo": (
            "--from", il, "--data", little.path, "--total-timesteps", 800, "--num-envs", 8,
            "--num-steps", 8, "--minibatch-size", 16, "--evaluate-every", 400,
            "--evaluate-episodes", 2,
        ),
    }  # fmt: skip
    whole = tmp_path_factory.mktemp("train") / request.param
    given = (request.param, *words[request.param])
    assert call("train", *given, "--out", whole) == 0
    return Lesson(given, whole)


@pytest.mark.parametrize(
    ("lesson", "end"), ALL if SLOW else SAMPLE, indirect=["lesson"], scope="module"
)
def test_it_goes_on_to_the_same_weights(
    lesson: Lesson, end: str, errands: Errands, tmp_path: Path
) -> None:
    (words, whole), broken = lesson, tmp_path / "broken"
    child = started("train", *words, "--out", broken, "--save-every", 0)
    progress = broken / "progress.pt"
    wait_for(progress.exists, child)
    first = progress.stat().st_mtime_ns
    wait_for(lambda: progress.stat().st_mtime_ns != first, child)
    child.send_signal(SIGNALS[end])
    _, said = child.communicate(timeout=200)
    assert "Traceback" not in said
    if end == "stopped":
        assert child.returncode == 130
        assert "Stopped and saved; the same command with --resume goes on." in said
    assert not json.loads((broken / "about.json").read_text())["is_done"]

    assert "add --resume" in errands("train", *words, "--out", broken, status=2).err
    errands("train", *words, "--out", broken, "--resume")
    assert same_weights(broken, whole)
    figures = [json.loads((folder / "about.json").read_text()) for folder in (broken, whole)]
    assert figures[0] == figures[1]
    steps = [
        [json.loads(line)["step"] for line in (folder / "log.jsonl").read_text().splitlines()]
        for folder in (broken, whole)
    ]
    assert steps[0] == steps[1]
    if (whole / "best").exists():
        assert same_weights(broken / "best", whole / "best")
