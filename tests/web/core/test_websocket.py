"""WebSockets close to the wire: frames of every kind, in pieces, too many, too early and broken."""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Awaitable, Iterator

import pytest
from served import running
from starlette.routing import WebSocketRoute
from starlette.types import Receive, Scope, Send
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from errands.web.core.application import AppPart
from errands.web.core.bodies import MESSAGES
from errands.web.core.limits import ServerLimits
from errands.web.core.websocket import SocketProtocol, take_over

MOST = 2**16


class Echo:
    """Answers with what it was sent; `later` takes a moment, `over` is the last word."""

    def __init__(self, record: list[str]) -> None:
        self.record = record
        self.last = False

    def reply(self, message: str | bytes) -> bytes | Awaitable[bytes]:
        self.last = message == "over"
        data = message.encode() if isinstance(message, str) else message
        return self.later(data) if data.startswith(b"later") else data

    async def later(self, data: bytes) -> bytes:
        await asyncio.sleep(0.05)
        return data

    def is_over(self) -> bool:
        return self.last

    def end(self) -> None:
        self.record.append("end")


RECORD: list[str] = []


async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    if scope["query_string"] == b"late":
        await asyncio.sleep(0.3)
    await send({"type": "websocket.accept"})
    take_over(scope, Echo(RECORD))


class Asgi:
    """Starlette takes functions for something else."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await endpoint(scope, receive, send)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    part = AppPart((WebSocketRoute("/echo", Asgi()),))
    with running([part], ServerLimits(body_bytes=MOST)) as free:
        yield free


def opened(port: int, query: str = "") -> socket.socket:
    plain = socket.create_connection(("127.0.0.1", port), 30)
    plain.sendall(
        f"GET /echo{query} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    return plain


def shaken(port: int) -> socket.socket:
    plain = opened(port)
    assert plain.recv(4096).startswith(b"HTTP/1.1 101 ")
    return plain


def frame(first: int, payload: bytes = b"", mask: bytes = b"\1\2\3\4") -> bytes:
    size = len(payload)
    short = bytes((0x80 | size,)) if size < 126 else b"\xfe" + size.to_bytes(2)
    masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
    return bytes((first,)) + short + mask + masked


def heard(plain: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = plain.recv(size - len(data))
        assert piece, data
        data += piece
    return data


def said(plain: socket.socket) -> tuple[int, bytes]:
    """The next frame of the server: first byte and payload."""
    first, size = heard(plain, 2)
    if size >= 126:
        size = int.from_bytes(heard(plain, 2 if size == 126 else 8))
    return first, heard(plain, size)


def test_texts_and_bytes_of_every_size(port: int) -> None:
    with connect(f"ws://127.0.0.1:{port}/echo", compression=None, proxy=None) as line:
        for size in (0, 1, 125, 126, 127, 65535, MOST):
            data = os.urandom(size)
            line.send(data)
            assert line.recv(30) == data
            line.send("ä" * (size // 2))
            assert line.recv(30) == "ä" * (size // 2)
        before = len(RECORD)
    deadline = time.monotonic() + 30
    while len(RECORD) == before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_message_in_frames_in_pieces_with_a_ping_between(port: int) -> None:
    parts = frame(0x01, b"one ") + frame(0x89, b"there?") + frame(0x00, b"two ") + frame(0x80, b"3")
    with shaken(port) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in parts:
            plain.sendall(bytes((byte,)))
        assert said(plain) == (0x8A, b"there?")
        assert said(plain) == (0x81, b"one two 3")


def test_many_messages_at_once_are_answered_in_their_order(port: int) -> None:
    texts = [b"later 0", *(b"%d" % number for number in range(1, 2000)), b"later 2000"]
    with shaken(port) as plain:
        plain.sendall(b"".join(frame(0x81, text) for text in texts))
        assert [said(plain) for _ in texts] == [(0x81, text) for text in texts]


def test_what_comes_before_the_answer_to_the_handshake_is_kept(port: int) -> None:
    with opened(port, "?late") as plain:
        time.sleep(0.1)
        plain.sendall(frame(0x82, b"early"))
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += heard(plain, 1)
        assert said(plain) == (0x82, b"early")


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (frame(0xC1, b"reserved bit"), 1002),
        (frame(0x83, b"no such kind"), 1002),
        (frame(0x80, b"continues nothing"), 1002),
        (frame(0x01, b"begins") + frame(0x81, b"begins again"), 1002),
        (frame(0x09, b"ping in parts"), 1002),
        (frame(0x89, b"p" * 126), 1002),
        (frame(0x88, b"1"), 1002),
        (b"\x81\x01u", 1002),
        (b"\xff\xff", 1002),
        (frame(0x81, b"\xff"), 1007),
        (b"\x82\xff" + (MOST + 1).to_bytes(8), 1009),
        (frame(0x02, b"x" * 40_000) + frame(0x80, b"x" * 40_000), 1009),
        (frame(0x02) + frame(0x00) * 5000, 1009),
    ],
)
def test_what_cannot_be_read_ends_the_line_with_a_code(port: int, bad: bytes, code: int) -> None:
    with shaken(port) as plain:
        plain.sendall(bad + frame(0x81, b"hello"))
        assert said(plain) == (0x88, code.to_bytes(2))
        assert plain.recv(100) == b""


@pytest.mark.parametrize(
    "head",
    [
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Many: 1\r\n" * 500,
        f"Long: {'x' * 20_000}\r\n",
    ],
)
def test_what_begins_no_websocket_is_refused_and_closed(port: int, head: str) -> None:
    with socket.create_connection(("127.0.0.1", port), 5) as plain:
        plain.sendall(
            f"GET /echo HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n{head}"
            "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        answer = b""
        while piece := plain.recv(4096):
            answer += piece
    head, _, body = answer.decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 400 ")
    assert f"content-length: {len(body)}" in head


def test_frames_of_a_message_are_added_up_once(port: int) -> None:
    def looked_at(frames: int) -> int:
        """How many parts are looked at again while a message comes."""
        line = SocketProtocol(Echo([]), Wire([], 0), set(), 2**20)
        line._parts = parts = Parts()
        line._gather(0x01, 0x01, b"")
        for _ in range(frames):
            line._gather(0x00, 0x00, b"")
        line.connection_lost(None)
        return parts.read

    class Parts(list[bytes]):
        read = 0

        def __iter__(self) -> Iterator[bytes]:
            for part in super().__iter__():
                self.read += 1
                yield part

    async def both() -> list[int]:
        return [looked_at(1000), looked_at(4000)]

    assert asyncio.run(both()) == [0, 0]


def test_a_close_is_answered_by_its_code(port: int) -> None:
    with shaken(port) as plain:
        plain.sendall(frame(0x88, (4001).to_bytes(2) + b"why"))
        assert said(plain) == (0x88, (4001).to_bytes(2))
        assert plain.recv(100) == b""


def test_the_last_word_and_nothing_after_it(port: int) -> None:
    with connect(f"ws://127.0.0.1:{port}/echo", compression=None, proxy=None) as line:
        line.send("over")
        assert line.recv(30) == "over"
        with pytest.raises(ConnectionClosed) as closed:
            line.recv(30)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001


def test_who_leaves_before_its_answer_harms_nobody(port: int) -> None:
    for _ in range(20):
        with shaken(port) as plain:
            plain.sendall(frame(0x81, b"later") * 3)
    with shaken(port) as plain:
        plain.sendall(frame(0x81, b"later"))
        assert said(plain) == (0x81, b"later")


def test_who_says_nothing_is_asked_and_given_up(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("errands.web.core.websocket._BEAT", 0.02)
    with shaken(port) as plain:
        # The first beat is after words: the handshake's.
        assert [said(plain) for _ in range(3)] == [(0x89, b"")] * 3
        plain.sendall(frame(0x8A))
        assert said(plain) == (0x89, b"")
        with contextlib.suppress(ConnectionError):
            while plain.recv(100):
                pass


HALVES = {
    "a frame": frame(0x81, b"x" * 60_000)[:-10_000],
    "a header": frame(0x81, b"x" * 60_000)[:3],
    "fragments": frame(0x01, b"x" * 30_000) + frame(0x00, b"y" * 20_000),
    "fragments and a ping": frame(0x01, b"x" * 30_000) + frame(0x89, b"z"),
}
"""Of messages that go on."""


@pytest.mark.parametrize("half", HALVES)
def test_a_message_has_to_arrive(port: int, half: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends a byte or a ping now and then is not silent, and held a megabyte for ever."""
    monkeypatch.setattr("errands.web.core.websocket._ARRIVAL", 0.3)
    with shaken(port) as plain:
        plain.sendall(HALVES[half])
        begun = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - begun < 5:
                # Neither of these ends it.
                plain.sendall(frame(0x89, b"p") if half.startswith("fragments") else b"x")
                time.sleep(0.05)
        assert time.monotonic() - begun < 3
    assert not len(MESSAGES)
    assert not MESSAGES.size


def test_messages_that_do_not_end_share_their_memory(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MESSAGES, "_memory", 2**20)
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(shaken(port)) for _ in range(40)]
        for plain in held:
            plain.sendall(HALVES["a frame"])
            time.sleep(0.01)
        assert 0 < MESSAGES.size <= 2**20
        # The oldest have made room: their last word says that this was too slow.
        assert said(held[0]) == (0x88, (1008).to_bytes(2))
        held[-1].sendall(frame(0x81, b"x" * 60_000)[-10_000:])
        assert len(said(held[-1])[1]) == 60_000
    with shaken(port) as plain:
        for piece in (HALVES["a frame"], frame(0x81, b"x" * 60_000)[-10_000:]):
            plain.sendall(piece)
        assert len(said(plain)[1]) == 60_000


class Wire(asyncio.Transport):
    """Writes down what is written, and by whom."""

    def __init__(self, written: list[tuple[int, bytes]], number: int) -> None:
        super().__init__()
        self.written, self.number = written, number

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append((self.number, bytes(data)[2:]))

    def is_closing(self) -> bool:
        return False


async def asked(questions: list[tuple[int, bytes]]) -> tuple[int, list[tuple[int, bytes]]]:
    """What connections write when they are asked in one go; how much before the loop turns."""
    written: list[tuple[int, bytes]] = []
    lines = [SocketProtocol(Echo([]), Wire(written, n), set(), MOST) for n in range(100)]
    for number, data in questions:
        lines[number].data_received(data)
    at_once = len(written)
    await asyncio.sleep(0)
    for line in lines:
        line.connection_lost(None)
    return at_once, written


def test_answers_leave_together_when_everybody_was_heard() -> None:
    few = [(number, frame(0x82, b"%d" % number)) for number in (3, 1, 2)]
    assert asyncio.run(asked(few)) == (0, [(3, b"3"), (1, b"1"), (2, b"2")])
    # Nobody waits for all of a crowd.
    many = [(number, frame(0x82, b"%d" % number)) for number in range(100)]
    at_once, written = asyncio.run(asked(many))
    assert at_once == 64
    assert written == [(number, b"%d" % number) for number in range(100)]


def test_what_is_written_at_once_does_not_overtake() -> None:
    questions = [(1, frame(0x82, b"a")), (1, frame(0x89, b"p")), (2, frame(0x82, b"b") * 3)]
    _, written = asyncio.run(asked(questions))
    assert written == [(1, b"a"), (1, b"p"), (2, b"b"), (2, b"b"), (2, b"b")]
