"""What the website bears: many people shopping at once, each of whom reads a page before clicking.

The real server in a process of its own, with its log on disk; every shopper has a connection and
a session. What is measured is the time from asking for a page to having all of it.
"""

import asyncio
import random
import re
import tempfile
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from errands.bench.figure import Figure, cost, percentile
from errands.bench.process import cpu_seconds, server
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import SEARCH
from errands.shop.urls import parse
from errands.web.core.limits import raise_open_files

__all__ = ["bench_site"]

_LINK: Final = re.compile(
    rb'(?:href|action)="(/(?:item_page|item_sub_page|search_results|done)[^"]*)"'
)
_PAGES: Final = 12
"""After so many pages a shopper buys the next best thing."""


def bench_site(
    catalog: str, *, shoppers: int = 500, seconds: float = 30.0, think: float = 1.0, seed: int = 1
) -> Iterator[Figure]:
    """So many people shop for so long, with so many seconds on average to read a page."""
    raise_open_files()
    opened = Catalog.open(catalog)
    goals = opened.goals("synthetic")
    queries = [goals[place % len(goals)].instruction_text[:80] for place in range(200)]
    with tempfile.TemporaryDirectory(prefix="errands-bench-") as folder:
        words = ["--data", str(opened.path), "--store", str(Path(folder) / "site.sqlite")]
        with server(words) as (process, port):
            people = _Visitors(port, queries, think, random.Random(seed))
            begun, cpu = time.perf_counter(), cpu_seconds(process.pid)
            asyncio.run(people.shop(shoppers, seconds))
            took, cpu = time.perf_counter() - begun, cpu_seconds(process.pid) - cpu
    yield Figure("shoppers at once", shoppers, "", 500)
    yield Figure("pages", len(people.latencies), "")
    yield Figure("pages per second", len(people.latencies) / took, "1/s")
    yield Figure("purchases", people.purchases, "")
    yield cost("errors", len(people.errors), "", 0)
    for name, share, floor in (("median", 0.5, 50.0), ("99th percentile", 0.99, None)):
        value = percentile(people.latencies, share) * 1e3
        yield cost(f"answer, {name}", value, "ms", floor)
    yield Figure("server's CPU time of a page", 1e3 * cpu / len(people.latencies), "ms")
    yield cost("server's CPU, of one core", 100 * cpu / took, "%")


class _Visitors:
    """Shoppers, and what they saw."""

    def __init__(self, port: int, queries: list[str], think: float, rng: random.Random) -> None:
        self._port = port
        self._queries = queries
        self._think = think
        self._rng = rng
        self.latencies: list[float] = []
        self.errors: list[str] = []
        self.purchases = 0

    async def shop(self, shoppers: int, seconds: float) -> None:
        end = time.perf_counter() + seconds
        await asyncio.gather(*(self._shopper(place, end) for place in range(shoppers)))

    async def _shopper(self, place: int, end: float) -> None:
        # They do not all come through the door at the same moment.
        await asyncio.sleep(self._rng.uniform(0, self._think))
        episode = 0
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            while time.perf_counter() < end:
                episode += 1
                await self._episode(reader, writer, f"s{place}-{episode}", end)
            writer.close()
        except (OSError, EOFError, ValueError) as failure:
            self.errors.append(repr(failure))

    async def _episode(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str, end: float
    ) -> None:
        path, form = f"/{name}", b""
        for visit in range(10 * _PAGES):
            status, location, body = await self._ask(reader, writer, path, form)
            if status == 303:
                path, form = location, b""
                continue
            if status != 200:
                self.errors.append(f"{status} at {path}")
                return
            if path.startswith("/done/"):
                self.purchases += 1
                return
            if time.perf_counter() > end:
                return
            await asyncio.sleep(self._rng.expovariate(1 / self._think))
            path, form = self._choice(name, path, body, visit)

    def _choice(self, name: str, path: str, body: bytes, visit: int) -> tuple[str, bytes]:
        links = [unescape(link.decode()).partition("#")[0] for link in _LINK.findall(body)]
        buying = [link for link in links if link.startswith("/done/")]
        if buying and visit >= _PAGES:
            return buying[0], b"buy="
        links = [link for link in links if link not in buying and link != path]
        if visit >= _PAGES:
            links = [link for link in links if link.startswith("/item_page/")]
        here = parse(path)
        if not links or here is None or here.page == SEARCH:
            query = self._rng.choice(self._queries)
            return f"/{name}", urlencode({"search_query": query}).encode()
        return self._rng.choice(links), b""

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, form: bytes
    ) -> tuple[int, str, bytes]:
        begun = time.perf_counter()
        head = f"{'POST' if form else 'GET'} {path} HTTP/1.1\r\nhost: x\r\n"
        if form:
            head += f"content-length: {len(form)}\r\n"
        writer.write(head.encode() + b"\r\n" + form)
        answer = await reader.readuntil(b"\r\n\r\n")
        status = int(answer[9:12])
        length = re.search(rb"content-length: (\d+)", answer)
        body = await reader.readexactly(int(length[1])) if length else b""
        self.latencies.append(time.perf_counter() - begun)
        location = re.search(rb"location: ([^\r]*)", answer)
        return status, location[1].decode() if location else "", body
