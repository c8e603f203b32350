"""Other projects' unmodified files, where they are: see docs/guides/original-code.md."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TRIALS = Path(__file__).resolve().parents[2] / "packages" / "errands-legacy" / "trials"
FOLDER = os.environ.get("ERRANDS_TRIALS", "")


@pytest.mark.heavy
@pytest.mark.skipif(not FOLDER, reason="ERRANDS_TRIALS names no folder of checkouts")
@pytest.mark.parametrize(
    "name", ["verl_agent", "ragen", "agentgym", "agentbench", "react", "baselines"]
)
def test_unmodified_files_run(name: str) -> None:
    done = subprocess.run(
        [sys.executable, TRIALS / "run.py", FOLDER, name], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert f"| {name} | passed |" in done.stdout


@pytest.mark.heavy
def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, TRIALS / "run.py", tmp_path, "react"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert f"{tmp_path / 'ReAct'} is not there" in done.stdout
