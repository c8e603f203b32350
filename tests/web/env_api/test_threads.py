"""Form pages on several threads: the same answers as on one, each session in its order."""

import asyncio
import random
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from effort import effort
from served import served

from errands.envs.turk import TurkEnv
from errands.remote.async_client import AsyncConnection
from errands.remote.messages import CloseCall, CreateCall, StepCall, TasksCall
from errands.shop.catalog.catalog import Catalog
from errands.turk.drivers import Pages
from errands.turk.tasks.loader import load_tasks
from errands.web.core.limits import ServerLimits
from errands.web.env_api.service import Service

SETTINGS: dict[str, Any] = {"observation": "relevant", "max_steps": 12}


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def actions(info: dict[str, Any], seed: int) -> list[str]:
    """Something for some of the fields, then the end."""
    dice = random.Random(seed)
    fields = [field for field in info["fields"] if field["visible"]]
    some = dice.sample(fields, min(4, len(fields)))
    listed = []
    for field in some:
        value = dice.choice(field["options"] or ["some words", "7"])
        kind = field["type"] if field["type"] in ("radio", "checkbox", "select") else "text"
        listed.append(f"modify_{kind}({field['name']!r}, {value!r})")
    return [*listed, "submit()"]


def episodes(count: int) -> list[tuple[str, int]]:
    """Instances of all tasks, the tasks in turn: more than a set keeps in memory."""
    tasks = {task.name: len(task.instances) for task in load_tasks("demo")}
    names = list(tasks)
    chosen = [names[number % len(names)] for number in range(count)]
    return [(name, number % tasks[name]) for number, name in enumerate(chosen)]


def played_alone(env: TurkEnv, number: int, task: str, row: int) -> list[Any]:
    observation, info = env.reset(options={"task": task, "row": row})
    turns: list[Any] = [(observation, info)]
    turns += [env.step(action) for action in actions(info, number)]
    return turns


@pytest.mark.usefixtures("restless")
def test_threads_that_share_everything_play_as_one_does() -> None:
    wanted = list(enumerate(episodes(effort(80, 400))))
    env = TurkEnv("demo", driver="dom", **SETTINGS)
    alone = [played_alone(env, number, *one) for number, one in wanted]
    tasks = load_tasks("demo")
    tasks.keep = 1  # Almost every episode reads its task anew.
    pages = Pages("dom")
    own = threading.local()

    def play(job: tuple[int, tuple[str, int]]) -> list[Any]:
        if not hasattr(own, "env"):
            own.env = TurkEnv(tasks, pages=pages, driver="dom", **SETTINGS)
        return played_alone(own.env, job[0], *job[1])

    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(play, wanted))
    assert together == alone
    assert not tasks.problems


@pytest.mark.usefixtures("restless")
def test_a_server_with_threads_answers_as_one_without(little: Catalog) -> None:
    wanted = list(enumerate(episodes(effort(60, 300))))
    env = TurkEnv("demo", driver="dom", **SETTINGS)
    alone = [played_alone(env, number, *one) for number, one in wanted]

    async def play(server: AsyncConnection, number: int, task: str, row: int) -> list[Any]:
        [session] = await server.create("turk", {"driver": "dom", **SETTINGS})
        options = {"task": task, "row": row}
        begun = await server.call("reset", session=session, options=options)
        turns: list[Any] = [(begun["observation"], begun["info"])]
        for action in actions(begun["info"], number):
            turn = await server.call("step", session=session, action=action)
            turns.append(
                tuple(
                    turn[name]
                    for name in ("observation", "reward", "terminated", "truncated", "info")
                )
            )
        await server.call("close", session=session)
        return turns

    async def play_all(url: str) -> list[Any]:
        async with AsyncConnection(url, sockets=8) as server:
            return await asyncio.gather(*(play(server, number, *one) for number, one in wanted))

    with served(little, form_threads=4) as running:
        together = asyncio.run(play_all(running.url))
        assert running.metric("errands_sessions_open") == 0
        assert running.metric("errands_aside_waiting") == 0
        assert running.ask("/v1")[1]["limits"]["form_threads"] == 4
    assert together == alone


class Diary:
    """A slow environment that writes down what happens to it, and by whom."""

    is_slow = True

    def __init__(self) -> None:
        self.events: list[str] = []
        self.threads: set[int] = set()
        self.inside = 0
        self.most = 0

    def note(self, event: str) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.threads.add(threading.get_ident())
        time.sleep(0.001)
        self.events.append(event)
        self.inside -= 1

    def reset(self, seed: int | None, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return "", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.note(action)
        return action, 0.0, False, False, {}

    def close(self) -> None:
        self.note("close")


class Diaries:
    def __init__(self) -> None:
        self.made: list[Diary] = []

    def is_quick(self, settings: dict[str, Any]) -> bool:
        return True

    def make_env(self, settings: dict[str, Any]) -> Diary:
        self.made.append(Diary())
        return self.made[-1]

    def split(self, call: Any) -> dict[str, Any]:
        return {}

    def about(self) -> dict[str, Any]:
        return {}


def test_calls_of_a_session_are_made_in_their_order_by_one_thread() -> None:
    async def play() -> None:
        provider = Diaries()
        service = Service({"turk": provider}, ServerLimits(form_threads=3, slow_calls=1000))
        created = await service.answer(CreateCall(environment="turk", count=6), "me")
        said = [str(number) for number in range(20)]
        calls = [
            asyncio.create_task(service.answer(StepCall(session=one, action=action), "me"))
            for action in said
            for one in created["sessions"]
        ]
        await asyncio.sleep(0)
        for one in created["sessions"]:
            await service.answer(CloseCall(session=one), "me")
        await asyncio.gather(*calls)
        service.shut()
        for diary in provider.made:
            assert diary.events == [*said, "close"]
            assert diary.most == len(diary.threads) == 1
        assert len(set.union(*(diary.threads for diary in provider.made))) == 3

    asyncio.run(play())


def test_a_task_is_read_by_one_thread_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    from errands.turk.tasks import loader

    read: list[str] = []
    usual = loader._read

    def slow(folder: Any, name: str, indices: Any) -> Any:
        read.append(name)
        time.sleep(0.01)
        return usual(folder, name, indices)

    monkeypatch.setattr(loader, "_read", slow)
    tasks = load_tasks("demo")
    name = tasks.names[0]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: tasks.task(name), range(40)))
    assert read == [name]
    assert len({id(task) for task in found}) == 1


def test_a_long_split_holds_up_no_session() -> None:
    class Library(Diaries):
        gate = threading.Event()

        def split(self, call: Any) -> dict[str, Any]:
            assert self.gate.wait(30)
            return {"tasks": []}

    async def play() -> None:
        provider = Library()
        service = Service({"turk": provider}, ServerLimits(form_threads=1))
        created = await service.answer(CreateCall(environment="turk", count=2), "me")
        counting = asyncio.create_task(service.answer(TasksCall(), "me"))
        await asyncio.sleep(0.01)
        for one in created["sessions"]:
            turn = await service.answer(StepCall(session=one, action="on"), "me")
            assert turn["observation"] == "on"
        assert not counting.done()
        provider.gate.set()
        assert await counting == {"tasks": []}
        service.shut()

    asyncio.run(play())
