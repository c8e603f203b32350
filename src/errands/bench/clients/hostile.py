"""Clients that mean a server no good, and how it answers them.

Each tries everything there is in `ATTACKS`, again and again: what takes a moment one after another,
what needs patience (saying nothing, reading nothing) beside it. An attack has to end as it is
declared to, within its time; anything else has got through.
"""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec

from errands.bench.clients.honest import PROXY, Scene, password_header
from errands.bench.clients.http_caller import HttpCaller, HttpReply

__all__ = ["ATTACKS", "Attack", "AttackLog", "HostileClient"]

REFUSED: Final = "refused"
"""By a status, a code, or a sentence."""
CUT_OFF: Final = "cut off"
"""The connection was closed without a word."""
HELD_UP: Final = "held up"
"""The server takes nothing more of what is sent."""

_MOMENT: Final = 30.0
"""Seconds in which a server says no, also on a machine that has other work."""
_BETWEEN: Final = 0.5
"""Seconds between two attacks, on average."""
_CROWD: Final = 20
"""Connections of one attack that waits."""
_WS_KEY: Final = "ZXJyYW5kcyBiZW5jaCBrZQ=="
_HEADS: Final = ("GET / HTTP/1.1\r\n", "GET /shop/new HTTP/1.1\r\nHost: local", "POST /v1/se", "G")
_BODIES: Final = (("/v1/sessions", 55.0), ("/v1/batch", 55.0), ("/abandoned", 55.0))
"""Where bodies go that do not come, and how long they may take, at most."""
_LOGIN: Final = ("/office/login", 115.0)
_HOSTS: Final = (
    "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:80",
    "localhost@evil.example", "169.254.169.254",
)  # fmt: skip
_PIECES: Final = (
    '<form "', "<script integrity=", "<div>", "<style>&&&{", "<style>a{&{", "${", "<noscript",
    '<script type="application/ld+json">   ', "<!--", '<a "', "<style>:is(", "<input name=",
)  # fmt: skip
"""What hostile templates are made of, each repeated."""
_TEMPLATE: Final = 60_000
"""Characters of one, as in the attack that once froze a server."""


class _GotThrough(Exception):
    """The server did what it should not have done."""


class AttackLog:
    """What was tried, and what came of it."""

    def __init__(self) -> None:
        self.outcomes: Counter[tuple[str, str]] = Counter()
        """How often an attack, by its name, ended in a way."""
        self.got_through: list[str] = []
        self.is_over = False
        """Nothing that happens from now on counts."""


Attempt = Callable[["HostileClient"], Awaitable[str]]


class Attack(NamedTuple):
    """Something to try."""

    name: str
    attempt: Attempt
    seconds: float
    """In which the server has to have put an end to it."""
    is_patient: bool


ATTACKS: Final[list[Attack]] = []
"""All there are."""


def _attack(
    name: str, seconds: float = _MOMENT, *, is_patient: bool = False
) -> Callable[[Attempt], Attempt]:
    def named(attempt: Attempt) -> Attempt:
        ATTACKS.append(Attack(name, attempt, seconds, is_patient))
        return attempt

    return named


class HostileClient:
    """Somebody who tries everything. Now they come from an address of their own, now through the
    proxy that others use, too."""

    def __init__(self, scene: Scene, place: int, rng: random.Random, log: AttackLog) -> None:
        self.scene = scene
        self.rng = rng
        self.log = log
        self._address = f"127.66.{place // 250}.{1 + place % 250}"

    async def live(self) -> None:
        """Attack until it is over."""
        patient = [one for one in ATTACKS if one.is_patient]
        quick = [one for one in ATTACKS if not one.is_patient]
        await asyncio.gather(self._repeat(quick), *(self._repeat([one]) for one in patient))

    async def _repeat(self, attacks: Sequence[Attack]) -> None:
        while not self.log.is_over:
            for attack in self.rng.sample(attacks, len(attacks)):
                await self.attempt(attack)
                await asyncio.sleep(self.rng.expovariate(1 / _BETWEEN))

    async def attempt(self, attack: Attack) -> None:
        """Try once, and note what comes of it."""
        outcome = trouble = ""
        try:
            async with asyncio.timeout(attack.seconds):
                outcome = await attack.attempt(self)
        except _GotThrough as failure:
            trouble = str(failure)
        except TimeoutError:
            trouble = f"not ended within {attack.seconds:g} seconds"
        except (OSError, EOFError):
            outcome = CUT_OFF
        except Exception:
            if not self.log.is_over:
                raise
        if self.log.is_over:
            return
        if outcome:
            self.note(attack.name, outcome)
        else:
            self.log.got_through.append(f"{attack.name}: {trouble}")

    def note(self, name: str, outcome: str) -> None:
        self.log.outcomes[name, outcome] += 1

    def caller(self) -> HttpCaller:
        """A connection from somewhere."""
        source, headers = self._way()
        return HttpCaller(self.scene.port, source=source, headers=headers)

    def _way(self) -> tuple[str, dict[str, str]]:
        if self.rng.random() < 0.5:
            return self._address, {}
        return PROXY, {"x-forwarded-for": self._address.replace("127.", "10.", 1)}

    @contextlib.asynccontextmanager
    async def line(
        self, buffer: int = 2**16
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A bare connection from the own address; `buffer` is how much it takes unread."""
        reader, writer = await asyncio.open_connection(
            *("127.0.0.1", self.scene.port), local_addr=(self._address, 0), limit=buffer
        )
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def asked(self, path: str, body: bytes | None = None, **how: Any) -> HttpReply:
        """The answer to one whole request."""
        caller = self.caller()
        try:
            return await caller.ask(path, body, **how)
        finally:
            caller.close()

    async def refused(self, path: str, body: bytes | None = None, **how: Any) -> str:
        """A request that must be refused."""
        return refusal(await self.asked(path, body, **how), path)

    async def said(self, data: bytes) -> str:
        """What comes of some bytes that are no request."""
        async with self.line() as (reader, writer):
            writer.write(data)
            return await self.ended(reader)

    async def ended(self, reader: asyncio.StreamReader) -> str:
        """How a server puts an end to a connection."""
        first = await reader.readline()
        if not first:
            return CUT_OFF
        status = int(first[9:12])
        if status < 400 or status == 500:
            raise _GotThrough(f"it was answered {status}")
        return REFUSED

    @contextlib.asynccontextmanager
    async def socket(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A WebSocket after its handshake."""
        async with self.line() as (reader, writer):
            writer.write(
                "GET /v1/socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Key: {_WS_KEY}\r\n"
                "Sec-WebSocket-Version: 13\r\n\r\n".encode()
            )
            head = await reader.readuntil(b"\r\n\r\n")
            if b" 101 " not in head:
                raise _GotThrough(f"an ordinary handshake was refused: {head[:60]!r}")
            yield reader, writer


def refusal(reply: HttpReply, path: str) -> str:
    """What a server says that does not do what it was asked to."""
    if reply.status < 400 or reply.status == 500:
        raise _GotThrough(f"{path} was answered {reply.status}: {reply.text[:200]}")
    return REFUSED


def frame(first: int, payload: bytes) -> bytes:
    """A frame as clients send them."""
    return bytes((first, 0xFF)) + len(payload).to_bytes(8) + b"\0\0\0\0" + payload


@_attack("foreign host")
async def _foreign_host(self: HostileClient) -> str:
    host = self.rng.choice(_HOSTS)
    path = self.rng.choice(("/", "/v1", "/runs", "/office/login", "/metrics", "/v1/socket"))
    upgrade = {"upgrade": "websocket", "connection": "Upgrade", "sec-websocket-version": "13"}
    more = {**upgrade, "sec-websocket-key": _WS_KEY} if path == "/v1/socket" else {}
    return await self.refused(path, headers={"host": host, **more})


@_attack("foreign page")
async def _foreign_page(self: HostileClient) -> str:
    origin = self.rng.choice(("http://evil.example", "null", "http://localhost.evil.example"))
    return await self.refused("/v1/sessions", b'{"environment":"shop"}', headers={"origin": origin})


@_attack("garbage for a request")
async def _garbage(self: HostileClient) -> str:
    wrong = (
        self.rng.randbytes(300) + b"\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n{}",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    )
    return await self.said(self.rng.choice(wrong))


@_attack("endless headers")
async def _endless_head(self: HostileClient) -> str:
    async with self.line() as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        with contextlib.suppress(ConnectionError):
            for number in range(1000):
                writer.write(f"X-{number}: ".encode() + b"x" * 4096 + b"\r\n")
                await writer.drain()
        return await self.ended(reader)


@_attack("endless bodies", 60.0)
async def _endless_body(self: HostileClient) -> str:
    path = self.rng.choice(("/v1/sessions", "/v1/batch", "/office/login", "/endless"))
    sent = 0
    async with self.line() as (reader, writer):
        writer.write(
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
            "Transfer-Encoding: chunked\r\n\r\n".encode()
        )
        with contextlib.suppress(ConnectionError):
            while not reader.at_eof() and sent < 2**26:
                writer.write(b"10000\r\n" + b"[" * 2**16 + b"\r\n")
                sent += 2**16
                await writer.drain()
        if sent >= 2**26:
            raise _GotThrough(f"{path} took {sent:,} bytes")
        return await self.ended(reader)


@_attack("nested brackets", 60.0)
async def _nested(self: HostileClient) -> str:
    environment = self.rng.choice(("shop", "turk"))
    caller = self.caller()
    try:
        made = await caller.ask("/v1/sessions", msgspec.json.encode({"environment": environment}))
        if made.status == 503:
            return REFUSED
        [session] = msgspec.json.decode(made.body)["sessions"]
        at = f"/v1/sessions/{session}"
        await caller.ask(f"{at}/reset", b"{}")
        piece = self.rng.choice(("[", "(", "{", "search[", "modify_text(", "modify_text('", '"'))
        action = piece * (4096 // len(piece))
        reply = await caller.ask(f"{at}/step", msgspec.json.encode({"action": action}))
        if reply.status != 200:
            raise _GotThrough(f"an action that means nothing was answered {reply.status}")
        longer = msgspec.json.encode({"action": piece * 100_000})
        refusal(await caller.ask(f"{at}/step", longer), "a long action")
        deep = b'{"action":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        refused = refusal(await caller.ask(f"{at}/step", deep), "a deep action")
        await caller.ask(at, method="DELETE")
        return refused
    finally:
        caller.close()


@_attack("hostile templates", 60.0)
async def _template(self: HostileClient) -> str:
    piece = self.rng.choice(_PIECES)
    template = piece * (_TEMPLATE // len(piece)) + '"> ${word} <input name="a">'
    name = {"authorization": f"Bearer {self.scene.stranger}"}
    caller = self.caller()
    try:
        project = {
            "name": "P",
            "template": template,
            "csv": "word\n${word}\n",
            "is_restricted": True,
        }
        at = "/v1/office/projects"
        made = await caller.ask(at, msgspec.json.encode(project), name)
        if made.status == 201:
            # What it holds is its owner's own trouble, as long as it takes the server no time.
            number = msgspec.json.decode(made.body)["project"]["id"]
            item = await caller.ask(f"{at}/{number}/items/0", headers=name)
            shown = await caller.ask(msgspec.json.decode(item.body)["frame"])
            if shown.status != 200 or "sandbox" not in shown.headers["content-security-policy"]:
                raise _GotThrough(f"its page was answered {shown.status}")
            await caller.ask(f"{at}/{number}", b'{"is_open":false}', name, method="PATCH")
        else:
            refusal(made, at)
        project["template"] = template * 20
        return refusal(await caller.ask(at, msgspec.json.encode(project), name), at)
    finally:
        caller.close()


@_attack("punycode forms")
async def _punycode(self: HostileClient) -> str:
    kind = f"multipart/form-data; boundary=x; charset={self.rng.choice(('punycode', 'idna'))}"
    body = b'--x\r\nContent-Disposition: form-data; name="password"\r\n\r\n' + b"a-" * 7000
    return await self.refused(
        "/office/login", body + b"\r\n--x--\r\n", headers={"content-type": kind}
    )


@_attack("made-up visitors")
async def _made_up(self: HostileClient) -> str:
    reply = await self.asked(f"/{self.rng.randbytes(12).hex()}")
    if reply.status not in (200, 503):
        raise _GotThrough(f"a visitor was answered {reply.status}")
    names = ("x_fixed_999999999", "x" * 65, "%00", "a b", f"x/{'y' * 20_000}")
    return await self.refused(f"/{self.rng.choice(names)}")


@_attack("long searches")
async def _long_search(self: HostileClient) -> str:
    query = b"search_query=" + b"lamp+" * self.rng.choice((400, 10_000))
    return await self.refused(f"/{self.rng.randbytes(12).hex()}", query)


@_attack("wrong passwords", 60.0)
async def _wrong_password(self: HostileClient) -> str:
    guess = self.rng.randbytes(6).hex()
    if self.rng.random() < 0.5:
        return await self.refused("/office/login", f"password={guess}".encode())
    header = {"authorization": password_header(guess)}
    return await self.refused("/v1/office/people", headers=header)


@_attack("guessed keys")
async def _guessed(self: HostileClient) -> str:
    key = self.rng.randbytes(18).hex()
    paths = (
        f"/work/{key}", f"/office/enter/{key}", f"/frame/{key}/", f"/join/{key}", f"/runs/{key}",
        f"/frame/preview-1-1-{key[:32]}/", f"/work/{self.scene.stranger}", f"/v1/runs/{key}",
    )  # fmt: skip
    if self.rng.random() < 0.5:
        return await self.refused(self.rng.choice(paths))
    if self.rng.random() < 0.5:
        header = {"authorization": f"Bearer {key}"}
        return await self.refused("/v1/work/tasks", headers=header)
    return await self.refused(f"/v1/sessions/{key[:32]}/step", b'{"action":"search[lamp]"}')


@_attack("others' projects")
async def _others_project(self: HostileClient) -> str:
    at = f"/v1/office/projects/{self.scene.project}"
    name = {"authorization": f"Bearer {self.scene.stranger}"}
    path = self.rng.choice((at, f"{at}/results", f"{at}/results.csv", f"{at}/items/0"))
    return await self.refused(path, headers=name)


@_attack("too large batches")
async def _large_batch(self: HostileClient) -> str:
    call = {"do": "step", "session": "x" * 32, "action": "search[lamp]"}
    which = self.rng.randrange(4)
    if which == 0:
        return await self.refused("/v1/batch", msgspec.json.encode({"calls": [call] * 1025}))
    if which == 1:
        return await self.refused("/v1/batch", msgspec.json.encode({"calls": [call] * 20_000}))
    if which == 2:
        return await self.refused("/v1/sessions", b'{"environment":"shop","count":1000000}')
    async with self.socket() as (reader, writer):
        writer.write(frame(0x81, msgspec.json.encode({"do": "batch", "calls": [call] * 1025})))
        return _socket_refusal(await _heard(reader))


@_attack("hoarded sessions", 60.0)
async def _hoard(self: HostileClient) -> str:
    caller = HttpCaller(self.scene.port, source=self._address)
    held: list[str] = []
    try:
        for _ in range(1000):
            made = await caller.ask("/v1/sessions", b'{"environment":"shop","count":16}')
            if made.status != 200:
                break
            held += msgspec.json.decode(made.body)["sessions"]
        outcome = refusal(made, "/v1/sessions")
        calls = [{"do": "close", "session": one} for one in held]
        await caller.ask("/v1/batch", msgspec.json.encode({"calls": calls}))
        return outcome
    finally:
        caller.close()


@_attack("garbage WebSocket frames")
async def _garbage_frames(self: HostileClient) -> str:
    wrong = (
        bytes((0x83,)) + self.rng.randbytes(40),
        b"\x81\x05hello",
        frame(0x81, b"\xff\xfe\xfd"),
        frame(0x81, self.rng.randbytes(50).hex().encode()),
        frame(0x82, b"\x91" * 5000),
        frame(0x81, b"[" * 100_000),
        b"\x82\xff" + (2**62).to_bytes(8) + b"\0\0\0\0",
        frame(0x80, b"the end of nothing"),
        frame(0x01, b"x" * 2**19) + frame(0x00, b"x" * 2**19) + frame(0x80, b"x" * 2**19),
    )
    async with self.socket() as (reader, writer):
        writer.write(self.rng.choice(wrong))
        return _socket_refusal(await _heard(reader))


async def _heard(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The next frame of a server."""
    first, size = await reader.readexactly(2)
    if size >= 126:
        size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8))
    return first, await reader.readexactly(size)


def _socket_refusal(heard: tuple[int, bytes]) -> str:
    first, payload = heard
    if first == 0x88:
        return REFUSED
    decode: Any = msgspec.json.decode if first == 0x81 else msgspec.msgpack.decode
    answer = decode(payload)
    if answer.get("error", {}).get("code", "internal") == "internal":
        raise _GotThrough(f"it was answered {answer}")
    return REFUSED


async def _last(attempts: Sequence[Awaitable[str]]) -> str:
    """The outcome of several, which have to be the same."""
    outcomes = set(await asyncio.gather(*attempts))
    if REFUSED in outcomes:
        return REFUSED
    return outcomes.pop()


@_attack("silent connections", 60.0, is_patient=True)
async def _silent(self: HostileClient) -> str:
    async def silent() -> str:
        async with self.line() as (reader, _):
            return await self.ended(reader)

    return await _last([silent() for _ in range(_CROWD)])


async def _dripping(
    self: HostileClient, head: bytes, drop: Callable[[], bytes], seconds: float
) -> str:
    """Says something, and then a little every now and then, until it is told to stop."""
    async with self.line() as (reader, writer), asyncio.timeout(seconds):
        writer.write(head)
        ended = asyncio.create_task(self.ended(reader))
        try:
            while not ended.done():
                writer.write(drop())
                await asyncio.wait([ended], timeout=1.0)
            return ended.result()
        finally:
            ended.cancel()


@_attack("slow heads", 60.0, is_patient=True)
async def _slow_heads(self: HostileClient) -> str:
    def slow() -> Awaitable[str]:
        head = self.rng.choice(_HEADS).encode()
        return _dripping(self, head, lambda: b"x", 55.0)

    return await _last([slow() for _ in range(_CROWD)])


def _slow_body(self: HostileClient, path: str, sent: int, seconds: float) -> Awaitable[str]:
    """A body of which something has come, and the rest takes its time."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {sent + 1000}\r\n\r\n"
    return _dripping(self, head.encode() + b"x" * sent, lambda: b"x", seconds)


@_attack("slow bodies", 60.0, is_patient=True)
async def _slow_bodies(self: HostileClient) -> str:
    places = self.rng.choices(_BODIES, k=_CROWD)
    return await _last([_slow_body(self, path, 8000, seconds) for path, seconds in places])


@_attack("abandoned logins", 120.0, is_patient=True)
async def _abandoned_logins(self: HostileClient) -> str:
    path, seconds = _LOGIN
    return await _last([_slow_body(self, path, 15_000, seconds) for _ in range(_CROWD)])


async def _unread(
    self: HostileClient, name: str, writer: asyncio.StreamWriter, request: bytes
) -> str:
    """Asks and asks, and reads nothing: the server has to stop listening, and then to hang up."""
    transport = cast(asyncio.Transport, writer.transport)
    transport.pause_reading()
    sent = 0
    # All that the system and the server hold of questions and answers is far below.
    while sent < 2**26:
        writer.write(request * 64)
        sent += 64 * len(request)
        try:
            async with asyncio.timeout(3.0):
                await writer.drain()
        except TimeoutError:
            break
    else:
        raise _GotThrough(f"it took {sent:,} bytes of requests without an answer being read")
    self.note(name, HELD_UP)
    # What is left to be sent tells when the other side has gone.
    while not transport.is_closing():
        await asyncio.sleep(1.0)
    return CUT_OFF


@_attack("unread answers", 120.0, is_patient=True)
async def _unread_answers(self: HostileClient) -> str:
    request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with self.line() as (_, writer):
        return await _unread(self, "unread answers", writer, request)


@_attack("unread answers of a socket", 300.0, is_patient=True)
async def _unread_socket(self: HostileClient) -> str:
    request = frame(0x81, b'{"do":"goals","limit":1000}')
    async with self.socket() as (_, writer):
        return await _unread(self, "unread answers of a socket", writer, request)
