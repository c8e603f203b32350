"""What shells complete, asked for as they ask."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import in_process as errands


def completed(line: str) -> list[str]:
    """The words that bash would offer at the end of a line."""
    words = line.split(" ")
    done = errands(
        _ERRANDS_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1)
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("errands ver", ["verify-reward"]),
        ("errands demo t", ["turk", "tour"]),
        ("errands crowd export i", ["instructions"]),
        ("errands run shop-dem", ["shop-demo"]),
        ("errands run shop-demo --agent pointer", ["pointer-oracle"]),
        ("errands demo --data demo-", ["demo-easy"]),
        ("errands catalog info demo-", ["demo-easy"]),
        ("errands serve --data turk", ["turkingbench"]),
        ("errands data webshop-", ["webshop-1k"]),
        ("errands report --fig", ["--figures"]),
        ("errands run shop-demo --agent runs/", []),
    ],
)
def test_names_are_completed(line: str, words: list[str]) -> None:
    assert completed(line) == words


def test_completion_is_installed_for_the_shell(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m errands --install-completion; exit $?"],
        capture_output=True, text=True, check=False,
        env={**os.environ, "HOME": str(tmp_path), "SHELL": "/bin/bash"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert ".bash_completions/errands.sh" in (tmp_path / ".bashrc").read_text()
