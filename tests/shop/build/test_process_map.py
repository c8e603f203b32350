"""A crew of processes: as `map`, in order, few pieces ahead, and nobody left behind."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import process_map_work
import pytest

from errands.errors import CatalogError, DataError
from errands.shop.build.process_map import cores, in_order


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_order(workers: int) -> None:
    results = list(in_order(process_map_work.double, range(12), workers))
    assert [result for result, _ in results] == [2 * piece for piece in range(12)]
    busy = {process for _, process in results}
    assert len(busy) == workers
    assert (os.getpid() in busy) == (workers == 1)


def test_pieces_are_asked_for_as_results_are_taken() -> None:
    asked: list[int] = []

    def pieces() -> Iterator[int]:
        for piece in range(100):
            asked.append(piece)
            yield piece

    results = in_order(process_map_work.big, pieces(), 2)
    assert next(results) == bytes(5_000_000)
    assert len(asked) <= 8
    assert next(results)[:1] == b"\1"
    results.close()
    assert len(asked) <= 10


def test_our_own_exceptions_come_as_they_are() -> None:
    with pytest.raises(DataError, match=r"^three is refused$"):
        list(in_order(process_map_work.refuse_three, range(9), 2))


def test_other_exceptions_say_where_they_are_from() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        list(in_order(process_map_work.divide, [1, 0], 2))
    assert "in divide" in caught.value.__notes__[0]


def test_a_dead_worker_is_one_sentence() -> None:
    with pytest.raises(CatalogError, match=r"ended by signal 9 before .* --workers 1"):
        list(in_order(process_map_work.die_at_two, range(9), 2))


def test_no_pieces_no_workers() -> None:
    assert list(in_order(process_map_work.double, [], 2)) == []
    assert cores() >= 1


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(stop: signal.Signals) -> None:
    """And a script needs no `if __name__ == "__main__"` to have some."""
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2] / 'helpers')!r})\n"
        "import process_map_work\nfrom errands.shop.build.process_map import in_order\n"
        "print('begun', flush=True)\n"
        "list(in_order(process_map_work.doze, range(4), 2))"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "begun\n"
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        patience = time.monotonic() + 120
        while len(children.read_text().split()) < 2 and time.monotonic() < patience:
            time.sleep(0.05)
        crew = [int(process) for process in children.read_text().split()]
        assert len(crew) == 2
        time.sleep(0.5)
        parent.send_signal(stop)
    patience = time.monotonic() + 120
    while any(map(alive, crew)) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not any(map(alive, crew))


def test_no_standard_error_is_no_hindrance() -> None:
    """A notebook, or a test that looks at what is printed, puts something else in its place."""
    with contextlib.redirect_stderr(io.StringIO()):
        assert len(list(in_order(process_map_work.double, range(3), 2))) == 3
