"""Which goals and tasks a split has, over HTTP and for clients."""

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from served import Served, served

from errands.remote.client import Connection, RemoteError
from errands.remote.messages import MOST_INDICES, GoalsCall, TasksCall
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import ListedGoals, write_goals
from errands.shop.splits import split_indices
from errands.turk.tasks.loader import load_tasks
from errands.web.core.limits import ServerLimits
from errands.web.env_api.providers import ShopProvider, TurkProvider

GOALS = "/v1/environments/shop/goals"
TASKS = "/v1/environments/turk/tasks"


@pytest.fixture(scope="module")
def demo() -> Catalog:
    return Catalog.open("demo")


@pytest.fixture(scope="module")
def shop(demo: Catalog) -> Iterator[Served]:
    with served(demo) as running:
        yield running


@pytest.mark.parametrize("split", [None, "test", "train", "disjoint-test", "disjoint-train"])
@pytest.mark.parametrize("goals", [None, "human"])
def test_the_indices_are_those_that_are_played(
    shop: Served, demo: Catalog, split: str | None, goals: str | None
) -> None:
    asked = {"split": split, "goals": goals}
    query = "&".join(f"{name}={value}" for name, value in asked.items() if value)
    status, answer = shop.ask(f"{GOALS}?{query}")
    assert status == 200
    expected = list(split_indices(split, demo.goals(goals or "synthetic")))
    assert answer == {
        "goals": goals or "synthetic",
        "split": split,
        "count": len(expected),
        "offset": 0,
        "indices": expected[:MOST_INDICES],
    }
    assert shop.ask(f"{GOALS}?{query}")[1] == answer, "asked again"
    session = shop.create(**{name: value for name, value in asked.items() if value})
    assert shop.reset(session, seed=1)["info"]["goal"] in expected
    with Connection(shop.url) as line:
        assert line.indices(split, goals=goals) == expected


def test_a_long_split_comes_in_pieces(
    shop: Served, demo: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = list(split_indices("disjoint-train", demo.goals("synthetic")))
    pieces = []
    for offset in range(0, len(expected) + 100, 100):
        address = f"{GOALS}?split=disjoint-train&offset={offset}&limit=100"
        answer = shop.ask(address)[1]
        assert (answer["offset"], answer["count"]) == (offset, len(expected))
        pieces.append(answer["indices"])
    assert list(itertools.chain(*pieces)) == expected
    assert {len(piece) for piece in pieces[:-2]} == {100}
    assert shop.ask(f"{GOALS}?offset={2**63 - 1}")[1]["indices"] == []
    with Connection(shop.url) as line:
        whole = line.call

        def a_few(do: str, **arguments: Any) -> dict[str, Any]:
            return whole(do, limit=999, **arguments)

        monkeypatch.setattr(line, "call", a_few)
        assert line.indices("disjoint-train") == expected


def test_tasks_come_with_their_rows(shop: Served) -> None:
    for split in ("all", "train", "test"):
        expected = {task.name: len(task.instances) for task in load_tasks("demo", split)}
        status, answer = shop.ask(f"{TASKS}?split={split}")
        assert status == 200
        assert answer["split"] == split
        assert answer["count"] == len(expected) > 0
        assert {task["task"]: task["rows"] for task in answer["tasks"]} == expected
        with Connection(shop.url) as line:
            assert line.tasks(split) == expected
    assert shop.ask(TASKS)[1] == shop.ask(f"{TASKS}?split=all")[1]


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        (f"{GOALS}?split=best", "There is no split 'best'; expected disjoint-test, disjoint-eval"),
        (f"{GOALS}?split=", "There is no split ''"),
        (f"{GOALS}?goals=/etc/passwd", "There is no goal set '/etc/passwd' here; expected"),
        (f"{GOALS}?goals=os:path", "There is no goal set 'os:path' here"),
        (f"{GOALS}?limit=0", "`int` >= 1 - at `$.limit`"),
        (f"{GOALS}?limit={MOST_INDICES + 1}", f"`int` <= {MOST_INDICES} - at `$.limit`"),
        (f"{GOALS}?offset=-1", "`int` >= 0 - at `$.offset`"),
        (f"{GOALS}?offset=lots", "Expected `int`, got `str`"),
        (f"{GOALS}?splt=test", "unknown field `splt`"),
        (f"{GOALS}?split", "bad query field"),
        (f"{GOALS}?split=%ff", "utf-8"),
        (f"{GOALS}?split={'x' * 201}", "length <= 200"),
        (f"{GOALS}?{'&'.join(['split=test'] * 11)}", "Max number of fields"),
        (f"{TASKS}?split=best", "best"),
        (f"{TASKS}?goals=human", "unknown field `goals`"),
    ],
)
def test_nonsense_is_one_sentence(shop: Served, address: str, complaint: str) -> None:
    status, answer = shop.ask(address)
    assert status == 400
    assert complaint in answer["error"]["message"]
    assert shop.ask(address, {})[0] == 405


def test_they_ask_for_the_token(demo: Catalog) -> None:
    with served(demo, token="s3cret") as closed:
        for address in (GOALS, TASKS):
            assert closed.ask(address, headers={"Authorization": "no"})[0] == 401
            assert closed.ask(address)[0] == 200


def test_a_clients_mistake_is_raised(shop: Served) -> None:
    with Connection(shop.url) as line:
        with pytest.raises(RemoteError, match="There is no split 'best'"):
            line.indices("best")
        with pytest.raises(RemoteError, match="best"):
            line.tasks("best")


def test_a_split_is_found_off_the_event_loop_and_once(
    demo: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disjoint split of a full-size catalogue takes seconds."""
    threads: list[str] = []

    def slow(*arguments: Any) -> Any:
        threads.append(threading.current_thread().name)
        return split_indices(*arguments)

    monkeypatch.setattr("errands.web.env_api.providers.split_indices", slow)
    with served(demo) as running:
        for _ in range(3):
            assert running.ask(f"{GOALS}?split=disjoint-test")[0] == 200
    assert len(threads) == 1
    assert threads[0].startswith("slow-calls")


def test_nothing_of_a_goal_but_its_index_is_told(little: Catalog) -> None:
    """Goal sets that agree in what decides about splits cannot be told apart."""
    stored = little.goals("synthetic")
    goals = [stored[index] for index in range(len(stored))]
    told = []
    for cap in (10.0, 990.0):
        some = [msgspec.structs.replace(goal, price_upper=cap, query="q") for goal in goals]
        provider = ShopProvider(little, ListedGoals("own", some, stored.price), ServerLimits())
        told.append(provider.split(GoalsCall(split="test")))
    assert told[0] == told[1]
    assert set(told[0]) == {"goals", "split", "count", "offset", "indices"}


def test_where_a_goal_file_lies_is_not_told(little: Catalog, tmp_path: Path) -> None:
    file = tmp_path / "goals.json"
    write_goals(file, little.goals("synthetic"), [])
    with served(little, goals=str(file)) as running:
        answer = running.ask(f"{GOALS}?split=test")[1]
        assert answer["goals"] == "own"
        assert running.ask(f"{GOALS}?split=test&goals=own")[1] == answer
        assert running.ask(f"{GOALS}?goals={file}")[0] == 400


def test_a_broken_task_is_left_out(tmp_path: Path) -> None:
    for name, table in (("good", "x,Answer.y\n1,2\n2,3\n"), ("bad", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "template.html").write_text("<p>${x}</p><input name=y>")
        (tmp_path / name / "batch.csv").write_text(table)
    answer = TurkProvider(str(tmp_path)).split(TasksCall())
    assert answer == {"split": "all", "count": 1, "tasks": [{"task": "good", "rows": 2}]}
