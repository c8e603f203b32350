"""What each condition of the paper's table 4 sends to a model, through a whole run."""

import base64
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import SLOW, sampled

from errands.agents.llm.transport.messages import message_tokens
from errands.agents.llm.turk.conditions import Condition, published_table
from errands.agents.llm.turk.demonstration_lists import demonstration_lists
from errands.agents.llm.turk.excerpts import original_window, window
from errands.browser.screenshots import decode
from errands.envs.turk import TurkEnv
from errands.errors import SettingError
from errands.runs.runner import RunResult, run
from errands.runs.store.places import open_run
from errands.turk.drivers import Pages
from errands.turk.pages.driver import Unsupported
from errands.turk.tasks.loader import load_tasks
from errands.turk.tasks.template import page_html

TABLE = published_table()
MODELS = [row for row in TABLE.rows if row.settings]
SEEING = [row for row in MODELS if row.settings["vision"]]
READING = [row for row in MODELS if not row.settings["vision"]]
TASKS = Path(__file__).resolve().parents[4] / "shared" / "data" / "turkingbench" / "tasks"

Play = Callable[..., RunResult]


@pytest.fixture
def play_run(endpoint: Any, tmp_path: Path) -> Play:
    """A run of one instance each of the demo's first test tasks, which need no browser, by a model
    that leaves all as it is."""
    endpoint.script = lambda request, number: "self.actions.leave()"

    def play_run(
        name: str = "run", data: str | Path = "demo", episodes: int = 4, **settings: Any
    ) -> RunResult:
        given = {"model": "m", "base_url": endpoint.url, "price_in": 0, "price_out": 0, **settings}
        return run(
            *("turk-test", "llm"),
            data=str(data),
            per_task=1,
            episodes=episodes,
            out=tmp_path / name,
            settings=given,
        )

    return play_run


def text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    return str(content if isinstance(content, str) else content[0]["text"])


def pictures_of(message: dict[str, Any]) -> list[Any]:
    """Its pictures, as pixels."""
    content = message["content"]
    urls = [
        part["image_url"]["url"]
        for part in (content if isinstance(content, list) else ())
        if part["type"] == "image_url"
    ]
    return [decode(base64.b64decode(url.partition(",")[2])) for url in urls]


def html_of(message: dict[str, Any]) -> str:
    return text_of(message).partition("\n\nHTML:\n")[2]


def check_requests(row: Condition, requests: list[dict[str, Any]], demos: int) -> None:
    """All that the conditions of a row say of every request."""
    settings = TABLE.settings(row)
    sampling = TABLE.sampling[row.sampling]
    for request in requests:
        messages = request["messages"]
        roles = [message["role"] for message in messages]
        assert roles == ["system", *["user", "assistant"] * demos, "user"]
        size = message_tokens(messages) + sampling["max_tokens"]
        assert size <= settings["budget"]
        asked = [message for message in messages if message["role"] == "user"]
        for message in asked:
            assert len(pictures_of(message)) == settings["vision"]
            heading = text_of(message).partition("\n\nHTML:\n")[0].strip().splitlines()
            assert heading[0].startswith("Field: ")
            assert heading[1:] == ["Type: not told"]
        for name in ("temperature", "top_p", "max_tokens"):
            assert request[name] == sampling[name]
        assert request.get("top_k") == sampling.get("extra", {}).get("top_k")


@pytest.mark.parametrize("row", READING, ids=lambda row: row.name)
def test_rows_of_text(endpoint: Any, play_run: Play, row: Condition) -> None:
    result = play_run(condition=row.name)
    assert not result.ended
    check_requests(row, endpoint.requests, 7)
    store = open_run(result.place)
    parts = [one.parts for one in store.summaries()]
    store.close()
    assert sum(part["calls"] for part in parts) == len(endpoint.requests)
    assert result.info.agent_settings["condition"] == row.name
    assert result.info.agent_settings["demo_list"] == "demo-1"
    listed = [f"{one.task}/{one.row}" for one in demonstration_lists()["demo-1"].fields[:7]]
    assert result.info.agent_settings["demonstrations"] == listed


@pytest.mark.parametrize("row", SEEING if SLOW else SEEING[:1], ids=lambda row: row.name)
def test_rows_of_text_and_vision(
    endpoint: Any, play_run: Play, browser_driver: Any, row: Condition
) -> None:
    assert not play_run(condition=row.name, episodes=2).ended
    check_requests(row, endpoint.requests, 7)
    first = pictures_of(endpoint.requests[0]["messages"][-1])[0]
    assert first.shape[:2] == (round(720 / 2.11), round(1280 / 2.11))


def test_all_rows_are_of_one_key(play_run: Play, browser_driver: Any, tall: Path) -> None:
    names = ["gpt4-relevant-original", "gpt4-full", "gpt4v-relevant", "claude-full"]
    given = {"data": tall, "demo_list": "demo-1"}
    keys = {play_run(name, condition=name, **given).info.protocol_key for name in names}
    assert len(keys) == 1
    assert "observation" not in keys.pop()


@pytest.mark.parametrize("demos", sampled(range(8), 0, 3, 7))
def test_any_number_of_demonstrations(endpoint: Any, play_run: Play, demos: int) -> None:
    play_run(condition="gpt4-relevant", demos=demos)
    check_requests(TABLE.row("gpt4-relevant"), endpoint.requests, demos)


def test_what_is_shown_of_a_page(endpoint: Any, play_run: Play) -> None:
    pages = Pages("dom")
    task = load_tasks("demo", "test").task("Two Charts")
    for encoding in ("relevant", "original-relevant", "full", "original-full"):
        endpoint.requests.clear()
        result = play_run(encoding, encoding=encoding, budget=82_000)
        with_charts = [
            r for r in endpoint.requests if "Field: best_day" in text_of(r["messages"][-1])
        ]
        [request] = with_charts
        sent = html_of(request["messages"][-1])
        store = open_run(result.place)
        [row] = [int(one.key.rpartition("/")[2]) for one in store.summaries()
                 if one.key.startswith("Two Charts/")]  # fmt: skip
        store.close()
        page = pages.open(task, task.instances[row])
        html = page.html()
        shown = {
            "relevant": window(html, "best_day"),
            "original-relevant": original_window(html, "best_day"),
            "full": html,
            "original-full": page_html(task, task.instances[row], mojibake=True),
        }
        assert sent.strip() == shown[encoding].strip()
        page.close()
    pages.close()


def test_the_original_page_does_not_change(endpoint: Any, play_run: Play) -> None:
    """Its first question and its last show the same, whatever was filled in between."""

    def script(request: dict[str, Any], number: int) -> str:
        [name] = re.findall(r"^Field: (.*)$", text_of(request["messages"][-1]), re.M)
        return f"modify_text({name!r}, 'seven geese')"

    endpoint.script = script
    sent: dict[str, set[str]] = {}
    for encoding in ("full", "original-full"):
        endpoint.requests.clear()
        play_run(encoding, encoding=encoding, repairs=0)
        pages = [html_of(request["messages"][-1]) for request in endpoint.requests]
        sent[encoding] = {page for page in pages if "seven geese" in page}
    assert sent["full"]
    assert not sent["original-full"]


def test_the_real_tasks_under_the_full_budget(
    endpoint: Any, play_run: Play, browser_driver: Any
) -> None:
    if not TASKS.is_dir():
        pytest.skip(f"{TASKS} is absent: TurkingBench's own tasks are not here")
    result = play_run(data=TASKS, condition="gpt4-full", episodes=8)
    row = TABLE.row("gpt4-full")
    check_requests(row, endpoint.requests, 7)
    assert result.info.agent_settings["demo_list"] == "turkingbench-1"
    longest = max(message_tokens(request["messages"]) for request in endpoint.requests)
    assert longest > 0.9 * row.settings["budget"]


TALL = """
<style>body { margin: 0 } div { height: 3000px } #top { background: rgb(255, 0, 0) }
#bottom { background: rgb(0, 0, 255) }</style>
<div id=top><input name=first value="${a}"></div><div id=bottom></div><input name=last>
"""


@pytest.fixture
def tall(tmp_path: Path) -> Path:
    """A page of two colours, with a field at either end."""
    folder = tmp_path / "tasks" / "Event effect"  # a name of the test split
    folder.mkdir(parents=True)
    (folder / "template.html").write_text(TALL)
    (folder / "batch.csv").write_text("a,Answer.first,Answer.last\nx,y,z\n")
    return folder.parent


def colour(picture: Any) -> str:
    red, _, blue = np.asarray(picture)[..., :3].reshape(-1, 3).mean(0)
    return "red" if red > blue else "blue"


def test_pictures_are_scrolled_to_the_field(
    endpoint: Any, play_run: Play, browser_driver: Any, tall: Path
) -> None:
    play_run(data=tall, vision=True, encoding="relevant", demos=1, demo_list="demo-1")
    asked = [request["messages"][-1] for request in endpoint.requests]
    assert ["first" in text_of(one).splitlines()[0] for one in asked] == [True, False]
    assert [colour(pictures_of(one)[0]) for one in asked] == ["red", "blue"]
    demonstration = endpoint.requests[0]["messages"][1]
    assert len(pictures_of(demonstration)) == 1


def test_a_whole_page_is_pictured_as_it_stands(
    endpoint: Any, play_run: Play, browser_driver: Any, tall: Path
) -> None:
    play_run(data=tall, vision=True, ask="whole")
    [request] = endpoint.requests
    assert colour(pictures_of(request["messages"][-1])[0]) == "red"


def test_the_environment_takes_pictures(browser_driver: Any, tall: Path) -> None:
    env = TurkEnv(tall, driver=browser_driver)
    env.reset(options={"task": "Event effect", "row": 0})
    assert colour(decode(env.picture("last"))) == "blue"
    assert colour(decode(env.picture())) == "blue", "as it stands"
    assert colour(decode(env.picture("first"))) == "red"
    env.close()
    plain = TurkEnv(tall, driver="dom")
    plain.reset(options={"task": "Event effect", "row": 0})
    with pytest.raises(Unsupported, match="need a browser"):
        plain.picture()


@pytest.mark.parametrize(
    ("observation", "driver", "says"),
    [
        ("html+screenshot", "auto", "leave vision out"),
        ("html", "dom", "needs a browser, and the driver is 'dom'"),
    ],
)
def test_vision_needs_pages_that_can_be_pictured(
    factory: Any, observation: str, driver: str, says: str
) -> None:
    env = TurkEnv(split="test", driver=driver, observation=observation)
    with pytest.raises(SettingError, match=says):
        factory("turk", env, vision=True)


def test_without_a_camera_an_agent_cannot_see(factory: Any, play: Any) -> None:
    env = TurkEnv(split="test")
    made = factory("turk", env, vision=True)
    env.pages.needs_pictures = False
    with pytest.raises(Exception, match="vision=true needs an environment that takes pictures"):
        play(made, env, options={"task": "Two Charts", "row": 0})
