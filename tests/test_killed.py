"""Work that is killed at random moments, and what was never killed: the same, with nothing lost
and nothing twice. 500 kills in `make test-slow`; docs/reference/limits.md has the figures."""

import json
import os
import subprocess
import sys
from pathlib import Path

import kill_nursery
import pytest
from effort import effort

KILLS = {
    "runs": (3, 130), "builds": (2, 100), "trainings": (0, 70), "submissions": (2, 80),
    "hand scores": (3, 40), "crowd work": (0, 80),
}  # fmt: skip
"""Of each kind of work: so many in `make test`, and in all."""


def test_there_are_500() -> None:
    assert sum(whole for _, whole in KILLS.values()) == 500
    assert KILLS.keys() == kill_nursery.KINDS.keys()


@pytest.mark.parametrize("kind", [kind for kind, kills in KILLS.items() if effort(*kills)])
def test_kills_lose_nothing_and_double_nothing(kind: str, tmp_path: Path) -> None:
    if kind == "trainings":
        pytest.importorskip("torch", reason="needs torch: pip install 'errands[train]'")
    helpers = str(Path(kill_nursery.__file__).parent)
    done = subprocess.run(
        [sys.executable, kill_nursery.__file__, kind, tmp_path, str(effort(*KILLS[kind])), "1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=effort(120, 1800),
        env={**os.environ, "PYTHONPATH": helpers},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    print(f"{kind}: {told}")
    assert told["kills"] == effort(*KILLS[kind])
    # Most kills must have hit work on its way, and some of it must have come to its end.
    assert told["processes"] < 3 * told["kills"] + 10
    assert told["rounds"] >= 1
    assert told["acknowledged"] > 0
