"""Decisions are on disk at once, and stay there."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from errands.errors import DataError, SettingError
from errands.mining.decisions import Decisions, read_decisions


def test_the_last_answer_counts(tmp_path: Path) -> None:
    path = tmp_path / "new" / "decisions.jsonl"
    assert read_decisions(path) == {}
    with Decisions(path) as held:
        held.decide("easy clean", "which is")
        held.decide("oz ml", "drop")
        held.decide("easy clean", "has")
        assert read_decisions(path) == held.made == {"oz ml": "drop", "easy clean": "has"}
    assert list(read_decisions(path)) == ["oz ml", "easy clean"]


def test_undo_goes_back_step_by_step(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    with Decisions(path) as held:
        held.decide("a", "has")
        held.decide("a", "drop")
        held.decide("b", "is a")
        assert held.undo() == "b"
        assert held.undo() == "a"
        assert held.made == read_decisions(path) == {"a": "has"}
        assert held.undo() == "a"
        assert held.undo() is None
    assert read_decisions(path) == {}


def test_undo_goes_on_after_a_break(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    with Decisions(path) as held:
        held.decide("a", "has")
        held.decide("b", "drop")
    with Decisions(path) as held:
        assert held.undo() == "b"
        assert held.undo() == "a"
        assert held.undo() is None
        assert held.made == {}


def test_undo_knows_earlier_answers_after_a_break(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    with Decisions(path) as held:
        held.decide("a", "has")
        held.decide("b", "is a")
        held.decide("a", "drop")
        held.decide("a", "which is")
        assert held.undo() == "a"
    for left in ({"b": "is a", "a": "has"}, {"a": "has"}, {}):
        with Decisions(path) as held:
            assert held.undo() is not None
            assert held.made == left
        assert read_decisions(path) == left
    with Decisions(path) as held:
        assert held.undo() is None


def test_many_at_once(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    with Decisions(path) as held:
        held.decide_all([("a", "has"), ("b", "drop")])
        assert read_decisions(path) == {"a": "has", "b": "drop"}
        assert held.undo() == "b"
        with pytest.raises(SettingError):
            held.decide_all([("c", "has"), ("d", "nonsense")])
    assert read_decisions(path) == {"a": "has"}


def test_only_uses_are_written(tmp_path: Path) -> None:
    with Decisions(tmp_path / "d.jsonl") as held:
        with pytest.raises(SettingError, match="good for, has, which is, is a or drop"):
            held.decide("a", "nonsense")
        assert held.made == {}
    assert (tmp_path / "d.jsonl").read_bytes() == b""


def test_one_review_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    with Decisions(path) as held:
        with pytest.raises(DataError, match="another review"), Decisions(path):
            pass
        held.decide("a", "has")
    with Decisions(path) as held:
        assert held.made == {"a": "has"}


def test_a_line_that_was_cut_off_is_cut_away(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(b'{"phrase":"a","use":"has"}\n{"phrase":"b","us')
    assert read_decisions(path) == {"a": "has"}
    with Decisions(path) as held:
        held.decide("c", "drop")
    assert path.read_bytes() == b'{"phrase":"a","use":"has"}\n{"phrase":"c","use":"drop"}\n'


@pytest.mark.parametrize(
    "data", [b"nonsense\n", b'{"phrase":"a","use":"eat"}\n', b"\xff\xfe\n", b'["a","has"]\n']
)
def test_a_file_that_is_something_else_is_left_alone(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(data)
    with pytest.raises(DataError, match="line 1"):
        read_decisions(path)
    with pytest.raises(DataError, match="--decisions"), Decisions(path):
        pass
    assert path.read_bytes() == data


def test_no_place_to_write(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written"), Decisions(tmp_path):
        pass
    with pytest.raises(DataError, match="cannot be read"):
        read_decisions(tmp_path)


def test_killed_outright_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from errands.mining.decisions import Decisions\n"
        "with Decisions(Path(sys.argv[1])) as held:\n"
        "    for number in range(10**9):\n"
        "        held.decide(f'phrase {number}', 'has')\n"
        "        print(number, flush=True)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    for _ in range(20):
        last = int(child.stdout.readline())
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=60)
    kept = read_decisions(path)
    assert [f"phrase {number}" in kept for number in range(last + 1)] == [True] * (last + 1)
    with Decisions(path) as held:
        held.decide("after", "drop")
    assert list(read_decisions(path))[-1] == "after"
