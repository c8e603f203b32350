"""Environments in processes: the same answers as without, and what happens when one ends."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from served import Served, served

from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.remote.async_client import AsyncConnection
from errands.remote.client import Connection, RemoteError
from errands.shop.catalog.catalog import Catalog
from errands.web.env_api.workers import WorkerProcess


@pytest.fixture(scope="module")
def hosted(little: Catalog) -> Iterator[Served]:
    with served(little, shop_processes=2, form_processes=1) as server:
        yield server


def workers(server: Served, environment: str) -> list[Any]:
    return list(server.service._pools[environment]._workers)


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_batch_over_two_processes_is_played_as_alone(hosted: Served, little: Catalog) -> None:
    goals, steps = range(12), 8
    envs = [ShopEnv(little, max_steps=6) for _ in goals]
    dice = random.Random(4)
    with Connection(hosted.url) as server:
        sessions = server.create("shop", {"max_steps": 6}, count=len(goals))
        resets = [
            {"do": "reset", "session": one, "options": {"goal": goal}, "id": goal}
            for one, goal in zip(sessions, goals, strict=True)
        ]
        told = server.batch(resets)
        mine = [env.reset(options={"goal": goal}) for env, goal in zip(envs, goals, strict=True)]
        assert [(one["id"], one["observation"], one["info"]) for one in told] == [
            (goal, *seen) for goal, seen in zip(goals, mine, strict=True)
        ]
        # Both have some.
        assert sorted(worker.sessions for worker in workers(hosted, "shop")) == [6, 6]
        infos, over = [info for _, info in mine], [False] * len(envs)
        for _ in range(steps):
            actions = [
                f"click[{dice.choice(clicks)}]"
                if (clicks := info["available_actions"]["clickables"]) and clicks != ["search"]
                else "search[lamp]"
                for info in infos
            ]
            live = [at for at, ended in enumerate(over) if not ended]
            turns = server.batch(
                [{"do": "step", "session": sessions[at], "action": actions[at]} for at in live]
            )
            for at, turn in zip(live, turns, strict=True):
                seen, reward, terminated, truncated, infos[at] = envs[at].step(actions[at])
                assert turn == {
                    "observation": seen,
                    "reward": reward,
                    "terminated": terminated,
                    "truncated": truncated,
                    "info": infos[at],
                }
                over[at] = terminated or truncated
        assert all(over)
        with pytest.raises(RemoteError, match="episode is over"):
            server.call("step", session=sessions[0], action="click[back to search]")
        server.batch([{"do": "close", "session": one} for one in sessions])
    assert [worker.sessions for worker in workers(hosted, "shop")] == [0, 0]


def test_a_batch_is_one_message_to_each_process(
    hosted: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    ask = WorkerProcess.ask

    def counted(self: WorkerProcess, orders: Any) -> Any:
        sizes.append(len(orders))
        return ask(self, orders)

    with Connection(hosted.url) as server:
        sessions = server.create("shop", {}, count=20)
        monkeypatch.setattr(WorkerProcess, "ask", counted)
        server.batch([{"do": "reset", "session": one, "seed": 1} for one in sessions])
        assert sizes == [10, 10]
        server.batch([{"do": "close", "session": one} for one in sessions])


def test_a_batch_keeps_the_order_of_each_session(hosted: Served) -> None:
    one, two = hosted.create(), hosted.create()
    calls = [
        {"do": "reset", "session": one, "seed": 1},
        {"do": "step", "session": one, "action": "search[lamp]"},
        {"do": "step", "session": two, "action": "search[lamp]"},
        {"do": "step", "session": one, "action": "x" * 5000},
        {"do": "close", "session": one},
        {"do": "step", "session": one, "action": "search[lamp]"},
        {"do": "reset", "session": two, "options": {"goal": "none"}},
    ]
    before = hosted.metric("errands_steps_total")
    results = hosted.ask("/v1/batch", {"calls": calls})[1]["results"]
    assert [result.get("error", {}).get("code", "") for result in results] == [
        *("", "", "no_episode", "too_large", "", "unknown_session", "bad_setting")
    ]
    assert results[4] == {"closed": True}
    assert hosted.metric("errands_steps_total") - before == 1


def test_one_by_one_over_http_and_websocket(hosted: Served) -> None:
    session = hosted.create(max_steps=2)
    assert hosted.step(session, "search[lamp]")[0] == 409
    first = hosted.reset(session, options={"goal": 3})
    with Connection(hosted.url) as server:
        assert server.call("reset", session=session, options={"goal": 3}) == first
        assert not server.call("step", session=session, action="search[lamp]")["truncated"]
        assert server.call("step", session=session, action="search[lamp]")["truncated"]
        with pytest.raises(RemoteError, match="max_steps"):
            server.create("shop", {"max_steps": 0}, count=5)
        with pytest.raises(RemoteError, match="no modules"):
            server.create("shop", {"rules": "os:system"})
    assert hosted.ask(f"/v1/sessions/{session}", method="DELETE")[0] == 200
    assert hosted.step(session, "search[lamp]")[0] == 404
    assert hosted.ask("/v1")[1]["limits"]["shop_processes"] == 2


def test_form_pages_in_a_process_are_played_as_alone(hosted: Served) -> None:
    env = TurkEnv("demo", driver="dom", observation="relevant")

    async def play(server: AsyncConnection, seed: int) -> list[Any]:
        [session] = await server.create("turk", {"driver": "dom", "observation": "relevant"})
        begun = await server.call("reset", session=session, seed=seed)
        ended = await server.call("step", session=session, action="submit()")
        await server.call("close", session=session)
        return [begun["observation"], begun["info"], ended["reward"], ended["info"]]

    async def play_all() -> list[Any]:
        async with AsyncConnection(hosted.url, sockets=4) as server:
            return await asyncio.gather(*(play(server, seed) for seed in range(8)))

    for seed, told in enumerate(asyncio.run(play_all())):
        begun, ended = env.reset(seed=seed), env.step("submit()")
        assert told == [*begun, ended[1], ended[4]]
    assert hosted.metric("errands_aside_waiting") == 0


def test_form_pages_in_processes_are_bounded_too(little: Catalog) -> None:
    with served(little, form_processes=1, turk_sessions=2) as server:
        ids = [server.create("turk") for _ in range(2)]
        status, refused = server.ask("/v1/sessions", {"environment": "turk"})
        assert (status, refused["error"]["code"]) == (429, "too_many_sessions")
        server.ask(f"/v1/sessions/{ids[0]}", method="DELETE")
        server.create("turk")


def test_a_process_that_ends_takes_its_sessions_and_is_replaced(
    little: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    with served(little, shop_processes=2) as server:
        sessions = [server.create() for _ in range(4)]
        for session in sessions:
            server.reset(session, seed=1)
        victim = workers(server, "shop")[0]
        os.kill(victim.process.pid, signal.SIGKILL)
        wait_for(lambda: server.metric("errands_sessions_lost_total") == 2)
        statuses = [server.step(session, "search[lamp]")[0] for session in sessions]
        assert sorted(statuses) == [200, 200, 404, 404]
        assert server.metric("errands_sessions_open") == 2
        wait_for(lambda: len(workers(server, "shop")) == 2)
        fresh = [server.create() for _ in range(2)]
        assert all(server.reset(session, seed=1) for session in fresh)
        # The new one has both: it had the fewest.
        assert [worker.sessions for worker in workers(server, "shop")] == [2, 2]
    assert "another is started" in caplog.text


def test_a_call_that_a_process_dies_of_is_answered(little: Catalog) -> None:
    with served(little, shop_processes=1) as server:
        session = server.create()
        server.reset(session, seed=1)
        [worker] = workers(server, "shop")
        os.kill(worker.process.pid, signal.SIGSTOP)
        with Connection(server.url) as line:
            line._socket.send(
                b"\x83\xa2do\xa4step\xa6action\xa1a\xa7session\xd9" + bytes((len(session),))
                + session.encode()
            )  # fmt: skip
            wait_for(lambda: server.metric("errands_requests_in_flight") == 1)
            os.kill(worker.process.pid, signal.SIGKILL)
            answer = line._decode(line._socket.recv(30, decode=False))
        assert answer["error"]["code"] == "worker_lost"
        status, refused = server.ask("/v1/sessions", {"environment": "shop"})
        assert status == 200 or refused["error"]["code"] == "busy"


def test_the_processes_end_with_the_server(little: Catalog) -> None:
    with served(little, shop_processes=1, form_processes=1) as server:
        processes = [
            worker.process for name in ("shop", "turk") for worker in workers(server, name)
        ]
        assert all(process.poll() is None for process in processes)
    assert all(process.poll() is not None for process in processes)
