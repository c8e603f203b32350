"""Half a minute of the soak, half an hour in `make test-slow`: nobody honest notices a thing."""

import asyncio
import contextlib
import os
import random
import re
import time

import pytest
from effort import only_slow

from errands.bench.clients.honest import LOGIN, MIX, HttpTrainer, Meter, Scene, SocketTrainer
from errands.bench.clients.hostile import ATTACKS, AttackLog, HostileClient
from errands.bench.figure import Figure
from errands.bench.soak import SoakSample, bench_soak, memory_figures
from errands.shop.catalog.catalog import Catalog

GULLIBLE = ("foreign host", "punycode forms", "made-up visitors", "long searches", "guessed keys")
"""Attacks that a server must say no to."""


def soaked(catalog: str, minutes: float, clients: int) -> dict[str, Figure]:
    """The figures of a soak in which nothing went wrong; what did is the message."""
    troubles: list[str] = []
    measured = bench_soak(catalog, minutes=minutes, clients=clients, remark=troubles.append)
    figures = {figure.name: figure for figure in measured}
    assert not troubles, "\n".join(troubles)
    for name in ("errors of honest clients", "attacks that got through", "its exit status"):
        assert figures[name].value == 0
    for kind in [client.kind for client in MIX] + [LOGIN]:
        assert figures[f"{kind}: requests"].value > 0
    for attack in ATTACKS:
        ends = [name for name in figures if name.startswith(f"{attack.name}: ")]
        # Of those who wait there is nothing to be seen in a time that is too short.
        assert ends or (attack.is_patient and attack.seconds > 60 * minutes), attack.name
    return figures


def test_half_a_minute(little: Catalog) -> None:
    figures = soaked(str(little.path), 0.5, 60)
    assert figures["requests of honest clients"].value > 600
    for name in ("silent connections: cut off", "unread answers: held up", "slow bodies: refused"):
        assert figures[name].value > 0
    # All that is kept for clients is far less than the server itself.
    assert figures["largest"].value < 2.5 * figures["server's memory at the start"].value


@only_slow
def test_half_an_hour() -> None:
    figures = soaked("demo", 30, 400)
    assert figures["trend over the last two thirds"].verdict == "floor"
    # Other programs may have the cores now and then, and a server cannot help it.
    assert figures["all: the same without waits for a core"].verdict == "floor"


def test_a_server_that_says_yes_to_everything_is_found_out() -> None:
    log = AttackLog()

    async def yes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"content-length: (\d+)", head)
                await reader.readexactly(int(length[1]) if length else 0)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        writer.close()

    async def tried() -> Meter:
        async with await asyncio.start_server(yes, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            meter = Meter(os.getpid())
            scene = Scene(
                port, time.perf_counter() + 1.5, meter, ["lamp"], "p", 1, "/join/x", ["t"], "t",
                [("r", 1)],
            )  # fmt: skip
            hostile = HostileClient(scene, 0, random.Random(1), log)
            for attack in ATTACKS:
                if attack.name in GULLIBLE:
                    await hostile.attempt(attack)
            await asyncio.gather(
                *(kind(scene, 0, random.Random(1)).live() for kind in (SocketTrainer, HttpTrainer))
            )
            return meter

    meter = asyncio.run(tried())
    meter.close()
    assert [text.partition(":")[0] for text in log.got_through] == list(GULLIBLE)
    assert not log.outcomes
    assert {text.partition(":")[0] for text in meter.errors} == {
        SocketTrainer.kind,
        HttpTrainer.kind,
    }


@pytest.mark.parametrize(("each", "percent"), [(0.0, 0.0), (0.01, 6 / 106 * 100)])
def test_growth_is_told_from_noise(each: float, percent: float) -> None:
    """Megabytes of each second; the memory goes to and fro all the time."""
    samples = [
        SoakSample(float(at), int(2**20 * (100 + each * at + at % 2)), 0.0) for at in range(901)
    ]
    figures = {figure.name: figure.value for figure in memory_figures(samples)}
    assert figures["trend over the last two thirds"] == pytest.approx(percent, abs=0.1)
