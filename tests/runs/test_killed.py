"""A run that is killed again and again is the run that was never killed."""

import subprocess
import sys
from pathlib import Path

import pytest
from effort import effort

from errands.runs.runner import run
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog

NURSERY = Path(__file__).with_name("nursery.py")


@pytest.mark.parametrize(
    ("workers", "kills", "episodes"),
    [(1, effort(4, 40), effort(400, 3000)), (2, effort(2, 10), effort(1500, 12000))],
)
def test_kills_lose_nothing_and_do_nothing_twice(
    little: Catalog, tmp_path: Path, workers: int, kills: int, episodes: int
) -> None:
    protocol = tmp_path / "p.toml"
    protocol.write_text(
        f'[p]\nversion = 1\nhalf = "shop"\ndata = "{little.path}"\nshuffle_workers = 40\n'
        f"episodes = {episodes}\nmax_steps = 12\n"
    )
    whole = run(str(protocol), "random", out=tmp_path / "whole")
    arguments = [protocol, tmp_path / "killed", workers, kills, 7, "random", episodes]
    done = subprocess.run(
        [sys.executable, NURSERY, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    # Most kills must have hit a run on its way, or this shows nothing.
    assert int(done.stdout) >= kills // 2
    kept, expected = open_run(tmp_path / "killed"), open_run(whole.place)
    count = 0
    for one, other in zip(kept.episodes(), expected.episodes(), strict=True):
        assert one.summary.number == other.summary.number == count
        assert one.summary.reward == other.summary.reward
        assert one.summary.parts == other.summary.parts
        assert one.last_digest == other.last_digest
        assert [step.action for step in one.steps] == [step.action for step in other.steps]
        count += 1
    assert count == episodes
