"""Connections that say nothing, and requests that never end: they keep nobody out."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from served import running
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from errands.web.core.application import AppPart
from errands.web.core.auth import AuthMiddleware
from errands.web.core.bodies import BodyReads, read_body
from errands.web.core.connections import Connections
from errands.web.core.http_errors import HttpError
from errands.web.core.limits import ServerLimits, listen
from errands.web.core.server import HttpConnection, Server

BODY = b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def _body(request: Request) -> Response:
    try:
        body = await read_body(request.scope, request.receive, 1000, 30.0)
    except HttpError as error:
        return Response(error.message, error.status)
    return Response(f"{len(body)}")


async def _large(request: Request) -> Response:
    return Response(b"x" * 2**24)


PART = AppPart(
    [Route("/body", _body, methods=["POST"]), Route("/large", _large, methods=["GET"])],
)


@contextlib.contextmanager
def lines(port: int, count: int, sent: bytes = b"") -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))
            if sent:
                one.sendall(sent)
            opened.append(one)
        yield opened


def status(line: socket.socket) -> int:
    """Reads a whole answer, which may come in pieces."""
    answer = b""
    while b"\r\n\r\n" not in answer and (piece := line.recv(4096)):
        answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    length = next(
        (int(name[15:]) for name in head.lower().split(b"\r\n") if name[:15] == b"content-length:"),
        0,
    )
    while len(body) < length and (piece := line.recv(4096)):
        body += piece
    return int(head.split()[1])


def health(port: int) -> int:
    with lines(port, 1, HEALTH) as [line]:
        return status(line)


def is_closed(line: socket.socket) -> bool:
    """Whether the server closes a connection, some time soon."""
    try:
        while line.recv(2**16):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("sent", [b"", b"GET /health HT", b"GET / HTTP/1.1\r\nHost: local"])
def test_a_head_that_does_not_come_is_not_waited_for(sent: bytes) -> None:
    with running([PART], ServerLimits(head_seconds=0.3)) as port, lines(port, 3, sent) as mute:
        assert all(map(is_closed, mute))


def test_a_head_is_not_kept_alive_by_its_drops() -> None:
    with running([PART], ServerLimits(head_seconds=0.4)) as port, lines(port, 1, HEALTH) as [line]:
        assert status(line) == 200
        drops = 0
        with contextlib.suppress(ConnectionError):
            for sign in b"GET /health HTTP/1.1\r\nX: " + b"x" * 500:
                line.sendall(bytes((sign,)))
                drops += 1
                time.sleep(0.02)
        assert drops < 500
        assert is_closed(line)


def test_who_is_idle_between_requests_may_be() -> None:
    with running([PART], ServerLimits(head_seconds=0.2)) as port, lines(port, 1) as [line]:
        for _ in range(2):
            line.sendall(HEALTH)
            assert status(line) == 200
            time.sleep(0.6)


def test_the_rest_of_an_answered_request_is_not_read_for_ever() -> None:
    refused = b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
    with running([PART], ServerLimits(head_seconds=0.3)) as port, lines(port, 1, refused) as [line]:
        assert status(line) == 404
        drops = 0
        with contextlib.suppress(ConnectionError):
            while drops < 500:
                line.sendall(b"x")
                drops += 1
                time.sleep(0.02)
        assert drops < 500


def test_more_mute_connections_than_there_may_be_close_nothing() -> None:
    limits = ServerLimits(most_connections=40)
    with running([PART], limits) as port, lines(port, 200):
        assert [health(port) for _ in range(5)] == [200] * 5


def test_mute_connections_go_first_and_requests_in_flight_stay() -> None:
    limits = ServerLimits(most_connections=16)
    with (
        running([PART], limits) as port,
        lines(port, 2, HEALTH) as idle,
        lines(port, 2, BODY) as working,
    ):
        for line in idle:
            assert status(line) == 200
        with lines(port, 50):
            assert health(port) == 200
            for line in idle:
                line.sendall(HEALTH)
                assert status(line) == 200
            for line in working:
                line.sendall(b"x" * 100)
                assert status(line) == 200


def test_without_anything_to_close_there_is_no_room() -> None:
    limits = ServerLimits(most_connections=16)
    with running([PART], limits) as port, lines(port, limits.connections_per_client, BODY) as full:
        for line in full[:-1]:
            line.sendall(b"x")
        deadline = time.monotonic() + 30
        while health(port) == 200:  # The last ones may not have been read yet.
            assert time.monotonic() < deadline
        full[0].sendall(b"x" * 99)
        assert status(full[0]) == 200
        assert health(port) == 200


def test_heads_that_are_too_large() -> None:
    with running([PART], ServerLimits()) as port, lines(port, 1) as [line]:
        with contextlib.suppress(ConnectionError):
            line.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 2**20)
        assert is_closed(line)


def test_requests_that_come_all_at_once_are_read_one_after_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, answered = [0], threading.Event()

    async def patient(request: Request) -> Response:
        while not answered.is_set():
            await asyncio.sleep(0.01)
        return Response(b"0")

    def counted(self: HttpConnection) -> None:
        begun[0] += 1
        uncounted(self)

    uncounted = HttpConnection.on_message_begin
    monkeypatch.setattr(HttpConnection, "on_message_begin", counted)
    part = AppPart([Route("/p", patient, methods=["GET", "POST"])])
    asked = b"GET /p HTTP/1.1\r\nHost: localhost\r\n\r\n"
    body = b"POST /p HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40000\r\n\r\n" + b"x" * 40_000
    with running([part], ServerLimits()) as port, lines(port, 1) as [line]:
        for sent in (asked * 5000, body + asked * 2000):
            sender = threading.Thread(target=line.sendall, args=(sent,))
            sender.start()
            time.sleep(0.5)
            assert begun[0] < 30
            answered.set()
            received = b""
            while received.count(b"HTTP/1.1 200") < sent.count(b" HTTP/1.1\r\n"):
                received += line.recv(2**16)
            sender.join()
            assert begun[0] == sent.count(b" HTTP/1.1\r\n")
            begun[0] = 0
            answered.clear()


def test_a_body_is_read_in_large_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[int] = []

    def counted(self: HttpConnection, body: bytes) -> None:
        pieces.append(len(body))
        uncounted(self, body)

    async def whole(request: Request) -> Response:
        return Response(f"{len(await request.body())}")

    uncounted = HttpConnection.on_body
    monkeypatch.setattr(HttpConnection, "on_body", counted)
    size = 2**22
    head = f"POST /p HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode()
    part = AppPart([Route("/p", whole, methods=["POST"])])
    with running([part], ServerLimits()) as port, lines(port, 1) as [line]:
        line.sendall(head + b"x" * size)
        assert status(line) == 200
    assert sum(pieces) == size
    # As the network brings them: half a kilobyte each would be 8,192.
    assert len(pieces) < 1_000


@pytest.mark.parametrize("path", ["/body", "/health"])
@pytest.mark.parametrize("piece", [b"x", b"a: b\r\n"])
def test_headers_behind_a_body_end(path: str, piece: bytes) -> None:
    """They are kept until they are complete, and each piece of one is added to a copy of it."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    begun = head + b"1\r\nx\r\n0\r\n"
    with running([PART], ServerLimits()) as port:
        with lines(port, 1, begun + b"a: b\r\n\r\n") as [line]:
            assert status(line) in (200, 405)
        with lines(port, 1, begun + b"a: ") as [line]:
            sent = 0
            with contextlib.suppress(ConnectionError):
                while sent < 2**22:
                    line.sendall(piece * 1000)
                    sent += len(piece) * 1000
                    time.sleep(0.0001)
            assert is_closed(line)
            assert sent < 2**22
        assert health(port) == 200


def test_who_asks_and_never_reads_is_no_defect(capfd: pytest.CaptureFixture[str]) -> None:
    async def huge(request: Request) -> Response:
        await request.body()
        return Response(b"x" * 2**20)

    part = AppPart([Route("/p", huge, methods=["GET", "POST"])])
    asked = b"GET /p HTTP/1.1\r\nHost: localhost\r\n\r\n"
    chunked = b"POST /p HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    limits = ServerLimits(send_seconds=0.4)
    with running([part], limits) as port, lines(port, 3, asked * 20 + chunked + asked * 20):
        time.sleep(2)
        assert health(port) == 200
    assert not capfd.readouterr().err


def test_requests_that_wait_for_their_turn_are_not_taken_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Somebody asks and asks, and reads nothing: each answer that is made must let in no more."""
    held: dict[HttpConnection, int] = {}
    received = HttpConnection.data_received

    def counted(self: HttpConnection, data: bytes) -> None:
        received(self, data)
        held[self] = max(held.get(self, 0), len(self._unread))

    monkeypatch.setattr(HttpConnection, "data_received", counted)

    async def answer(request: Request) -> Response:
        return Response(b"x" * 100_000)

    part = AppPart([Route("/p", answer)])
    with running([part], ServerLimits()) as port, lines(port, 1, b"") as [line]:
        line.settimeout(1.0)
        with contextlib.suppress(TimeoutError):
            for _ in range(300):
                line.send(b"GET /p HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000)
        assert sum(held.values()) < 2**20
        line.close()
        for _ in range(100):
            if not any(connection._unread for connection in held):
                break
            time.sleep(0.05)
        assert not any(connection._unread for connection in held)
        assert health(port) == 200


def test_who_takes_nothing_of_an_answer_is_given_up() -> None:
    asked = HEALTH.replace(b"/health", b"/large")
    limits = ServerLimits(send_seconds=0.4)
    with running([PART], limits) as port, lines(port, 1, asked) as [line]:
        time.sleep(2)
        received = 0
        with contextlib.suppress(ConnectionError):
            while data := line.recv(2**20):
                received += len(data)
        assert received < 2**24


def test_the_end_does_not_wait_for_bodies() -> None:
    started = threading.Event()
    part = AppPart(PART.routes, busy=lambda: True)
    server = Server([part], AuthMiddleware(), ServerLimits(drain_seconds=3.0), started.set)
    with listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        assert started.wait(60)
        with lines(port, 5, BODY):
            server.handle_exit(15, None)
            thread.join(20)
        assert not thread.is_alive()


def test_the_end_does_not_wait_for_those_who_mean_no_good() -> None:
    """Bodies that do not come, and somebody who asks again and again; work is still finished."""
    started, working = threading.Event(), threading.Event()
    at_work = 0

    async def read(request: Request) -> Response:
        nonlocal at_work
        at_work += 1
        try:
            await read_body(request.scope, request.receive, 2**20, 60.0)
        finally:
            at_work -= 1
        return Response("read")

    async def work(request: Request) -> Response:
        nonlocal at_work
        at_work += 1
        working.set()
        await asyncio.sleep(1.3)
        at_work -= 1
        return Response("finished")

    part = AppPart(
        [Route("/body", read, methods=["POST"]), Route("/work", work)], busy=lambda: at_work > 0
    )
    server = Server([part], AuthMiddleware(), ServerLimits(drain_seconds=20.0), started.set)
    asking = b"GET /work HTTP/1.1\r\nHost: localhost\r\n\r\n"
    stuck = b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nx"
    with listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        assert started.wait(60)
        with lines(port, 5, stuck), lines(port, 1, asking) as [line]:
            assert working.wait(10)
            begun = time.monotonic()
            server.handle_exit(15, None)
            assert status(line) == 200
            thread.join(20)
            assert time.monotonic() - begun < 8
        assert not thread.is_alive()


class _Line:
    """A connection of nobody."""

    def __init__(self, group: str = "a") -> None:
        self.group = group
        self.since = 0.0
        self.head_size = 0
        self.unsent_bytes = 0
        self.is_given_up = False

    def unsent(self) -> int:
        return self.unsent_bytes

    def give_up(self) -> None:
        self.is_given_up = True


class _Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_client_cannot_take_everybodys_place() -> None:
    table = Connections(10, 8, _Time())
    flood = [_Line("flood") for _ in range(8)]
    assert all(map(table.enter, flood))
    for one in flood:
        table.busy(one)
    assert not table.enter(_Line("flood"))
    table.leave("flood")
    assert table.enter(_Line("honest"))
    assert table.enter(_Line("flood"), is_proxy=True)
    assert not any(one.is_given_up for one in flood)


def test_heads_share_a_bound() -> None:
    table = Connections(100, 100, _Time())
    first, second = _Line(), _Line("b")
    assert table.enter(first)
    assert table.enter(second)
    table.grow_head(first, 2**25)
    table.grow_head(second, 2**25)
    assert not first.is_given_up
    table.grow_head(second, 1)
    assert (first.is_given_up, second.is_given_up) == (True, False)


def test_a_slow_reader_is_one_that_takes_nothing() -> None:
    clock = _Time()
    table = Connections(100, 100, clock)
    slow, stuck = _Line(), _Line()
    for one in (slow, stuck):
        table.enter(one)
        table.busy(one)
        one.unsent_bytes = 100
        table.stuck(one)
    for _ in range(5):
        clock.now += 6
        slow.unsent_bytes -= 1
        table.sweep(10, 10)
    assert (slow.is_given_up, stuck.is_given_up) == (False, True)


def test_the_oldest_bodies_are_given_up_for_new_ones() -> None:
    reads = BodyReads(most=3, memory=1000)

    async def limited(request: Request) -> Response:
        try:
            return Response(f"{len(await reads.read(request.scope, request.receive, 600, 30.0))}")
        except HttpError as error:
            return Response(error.message, error.status)

    part = AppPart([Route("/body", limited, methods=["POST"])])
    with running([part], ServerLimits()) as port, lines(port, 6, BODY) as opened:
        for line in opened[:3]:
            assert status(line) == 503
        assert len(reads) == 3
        for line in opened[3:]:
            line.sendall(b"x" * 100)
            assert status(line) == 200
        large = BODY.replace(b"100", b"600") + b"x" * 500
        with lines(port, 1, large) as [first]:
            while reads.size < 500:
                time.sleep(0.01)
            with lines(port, 1, large) as [second], lines(port, 1, large) as [third]:
                assert first.recv(12) == b"HTTP/1.1 503"
                for line in (second, third):
                    line.sendall(b"x" * 100)
                assert third.recv(12) == b"HTTP/1.1 200"
    assert (len(reads), reads.size) == (0, 0)
