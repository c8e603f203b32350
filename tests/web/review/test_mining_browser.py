"""The review page in a real browser: keys, without scripts, wide and narrow, light and dark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from looking import looked_at, opened
from mining_served import Served, served

from errands.mining.decisions import read_decisions


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "d.jsonl") as running:
        yield running


def test_keys(browser: Any, site: Served, tmp_path: Path) -> None:
    page = opened(browser)
    page.goto(f"{site.url}/mining")

    def press(key: str, then: str) -> None:
        page.keyboard.press(key)
        page.wait_for_selector(f"#phrase:text-is({then!r})")

    press("3", "dry skin")
    press("Enter", "oz ml")
    press(" ", "wide handle")
    press("u", "oz ml")
    press("n", "wide handle")
    assert read_decisions(tmp_path / "d.jsonl") == {
        "easy clean": "which is",
        "dry skin": "good for",
    }
    press("a", "</h2><script>alert(1)</script>")
    assert page.complaints == []


def test_without_scripts(browser: Any, site: Served, tmp_path: Path) -> None:
    page = opened(browser, java_script_enabled=False)
    page.goto(f"{site.url}/mining")
    page.click("button[value='which is']")
    page.click("button[value='drop']")
    assert read_decisions(tmp_path / "d.jsonl") == {"easy clean": "which is", "dry skin": "drop"}
    page.click("button:has-text('Undo')")
    assert page.inner_text("#phrase") == "dry skin"


@pytest.mark.parametrize("width", ["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_looks_right(browser: Any, site: Served, width: str, scheme: str) -> None:
    check = site.check()
    for phrase, use in (("wide handle", "has"), ("oz ml", "drop")):
        site.ask("/mining", {"check": check, "phrase": phrase, "use": use})
    page = opened(browser, width, color_scheme=scheme)
    for name, path in (("question", "/mining"), ("answers", "/mining/decided")):
        page.goto(f"{site.url}{path}")
        looked_at(page, f"mining-{name}", width, picture=False)
    page.goto(f"{site.url}/mining?phrase=%3C/h2%3E%3Cscript%3Ealert(1)%3C/script%3E")
    looked_at(page, "mining-nasty", width, picture=False)
    assert page.complaints == []
