"""What the tests of `errands train` share: calling it, in this process and as another."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from errands.cli import main


class Said(NamedTuple):
    """What a command said, and its exit status."""

    status: int
    out: str
    err: str


def call(*words: object) -> int:
    """Run a command in this process; torch is imported but once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["errands", *map(str, words)])
        try:
            main()
        except SystemExit as done:
            return int(done.code or 0)
    return 0


def started(*words: object) -> subprocess.Popen[str]:
    """The same as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "errands", *map(str, words)],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "COLUMNS": "120", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def wait_for(what: Callable[[], Any], child: subprocess.Popen[str]) -> None:
    ends = time.monotonic() + 200
    while not what():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < ends
        time.sleep(0.01)


def same_weights(one: Path, other: Path) -> bool:
    import torch

    pair = [torch.load(folder / "weights.pt", weights_only=True) for folder in (one, other)]
    return pair[0].keys() == pair[1].keys() and all(
        torch.equal(weight, pair[1][name]) for name, weight in pair[0].items()
    )
