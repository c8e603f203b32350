"""What the website bears: many people shopping at once, each of whom reads a page before clicking.

The real server in a process of its own, with its log on disk; every shopper has a connection and
a session. What is measured is the time from asking for a page to having all of it.
"""

import asyncio
import random
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from errands.bench.clients.http_caller import HttpCaller
from errands.bench.figure import Figure, cost, percentile
from errands.bench.process import cpu_seconds, server
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import SEARCH
from errands.shop.urls import parse
from errands.web.core.limits import raise_open_files

__all__ = ["MOST_PAGES", "bench_site", "next_click", "search_queries"]

_LINK: Final = re.compile(
    rb'(?:href|action)="(/(?:item_page|item_sub_page|search_results|done)[^"]*)"'
)
_PAGES: Final = 12
"""After so many pages a shopper buys the next best thing."""
MOST_PAGES: Final = 10 * _PAGES
"""After so many a shopper gives up."""


def bench_site(
    catalog: str, *, shoppers: int = 500, seconds: float = 30.0, think: float = 1.0, seed: int = 1
) -> Iterator[Figure]:
    """So many people shop for so long, with so many seconds on average to read a page."""
    raise_open_files()
    opened = Catalog.open(catalog)
    queries = search_queries(opened)
    with tempfile.TemporaryDirectory(prefix="errands-bench-") as folder:
        words = ["--data", str(opened.path), "--store", str(Path(folder) / "site.sqlite")]
        with server(words) as (process, port, _):
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
        server = HttpCaller(self._port)
        try:
            while time.perf_counter() < end:
                episode += 1
                await self._episode(server, f"s{place}-{episode}", end)
        except (OSError, EOFError, ValueError) as failure:
            self.errors.append(repr(failure))
        server.close()

    async def _episode(self, server: HttpCaller, name: str, end: float) -> None:
        path, form = f"/{name}", None
        for visit in range(MOST_PAGES):
            begun = time.perf_counter()
            reply = await server.ask(path, form)
            self.latencies.append(time.perf_counter() - begun)
            if reply.status == 303:
                path, form = reply.headers["location"], None
                continue
            if reply.status != 200:
                self.errors.append(f"{reply.status} at {path}")
                return
            if path.startswith("/done/"):
                self.purchases += 1
                return
            if time.perf_counter() > end:
                return
            await asyncio.sleep(self._rng.expovariate(1 / self._think))
            path, form = next_click(name, path, reply.body, visit, self._queries, self._rng)


def next_click(
    name: str, path: str, body: bytes, visit: int, queries: Sequence[str], rng: random.Random
) -> tuple[str, bytes | None]:
    """Where a shopper of that name goes from a page, and what they send."""
    links = [unescape(link.decode()).partition("#")[0] for link in _LINK.findall(body)]
    buying = [link for link in links if link.startswith("/done/")]
    if buying and visit >= _PAGES:
        return buying[0], b"buy="
    links = [link for link in links if link not in buying and link != path]
    if visit >= _PAGES:
        links = [link for link in links if link.startswith("/item_page/")]
    here = parse(path)
    if not links or here is None or here.page == SEARCH:
        return f"/{name}", urlencode({"search_query": rng.choice(queries)}).encode()
    return rng.choice(links), None


def search_queries(catalog: Catalog, most: int = 200) -> list[str]:
    """What people of a shop look for."""
    goals = catalog.goals("synthetic")
    return [goals[place % len(goals)].instruction_text[:80] for place in range(most)]
