"""The benchmark of the paperwork runs and reports what it should."""

import pytest

from errands.bench import turk
from errands.turk.loader import load_tasks


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
