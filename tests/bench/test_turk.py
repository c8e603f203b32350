"""The bench of the paperwork."""

import threading
from collections.abc import Iterator

from errands.bench.turk import few_at_once


def test_results_come_in_order_and_inputs_are_taken_as_needed() -> None:
    taken = 0

    def inputs() -> Iterator[int]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield number

    results = few_at_once(lambda number: number * 2, inputs(), 2)
    first = [next(results) for _ in range(3)]
    assert first == [0, 2, 4]
    assert taken < 20
    assert list(results) == [number * 2 for number in range(3, 100)]


def test_work_is_done_at_once() -> None:
    meeting = threading.Barrier(3, timeout=20)

    def work(_: int) -> int:
        return meeting.wait()

    assert sorted(few_at_once(work, range(3), 3)) == [0, 1, 2]
