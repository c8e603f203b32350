"""The protocol over a WebSocket: JSON and msgpack, garbage, and clients that do not read."""

import contextlib
import gc
import json
import os
import socket
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from served import Clock, Served, served
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from errands.shop.catalog.catalog import Catalog
from errands.web.core.websocket import SocketProtocol


def opened(server: Served, **arguments: Any) -> ClientConnection:
    address = f"ws://127.0.0.1:{server.port}/v1/socket"
    return connect(address, compression=None, proxy=None, **arguments)


@pytest.fixture
def line(server: Served) -> Iterator[ClientConnection]:
    with opened(server) as connection:
        yield connection


def ask(connection: ClientConnection, call: Any) -> Any:
    connection.send(call if isinstance(call, str) else json.dumps(call))
    return json.loads(connection.recv(30))


def test_an_episode(line: ClientConnection) -> None:
    created = ask(line, {"do": "create", "environment": "shop", "count": 2, "id": 1})
    assert created["id"] == 1
    one, two = created["sessions"]
    begun = ask(line, {"do": "reset", "session": one, "options": {"goal": 3}, "id": "second"})
    assert (begun["id"], begun["info"]["goal"]) == ("second", 3)
    stepped = ask(line, {"do": "step", "session": one, "action": "search[lamp]"})
    assert set(stepped) == {"observation", "reward", "terminated", "truncated", "info"}
    batch = ask(line, {"do": "batch", "calls": [{"do": "close", "session": s} for s in (one, two)]})
    assert batch == {"results": [{"closed": True}] * 2}


def test_a_step_of_the_shop_makes_no_task(little: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the session's own work lies between a message and its answer."""
    made: list[Any] = []
    make = SocketProtocol._wait

    def counted(self: SocketProtocol, kind: int, reply: Any) -> Any:
        made.append(reply)
        return make(self, kind, reply)

    monkeypatch.setattr(SocketProtocol, "_wait", counted)
    with served(little) as server, opened(server) as line:
        [session] = ask(line, {"do": "create", "environment": "shop"})["sessions"]
        assert len(made) == 1
        ask(line, {"do": "reset", "session": session, "seed": 1})
        for _ in range(20):
            ask(line, {"do": "step", "session": session, "action": "search[lamp]"})
        assert len(made) == 1
        assert server.metric("errands_steps_total") == 20


def test_an_idle_session_with_its_socket_is_small(little: Catalog) -> None:
    """So that 10,000 of them fit 300 MB beside the server's own 90."""
    with served(little) as server, contextlib.ExitStack() as stack:
        lines = []

        def open_one() -> None:
            line = plain_line(server)
            stack.enter_context(contextlib.closing(line))
            lines.append(line)
            session = server.create()
            for call in (
                {"do": "reset", "session": session, "seed": 1},
                {"do": "step", "session": session, "action": "search[lamp]"},
            ):
                line.sendall(frame(call))
                line.recv(2**16)

        open_one()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(20):
                open_one()
            gc.collect()
            each = (tracemalloc.get_traced_memory()[0] - before) / 20
        finally:
            tracemalloc.stop()
    assert each < 16_000


def test_msgpack_is_answered_in_msgpack(server: Served, line: ClientConnection) -> None:
    session = server.create()
    line.send(msgspec.msgpack.encode({"do": "reset", "session": session, "seed": 4}))
    packed = line.recv(30)
    assert isinstance(packed, bytes)
    assert msgspec.msgpack.decode(packed) == server.reset(session, seed=4)


GARBAGE: list[tuple[str | bytes, str]] = [
    ("", "bad_json"),
    ("hello", "bad_json"),
    ('{"do": "step"', "bad_json"),
    ("[" * 100_000, "bad_request"),
    ('{"calls":' * 100_000, "bad_request"),
    ('{"do": "dance"}', "bad_request"),
    ('{"do": "step", "session": 4, "action": "a"}', "bad_request"),
    ('{"do": "step", "session": "none", "action": "a"}', "unknown_session"),
    ('{"do": "batch", "calls": [{"do": "batch", "calls": []}]}', "bad_request"),
    ('{"do": "close", "session": "none", "id": [1]}', "bad_request"),
    (b"", "bad_msgpack"),
    (b"\xc1", "bad_msgpack"),
    (b"\xff" * 50, "bad_request"),
    (b"\x91" * 100_000, "bad_request"),
    (b"\xdf\xff\xff\xff\xff", "bad_msgpack"),
    (b"\x82\xa2do\xa4step\xa6action\xa2\xff\xfe", "bad_msgpack"),
]


@pytest.mark.parametrize(("garbage", "code"), GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_is_answered_and_the_line_goes_on(
    line: ClientConnection, garbage: str | bytes, code: str
) -> None:
    line.send(garbage)
    answer = line.recv(30)
    read = json.loads if isinstance(answer, str) else msgspec.msgpack.decode
    assert read(answer)["error"]["code"] == code  # type: ignore[operator]
    assert ask(line, {"do": "create", "environment": "shop"})["sessions"]


def test_random_bytes_never_end_the_line(line: ClientConnection) -> None:
    for size in range(200):
        line.send(os.urandom(size))
        answer = msgspec.msgpack.decode(line.recv(30))
        assert set(answer) == {"error"}


def test_a_message_that_is_too_large_ends_only_its_own_line(server: Served) -> None:
    with opened(server) as line, opened(server) as other:
        line.send("x" * (2**20 + 1))
        with pytest.raises(ConnectionClosed) as closed:
            line.recv(30)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
        assert ask(other, {"do": "create", "environment": "shop"})["sessions"]


def plain_line(server: Served) -> socket.socket:
    """A WebSocket by hand, for what a proper client does not do."""
    plain = socket.create_connection(("127.0.0.1", server.port), 30)
    plain.sendall(
        b"GET /v1/socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    assert plain.recv(4096).startswith(b"HTTP/1.1 101 ")
    return plain


def frame(call: Any) -> bytes:
    """A short text frame, masked with zeros."""
    text = json.dumps(call).encode()
    assert len(text) < 126
    return b"\x81" + bytes([0x80 | len(text)]) + b"\0\0\0\0" + text


def test_frames_that_are_no_frames(server: Served) -> None:
    broken = b"\x81\x85\0\0\0\0\xff\xff\xff\xff\xff"  # a text frame that is not UTF-8
    for bad in (b"\xff\xff\xff\xff", b"\x81\x05hello", broken):
        with plain_line(server) as plain:
            plain.sendall(bad)
            assert plain.recv(4096)[:1] == b"\x88"
    assert server.ask("/health")[0] == 200


def test_who_does_not_read_is_not_read_either(little: Catalog) -> None:
    """A client that only sends is stopped by the server, whose memory stays as it is."""
    with served(little) as server:
        session = server.create(observation="html")
        server.reset(session, seed=1)
        call = frame({"do": "step", "session": session, "action": "search[lamp]"})
        with plain_line(server) as plain:
            plain.settimeout(3)
            sent = 0
            with contextlib.suppress(TimeoutError):
                while sent < 1_000_000:
                    plain.sendall(call)
                    sent += 1
            assert sent < 1_000_000
            # What was done fits the buffers of the system, and then nothing is done any more.
            before, done = -1.0, 0.0
            while done != before:
                time.sleep(0.5)
                before, done = done, server.metric("errands_steps_total")
            assert 0 < done < sent
            assert server.step(session, "search[lamp]")[0] == 200


def test_a_client_that_dies_frees_nothing_until_expiry(little: Catalog) -> None:
    clock = Clock()
    with served(little, clock=clock, idle_seconds=60) as server:
        session = server.create()
        plain = plain_line(server)
        plain.sendall(frame({"do": "reset", "session": session}))
        assert b"observation" in plain.recv(4096)
        # As when a process is killed: the system resets the connection.
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        plain.close()
        wait_for(lambda: server.metric("errands_sockets_open") == 0)
        clock.now += 59
        assert server.step(session, "search[lamp]")[0] == 200
        clock.now += 59
        assert server.metric("errands_sessions_open") == 1
        clock.now += 1
        wait_for(lambda: server.metric("errands_sessions_open") == 0)
        assert server.metric("errands_sessions_expired_total") == 1
        assert server.step(session, "search[lamp]")[0] == 404


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)
