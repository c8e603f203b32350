"""What serving costs: the real server in a process of its own, a load generator in this one.

Speed is by the clock and, because other work on the machine disturbs that, also by the CPU time
of the server. Memory is what belongs to the server alone, read while it works.
"""

import asyncio
import subprocess
import time
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

import uvloop

from errands.bench.figure import Figure, cost, percentile
from errands.bench.load import TRANSPORTS, Load
from errands.bench.process import family_cpu_seconds, family_memory, server
from errands.errors import ErrandsError, SettingError
from errands.web.core.limits import raise_open_files

__all__ = ["bench_serve"]

_FLOORS = {"http": 3000, "websocket": 12_000, "batch": 30_000}
"""Steps a second by the clock, on two cores with the load generator beside the server."""
_WARM = 30
"""Steps of each session after which its memory is looked at: two episodes."""


class ServerSample(NamedTuple):
    """The server at one moment."""

    memory: int
    cpu: float
    steps: int


def bench_serve(
    catalog: str,
    *,
    sessions: int = 2000,
    seconds: float = 20.0,
    transport: str = "websocket",
    at_once: int = 64,
    processes: int = 0,
) -> Iterator[Figure]:
    """Open so many sessions, and step them for so long; `processes` play (0: the one that serves
    does)."""
    if transport not in TRANSPORTS:
        raise SettingError(f"transport={transport!r}: expected {', '.join(TRANSPORTS)}.")
    raise_open_files()
    words = ["--environments", "--data", catalog, "--sessions", str(sessions + 16)]
    words += ["--shop-processes", str(processes)]
    with server(words) as (process, port, _):
        load = Load("127.0.0.1", port, transport, sessions, at_once)
        begun = time.process_time()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            took, samples = runner.run(_loaded(load, process, seconds))
        own = time.process_time() - begun
    yield from _figures(load, took, samples)
    # Where both are well below 100, others kept the cores busy.
    yield cost("load generator's CPU, of one core", 100 * own / took, "%")
    yield cost("load generator's CPU for a step", 1e6 * own / load.steps, "us")


def _figures(load: Load, took: float, samples: list[ServerSample]) -> Iterator[Figure]:
    latencies = list(load.latencies)
    cpu = samples[-1].cpu - samples[0].cpu
    memory = [sample.memory / 2**20 for sample in samples]
    # Sessions take on their size in the first episodes, and buffers theirs.
    warm = [at for at, sample in enumerate(samples) if sample.steps >= _WARM * load.sessions]
    first = warm[0] if warm else len(samples) // 10
    start, middle = memory[first], memory[(first + len(memory)) // 2]
    yield Figure("open sessions", load.sessions, "", 2000)
    yield Figure(
        "steps per second, by the clock", load.steps / took, "1/s", _FLOORS[load.transport]
    )
    yield Figure("steps per second of the server's CPU time", load.steps / cpu, "1/s", 3000)
    yield Figure("steps", load.steps, "")
    yield Figure("resets", load.resets, "")
    yield cost("errors", len(load.errors), "", 0)
    batch = "a batch" if load.transport == "batch" else "a call"
    for name, share in (("median", 0.5), ("99th percentile", 0.99)):
        value = percentile(latencies, share) * 1e3
        yield cost(f"answer to {batch}, {name}", value, "ms")
    yield cost("server's CPU, of one core", 100 * cpu / took, "%")
    yield cost("server's memory, sessions opened", memory[0], "MB")
    yield cost("server's memory, after 2 episodes each", start, "MB")
    yield cost("server's memory, middle", middle, "MB")
    yield cost("server's memory, end", memory[-1], "MB")
    yield cost("growth from there to the end", memory[-1] - start, "MB", 4)


async def _loaded(
    load: Load, process: "subprocess.Popen[str]", seconds: float
) -> tuple[float, list[ServerSample]]:
    """Play, and look at the server meanwhile."""
    samples: list[ServerSample] = []

    async def play() -> float:
        await load.open()
        samples.append(_sample(load, process.pid))
        return await load.play(seconds)

    async def watch() -> NoReturn:
        while True:
            await asyncio.sleep(max(seconds / 100, 0.2))
            if process.poll() is not None:
                # Nobody would answer any more.
                raise ErrandsError(f"The server ended with exit status {process.returncode}.")
            if samples:
                samples.append(_sample(load, process.pid))

    playing, watching = asyncio.create_task(play()), asyncio.create_task(watch())
    await asyncio.wait({playing, watching}, return_when=asyncio.FIRST_COMPLETED)
    playing.cancel()
    watching.cancel()
    took = watching.result() if watching.done() else playing.result()
    samples.append(_sample(load, process.pid))
    load.close()
    return took, samples


def _sample(load: Load, pid: int) -> ServerSample:
    return ServerSample(family_memory(pid)[0], family_cpu_seconds(pid), load.steps)
