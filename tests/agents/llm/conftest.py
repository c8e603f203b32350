"""A chat endpoint on loopback that answers, fails and breaks off as it is told."""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import gymnasium
import pytest

from errands.agents.llm.factory import LanguageModel, make

KEY = "sk-very-secret-4711-abcdef"

Script = Callable[[dict[str, Any], int], Any]


class Endpoint:
    """Runs `script(request, number)` for each call; what that returns decides what is sent.

    A text is an answer, a dictionary is a message with tool calls; `(status, headers, body)` is
    sent as it is; the other things that can happen are methods' names below.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.script: Script = lambda request, number: "search[red mug]"
        self.released = threading.Event()
        self.usage: dict[str, int] | None = {"prompt_tokens": 100, "completion_tokens": 10}
        self._lock = threading.Lock()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with endpoint._lock:
                    number = len(endpoint.requests)
                    endpoint.requests.append(body)
                    endpoint.headers.append({k.lower(): v for k, v in self.headers.items()})
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    endpoint.answer(self, body, endpoint.script(body, number))

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 200

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def completion(self, message: dict[str, Any], finish: str = "stop") -> dict[str, Any]:
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        body = {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice]}
        return body | ({"usage": self.usage} if self.usage else {})

    def answer(self, handler: Any, request: dict[str, Any], reply: Any) -> None:
        if reply == "HANG":
            self.released.wait(60)
            handler.close_connection = True
        elif reply == "CUT":
            handler.send_response(200)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", "5000")
            handler.end_headers()
            handler.wfile.write(b'{"choices": [{"message": {"content": "click[b')
            handler.close_connection = True
        elif reply == "HANG UP":
            handler.close_connection = True
        elif reply == "CUT STREAM":
            self.send(handler, 200, {"Content-Type": "text/event-stream"}, self.pieces("sea")[:-3])
        elif isinstance(reply, tuple):
            self.send(handler, reply[0], reply[1], reply[2])
        else:
            message = reply if isinstance(reply, dict) else {"content": reply}
            if request.get("stream"):
                body = self.pieces(message.get("content") or "", message.get("tool_calls", ()))
                self.send(handler, 200, {"Content-Type": "text/event-stream"}, b"".join(body))
            else:
                body = json.dumps(self.completion(message)).encode()
                self.send(handler, 200, {"Content-Type": "application/json"}, body)

    def pieces(self, text: str, calls: Any = ()) -> list[bytes]:
        deltas: list[dict[str, Any]] = [{"content": letter} for letter in text]
        for index, call in enumerate(calls):
            function = call["function"]
            deltas.append(
                {"tool_calls": [{"index": index, "function": {"name": function["name"]}}]}
            )
            for letter in function["arguments"]:
                part = {"index": index, "function": {"arguments": letter}}
                deltas.append({"tool_calls": [part]})
        chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        chunks.append({"choices": [], "usage": self.usage})
        return [b"data: %s\n\n" % json.dumps(c).encode() for c in chunks] + [b"data: [DONE]\n\n"]

    def send(self, handler: Any, status: int, headers: dict[str, str], body: Any) -> None:
        body = b"".join(body) if isinstance(body, list) else body
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def factory(endpoint: Endpoint) -> Iterator[Callable[..., LanguageModel]]:
    """Makes factories for the endpoint, quick to retry, closed at the end."""
    made: list[LanguageModel] = []

    def new(domain: str, env: gymnasium.Env[Any, Any], **settings: Any) -> LanguageModel:
        given = {"model": "m", "base_url": endpoint.url, "wait": 0.01, "timeout": 5.0}
        given |= {"price_in": 1.0, "price_out": 2.0}
        made.append(make(domain, env, given | settings))
        return made[-1]

    yield new
    for one in made:
        one.close()


class Played:
    """What came of an episode."""

    def __init__(self) -> None:
        self.moves: list[Any] = []
        self.messages: list[str] = []
        self.reward = 0.0
        self.terminated = False
        self.info: dict[str, Any] = {}


async def _play(
    factory: LanguageModel, env: gymnasium.Env[Any, Any], seed: int, most: int, options: Any
) -> Played:
    played = Played()
    agent: Any = factory.agent(seed)
    observation, info = env.reset(seed=seed, options=options)
    await agent.begin(observation, info)
    for _ in range(most):
        move = await agent.act(observation, info)
        played.moves.append(move)
        observation, reward, terminated, truncated, info = env.step(move.action)
        played.messages.append(info.get("message", ""))
        played.reward += reward
        played.terminated = terminated
        if terminated or truncated:
            break
    played.info = info
    return played


@pytest.fixture
def play() -> Callable[..., Played]:
    """Plays one episode to its end."""

    def run(
        factory: LanguageModel,
        env: gymnasium.Env[Any, Any],
        *,
        seed: int = 0,
        most: int = 40,
        options: Any = None,
    ) -> Played:
        return asyncio.run(asyncio.wait_for(_play(factory, env, seed, most, options), 60))

    return run


@pytest.fixture
def play_many() -> Callable[..., list[Any]]:
    """Plays many episodes at once on one loop; a failed one is its exception."""

    def run(
        factory: LanguageModel, envs: list[gymnasium.Env[Any, Any]], most: int = 40
    ) -> list[Any]:
        async def everything() -> list[Any]:
            return await asyncio.gather(
                *(_play(factory, env, seed, most, None) for seed, env in enumerate(envs)),
                return_exceptions=True,
            )

        begun = time.monotonic()
        results = asyncio.run(asyncio.wait_for(everything(), 120))
        assert time.monotonic() - begun < 120
        return results

    return run
