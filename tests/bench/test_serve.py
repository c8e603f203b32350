"""The benchmark of serving runs against a real server, with every transport."""

import asyncio
import subprocess
import sys

import pytest

from errands.bench.load import Load
from errands.bench.serve import _loaded, bench_serve
from errands.errors import ErrandsError, SettingError
from errands.shop.catalog.catalog import Catalog


@pytest.mark.parametrize("transport", ["http", "websocket", "batch"])
def test_figures(little: Catalog, transport: str) -> None:
    measured = bench_serve(str(little.path), sessions=40, seconds=1.0, transport=transport)
    figures = {figure.name: figure for figure in measured}
    assert figures["errors"].value == 0
    assert (figures["open sessions"].value, figures["open sessions"].floor) == (40, 2000)
    floors = {"http": 3000, "websocket": 12_000, "batch": 30_000}
    assert figures["steps per second, by the clock"].floor == floors[transport]
    assert figures["steps"].value > 40
    assert figures["resets"].value >= 40
    assert figures["server's memory, end"].value > 1


def test_mistakes() -> None:
    with pytest.raises(SettingError, match="transport='pigeon'"):
        next(bench_serve("demo", transport="pigeon"))
    with pytest.raises(ErrandsError, match="The server did not start: errands: "):
        next(bench_serve("/nowhere/at/all"))


@pytest.mark.parametrize("transport", ["http", "websocket"])
def test_a_server_that_ends_meanwhile_is_one_sentence(transport: str) -> None:
    script = (
        "import socket, sys\n"
        "listening = socket.create_server(('127.0.0.1', 0))\n"
        "print(listening.getsockname()[1], flush=True)\n"
        "line, _ = listening.accept()\n"
        "line.recv(1)\n"
        "sys.exit(3)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as dying:
        assert dying.stdout is not None
        load = Load("127.0.0.1", int(dying.stdout.readline()), transport, 1, 1)
        with pytest.raises(ErrandsError, match="The server ended with exit status 3"):
            asyncio.run(asyncio.wait_for(_loaded(load, dying, 1.0), 60))
