"""The browser driver against recorded runs of the original in a real browser."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from effort import effort

from errands.turk.actions.action import Action
from errands.turk.browser.driver import BrowserDriver

SHARED = Path(__file__).resolve().parents[4] / "shared"
RECORDED = SHARED / "fixtures" / "turkingbench"
pytestmark = pytest.mark.shared

SHUFFLED = {"Simplicity rating"}
"""Tasks whose page chooses by chance when it loads: other fields than were recorded."""


@pytest.fixture(scope="module")
def driver(browser_driver: BrowserDriver) -> BrowserDriver:
    return browser_driver


def instances() -> list[Path]:
    return sorted((RECORDED / "instances").glob("*.json"))


def actions() -> dict[tuple[str, int], list[dict[str, Any]]]:
    """The fields of each recorded run with libraries, by task and instance."""
    found = {}
    for line in (RECORDED / "runs.jsonl").read_text("utf-8").splitlines():
        run = json.loads(line)
        found.setdefault((run["task"], run["instance_index"]), run["fields"])
        if run["env"] == "cdn":
            found[run["task"], run["instance_index"]] = run["fields"]
    return found


def read(call: str) -> Action | None:
    """A recorded call, whose quotes are not escaped, as an action."""
    match = re.fullmatch(r"(modify_\w+)\(['\"]?(.*?)['\"]?, ['\"]?(.*?)['\"]?\)", call, re.S)
    return Action(match[1], {"name": match[2], "value": match[3]}) if match else None


def number(text: str) -> str:
    try:
        value = float(text)
    except ValueError:
        return text
    return str(int(value)) if value == int(value) else repr(value)


@pytest.mark.parametrize("path", instances()[:: effort(3, 1)], ids=lambda path: path.stem)
def test_recorded_fields_and_oracle(driver: BrowserDriver, path: Path) -> None:
    recorded = json.loads(path.read_text("utf-8"))
    task = recorded["task"]
    fields = recorded.get("fields_cdn") or recorded["fields_blocked"]
    with driver.open(recorded["rendered_html"]) as page:
        found = {f.name: (f.type, f.visible) for f in page.fields([f["name"] for f in fields])}
        expected = {f["name"]: (f["type"], f["displayed"]) for f in fields}
        if task in SHUFFLED:
            assert found.keys() <= expected.keys() or len(found) == len(expected)
        else:
            assert found == expected
        for field in actions().get((task, recorded["instance_index"]), []):
            call = field["oracle"].get("action")
            action = read(call) if call else None
            if action is None or field["name"] not in found:
                continue
            page.perform(action)
            want = field["oracle"]["prediction"]
            got = sorted(number(each) for each in page.values(field["name"], attributes=True))
            got_one = "|".join(got) if field["type"] == "checkbox" else (got or [""])[0]
            assert got_one == want, action
