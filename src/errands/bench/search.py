"""How fast a catalogue is searched: cold and warm, pruned and exhaustive, beside another engine.

Three kinds of queries: 8 to 16 words out of the first 60 of random products, as nobody asks them
twice; whole instructions of the catalogue's goals; and, if there is a file of them, what people
searched for. Times are CPU times of one core. Another engine takes part as a program of the user's
own: it is given a file with one query a line and a number of hits, and prints one JSON object with
`queries_per_second` and, if it likes, `hits`, a list of product ids for each query.
"""

import contextlib
import json
import operator
import random
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from errands.bench.figure import Figure, cost, percentile
from errands.bench.process import environment, errands_command, measure
from errands.errors import SettingError
from errands.shop.build.chunk import indexed_text
from errands.shop.catalog.catalog import Catalog
from errands.shop.search.index import Work

__all__ = [
    "FULL",
    "bench_cold",
    "bench_queries",
    "bench_search",
    "people_queries",
    "product_queries",
]

FULL: Final = 1_000_000
"""From so many products on, the bounds for the full size count."""

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
    people: Path | None = None,
) -> Iterator[Figure]:
    """Measure opening and searching one catalogue; figures come as they are ready."""
    opened = Catalog.open(catalog)
    asked = [] if people is None else people_queries(people)[:queries]
    yield from bench_cold(opened.path)
    yield from bench_queries(opened, queries=queries, seed=seed, people=asked)
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


def people_queries(path: Path) -> list[str]:
    """What people searched for: a text a line, or WebShop's map from instructions to queries."""
    try:
        text = path.read_text("utf-8")
        if path.suffix != ".json":
            return [line for line in text.splitlines() if line.strip()]
        return [query for asked in json.loads(text).values() for query in asked]
    except OSError as failure:
        raise SettingError(f"{path} cannot be read ({failure.strerror}).") from None
    except (ValueError, AttributeError, TypeError):
        raise SettingError(
            f"{path} is no list of queries; expected one a line, or a JSON object of lists of them,"
            " such as WebShop's goal_query_map.json."
        ) from None


def bench_queries(
    catalog: Catalog, *, queries: int = 2000, seed: int = 1, people: Sequence[str] = ()
) -> Iterator[Figure]:
    """Searching, and the proof that leaving documents out changes nothing."""
    products = product_queries(catalog, queries, seed)
    goals = catalog.goals("human" if catalog.manifest.goals.get("human") else "synthetic")
    drawn = random.Random(seed).sample(range(len(goals)), min(queries, len(goals)))
    kinds = {
        "": (products, (4, 1)),
        "instructions: ": ([goals[at].instruction_text for at in drawn], (0.7, 0.4)),
        "people's queries: ": (list(people), (0.12, 0.06)),
    }
    full = len(catalog) >= FULL
    different = 0
    for kind, (texts, (floor, aim)) in kinds.items():
        if not texts:
            continue
        pruned, every, others, work = _timed(catalog, texts)
        different += others
        bounds = (floor, aim) if full or not kind else (None, None)
        median, late = percentile(pruned, 0.5), percentile(pruned, 0.99)
        yield cost(f"{kind}search, median", median, "ms", *bounds)
        yield cost(f"{kind}search, 99th percentile", late, "ms", *((12, 4) if not kind else ()))
        yield cost(
            f"{kind}99th percentile / median",
            late / (median or late or 1.0),
            "x",
            *((4,) if full else ()),
        )
        yield Figure(f"{kind}searches per second", 1e3 * len(texts) / sum(pruned), "1/s")
        yield cost(f"{kind}search, all scored, median", percentile(every, 0.5), "ms")
        if work.opened:
            share = 100 / len(texts) / catalog.index.blocks
            yield cost(f"{kind}blocks bounded", work.bounded * share, "%")
            yield cost(f"{kind}blocks opened", work.opened * share, "%")
            yield cost(f"{kind}terms added up in them", work.added / len(texts), "")
            yield cost(f"{kind}documents scored", work.scored / len(texts), "")
    yield cost("queries with another answer when all are scored", different, "", 0)
    yield cost("search again (remembered)", _again(catalog, products), "ms")


def _timed(catalog: Catalog, texts: Sequence[str]) -> tuple[list[float], list[float], int, Work]:
    """Milliseconds of each query, pruned and with everything scored, how many of the answers
    differ, and what the pruned ones cost."""
    rank = catalog.index.rank
    for query in texts[:_WARM]:
        rank(query, HITS)
        rank(query, HITS, exhaustive=True)
    before = catalog.index.work()
    pruned, every, answers = [], [], []
    for query in texts:
        begun = time.process_time_ns()
        answers.append(rank(query, HITS))
        pruned.append((time.process_time_ns() - begun) / 1e6)
    work = Work(*map(operator.sub, catalog.index.work(), before))
    different = 0
    for query, (numbers, scores) in zip(texts, answers, strict=True):
        begun = time.process_time_ns()
        others, exact = rank(query, HITS, exhaustive=True)
        every.append((time.process_time_ns() - begun) / 1e6)
        different += numbers.tolist() != others.tolist() or scores.tolist() != exact.tolist()
    return pruned, every, different, work


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
    try:
        words = shlex.split(program)
    except ValueError as failure:
        raise SettingError(f"{program!r} is no command ({failure}).") from None
    if not words:
        raise SettingError("--against is empty; expected a program to measure beside.")
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "queries.txt"
        listed.write_text("\n".join(queries) + "\n", encoding="utf-8")
        answer = measure([*words, str(listed), str(HITS)]).output
    try:
        reply = json.loads(answer.strip().splitlines()[-1])
        theirs = float(reply["queries_per_second"])
        hits = reply.get("hits")
        listed_hits = None if hits is None else [list(each) for each in hits]
        if listed_hits is not None and len(listed_hits) != len(queries):
            raise ValueError(f"{len(listed_hits)} lists of hits for {len(queries)} queries")
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
    yield Figure("ours / the other's", ours / theirs, "x", 20, 30)
    if listed_hits is not None:
        same = sum(
            [catalog.card(number).asin for number in numbers] == others
            for numbers, others in zip(ranked, listed_hits, strict=True)
        )
        yield Figure("the same hits in the same order", 100 * same / len(queries), "%")
