"""The benchmark of the paperwork runs and reports what it should."""

import threading
from collections.abc import Iterator

import pytest

from errands.bench import turk
from errands.bench.turk import few_at_once
from errands.turk.tasks.loader import load_tasks


def test_every_instance_is_played_for_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turk, "WAYMARKS", (2, 10))
    figures = {figure.name: figure for figure in turk.bench_turk_memory("demo")}
    assert list(figures) == [
        "dom: memory after 2",
        "dom: memory after 10",
        "dom: memory at the end",
        "dom: instances per second",
        "dom: instances",
        "dom: failed",
    ]
    assert figures["dom: instances"].value == sum(
        len(task.instances) for task in load_tasks("demo")
    )
    assert figures["dom: memory at the end"].unit == "MB"
    assert figures["dom: memory at the end"].value > 1


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
    meeting = threading.Barrier(3, timeout=120)

    def work(_: int) -> int:
        return meeting.wait()

    assert sorted(few_at_once(work, range(3), 3)) == [0, 1, 2]
