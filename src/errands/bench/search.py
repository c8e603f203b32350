"""How fast a catalogue is searched: cold and warm, pruned and exhaustive, beside another engine.

Queries are 8 to 16 words out of the first 60 of random products, as nobody asks them twice. Times
are CPU times of one core. Another engine takes part as a program of the user's own: it is given a
file with one query a line and a number of hits, and prints one JSON object with
`queries_per_second` and, if it likes, `hits`, a list of product ids for each query.
"""

import contextlib
import json
import random
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from errands.bench.figure import Figure, cost, percentile
from errands.bench.process import environment, errands_command, measure
from errands.errors import SettingError
from errands.shop.build.chunk import indexed_text
from errands.shop.catalog.catalog import Catalog

__all__ = ["bench_cold", "bench_queries", "bench_search", "product_queries"]

HITS: Final = 50
_WARM: Final = 100

_OPEN: Final = """
import json, sys, time
from errands.bench.figure import private_memory
from errands.shop.catalog.catalog import Catalog
before, begun = private_memory(), time.perf_counter()
catalog = Catalog.open(sys.argv[1])
opened, private = time.perf_counter() - begun, private_memory()
begun = time.perf_counter()
catalog.index.rank(sys.argv[2], 50)
first = time.perf_counter() - begun
print(json.dumps([opened, private, private - before, first, private_memory()]))
"""


_SHARE: Final = """
import json, sys
from errands.bench.figure import memory_of
from errands.shop.catalog.catalog import Catalog
catalog = Catalog.open(sys.argv[1])
for query in sys.argv[2:]:
    catalog.index.rank(query, 50)
print("searched", flush=True)
sys.stdin.readline()
print(json.dumps(memory_of("Private_Dirty", "Pss", "Rss")), flush=True)
sys.stdin.readline()
"""


def product_queries(catalog: Catalog, count: int, seed: int) -> list[str]:
    """Queries of 8 to 16 words, each out of the text of one product."""
    rng = random.Random(seed)
    made: list[str] = []
    while len(made) < count:
        words = indexed_text(catalog.product_at(rng.randrange(len(catalog)))).split()[:60]
        if words:
            made.append(" ".join(rng.sample(words, min(rng.randint(8, 16), len(words)))))
    return made


def bench_search(
    catalog: str,
    *,
    queries: int = 2000,
    seed: int = 1,
    processes: int = 0,
    against: str | None = None,
) -> Iterator[Figure]:
    """Measure opening and searching one catalogue; figures come as they are ready."""
    opened = Catalog.open(catalog)
    yield from bench_cold(opened.path)
    yield from bench_queries(opened, queries=queries, seed=seed)
    if processes:
        yield from bench_sharing(opened.path, processes)
    if against is not None:
        yield from _beside(opened, product_queries(opened, queries, seed), against)


def bench_cold(folder: Path) -> Iterator[Figure]:
    """Opening and the first search, each time in a process of its own; the best of three."""
    [query] = product_queries(Catalog.open(folder), 1, 0)
    command = [errands_command()[0], "-c", _OPEN, str(folder), query]
    tries = [json.loads(measure(command).output) for _ in range(3)]
    opened, private, more, first, after = (min(column) for column in zip(*tries, strict=True))
    yield cost("open in a new process", opened, "s", 0.3)
    yield cost("open: private memory", private / 1e6, "MB", 150)
    yield cost("open: of it for the catalogue", more / 1e6, "MB")
    yield cost("first search in a new process", first, "s", 0.5)
    yield cost("first search: private memory", after / 1e6, "MB")


def bench_sharing(folder: Path, processes: int) -> Iterator[Figure]:
    """So many processes that all have the catalogue open and have searched in it."""
    queries = product_queries(Catalog.open(folder), 20, 0)
    command = [sys.executable, "-c", _SHARE, str(folder), *queries]
    pipe = subprocess.PIPE
    with contextlib.ExitStack() as stack:
        children = []
        for _ in range(processes):
            process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, text=True, env=environment()
            )
            children.append(stack.enter_context(process))
            stack.callback(process.kill)
        # All have searched before any of them looks at its memory.
        for process in children:
            _next_line(process)
        sizes = [json.loads(_next_line(process, "\n")) for process in children]
    private, shared, resident = (sum(column) / 1e6 for column in zip(*sizes, strict=True))
    yield cost(f"{processes} processes: private, each", private / processes, "MB", 150)
    yield cost(f"{processes} processes: all, shared pages once", shared, "MB")
    yield cost(f"{processes} processes: if nothing were shared", resident, "MB")


def _next_line(process: "subprocess.Popen[str]", message: str = "") -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(message)
    process.stdin.flush()
    return process.stdout.readline()


def bench_queries(catalog: Catalog, *, queries: int = 2000, seed: int = 1) -> Iterator[Figure]:
    """Searching, and the proof that leaving documents out changes nothing."""
    texts = product_queries(catalog, queries, seed)
    rank = catalog.index.rank
    for query in texts[:_WARM]:
        rank(query, HITS)
        rank(query, HITS, exhaustive=True)
    pruned, every, different = [], [], 0
    for query in texts:
        begun = time.process_time_ns()
        numbers, scores = rank(query, HITS)
        middle = time.process_time_ns()
        others, exact = rank(query, HITS, exhaustive=True)
        every.append((time.process_time_ns() - middle) / 1e6)
        pruned.append((middle - begun) / 1e6)
        different += numbers.tolist() != others.tolist() or scores.tolist() != exact.tolist()
    yield cost("search, median", percentile(pruned, 0.5), "ms", 4, 1)
    yield cost("search, 99th percentile", percentile(pruned, 0.99), "ms", 12, 4)
    yield Figure("searches per second", 1e3 * len(texts) / sum(pruned), "1/s")
    yield cost("search, all scored, median", percentile(every, 0.5), "ms")
    yield cost("search, all scored, 99th", percentile(every, 0.99), "ms")
    yield cost("queries with another answer then", different, "", 0)
    yield cost("search again (remembered)", _again(catalog, texts), "ms")


def _again(catalog: Catalog, queries: list[str]) -> float:
    times = []
    for query in queries[:_WARM]:
        catalog.find(query, HITS)
        begun = time.process_time_ns()
        catalog.find(query, HITS)
        times.append((time.process_time_ns() - begun) / 1e6)
    return percentile(times, 0.5)


def _beside(catalog: Catalog, queries: list[str], program: str) -> Iterator[Figure]:
    """The other engine and ours, one after the other on the same queries."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "queries.txt"
        listed.write_text("\n".join(queries) + "\n", encoding="utf-8")
        answer = measure([*shlex.split(program), str(listed), str(HITS)]).output
    try:
        reply = json.loads(answer.strip().splitlines()[-1])
        theirs = float(reply["queries_per_second"])
        hits = reply.get("hits")
    except (IndexError, KeyError, TypeError, ValueError, AttributeError) as failure:
        raise SettingError(
            f"{program!r} did not answer as expected ({failure!r}); its last line must be a JSON"
            ' object with "queries_per_second".'
        ) from None
    begun = time.process_time()
    ranked = [catalog.index.rank(query, HITS)[0].tolist() for query in queries]
    ours = len(queries) / (time.process_time() - begun)
    yield Figure("the other engine: queries per second", theirs, "1/s")
    yield Figure("ours, right after it", ours, "1/s")
    yield Figure("ours / the other's", ours / theirs, "x", 3)
    if hits is not None:
        same = sum(
            [catalog.card(number).asin for number in numbers] == list(others)
            for numbers, others in zip(ranked, hits, strict=True)
        )
        yield Figure("the same hits in the same order", 100 * same / len(queries), "%")
