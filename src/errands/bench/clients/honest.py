"""People and programs that use a server as it is meant to be used, each in their own way.

Each has an address of its own and a connection, thinks between two requests, and says what it was
answered: an answer that is not what a page or a program of ours would get is an error.
"""

import abc
import asyncio
import dataclasses
import os
import random
import re
import time
from array import array
from base64 import b64encode
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from html import unescape
from typing import Any, ClassVar, Final, Literal, TypeVar
from urllib.parse import urlencode

import msgspec

from errands.agents.random_agent import RandomFormAgent, RandomShopper
from errands.bench.clients.http_caller import HttpCaller, HttpReply
from errands.bench.load import EPISODE_STEPS, SocketLink
from errands.bench.site import MOST_PAGES, next_click
from errands.errors import ErrandsError
from errands.remote.messages import (
    BatchCall,
    CloseCall,
    CreateCall,
    Message,
    ResetCall,
    StepCall,
    encode_json,
)

__all__ = ["LOGIN", "MIX", "PROXY", "HonestClient", "Meter", "Scene", "password_header"]

PROXY: Final = "127.0.0.2"
"""The address of a proxy in front of the server, which names whom it speaks for."""
LOGIN: Final = "logins by password"
"""They take time on purpose: guessing is to take long."""
_RESULTS: Final = 99
"""Pages of results beyond which an owner does not look."""
_BATCH: Final = 32
_REST: Final = 1.0
"""Seconds after an error."""
_FORM_STEPS: Final = 12
_FINE: Final = (200, 201, 204, 303)

T = TypeVar("T")
Environment = Literal["shop", "turk"]


class _TimeUp(Exception):
    """The soak is over."""


class Meter:
    """What the honest met: how long their answers took, and what went wrong.

    Time is by the clock and, as that is also what else the machine does, without the time in which
    the server's thread that answers (or this one) was ready to go on and had no core.
    """

    def __init__(self, pid: int) -> None:
        self._queues = [_RunQueue(pid), _RunQueue(os.getpid())]
        self.seconds: defaultdict[str, array[float]] = defaultdict(lambda: array("d"))
        self.undisturbed: defaultdict[str, array[float]] = defaultdict(lambda: array("d"))
        """The same without the longer of the two waits for a core."""
        self.errors: list[str] = []

    async def timed(self, kind: str, asking: Awaitable[T]) -> T:
        waited = [queue.waited() for queue in self._queues]
        begun = time.perf_counter()
        answer = await asking
        took = time.perf_counter() - begun
        more = (queue.waited() - before for queue, before in zip(self._queues, waited, strict=True))
        self.seconds[kind].append(took)
        self.undisturbed[kind].append(max(0.0, took - max(more)))
        return answer

    def waited(self) -> float:
        """Seconds in which the server's thread that answers has waited for a core so far."""
        return self._queues[0].waited()

    def close(self) -> None:
        for queue in self._queues:
            queue.close()


class _RunQueue:
    """How long the main thread of a process has waited for a core (Linux)."""

    def __init__(self, pid: int) -> None:
        self._file = os.open(f"/proc/{pid}/schedstat", os.O_RDONLY)

    def waited(self) -> float:
        """Seconds."""
        try:
            return int(os.pread(self._file, 100, 0).split()[1]) / 1e9
        except ProcessLookupError:
            return 0.0

    def close(self) -> None:
        os.close(self._file)


@dataclasses.dataclass
class Scene:
    """A server with everything on it, and what those who come to it know."""

    port: int
    until: float
    """By `time.perf_counter`."""
    meter: Meter
    queries: Sequence[str]
    password: str
    """The admin's."""
    project: int
    """What there is to work on."""
    join: str
    """The address of its join link."""
    workers: Sequence[str]
    """Tokens, one for each worker who was invited."""
    stranger: str
    """The token of a requester who means no good."""
    runs: Sequence[tuple[str, int]]
    """Ids of runs, and how many episodes they have."""

    def left(self) -> float:
        """Seconds."""
        return self.until - time.perf_counter()


class HonestClient(abc.ABC):
    """Somebody who comes back as long as the soak goes on."""

    kind: ClassVar[str]
    think: ClassVar[float]
    """Seconds between two requests, on average."""

    def __init__(self, scene: Scene, place: int, rng: random.Random) -> None:
        self.scene = scene
        self.place = place
        self.rng = rng
        # Every other one sits behind the proxy.
        number = f"{1 + place // 250}.{1 + place % 250}"
        if place % 2:
            self.http = HttpCaller(
                scene.port, source=PROXY, headers={"x-forwarded-for": f"10.1.{number}"}
            )
        else:
            self.http = HttpCaller(scene.port, source=f"127.1.{number}")

    async def live(self) -> None:
        """Use the server until the soak is over."""
        try:
            await self.rest(self.rng.uniform(0, 2 * self.think))
            while True:
                try:
                    await self.visit()
                except (ErrandsError, OSError, EOFError, LookupError, ValueError) as failure:
                    if self.scene.left() < 0:
                        break
                    self.scene.meter.errors.append(f"{self.kind}: {failure!r}")
                    self.leave()
                    await self.rest(_REST)
        except _TimeUp:
            pass
        self.leave()

    @abc.abstractmethod
    async def visit(self) -> None:
        """One thing from its beginning to its end."""

    def leave(self) -> None:
        self.http.close()

    async def rest(self, seconds: float) -> None:
        left = self.scene.left()
        await asyncio.sleep(max(0.0, min(seconds, left)))
        if seconds >= left:
            raise _TimeUp

    async def pause(self) -> None:
        """Think."""
        await self.rest(self.rng.expovariate(1 / self.think))

    async def ask(
        self,
        path: str,
        body: bytes | None = None,
        method: str | None = None,
        *,
        kind: str | None = None,
        **headers: str,
    ) -> HttpReply:
        asking = self.http.ask(path, body, headers, method=method)
        reply = await self.scene.meter.timed(kind or self.kind, asking)
        if reply.status not in _FINE:
            raise ErrandsError(f"{reply.status} at {path}: {reply.text[-300:]}")
        return reply

    async def page(self, path: str, form: dict[str, str] | None = None, **headers: str) -> str:
        """A page, wherever a form leads."""
        body = None if form is None else urlencode(form).encode()
        reply = await self.ask(path, body, **headers)
        return await self.page(reply.headers["location"]) if reply.status == 303 else reply.text

    async def api(self, path: str, body: Any = None, method: str | None = None, **more: str) -> Any:
        """What a program is answered."""
        sent = None if body is None else encode_json(body)
        return msgspec.json.decode((await self.ask(path, sent, method, **more)).body)


class SiteShopper(HonestClient):
    """Somebody who searches, clicks about, and buys."""

    kind = "pages of the shop"
    think = 2.0

    async def visit(self) -> None:
        reply = await self.ask("/shop/new")
        path, body = reply.headers["location"], None
        name = path[1:]
        for place in range(MOST_PAGES):
            reply = await self.ask(path, body)
            if reply.status == 303:
                path, body = reply.headers["location"], None
                continue
            await self.pause()
            if path.startswith("/done/"):
                return
            path, body = next_click(name, path, reply.body, place, self.scene.queries, self.rng)


class _EnvTrainer(HonestClient):
    """A program that plays episodes of one environment, each in a session of its own."""

    environment: ClassVar[Environment] = "shop"

    def agent(self) -> Any:
        seed = self.rng.getrandbits(32)
        if self.environment == "turk":
            return RandomFormAgent(seed)
        return RandomShopper(self.scene.queries, seed)

    async def visit(self) -> None:
        [session] = (await self.call(CreateCall(environment=self.environment)))["sessions"]
        agent = self.agent()
        last = await self.call(ResetCall(session=session))
        agent.begin(last["observation"], last["info"])
        most = _FORM_STEPS if self.environment == "turk" else EPISODE_STEPS
        for _ in range(most):
            await self.pause()
            action = agent.act(last["observation"], last["info"])
            last = await self.call(StepCall(session=session, action=action))
            if last["terminated"] or last["truncated"]:
                break
        await self.call(CloseCall(session=session))

    @abc.abstractmethod
    async def call(self, call: Message) -> dict[str, Any]:
        """The answer to a call; an error is raised."""


class HttpTrainer(_EnvTrainer):
    """Over HTTP."""

    kind = "shop, HTTP"
    think = 0.5

    async def call(self, call: Message) -> dict[str, Any]:
        body: dict[str, Any]
        method = None
        if isinstance(call, CreateCall):
            path, body = "/v1/sessions", {"environment": call.environment}
        elif isinstance(call, ResetCall):
            path, body = f"/v1/sessions/{call.session}/reset", {}
        elif isinstance(call, StepCall):
            path, body = f"/v1/sessions/{call.session}/step", {"action": call.action}
        else:
            assert isinstance(call, CloseCall)
            path, body, method = f"/v1/sessions/{call.session}", {}, "DELETE"
        answer: dict[str, Any] = await self.api(path, body, method)
        return answer


class SocketTrainer(_EnvTrainer):
    """Over a WebSocket."""

    kind = "shop, WebSocket"
    think = 0.5
    _link: SocketLink | None = None
    _answer: "asyncio.Future[bytes] | None" = None

    async def call(self, call: Message) -> dict[str, Any]:
        asking = self._asked(call)
        answer = msgspec.msgpack.decode(await self.scene.meter.timed(self.kind, asking))
        results: list[dict[str, Any]] = answer.get("results", [answer])
        for one in results:
            if "error" in one:
                raise ErrandsError(f"{one['error']} to {type(call).__name__}")
        return {"results": results} if "results" in answer else results[0]

    async def _asked(self, call: Message) -> bytes:
        async with asyncio.timeout(60):
            if self._link is None:
                loop = asyncio.get_running_loop()
                source = f"127.2.{1 + self.place // 250}.{1 + self.place % 250}", 0
                _, self._link = await loop.create_connection(
                    lambda: SocketLink(self._lost),
                    *("127.0.0.1", self.scene.port),
                    local_addr=source,
                )
                head = await self._heard(self._link.shake_hands)
                if b" 101 " not in head:
                    raise ErrandsError(f"The server takes no WebSocket: {head[:100]!r}")
            link = self._link
            return await self._heard(lambda then: link.ask(call, then))

    async def _heard(self, say: Callable[[Callable[[bytes], None]], None]) -> bytes:
        self._answer = asyncio.get_running_loop().create_future()
        say(self._answer.set_result)
        return await self._answer

    def _lost(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError("the socket was closed"))

    def leave(self) -> None:
        super().leave()
        if self._link is not None:
            self._link.close()
        self._link = None


class BatchTrainer(SocketTrainer):
    """Many shops in one message."""

    kind = f"shop, batches of {_BATCH}"
    think = 1.0

    async def visit(self) -> None:
        made = await self.call(CreateCall(environment="shop", count=_BATCH))
        sessions: list[str] = made["sessions"]
        agents = [self.agent() for _ in sessions]
        begun = await self._all([ResetCall(session=one) for one in sessions])
        for agent, one in zip(agents, begun, strict=True):
            agent.begin(one["observation"], one["info"])
        last: dict[str, dict[str, Any]] = dict(zip(sessions, begun, strict=True))
        for _ in range(EPISODE_STEPS):
            await self.pause()
            playing = [
                (session, agent)
                for session, agent in zip(sessions, agents, strict=True)
                if not last[session].get("terminated")
            ]
            steps = [
                StepCall(
                    session=one,
                    action=agent.act(last[one]["observation"], last[one]["info"]),
                )
                for one, agent in playing
            ]
            done = await self._all(steps)
            last.update(zip((one for one, _ in playing), done, strict=True))
        await self._all([CloseCall(session=one) for one in sessions])

    async def _all(self, calls: Sequence[ResetCall | StepCall | CloseCall]) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = (await self.call(BatchCall(calls=list(calls))))["results"]
        return results


class HttpFormTrainer(HttpTrainer):
    """Form pages, over HTTP."""

    kind = "form pages, HTTP"
    think = 1.0
    environment = "turk"


class SocketFormTrainer(SocketTrainer):
    """Form pages, over a WebSocket."""

    kind = "form pages, WebSocket"
    think = 1.0
    environment = "turk"


class _Worker(HonestClient):
    """Somebody who does crowd work."""

    think = 6.0

    def answers(self) -> dict[str, str]:
        said = self.rng.choice(("a lamp", "two birds", "nothing that I know", "it is late"))
        return {
            "said": f"{said} {self.rng.randrange(1000)}",
            "sure": self.rng.choice(("yes", "no")),
        }


class PageWorker(_Worker):
    """By pages: comes in by the join link, looks at a task, accepts it, answers it in its frame."""

    kind = "crowd work, pages"
    _home = ""

    async def visit(self) -> None:
        if not self._home:
            await self.page(self.scene.join)
            reply = await self.ask(self.scene.join, urlencode({"participant": ""}).encode())
            self._home = reply.headers["location"]
        shown = await self.page(self._home)
        await self.pause()
        if "<iframe" in shown and "/accept" in shown:
            item = re.search(r'name="item" value="(\d+)"', shown)
            shown = await self.page(f"{self._home}/accept", {"item": item[1] if item else ""})
        frame = re.search(r'<iframe[^<>]* src="([^"<>]*)" data-then', shown)
        if frame is None:
            # Somebody else was faster: there is another instance.
            return
        address = unescape(frame[1])
        task = await self.page(address)
        if 'name="said"' not in task:
            raise ErrandsError(f"{address} is not the task.")
        await self.pause()
        received = await self.page(address.partition("?")[0], self.answers(), origin="null")
        if "received" not in received:
            raise ErrandsError(f"{address} did not take the answers.")


class ProgramWorker(_Worker):
    """By JSON, with the token of a link."""

    kind = "crowd work, JSON"

    async def visit(self) -> None:
        token = {
            "authorization": f"Bearer {self.scene.workers[self.place % len(self.scene.workers)]}"
        }
        tasks = (await self.api("/v1/work/tasks", **token))["tasks"]
        if not any(one["id"] == self.scene.project for one in tasks):
            raise ErrandsError(f"There is no task {self.scene.project} any more.")
        await self.pause()
        accept = f"/v1/work/tasks/{self.scene.project}/accept"
        taken = await self.api(accept, {}, **token)
        await self.page(taken["frame"])
        await self.pause()
        at = f"/v1/work/assignments/{taken['id']}/submit"
        done = await self.api(at, {"answers": self.answers()}, **token)
        if done["status"] != "submitted":
            raise ErrandsError(f"The answers are {done['status']}.")


class ProjectOwner(HonestClient):
    """Somebody who logs in by a password, looks at a project and its results, and signs out."""

    kind = "a project's owner"
    think = 5.0

    async def visit(self) -> None:
        form = urlencode({"password": self.scene.password}).encode()
        await self.ask("/office/login", form, kind=LOGIN)
        await self.page("/office")
        await self.pause()
        shown = await self.page(f"/office/projects/{self.scene.project}")
        await self.pause()
        page = self.rng.randint(1, _RESULTS)
        await self.page(f"/office/projects/{self.scene.project}/results?page={page}")
        await self.pause()
        check = re.search(r'name="check" value="(\w+)"', shown)
        await self.page("/office/logout", {"check": check[1] if check else ""})
        self.http.cookies.clear()


class RunsViewer(HonestClient):
    """Somebody who looks at runs: all of them, one, its figures, an episode page by page."""

    kind = "pages of runs"
    think = 3.0

    async def visit(self) -> None:
        run, episodes = self.rng.choice(self.scene.runs)
        await self.page("/runs")
        await self.pause()
        await self.page(f"/runs/{run}")
        await self.pause()
        await self.page(f"/runs/{run}/report")
        await self.pause()
        episode = f"/runs/{run}/episodes/{self.rng.randrange(episodes)}"
        await self.page(episode)
        await self.page(f"{episode}/pages/0")
        await self.pause()
        await self.page(f"{episode}?step=end")
        await self.api(f"/v1{episode}")
        await self.pause()


def password_header(password: str) -> str:
    """The admin, to a program's address."""
    return f"Basic {b64encode(f'admin:{password}'.encode()).decode()}"


MIX: Final[dict[type[HonestClient], float]] = {
    SiteShopper: 0.47,
    HttpTrainer: 0.12,
    SocketTrainer: 0.12,
    BatchTrainer: 0.02,
    HttpFormTrainer: 0.03,
    SocketFormTrainer: 0.03,
    PageWorker: 0.08,
    ProgramWorker: 0.06,
    ProjectOwner: 0.01,
    RunsViewer: 0.06,
}
"""Who is there, as a share of all; at least one of each."""
