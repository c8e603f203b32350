"""Logs as the original's site wrote them: pages without actions, which are found out."""

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from typer.testing import CliRunner

from errands.cli import app
from errands.crowd.shopping.human_run import NotReplayable
from errands.crowd.shopping.session_logs import import_logs, read_log
from errands.errors import SettingError
from errands.runs.episode import Episode
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal, price_phrase
from errands.shop.navigation import DETAILS, DONE, ITEM, RESULTS, SEARCH
from errands.shop.urls import Address, build

HOST = "http://3.83.245.205:3000"


def record(address: Address, goal: dict[str, Any], reward: float) -> dict[str, Any]:
    """A page view as the original wrote it (specification, section 8)."""
    said: dict[str, Any] = {"url": HOST + quote(build(address), safe="/%"), "goal": goal}
    words = address.query.split(" ")
    options = dict(address.options)
    if address.page == SEARCH:
        return {"page": "index", **said}
    if address.page == RESULTS:
        content: dict[str, Any] = {"keywords": words, "page": address.number}
        content["search_result_asins"] = []
        return {"page": "search_results", **said, "content": content}
    if address.page == DONE:
        content = {"asin": address.asin, "options": options, "price": 9.99}
        told = {"page": "done", **said, "content": content}
        return {**told, "reward": reward, "reward_info": {"r_type": 1.0}}
    page = "item_sub_page" if address.page in DETAILS else "item_page"
    content = {"keywords": str(words), "page": str(address.number)}
    return {"page": page, **said, "content": {**content, "asin": address.asin, "options": options}}


def written(
    path: Path, goal: Goal, addresses: Sequence[Address], *, cap: float = 70.0, reward: float = 1.0
) -> None:
    """A session's file, of a server that drew another price."""
    text = goal.instruction_text.removesuffix(price_phrase(goal.price_upper))
    told = msgspec.to_builtins(goal)
    told |= {"price_upper": cap, "instruction_text": text + price_phrase(cap)}
    path.parent.mkdir(exist_ok=True, parents=True)
    lines = [json.dumps(record(address, told, reward)) for address in addresses]
    path.write_text("\n".join(lines) + "\n")


def pages(little: Catalog, number: int, name: str) -> dict[str, Address]:
    goal = little.goals("synthetic")[number]
    title = little[goal.asin].title.lower()
    query = " ".join("".join(sign for sign in title if sign.isalnum() or sign == " ").split())
    results = Address(RESULTS, name, query)
    item = results._replace(page=ITEM, asin=goal.asin)
    assert isinstance(goal.goal_options, dict)
    options = tuple(goal.goal_options.items())
    return {
        "search": Address(SEARCH, name),
        "results": results,
        "next": results._replace(number=2),
        "item": item,
        "features": item._replace(page="features"),
        "chosen": item._replace(options=options[:1]),
        "done": Address(DONE, name, asin=goal.asin, options=options[:1]),
    }


def episodes_of(place: str | Path) -> list[Episode]:
    with contextlib.closing(open_run(place)) as store:
        return list(store.episodes())


def test_actions_are_found_out(little: Catalog, tmp_path: Path) -> None:
    goals = little.goals("synthetic")
    number = next(n for n in range(len(goals)) if len(goals[n].goal_options) == 1)
    goal = goals[number]
    at = pages(little, number, "20220427_1_12")
    walk = ["search", "results", "results", "item", "features", "results", "item", "chosen", "done"]
    logs = tmp_path / "logs"
    written(logs / "mturk" / "20220427_1_12.jsonl", goal, [at[name] for name in walk], reward=0.25)
    made = import_logs(logs, tmp_path / "run", catalog=str(little.path), goals="synthetic")
    assert (made.kept, made.unfit) == (1, ())
    [episode] = episodes_of(made.place)
    asin, value = goal.asin.lower(), next(iter(dict(goal.goal_options).values()))
    assert [step.action for step in episode.steps] == [
        f"search[{at['results'].query}]",
        f"click[{asin}]",
        "click[features]",
        "click[< prev]",
        "click[< prev]",
        f"click[{asin}]",
        f"click[{value}]",
        "click[buy now]",
    ]
    assert episode.summary.key == f"goal {number}"
    assert (episode.summary.reward, episode.summary.parts["logged_reward"]) == (1.0, 0.25)
    assert episode.summary.seconds == 0


def test_the_way_back_and_what_cannot_be_told(little: Catalog, tmp_path: Path) -> None:
    goals = little.goals("synthetic")
    number = next(n for n in range(len(goals)) if len(goals[n].goal_options) == 1)
    goal = goals[number]
    logs = tmp_path / "logs"

    def log(name: str, walk: str, **more: Any) -> None:
        at = pages(little, number, name)
        written(logs / f"{name}.jsonl", goal, [at[word] for word in walk.split()], **more)

    log("back", "search results item chosen item chosen done")  # Back takes the choice away
    log("typed", "search item chosen done")
    log("left", "search results item")
    log("low", "search results item chosen done", reward=0.1)
    strange = msgspec.structs.replace(goal, asin="B000000000")
    written(logs / "strange.jsonl", strange, list(pages(little, number, "x").values()))
    (logs / "broken.jsonl").write_text('{"page": "index"}\n')
    (logs / "empty.jsonl").write_text("")
    (logs / "bytes.jsonl").write_bytes(b"\xff\xfe\x00")
    (logs / "evil.jsonl").write_text("[" * 100_000 + "\n")
    made = import_logs(
        logs, tmp_path / "run", catalog=str(little.path), goals="synthetic", min_reward=0.5
    )
    assert made.kept == 1
    [episode] = episodes_of(made.place)
    assert [step.action for step in episode.steps][:2] == [
        f"search[{pages(little, number, 'back')['results'].query}]",
        f"click[{goal.asin.lower()}]",
    ]
    assert len(episode.steps) == 4, "the choice that was taken back is no part of the way"
    reasons = {one.session: one.reason for one in made.unfit}
    assert "no action of the environment" in reasons["typed"]
    assert reasons["left"] == "nothing was bought"
    assert "none like it" in reasons["strange"]
    assert "line 1 is not" in reasons["broken"]
    assert reasons["empty"] == "it is empty"
    assert "UTF-8" in reasons["bytes"]
    assert "line 1 is not" in reasons["evil"]
    assert len(reasons) == 7


def test_the_command(little: Catalog, tmp_path: Path) -> None:
    goals = little.goals("synthetic")
    number = next(n for n in range(len(goals)) if len(goals[n].goal_options) == 1)
    logs = tmp_path / "logs"
    walk = [pages(little, number, "one")[word] for word in ("results", "item", "chosen", "done")]
    written(logs / "one.jsonl", goals[number], walk)
    words = ["crowd", "import-logs", str(logs), "--data", str(little.path)]
    out = ["--out", str(tmp_path / "run")]
    made = CliRunner().invoke(app, [*words, *out, "--goals", "synthetic", "--json"])
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["kept"] == 1
    (tmp_path / "none").mkdir()
    for folder in (tmp_path / "none", tmp_path / "absent"):
        with pytest.raises(SettingError):
            import_logs(folder, tmp_path / "x", catalog=str(little.path))
    (tmp_path / "none" / "a.jsonl").write_text("")
    with pytest.raises(SettingError, match="it is empty"):
        import_logs(tmp_path / "none", tmp_path / "x", catalog=str(little.path))


@pytest.mark.parametrize(
    "content",
    [
        {"keywords": ["a"], "page": float("inf")},
        {"keywords": "[" + "-" * 30_000 + "1]", "page": "1"},
        {"keywords": "[[0x" + "f" * 5_000 + "]]", "page": "1"},
    ],
)
def test_odd_content_is_one_reason(tmp_path: Path, content: dict[str, Any]) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text(json.dumps({"page": "search_results", "url": "/", "content": content}))
    with pytest.raises(NotReplayable, match="line 1 is not what"):
        read_log(path)
