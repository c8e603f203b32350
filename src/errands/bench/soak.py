"""Whether a server stays as it is: everything served by one process, used for a long time by people
and programs, of whom one in a hundred means no good.

The honest must not notice the hostile (both in `errands.bench.clients`): no error, quick answers,
and a server whose memory does not grow. There are about half as many as one core bears, so that a
slow answer is a stall and not a queue.
"""

import asyncio
import itertools
import os
import random
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import uvloop

from errands.bench.clients.honest import (
    LOGIN,
    MIX,
    PROXY,
    HonestClient,
    Meter,
    ProgramWorker,
    Scene,
)
from errands.bench.clients.honest import password_header as header_of
from errands.bench.clients.hostile import ATTACKS, AttackLog, HostileClient
from errands.bench.clients.http_caller import HttpCaller
from errands.bench.figure import Figure, cost, percentile
from errands.bench.process import (
    ServerProcess,
    errands_command,
    family_cpu_seconds,
    family_memory,
    measure,
    server,
)
from errands.bench.site import search_queries
from errands.errors import ErrandsError
from errands.progress import Progress, silent
from errands.shop.catalog.catalog import Catalog
from errands.web.core.limits import raise_open_files

__all__ = ["SoakSample", "bench_soak", "memory_figures"]

_SLOW: Final = 100.0
"""Milliseconds that one answer in a hundred may take, at most."""
_FLAT: Final = 1.0
"""Percent that memory may grow once everything has been there."""
_STOP: Final = 10.0
"""Seconds in which a server ends, whoever holds on to it."""
_EACH: Final = 64
"""Sessions that one address may have; an honest one has half of it."""
_EPISODES: Final = 12
"""Of each run that is looked at."""
_TASK: Final = """\
<h1>What is a ${word}?</h1>
<p><label>In your words <input type="text" name="said"></label></p>
<p>Are you sure? <label><input type="radio" name="sure" value="yes">yes</label>
<label><input type="radio" name="sure" value="no">no</label></p>
"""


class SoakSample(NamedTuple):
    """The server at one moment."""

    at: float
    """Seconds from the beginning."""
    memory: int
    cpu: float


class SoakResult(NamedTuple):
    """What there is to be told."""

    meter: Meter
    log: AttackLog
    samples: list[SoakSample]
    waited: float
    """The share of the time in which the server was ready to go on and had no core, in percent."""
    lateness: list[float]
    """By how many seconds this side's own event loop was late."""
    stopping: float
    """Seconds until the server had ended."""
    status: int
    """Its exit status."""
    said: str
    """Its log."""


def bench_soak(
    catalog: str,
    *,
    minutes: float = 30.0,
    clients: int = 400,
    seed: int = 1,
    progress: Progress = silent,
    remark: Callable[[str], None] = lambda text: None,
) -> Iterator[Figure]:
    """So many honest clients for so long, and one hostile one for each hundred of them."""
    raise_open_files()
    opened = Catalog.open(catalog)
    seconds = 60.0 * minutes
    with tempfile.TemporaryDirectory(prefix="errands-bench-") as folder:
        runs = Path(folder, "runs")
        for protocol, agent in (("shop-demo", "rule"), ("turk-demo", "oracle")):
            playing = ("run", protocol, "--agent", agent, "--episodes", str(_EPISODES))
            measure(errands_command(*playing, "--out", runs / protocol))
        password = secrets.token_hex(8)
        words = (
            *("--environments", "--site", "--crowd", "--runs", str(runs)),
            *("--data", str(opened.path), "--store", str(Path(folder) / "site.sqlite")),
            *("--sessions", str(2 * clients + 512), "--per-client", str(_EACH)),
            *("--trusted-proxy", PROXY, "--password", password),
        )
        with (
            server(words) as serving,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            queries = search_queries(opened)
            soak = _Soak(serving, queries, password, clients, seconds, seed, progress)
            result = runner.run(soak.run())
    yield from _figures(result, clients)
    for text in _troubles(result):
        remark(text)


class _Soak:
    """One soak."""

    def __init__(
        self,
        serving: ServerProcess,
        queries: Sequence[str],
        password: str,
        clients: int,
        seconds: float,
        seed: int,
        progress: Progress,
    ) -> None:
        self._process, self._port = serving.process, serving.port
        self._serving = serving
        self._queries = queries
        self._password = password
        self._clients = clients
        self._seconds = seconds
        self._seed = seed
        self._progress = progress
        self._samples: list[SoakSample] = []
        self._lateness: list[float] = []

    async def run(self) -> SoakResult:
        scene = await self._scene()
        kinds = _kinds(self._clients)
        honest = [
            kind(scene, place, random.Random(f"{self._seed}/{place}"))
            for place, kind in enumerate(kinds)
        ]
        log = AttackLog()
        hostile = [
            HostileClient(scene, place, random.Random(f"{self._seed}/hostile/{place}"), log)
            for place in range(max(1, self._clients // 100))
        ]
        scene.until = time.perf_counter() + self._seconds
        waited = scene.meter.waited()
        begun = time.perf_counter()
        watching = [asyncio.create_task(self._watch(begun)), asyncio.create_task(self._lag())]
        attacking = [asyncio.create_task(one.live()) for one in hostile]
        try:
            await asyncio.gather(*(one.live() for one in honest))
            log.is_over = True
            share = 100 * (scene.meter.waited() - waited) / (time.perf_counter() - begun)
            for task in watching:
                task.cancel()
            self._samples.append(self._sample(begun))
            # With the hostile still holding on to it.
            stopping = await self._stopped()
        finally:
            scene.meter.close()
            for task in (*watching, *attacking):
                task.cancel()
            ends = await asyncio.gather(*watching, *attacking, return_exceptions=True)
        for end in ends:
            # What an attack does not expect is a defect of the soak's own.
            if isinstance(end, Exception):
                raise end
        status = self._process.returncode
        return SoakResult(
            *(scene.meter, log, self._samples, share, self._lateness, stopping, status),
            self._serving.said(),
        )

    async def _scene(self) -> Scene:
        """Accounts and work, as an administrator sets them up."""
        kinds = _kinds(self._clients)
        boss = HttpCaller(self._port, headers={"authorization": header_of(self._password)})
        workers = kinds.count(ProgramWorker)
        invited = [
            one["token"]
            for first in range(0, workers, 100)
            for one in (
                await _asked(
                    boss,
                    "/v1/office/people",
                    {"names": [f"W{n}" for n in range(first, min(first + 100, workers))]},
                )
            )["invited"]
        ]
        people = {"names": ["Stranger"], "role": "requester"}
        [stranger] = (await _asked(boss, "/v1/office/people", people))["invited"]
        # More than everybody can do in that time.
        rows = 1000 + int(self._clients * self._seconds / 10)
        project = {
            "name": "Words",
            "template": _TASK,
            "csv": "word\n" + "".join(f"thing {number}\n" for number in range(rows)),
        }
        made = await _asked(boss, "/v1/office/projects", project)
        number = made["project"]["id"]
        link = await _asked(boss, f"/v1/office/projects/{number}/join", {"most": 10_000}, "PUT")
        runs = (await _asked(boss, "/v1/runs"))["runs"]
        boss.close()
        return Scene(
            port=self._port,
            until=0.0,
            meter=Meter(self._process.pid),
            queries=self._queries,
            password=self._password,
            project=number,
            join="/" + link["link"].split("/", 3)[3],
            workers=invited,
            stranger=stranger["token"],
            runs=[(one["id"], _EPISODES) for one in runs],
        )

    async def _watch(self, begun: float) -> None:
        """Look at the server every now and then."""
        every = max(0.5, min(2.0, self._seconds / 300))
        while True:
            self._samples.append(self._sample(begun))
            done = min(time.perf_counter() - begun, self._seconds)
            self._progress("soaking, seconds", int(done), int(self._seconds))
            await asyncio.sleep(every)

    def _sample(self, begun: float) -> SoakSample:
        pid = self._process.pid
        at = time.perf_counter() - begun
        return SoakSample(at, family_memory(pid)[0], family_cpu_seconds(pid))

    async def _lag(self) -> None:
        """See how late this side is: what it waits for, no server can help."""
        while True:
            due = time.perf_counter() + 0.05
            await asyncio.sleep(0.05)
            self._lateness.append(time.perf_counter() - due)

    async def _stopped(self) -> float:
        begun = time.perf_counter()
        self._process.terminate()
        while self._process.poll() is None:
            await asyncio.sleep(0.02)
            if time.perf_counter() - begun > 6 * _STOP:
                self._process.kill()
        return time.perf_counter() - begun


def _kinds(clients: int) -> list[type[HonestClient]]:
    """Who is there: those of a kind one after another."""
    return [kind for kind, share in MIX.items() for _ in range(max(1, round(share * clients)))]


async def _asked(boss: HttpCaller, path: str, body: Any = None, method: str | None = None) -> Any:
    sent = None if body is None else msgspec.json.encode(body)
    reply = await boss.ask(path, sent, method=method)
    if reply.status not in (200, 201):
        raise ErrandsError(f"The soak could not be prepared: {path} was answered {reply.text}")
    return msgspec.json.decode(reply.body)


def _figures(result: SoakResult, clients: int) -> Iterator[Figure]:
    meter, log = result.meter, result.log
    took = result.samples[-1].at - result.samples[0].at
    requests = sum(map(len, meter.seconds.values()))
    yield Figure("minutes", took / 60, "", 30)
    yield Figure("honest clients", clients, "")
    yield Figure("requests of honest clients", requests, "")
    yield Figure("requests per second", requests / took, "1/s")
    yield cost("errors of honest clients", len(meter.errors), "", 0)
    cpu = result.samples[-1].cpu - result.samples[0].cpu
    yield cost("server's CPU, of one core", 100 * cpu / took, "%")
    yield cost("server waits for a core, of the time", result.waited, "%")
    yield cost("load average of the machine, 15 minutes", os.getloadavg()[2], "")
    yield cost(
        "load generator late, 99th percentile", 1e3 * percentile(result.lateness, 0.99), "ms"
    )
    everything = "all"
    for kind in (everything, *sorted(meter.seconds)):
        seconds, undisturbed = (
            list(itertools.chain(*held.values()) if kind == everything else held[kind])
            for held in (meter.seconds, meter.undisturbed)
        )
        floor = None if kind == LOGIN else _SLOW
        yield Figure(f"{kind}: requests", len(seconds), "")
        yield cost(f"{kind}: answer, median", 1e3 * percentile(seconds, 0.5), "ms")
        yield cost(f"{kind}: answer, 99th percentile", 1e3 * percentile(seconds, 0.99), "ms", floor)
        # On a machine with other work, this is what the server can be blamed for.
        value = 1e3 * percentile(undisturbed, 0.99)
        yield cost(f"{kind}: the same without waits for a core", value, "ms", floor)
    yield from memory_figures(result.samples)
    for name in (attack.name for attack in ATTACKS):
        for (tried, outcome), count in sorted(log.outcomes.items()):
            if tried == name:
                yield Figure(f"{name}: {outcome}", count, "")
    yield cost("attacks that got through", len(log.got_through), "", 0)
    yield cost("lines in the server's log", len(_complaints(result.said)), "", 0)
    yield cost("end of the server, asked to stop under attack", result.stopping, "s", _STOP)
    yield cost("its exit status", result.status, "", 0)


def memory_figures(samples: Sequence[SoakSample]) -> Iterator[Figure]:
    """The server's own memory: at the start, over the last two thirds, and whether it grows."""
    late = [sample for sample in samples if sample.at >= samples[-1].at / 3]
    times = np.array([sample.at for sample in late])
    sizes = np.array([sample.memory for sample in late]) / 2**20
    middle = float(np.median(sizes))
    slope = float(np.polyfit(times, sizes, 1)[0])
    quarters = [float(np.median(part)) for part in np.array_split(sizes, 4)]
    low, high = np.percentile(sizes, (5, 95))
    yield cost("server's memory at the start", samples[0].memory / 2**20, "MB")
    yield cost("after a third of the time", float(sizes[0]), "MB")
    yield cost("median of the last two thirds", middle, "MB")
    yield cost("median of their first quarter", quarters[0], "MB")
    yield cost("median of their last quarter", quarters[-1], "MB")
    growth = slope * float(times[-1] - times[0])
    yield cost("trend over the last two thirds", 100 * growth / middle, "%", _FLAT)
    yield cost("spread, 5th to 95th percentile", 100 * float(high - low) / middle, "%")
    yield cost("largest", float(sizes.max()), "MB")


def _complaints(said: str) -> list[str]:
    """What a server says that it does not say at its start."""
    return [line for line in said.splitlines() if line and not line.startswith(_GREETINGS)]


_GREETINGS: Final = ("Everything is kept in ", "Open ", "Try: ", "Only this machine ")


def _troubles(result: SoakResult) -> Iterator[str]:
    """What went wrong, a few of each."""
    yield from itertools.islice(result.meter.errors, 10)
    yield from itertools.islice(result.log.got_through, 10)
    yield from _complaints(result.said)[-20:]
