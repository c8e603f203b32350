"""Recorded runs of the original, replayed without a browser wherever the page needs none.

For both agents, every field's type, whether it counts, and its score; values are read from the
markup, as the original read them. `tests/turk/test_browser.py` replays pages that need scripts.
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from errands.turk.dom import DomDriver
from errands.turk.driver import ActionError, OpenPage
from errands.turk.grammar import parse_answer
from errands.turk.loader import TaskSet, load_tasks
from errands.turk.metrics import score
from errands.turk.task import Instance
from errands.turk.template import page_html

pytestmark = pytest.mark.shared

SHARED = Path(__file__).resolve().parents[3] / "shared"
TASKS = SHARED / "data" / "turkingbench"
RUNS = SHARED / "fixtures" / "turkingbench" / "runs.jsonl"


def static_tasks(place: Path) -> set[str]:
    """Tasks whose pages need no script, but for the challenge split, where answers do."""
    with (place / "tasks.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        row["task"]
        for row in rows
        if row["nojs_class"] == "static" and row["split"] not in ("testchallenge", "test_challenge")
    }


def runs() -> Iterator[dict[str, Any]]:
    static = static_tasks(TASKS)
    for line in RUNS.read_text("utf-8").splitlines():
        run = json.loads(line)
        if run["task"] in static and run["split"] != "test_hard":
            yield run


def replay(page: OpenPage, run: dict[str, Any]) -> None:
    for field in run["fields"]:
        action = (field["oracle"] or {}).get("action")
        for call in parse_answer(action) if action else ():
            try:
                page.perform(call)
            except ActionError:
                # The original types nothing into disabled boxes without a word.
                assert call.arguments["value"] in ("", "nan")


def check(page: OpenPage, instance: Instance, run: dict[str, Any], agent: str) -> int:
    fields = {field.name: field for field in page.fields(list(instance.labels))}
    checked = 0
    for recorded in run["fields"]:
        expected = recorded[agent]
        if expected is None:
            continue
        name = recorded["name"]
        field = fields[name]
        assert field.type == recorded["type"]
        got = None
        if field.visible and field.type != "submit":
            values = page.values(name, attributes=True)
            got = score(field.type, values, instance.labels[name], "released")
        assert (got is not None) == expected["scored"], (run["task"], name)
        if got is not None and got == got:
            assert got == pytest.approx(expected["score"], abs=1e-9), (run["task"], name)
        checked += 1
    return checked


def test_both_agents_score_as_recorded() -> None:
    tasks: TaskSet = load_tasks(TASKS)
    driver = DomDriver()
    checked = 0
    for run in runs():
        task = tasks.task(run["task"])
        instance = task.instances[run["instance_index"]]
        html = page_html(task, instance, mojibake=True)
        for agent in ("donothing", "oracle"):
            page = driver.open(html)
            if agent == "oracle":
                replay(page, run)
            checked += check(page, instance, run, agent)
            page.close()
    assert checked > 2800
