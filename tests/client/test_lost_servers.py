"""Servers that break off, keep silent, talk nonsense, or have closed what was idle."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace

import pytest
from served import Served
from websockets.sync.server import ServerConnection, serve

CREATED = {"sessions": ["one"]}
BEGUN = {"results": [{"observation": "page", "info": {}}]}


@contextlib.contextmanager
def answering(reply: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that does with each connection as told."""
    listening = socket.create_server(("127.0.0.1", 0))

    def loop() -> None:
        with contextlib.suppress(OSError):
            while True:
                line, _ = listening.accept()
                with line:
                    reply(line)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(10)
        assert not thread.is_alive()


def test_there_is_no_server(client: ModuleType, scheme: str) -> None:
    with pytest.raises(client.ErrandsServerError, match=r"^There is no server at .*:1 \(") as lost:
        client.ErrandsEnv(f"{scheme}://127.0.0.1:1")
    assert lost.value.code == "lost"
    assert str(lost.value).endswith("start it: errands serve --environments.")


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b'HTTP/1.1 404 Not Found\r\nContent-Length: 22\r\n\r\n{"detail":"Not Found"}',
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b'HTTP/1.1 500 No\r\nContent-Length: 13\r\n\r\n{"error":"no"}',
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\n\r\n",
    ],
)
def test_something_else_answers(client: ModuleType, scheme: str, said: bytes) -> None:
    def reply(line: socket.socket) -> None:
        line.recv(65536)
        line.sendall(said)

    with answering(reply) as url, pytest.raises(client.ErrandsServerError) as lost:
        client.ErrandsEnv(url.replace("http", scheme), timeout=5)
    assert lost.value.code == "lost"
    assert "\n" not in str(lost.value)


def test_a_silent_server_is_not_waited_for(client: ModuleType, scheme: str) -> None:
    gone = threading.Event()
    with answering(lambda line: bool(gone.wait(10)) and None) as url:
        with pytest.raises(client.ErrandsServerError, match="timed out"):
            client.ErrandsEnv(url.replace("http", scheme), timeout=0.1)
        gone.set()


def test_what_was_idle_is_opened_anew(client: ModuleType, server: Served, url: str) -> None:
    """Servers end connections that nobody uses; sessions live on."""
    env = client.ErrandsEnv(url)
    env.reset(seed=0)
    env._sessions._line._connection.sock.shutdown(socket.SHUT_RDWR)
    assert env.step("search[lamp]")[0]
    env.close()


def test_after_a_lost_answer_only_a_reset_helps(client: ModuleType) -> None:
    asked: list[str] = []

    def talk(line: ServerConnection) -> None:
        with contextlib.suppress(Exception):
            for message in line:
                call = json.loads(message)
                asked.append(call["calls"][0]["do"] if "calls" in call else call["do"])
                if asked[-1] == "step":
                    line.socket.shutdown(socket.SHUT_RDWR)
                line.send(json.dumps(CREATED if asked[-1] == "create" else BEGUN))

    with sockets(talk) as url:
        env = client.ErrandsEnv(url)
        env.reset()
        with pytest.raises(
            client.ErrandsServerError, match=r"Lost the connection to .*begin anew with reset"
        ) as lost:
            env.step("search[a]")
        assert lost.value.code == "lost"
        with pytest.raises(client.ErrandsServerError, match=r"call reset\(\) first"):
            env.step("search[a]")
        assert env.reset() == ("page", {})
        env.close()
    assert asked == ["create", "reset", "step", "reset", "close"]


def test_only_those_that_were_busy_are_asked_again(
    client: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    begun = BEGUN["results"][0]
    busy = {"error": {"code": "busy", "message": "Later.", "retry_after": 3}}

    def talk(line: ServerConnection) -> None:
        for message in line:
            call = json.loads(message)
            if call["do"] == "create":
                line.send(json.dumps({"sessions": ["a", "b", "c"]}))
                continue
            asked.append([inner["session"] for inner in call["calls"]])
            answers = [busy if name == "b" and len(asked) < 3 else begun for name in asked[-1]]
            line.send(json.dumps({"results": answers}))

    waits: list[float] = []
    # Not the clock of the whole process: the server's threads wait, too.
    clock = SimpleNamespace(**{**vars(client.time), "sleep": waits.append})
    monkeypatch.setattr(client, "time", clock)
    with sockets(talk) as url:
        envs = client.ErrandsVectorEnv(3, url)
        assert envs.reset()[0] == ("page",) * 3
        envs.close()
    assert asked == [["a", "b", "c"], ["b"], ["b"], ["a", "b", "c"]]
    assert waits == [3.0, 3.0]


class Alarm(BaseException):
    pass


def test_who_was_interrupted_gets_no_late_answer(
    client: ModuleType, server: Served, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be taken for the answer to the next call."""
    env = client.ErrandsEnv(url)
    first = env.reset(seed=0)
    line = env._sessions._line

    def ring(*_: object) -> None:
        raise Alarm

    with monkeypatch.context() as patch:
        # After the call has gone out.
        if url.startswith("ws"):
            patch.setattr(line, "_read", ring)
        else:
            patch.setattr(line._connection, "getresponse", ring)
        with pytest.raises(Alarm):
            env.step("search[lamp]")
    assert env.reset(seed=0) == first
    env.close()


def test_pings_pieces_and_long_messages(client: ModuleType) -> None:
    pongs = []
    page = "ä" * 100_000

    def talk(line: ServerConnection) -> None:
        for message in line:
            call = json.loads(message)
            answer = CREATED
            if call["do"] == "batch":
                pongs.append(line.ping(b"there?"))
                said = call["calls"][0].get("action", "")
                answer = {"results": [{"observation": page + said, "reward": 1.0, "info": {},
                                       "terminated": False, "truncated": False}]}  # fmt: skip
            text = json.dumps(answer, ensure_ascii=False)
            line.send(iter([text[:3], text[3:90], text[90:]]))

    with sockets(talk) as url:
        env = client.ErrandsEnv(url)
        env.reset()
        for size in (0, 1, 30, 125, 126, 70_000):
            assert env.step("x" * size)[0] == page + "x" * size
        env.close()
    assert all(pong.wait(5) for pong in pongs[:-1])
    assert len(pongs) == 8


@contextlib.contextmanager
def sockets(talk: Callable[[ServerConnection], None]) -> Iterator[str]:
    """A server of WebSockets that is not ours."""
    with serve(talk, "127.0.0.1", 0) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"ws://127.0.0.1:{running.socket.getsockname()[1]}"
        running.shutdown()
        thread.join(10)
