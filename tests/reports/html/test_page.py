"""The page in a real browser: what is hostile stays still, and nothing is asked of a network."""

from pathlib import Path
from typing import Any

import pytest
from played import MemoryStore, made, run_info, watch_shop, write_report

from errands.reports.writing import episode_page
from errands.runs.episode import Episode, Step

HOSTILE = (
    "<!DOCTYPE html><html><head><script>parent.document.title='taken'</script>"
    "<link rel=stylesheet href='http://127.0.0.1:9/x.css'>"
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/go'>"
    "<style>@import 'http://127.0.0.1:9/i.css'; body{background:url(http://127.0.0.1:9/b.png)}</style>"
    "</head><body onload=\"top.document.title='taken'\"><p id=here>Inside</p>"
    "<img src='http://127.0.0.1:9/p.png' onerror=\"top.document.title='taken'\">"
    "<iframe src='http://127.0.0.1:9/f'></iframe><a href='javascript:top.document.title=1'>x</a>"
    "<svg><script>top.document.title='taken'</script></svg></body></html>"
)
TEXT = (
    "</script></details><script>document.title='taken'</script><img src=x onerror=alert(1)> \ud800 "
)


def hostile_store() -> MemoryStore:
    """Everything a page, a product or a model can say, said in bad faith."""
    steps = (
        Step(TEXT, observation=HOSTILE, thought=TEXT + "long " * 50_000, message=TEXT),
        Step("click[b]", observation=TEXT + " [SEP] " + TEXT),
    )
    summary = made(0, 1.0, key=TEXT, parts={"task": TEXT, "row": 0, "page_chars": 9,
                   "fields": [[TEXT, TEXT, 0.5, 0.5]]}).summary  # fmt: skip
    failed = made(1, None, key=TEXT, owner=TEXT, error=TEXT)
    info = run_info(
        "turk", TEXT, 2, agent_settings={"model": TEXT, TEXT: TEXT}, remarks=(TEXT,), checksum=TEXT,
        versions={TEXT: TEXT}, id=TEXT, protocol_key=TEXT, started=TEXT, observations=TEXT,
    )  # fmt: skip
    return MemoryStore(info, [Episode(summary=summary, steps=steps, last=HOSTILE), failed])


def opened(browser: Any, path: Path, **how: Any) -> tuple[Any, list[str], list[str]]:
    page = browser.new_context(**how).new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append("dialog"), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    return page, said, [url for url in asked if not url.startswith(("file:", "data:", "about:"))]


def test_hostile_text_stays_inert(browser: Any, tmp_path: Path) -> None:
    (path,) = write_report([hostile_store()], tmp_path, formats=["html"])
    page, said, asked = opened(browser, path)
    page.locator("#episodes details.episode > summary").first.click()
    frame = page.frame_locator("#episodes .page iframe").first
    assert frame.locator("#here").inner_text() == "Inside"
    held = page.locator("#episodes .page iframe").first
    assert held.get_attribute("sandbox") == ""
    page.locator("#episodes label.go:visible").first.click()
    assert "document.title" in page.locator(".nodes:visible").first.inner_text()
    page.wait_for_timeout(200)
    assert "Errands report" in page.title()
    assert page.locator("img").count() == 0
    assert page.evaluate("document.scripts.length") >= 2
    assert (said, asked) == ([], [])
    page.context.close()


def test_one_episode_shows_its_page_at_once(
    browser: Any, careful: MemoryStore, tmp_path: Path
) -> None:
    page, said, asked = opened(browser, episode_page(careful, 3, tmp_path, watch=watch_shop))
    page.frame_locator("iframe").first.locator("#search_input").wait_for()
    assert (said, asked) == ([], [])
    page.context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_no_width_scrolls_sideways(
    browser: Any, careful: MemoryStore, oracle: MemoryStore, tmp_path: Path, width: int
) -> None:
    (path,) = write_report([careful, oracle], tmp_path, formats=["html"], watch=_watch)
    page, said, asked = opened(browser, path, viewport={"width": width, "height": 800})
    page.evaluate(
        "for (const d of [...document.querySelectorAll('details')].slice(0, 60)) d.open = 1"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (said, asked) == ([], [])
    page.context.close()


def _watch(info, episode):
    return watch_shop(info, episode) if info.domain == "shop" else None


def lost_store(agent: str = "x", seed: int = 0) -> MemoryStore:
    """Episodes that were lost in several ways, of goals that were played twice."""
    names = ["", "never found", "gave up", "never found", "invalid actions", ""]
    episodes = [
        made(
            n,
            0.25 if name else 1.0,
            key=f"goal {n % 3}",
            parts={"cluster": f"p{n % 3}", "invalid": n % 2, **({"failure": name} if name else {})},
        )
        for n, name in enumerate(names)
    ]
    info = run_info("shop", agent, 6, seed=seed, id=f"{agent}-{seed}", observations="none")
    return MemoryStore(info, episodes)


def test_what_cost_points_leads_to_the_episodes(browser: Any, tmp_path: Path) -> None:
    stores = [lost_store(), lost_store("y")]
    (path,) = write_report(stores, tmp_path, formats=["html"])
    page, said, asked = opened(browser, path)
    page.locator("#causes a", has_text="never found").nth(1).click()
    listed = page.locator("#episodes details.run").nth(1).locator("details.episode:visible")
    listed.first.wait_for()
    assert [each.get_attribute("id") for each in listed.all()] == ["e1-1", "e1-3"]
    page.locator("#causes a[href='#e0-2']").click()
    page.locator("#e0-2[open]").wait_for()
    assert "gave up" in page.locator("#e0-2").inner_text()
    assert (said, asked) == ([], [])
    page.goto(f"{path.as_uri()}#e1-4")
    page.locator("#e1-4[open]").wait_for()
    page.context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_seeds_repeats_and_causes_fit_both_widths(browser: Any, tmp_path: Path, width: int) -> None:
    stores = [lost_store(seed=seed) for seed in (1, 2, 3)] + [lost_store("other")]
    (path,) = write_report(stores, tmp_path, formats=["html"])
    page, said, _ = opened(browser, path, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shown = page.locator("#repeats").inner_text()
    for words in ("Agents with several seeds", "1, 2, 3", "pass@k", "pass^k", "over products"):
        assert words in shown
    assert said == []
    page.context.close()


def test_causes_can_be_filtered_without_scripts(browser: Any, tmp_path: Path) -> None:
    (path,) = write_report([lost_store()], tmp_path, formats=["html"])
    page, _, _ = opened(browser, path, java_script_enabled=False)
    page.locator("#episodes label", has_text="never found").click()
    shown = page.locator("#episodes details.episode:visible")
    assert [each.get_attribute("id") for each in shown.all()] == ["e0-1", "e0-3"]
    page.context.close()


def test_without_scripts_all_can_be_walked_through_and_read(
    browser: Any, careful: MemoryStore, tmp_path: Path
) -> None:
    (path,) = write_report([careful], tmp_path, formats=["html"])
    page, _, asked = opened(browser, path, java_script_enabled=False)
    episode = page.locator("#e0-3")
    episode.locator("summary").first.click()
    steps = careful.episode(3).steps
    assert steps[0].action in episode.inner_text()
    episode.locator("label.go:visible").last.click()
    shown = episode.inner_text()
    assert steps[1].action in shown
    assert "Total results" in shown
    episode.locator("input[value='2']").press("ArrowRight")
    assert steps[2].action in episode.inner_text()
    page.locator("label[for='f0-failed']").click()
    assert page.locator("#episodes details.episode:visible").count() == 0
    assert asked == []
    page.context.close()
