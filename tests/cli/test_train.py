"""`errands train rl`, as a user calls it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from errands.shop.catalog import Catalog

torch = pytest.importorskip("torch", reason="needs torch: pip install 'errands[train]'")

COMMAND = (sys.executable, "-m", "errands", "train", "rl")


def _train(*words: object, status: int = 0) -> str:
    done = subprocess.run(
        [*COMMAND, *map(str, words)], text=True, capture_output=True, check=False, timeout=300,
        env={**os.environ, "COLUMNS": "120"},
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if status == 0 else done.stderr


def _weights(folder: Path) -> dict[str, object]:
    weights: dict[str, object] = torch.load(folder / "weights.pt", weights_only=True)
    return weights


def test_stopped_by_a_key_it_goes_on_to_the_same_weights(little: Catalog, tmp_path: Path) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    settings = ["--catalog", str(little.path), "--steps", "960"]
    told = json.loads(_train("--out", whole, *settings, "--json"))
    assert told["steps"] == 960
    assert told["words_from"] == "random play"
    assert sum(told["shares"].values()) == pytest.approx(1)

    child = subprocess.Popen(
        [*COMMAND, "--out", str(stopped), *settings], stderr=subprocess.PIPE, text=True
    )
    log = stopped / "log.jsonl"
    deadline = time.monotonic() + 200
    while not (log.exists() and log.read_text()):
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=200)
    assert child.returncode == 0, said
    assert "--resume" in said
    assert not json.loads((stopped / "about.json").read_text())["is_done"]

    assert "960 steps" in _train("--out", stopped, *settings, "--resume")
    one, other = _weights(whole), _weights(stopped)
    assert all(torch.equal(weight, other[name]) for name, weight in one.items())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--preset", "huge"], "small, paper, paper-rnn"),
        (["--from", "nowhere"], "is no checkpoint"),
        (["--imitation", "1"], "--demonstrations RUN"),
        (["--protocol", "shop-demo"], "shop-learn-train"),
        (["--catalog", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_one_sentence(words: list[str], says: str, tmp_path: Path) -> None:
    said = _train("--out", tmp_path / "rl", *words, status=2)
    assert says in " ".join(said.split())
    assert not (tmp_path / "rl").exists()
