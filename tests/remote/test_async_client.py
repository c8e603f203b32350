"""The asyncio client: many calls at once, and whatever can go wrong between two machines."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import msgspec
import pytest
from served import Served, served
from websockets.asyncio.server import ServerConnection, serve

from errands.envs.shop import ShopEnv
from errands.errors import ErrandsError, SettingError
from errands.remote import AsyncConnection, Connection, RemoteError
from errands.shop.catalog.catalog import Catalog
from errands.web.core.limits import ServerLimits


@pytest.fixture(scope="module")
def demo() -> Catalog:
    return Catalog.open("demo")


@pytest.fixture(scope="module")
def shop(demo: Catalog) -> Iterator[Served]:
    with served(demo) as running:
        yield running


@pytest.mark.parametrize("sockets", [1, 5])
def test_many_tasks_share_few_sockets(shop: Served, demo: Catalog, sockets: int) -> None:
    async def play(server: AsyncConnection, session: str, goal: int) -> list[Any]:
        begun = await server.call("reset", session=session, options={"goal": goal})
        turns = [begun["observation"]]
        for action in ("search[red lamp]", "click[next >]", "click[back to search]"):
            turn = await server.call("step", session=session, action=action)
            turns.append(turn["observation"])
        return turns

    async def play_all() -> list[Any]:
        async with AsyncConnection(shop.url, sockets=sockets) as server:
            sessions = await server.create("shop", {}, 60)
            jobs = (play(server, one, number) for number, one in enumerate(sessions))
            turns = await asyncio.gather(*jobs)
            before = shop.metric("errands_sockets_open")
            assert before >= sockets
            closed = await server.batch([{"do": "close", "session": one} for one in sessions])
            assert all(one["closed"] for one in closed)
        return turns

    together = asyncio.run(play_all())
    env = ShopEnv(demo)
    for goal, turns in enumerate(together):
        assert turns[0] == env.reset(options={"goal": goal})[0]
        for action, seen in zip(
            ("search[red lamp]", "click[next >]", "click[back to search]"), turns[1:], strict=True
        ):
            assert env.step(action)[0] == seen


def test_it_knows_what_the_other_client_knows(shop: Served) -> None:
    async def ask() -> tuple[Any, ...]:
        async with AsyncConnection(shop.url) as server:
            return (
                await server.indices("disjoint-test"),
                await server.indices("train", goals="human"),
                await server.tasks("train"),
            )

    with Connection(shop.url) as line:
        expected = (
            line.indices("disjoint-test"),
            line.indices("train", goals="human"),
            line.tasks("train"),
        )
    assert asyncio.run(ask()) == expected


def test_refusals_are_raised_where_they_belong(shop: Served) -> None:
    async def ask() -> list[Any]:
        async with AsyncConnection(shop.url) as server:
            [session] = await server.create("shop", {})
            calls = (
                server.call("reset", session=session, options={"goal": 10**6}),
                server.call("reset", session=session, options={"goal": 3}),
                server.call("step", session="nobody", action="search[a]"),
                server.batch([{"do": "close", "session": "nobody"}]),
                server.create("shop", {"observation": "pixels"}),
            )
            return await asyncio.gather(*calls, return_exceptions=True)

    no_goal, begun, unknown, batch, pixels = asyncio.run(ask())
    assert begun["info"]["goal"] == 3
    for refused, code in (
        (no_goal, "bad_setting"),
        (unknown, "unknown_session"),
        (batch, "unknown_session"),
        (pixels, "bad_setting"),
    ):
        assert isinstance(refused, RemoteError)
        assert refused.code == code


@pytest.mark.parametrize(
    "arguments",
    [
        {"do": "step", "session": "x", "action": 5},
        {"do": "step", "session": "x", "action": None},
        {"do": "reset", "session": "x", "options": {"goal": True}},
        {"do": "reset", "session": "x" * 1_000},
        {"do": "no such call"},
        {"do": "goals", "more": 1},
    ],
)
def test_a_call_that_is_not_as_expected_is_answered_at_once(
    shop: Served, arguments: dict[str, Any]
) -> None:
    async def ask() -> list[Any]:
        async with AsyncConnection(shop.url, timeout=5) as server:
            calls = (server.call("goals"), server.call(**arguments), server.call("goals"))
            return await asyncio.gather(*calls, return_exceptions=True)

    before, refused, after = asyncio.run(ask())
    assert before == after
    assert isinstance(refused, RemoteError)
    assert "not as expected" in str(refused)


@pytest.mark.parametrize("value", [10**30, object(), -(2**70)])
def test_what_cannot_be_sent_is_one_sentence(shop: Served, value: Any) -> None:
    async def ask() -> None:
        async with AsyncConnection(shop.url) as server:
            await server.call("reset", session="x", options={"goal": value})

    with pytest.raises(SettingError, match="'reset' cannot be sent"):
        asyncio.run(ask())
    with (
        Connection(shop.url) as server,
        pytest.raises(SettingError, match="'reset' cannot be sent"),
    ):
        server.call("reset", session="x", options={"goal": value})


def test_the_other_sockets_go_on_where_one_broke_and_it_is_opened_anew(shop: Served) -> None:
    async def ask() -> list[int]:
        async with AsyncConnection(shop.url, sockets=3) as server:
            await server._lines[0]._socket.close()
            for _ in range(4):
                await server.call("goals")
            left = sum(not line.broken for line in server._lines)
            await server.open()
            for line in server._lines[1:]:
                await line._socket.close()
            await server.call("goals")
            for line in server._lines:
                await line._socket.close()
            with pytest.raises(ErrandsError, match="connect anew"):
                await server.call("goals")
            await server.open()
            await server.call("goals")
            return [left, len(server._lines)]

    assert asyncio.run(ask()) == [2, 3]


def test_mistakes_are_one_sentence(shop: Served, demo: Catalog) -> None:
    with pytest.raises(SettingError, match="expected a server's address"):
        AsyncConnection("127.0.0.1:8000")
    for sockets in (0, 65):
        with pytest.raises(SettingError, match="expected 1 to 64"):
            AsyncConnection(shop.url, sockets=sockets)
    with pytest.raises(ErrandsError, match="open it, or use `async with`"):
        asyncio.run(AsyncConnection(shop.url).call("goals"))
    with pytest.raises(ErrandsError, match=r"There is no server at http://127\.0\.0\.1:1 "):
        asyncio.run(AsyncConnection("http://127.0.0.1:1").open())
    with (
        served(demo, token="s3cret") as closed,
        pytest.raises(ErrandsError, match="refused the connection: This server wants its token"),
    ):
        asyncio.run(AsyncConnection(closed.url).open())


def test_a_busy_server_is_asked_again(demo: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    with served(demo, slow_calls=0) as busy:

        async def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 2:
                busy.service.limits = ServerLimits(slow_calls=1)
            await asyncio.sleep(0)

        async def ask() -> list[str]:
            async with AsyncConnection(busy.url) as server:
                monkeypatch.setattr("errands.remote.async_client.sleep", wait)
                try:
                    return await server.create("turk", {})
                finally:
                    monkeypatch.undo()

        assert asyncio.run(ask())
    assert waits == [1.0, 1.0]


Talk = Callable[[ServerConnection], Awaitable[None]]


@contextlib.asynccontextmanager
async def talking(talk: Talk, **options: Any) -> AsyncIterator[AsyncConnection]:
    """A connection to a server that says what a test wants."""
    async with serve(talk, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with AsyncConnection(f"http://127.0.0.1:{port}", **options) as connection:
            yield connection


def reply(message: Any, **answer: Any) -> bytes:
    call = msgspec.msgpack.decode(message)
    return msgspec.msgpack.encode({"id": call["id"], "said": call["do"], **answer})


def test_answers_find_their_calls_in_any_order() -> None:
    async def backwards(line: ServerConnection) -> None:
        messages = [await line.recv() for _ in range(10)]
        for message in reversed(messages):
            await line.send(reply(message))

    async def ask() -> None:
        async with talking(backwards) as server:
            names = [f"call-{number}" for number in range(10)]
            answers = await asyncio.gather(*(server.call(name) for name in names))
            assert [answer["said"] for answer in answers] == names

    asyncio.run(ask())


def test_who_is_cancelled_leaves_the_others_alone() -> None:
    async def late(line: ServerConnection) -> None:
        async for message in line:
            if msgspec.msgpack.decode(message)["do"] == "slow":
                await asyncio.sleep(0.2)
            await line.send(reply(message))

    async def ask() -> None:
        async with talking(late) as server:
            slow = asyncio.create_task(server.call("slow"))
            await asyncio.sleep(0.05)
            slow.cancel()
            with pytest.raises(asyncio.CancelledError):
                await slow
            # Its late answer is nobody's.
            answers = await asyncio.gather(*(server.call(f"call-{n}") for n in range(5)))
            assert [answer["said"] for answer in answers] == [f"call-{n}" for n in range(5)]

    asyncio.run(ask())


def test_who_waits_too_long_is_told_and_the_connection_lives_on() -> None:
    async def deaf_once(line: ServerConnection) -> None:
        await line.recv()
        async for message in line:
            await line.send(reply(message))

    async def ask() -> None:
        async with talking(deaf_once, timeout=0.2) as server:
            begun = time.monotonic()
            with pytest.raises(ErrandsError, match=r"did not answer within 0\.2 seconds"):
                await server.call("first")
            assert time.monotonic() - begun < 5
            assert (await server.call("second"))["said"] == "second"

    asyncio.run(ask())


@pytest.mark.parametrize("how", ["close", "drop", "garbage"])
def test_a_broken_connection_is_one_sentence_for_all_who_wait(how: str) -> None:
    async def leave(line: ServerConnection) -> None:
        for _ in range(3):
            await line.recv()
        if how == "close":
            await line.close()
        elif how == "drop":
            line.transport.abort()
        else:
            await line.send(b"\xc1")

    async def ask() -> None:
        async with talking(leave) as server:
            calls = (server.call(f"call-{number}") for number in range(3))
            failures = await asyncio.gather(*calls, return_exceptions=True)
            with pytest.raises(ErrandsError, match="connect anew") as later:
                await server.call("later")
            for failure in (*failures, later.value):
                assert isinstance(failure, ErrandsError)
                assert str(failure).startswith("The connection to the server broke (")
                assert "\n" not in str(failure)

    asyncio.run(ask())


def test_closing_ends_those_who_wait() -> None:
    async def silent(line: ServerConnection) -> None:
        await line.wait_closed()

    async def ask() -> None:
        async with talking(silent) as server:
            waiting = asyncio.create_task(server.call("never"))
            await asyncio.sleep(0.05)
            await server.close()
            with pytest.raises(ErrandsError, match="broke"):
                await waiting
            with pytest.raises(ErrandsError, match="no connection"):
                await server.call("again")

    asyncio.run(ask())


def test_a_server_that_ends_says_so(demo: Catalog) -> None:
    async def ask() -> None:
        with served(demo) as running:
            server = await AsyncConnection(running.url, sockets=2).open()
            await server.create("shop", {})
        with pytest.raises(ErrandsError, match="connect anew"):
            await server.call("goals", split="test")
        await server.close()

    asyncio.run(ask())
