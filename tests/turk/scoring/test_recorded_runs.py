"""Recorded runs of the original, replayed: every value read and every score, for both agents.

Pages that need no script are replayed without a browser, all others in Chromium; those recorded
without a network get no libraries. Values are read from the markup, as the original read them.
Where its oracle broke off (a button or an empty drop-down among the answers), nothing was read
at the end, and the page as it was loaded is all there is to compare.
"""

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from effort import SLOW

from errands.turk.actions.grammar import parse_answer
from errands.turk.browser.driver import BrowserDriver
from errands.turk.dom.driver import DomDriver
from errands.turk.pages.driver import ActionError, Driver, OpenPage
from errands.turk.scoring.metrics import clean_values, score
from errands.turk.tasks.loader import TaskSet, load_tasks
from errands.turk.tasks.task import Instance
from errands.turk.tasks.template import page_html

SHARED: Final = Path(__file__).resolve().parents[4] / "shared"
TASKS: Final = SHARED / "data" / "turkingbench"
RUNS: Final = SHARED / "fixtures" / "turkingbench" / "runs.jsonl"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not RUNS.is_file(), reason=f"there are no recorded runs at {RUNS}"),
]

BROKEN: Final = {
    "cdn": {"COMET2020 ATOMIC Inference Vp"},
    "blocked": {"COMET2020 ATOMIC Inference Vp", "Gun violence structured extraction"},
}
"""Where the original's oracle stopped: at a covered box, a button, a drop-down left empty."""
EXCUSES: Final = ("is read-only", "is not displayed", "is disabled", "No check box")
"""Why an action of the original's oracle, which did not look, may be refused here."""


class Checked(msgspec.Struct):
    """What a replay compared, and what was not the same."""

    fields: int = 0
    values: int = 0
    wrong: list[str] = []
    broken: set[str] = set()
    """Tasks whose recorded oracle broke off."""


def static_tasks() -> set[str]:
    """Tasks whose pages need no script, but for the challenge split, where answers do."""
    with (TASKS / "tasks.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        row["task"]
        for row in rows
        if row["nojs_class"] == "static" and row["split"] != "testchallenge"
    }


def runs(*, static: bool, env: str | None = None) -> Iterator[dict[str, Any]]:
    known = static_tasks()
    for line in RUNS.read_text("utf-8").splitlines():
        run = json.loads(line)
        if (run["task"] in known) == static and env in (None, run["env"]):
            yield run


def replay(page: OpenPage, run: dict[str, Any], checked: Checked) -> None:
    for field in run["fields"]:
        action = (field["oracle"] or {}).get("action")
        for call in parse_answer(action) if action else ():
            try:
                page.perform(call)
            except ActionError as error:
                reason = str(error)
                if call.arguments["value"] and not any(each in reason for each in EXCUSES):
                    checked.wrong.append(f"{run['task']} {run['env']} {call}: {reason}")


def check(
    page: OpenPage, instance: Instance, run: dict[str, Any], agent: str, checked: Checked
) -> None:
    fields = {field.name: field for field in page.fields(list(instance.labels))}
    for recorded in run["fields"]:
        expected, name = recorded[agent], recorded["name"]
        if expected is None:
            continue
        field, got, value = fields.get(name), None, None
        if field is not None and field.visible and field.type != "submit":
            values = page.values(name, attributes=True)
            got = score(field.type, values, instance.labels[name], "released")
            cleaned = clean_values(values)
            value = "|".join(sorted(cleaned)) if field.type == "checkbox" else (*cleaned, "")[0]
        same = field is not None and field.type == recorded["type"]
        if same and expected["scored"]:
            checked.values += 1
            same = value == expected["prediction"] and got == pytest.approx(
                expected["score"], abs=1e-9, nan_ok=True
            )
        elif same:
            same = got is None
        checked.fields += 1
        if not same:
            found = f"{field and field.type} {value!r} {got}"
            told = {key: expected[key] for key in ("scored", "prediction", "score")}
            checked.wrong.append(f"{run['task']} {run['env']} {agent} {name}: {found} | {told}")


def loads_alike(page: OpenPage, run: dict[str, Any], checked: Checked) -> None:
    names = [recorded["name"] for recorded in run["fields"]]
    found = {field.name: (field.type, field.visible) for field in page.fields(names)}
    told = {each["name"]: (each["type"], each["displayed_at_load"]) for each in run["fields"]}
    if found != told:
        checked.wrong.append(f"{run['task']} {run['env']} at load: {found} | {told}")


def replay_all(driver: Driver, chosen: Iterable[dict[str, Any]]) -> Checked:
    tasks: TaskSet = load_tasks(TASKS)
    checked = Checked()
    for run in chosen:
        task = tasks.task(run["task"])
        instance = task.instances[run["instance_index"]]
        html = page_html(task, instance, mojibake=True)
        page = driver.open(html)
        loads_alike(page, run, checked)
        check(page, instance, run, "donothing", checked)
        if run["oracle"]["instance_score"] is None:
            checked.broken.add(run["task"])
        else:
            replay(page, run, checked)
            check(page, instance, run, "oracle", checked)
        page.close()
    return checked


def test_without_a_browser() -> None:
    checked = replay_all(DomDriver(), runs(static=True))
    assert checked.wrong == []
    assert checked.broken == set()
    assert (checked.fields, checked.values) == (2824, 2676)


def test_in_a_browser_with_libraries(browser_driver: BrowserDriver) -> None:
    found = list(runs(static=False, env="cdn"))
    checked = replay_all(browser_driver, found if SLOW else found[::3])
    assert checked.wrong == []
    assert checked.broken == BROKEN["cdn"]
    assert (checked.fields, checked.values) == ((1570, 985) if SLOW else (423, 265))


def test_in_a_browser_without_libraries(
    browser_driver: BrowserDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("errands.browser.network_policy.library", lambda _: None)
    # A browser keeps libraries between pages: this one has never seen any.
    with BrowserDriver() as fresh:
        checked = replay_all(fresh, runs(static=False, env="blocked"))
    assert checked.wrong == []
    assert checked.broken == BROKEN["blocked"]
    assert (checked.fields, checked.values) == (223, 177)
