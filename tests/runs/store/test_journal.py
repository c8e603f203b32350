"""Episodes on their way into a database: nothing lost, whoever dies, and nothing half."""

import multiprocessing
import os
import resource
import signal
from pathlib import Path

import pytest

from errands.runs.store.base import StoreError
from errands.runs.store.journal import Entry, Journal, leftovers


def entry(number: int) -> Entry:
    return (number, "key", 0.5, None), bytes([number % 256]) * number


def left(database: Path) -> list[Entry]:
    found: list[Entry] = []
    leftovers(database, found.extend)
    return found


def abandoned(database: Path, count: int) -> Path:
    """The file of a process that was killed after so many entries."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()

    def write() -> None:
        journal = Journal(database, fsync=True)
        for number in range(count):
            journal.append(entry(number))
        theirs.send(journal.path)
        signal.pause()

    process = fork.Process(target=write)
    process.start()
    path: Path = ours.recv()
    assert left(database) == []  # Its process lives.
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    return path


def test_the_dead_leave_all_of_it(tmp_path: Path) -> None:
    database = tmp_path / "a [1].sqlite"
    path = abandoned(database, 300)
    assert path.exists()
    assert left(database) == [entry(number) for number in range(300)]
    assert list(tmp_path.iterdir()) == []
    assert left(database) == []


@pytest.mark.parametrize("cut", [1, 7, 8, 9, 100])
def test_an_entry_that_was_cut_off_is_none(tmp_path: Path, cut: int) -> None:
    database = tmp_path / "run.sqlite"
    path = abandoned(database, 200)
    os.truncate(path, path.stat().st_size - cut)
    assert left(database) == [entry(number) for number in range(199)]


def test_zeros_at_the_end_are_no_entries(tmp_path: Path) -> None:
    """What some disks leave of a file after a power cut."""
    database = tmp_path / "run.sqlite"
    path = abandoned(database, 5)
    os.truncate(path, path.stat().st_size + 4096)
    assert left(database) == [entry(number) for number in range(5)]


def test_what_cannot_be_taken_in_stays(tmp_path: Path) -> None:
    database = tmp_path / "run.sqlite"
    path = abandoned(database, 5)

    def fail(entries: object) -> None:
        raise StoreError("the disk is full")

    with pytest.raises(StoreError, match="full"):
        leftovers(database, fail)
    assert path.exists()
    assert left(database) == [entry(number) for number in range(5)]


def test_a_file_of_ones_own_is_left_alone(tmp_path: Path) -> None:
    database = tmp_path / "run.sqlite"
    with Journal(database, fsync=False) as journal:
        journal.append(entry(1))
        assert left(database) == []
    # Closed with an entry in it, it is for the next one who opens the run.
    assert left(database) == [entry(1)]


def test_cleared_it_begins_anew_and_goes_away(tmp_path: Path) -> None:
    database = tmp_path / "run.sqlite"
    journal = Journal(database, fsync=False)
    journal.append(entry(1))
    journal.clear()
    journal.append(entry(2))
    journal.close()
    assert left(database) == [entry(2)]
    with Journal(database, fsync=False):
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreError, match="is closed"):
        journal.append(entry(3))


def test_half_an_entry_is_taken_back(tmp_path: Path) -> None:
    """The kernel lets a part of it through, as on a full disk."""
    database = tmp_path / "run.sqlite"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    journal = Journal(database, fsync=False)
    journal.append(entry(1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            journal.append(entry(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    journal.append(entry(2))
    journal.close()
    assert left(database) == [entry(1), entry(2)]
