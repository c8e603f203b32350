"""The site in a real browser, from the disk, wide and narrow.

`ERRANDS_PICTURES=docs/pictures` takes the pictures anew.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from effort import sampled
from looking import WIDTHS, opened, serious
from submissions import rewritten

from errands.leaderboard.board import CheckedBoard, leaderboard
from errands.leaderboard.site.writing import write_site
from errands.leaderboard.submission import SUFFIX

RESULTS = Path(__file__).resolve().parents[2] / "results"


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> CheckedBoard:
    """Our own results on the demo shop, one that was changed, and one whose data is not here."""
    folder = tmp_path_factory.mktemp("submissions")
    for agent in ("random", "rule", "careful", "choice-oracle"):
        shutil.copy(RESULTS / f"{agent}@shop-demo{SUFFIX}", folder)
    shutil.copy(RESULTS / f"rule@webshop-1k{SUFFIX}", folder)
    shutil.copy(RESULTS / f"rule@shop-demo{SUFFIX}", folder / f"better{SUFFIX}")
    rewritten(
        folder / f"better{SUFFIX}",
        lambda run: msgspec.structs.replace(
            run,
            agent=msgspec.structs.replace(run.agent, name="better than it is"),
            episodes=tuple(
                msgspec.structs.replace(each, reward=1.0) if number < 3 else each
                for number, each in enumerate(run.episodes)
            ),
        ),
    )
    return leaderboard(folder)


@pytest.fixture(scope="module")
def site(checked: CheckedBoard, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_site(checked, tmp_path_factory.mktemp("site") / "board", pages=20).parent


@pytest.fixture(scope="module")
def addresses(checked: CheckedBoard, site: Path) -> dict[str, str]:
    [table] = [table for table in checked.board.tables if table.date]
    best = table.rows[0].short
    episode = next(iter(sorted((site / "submissions" / best / "episodes").iterdir())))
    return {
        "front": "index.html",
        "table": f"protocols/{table.slug}.html",
        "entry": f"submissions/{best}/index.html",
        "episode": f"submissions/{best}/episodes/{episode.name}",
    }


LOOKS = [(name, width) for name in ("front", "table", "entry", "episode") for width in WIDTHS]


@pytest.mark.parametrize(
    ("name", "width"),
    sampled(LOOKS, ("front", "desk"), ("table", "phone"), ("entry", "phone"), ("episode", "desk")),
)
def test_every_page_fits_and_can_be_read_by_all(
    name: str, width: str, site: Path, addresses: dict[str, str], browser: Any
) -> None:
    page = opened(browser, width)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"file://{site}/{addresses[name]}")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate("getComputedStyle(document.querySelector('.top')).color") == (
        "rgb(255, 255, 255)"
    )
    assert page.complaints == []
    assert all(url.startswith(f"file://{site}/") for url in asked)
    assert serious(page) == []
    if folder := os.environ.get("ERRANDS_PICTURES"):
        wide, high = WIDTHS[width]
        whole = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": wide, "height": max(high, min(whole, 940))})
        page.screenshot(path=f"{folder}/leaderboard-{name}-{width}.png")
    page.context.close()


def shown(page: Any) -> list[str]:
    names: list[str] = page.locator("tr[data-kind]:visible th a:first-child").all_inner_texts()
    return [name for name in names if not set(name) <= set("0123456789abcdef")]


def test_rows_can_be_filtered_and_sorted(
    site: Path, addresses: dict[str, str], browser: Any
) -> None:
    page = opened(browser)
    page.goto(f"file://{site}/{addresses['table']}")
    assert shown(page) == ["careful", "rule", "random", "choice-oracle"]
    page.fill("input[name=words]", "RULE")
    assert shown(page) == ["rule"]
    assert page.inner_text("#told") == "1 of 4 rows are shown."
    page.click("button[type=reset]")
    page.wait_for_selector("#told:empty", state="attached")
    page.uncheck("input[name=answers]")
    assert shown(page) == ["careful", "rule", "random"]
    page.fill("input[name=since]", "2099-01-01")
    assert shown(page) == []
    page.click("button[type=reset]")
    page.wait_for_selector("#told:empty", state="attached")
    page.select_option("select[name=kind]", "scripted")
    assert shown(page) == ["careful", "rule", "random"]
    # By keyboard: the head of a column is a button.
    page.focus("#ranking th[data-sort=number] >> nth=1 >> button")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert shown(page) == ["random", "rule", "careful"]
    assert page.get_attribute("#ranking th.score", "aria-sort") == "ascending"
    assert page.complaints == []
    page.context.close()


def test_an_episode_is_walked_through_without_a_script(
    site: Path, addresses: dict[str, str], browser: Any
) -> None:
    page = opened(browser, java_script_enabled=False)
    page.goto(f"file://{site}/{addresses['episode']}")
    page.focus(".replay input >> nth=0")
    first = page.inner_text(".replay .step:visible")
    assert "search[" in first
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".replay .step:visible") != first
    assert page.locator(".replay .page:visible").count() == 1
    page.context.close()
