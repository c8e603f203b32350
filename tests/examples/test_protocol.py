"""The example of a protocol file is played, by its place and name."""

from pathlib import Path

import pytest
from command import in_process

from errands.runs import find_protocol, open_run, run

FILE = Path(__file__).resolve().parents[2] / "examples" / "protocol.toml"


@pytest.mark.parametrize(("name", "agent"), [("short", "careful"), ("forms", "oracle")])
def test_it_is_played(name: str, agent: str, tmp_path: Path) -> None:
    finished = run(f"{FILE}#{name}", agent, out=tmp_path / "run", episodes=4)
    store = open_run(finished.place)
    try:
        statuses = [one.status for one in store.summaries()]
    finally:
        store.close()
    assert len(statuses) == 4
    assert "error" not in statuses


def test_what_it_says_is_what_is_found() -> None:
    protocol = find_protocol(f"{FILE}#short")
    assert (protocol.goals, protocol.episodes, protocol.max_steps) == ("human", 20, 10)


def test_the_command_shows_it() -> None:
    shown = in_process("protocols", "--show", f"{FILE}#forms")
    assert shown.returncode == 0
    assert "Two instances of each demo task" in shown.stdout
