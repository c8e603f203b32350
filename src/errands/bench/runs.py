"""What running costs: the runner against the bare environment, workers, and a very large store.

The runner plays the same random shopper on the same goals as a plain loop that keeps nothing;
both are compared in one process, in CPU time, the best of three. Workers are compared by the
clock, between the first and the last finished episode, so that starting up does not count.
"""

import contextlib
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from errands.agents.registry import make_factory
from errands.bench.figure import Figure, cost
from errands.bench.process import errands_command, measure
from errands.runs.episode import Episode, RunInfo, Step, Summary
from errands.runs.episode_source import open_source
from errands.runs.play import episode_seed
from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.runs.store.places import create_run, open_run

__all__ = ["bench_protocol", "bench_runs", "bench_store"]

_ROUNDS = 3


def bench_protocol(catalog: str, episodes: int) -> Protocol:
    """Short episodes of the shop, any number of them."""
    return Protocol(
        id="bench",
        version=1,
        title="bench",
        domain="shop",
        data=catalog,
        shuffle_workers=64,
        episodes=episodes,
        max_steps=15,
    )


def bench_runs(catalog: str, *, episodes: int = 12_000, workers: int = 2) -> Iterator[Figure]:
    """The runner's own cost, and what more workers bring."""
    protocol = bench_protocol(catalog, episodes)
    with tempfile.TemporaryDirectory() as folder:
        bare, kept = [], []
        for round_ in range(_ROUNDS):
            bare.append(_bare(protocol))
            kept.append(_kept(protocol, Path(folder) / f"one-{round_}"))
        yield Figure("bare environment: steps per second", max(bare), "1/s")
        yield Figure("runner, 1 process: steps per second", max(kept), "1/s")
        yield Figure("runner / bare", max(kept) / max(bare), "", 0.6, 0.85)
        paces = {1: [0.0], workers: [0.0]}
        for round_ in range(_ROUNDS):
            for count in paces:
                place = Path(folder) / f"w{count}-{round_}"
                paces[count].append(_pace(protocol, place, count))
        for count, measured in paces.items():
            yield Figure(f"{count} worker(s): episodes per second", max(measured), "1/s")
        ratio = max(paces[workers]) / max(paces[1])
        # 1.7 is asked of 2 workers on 2 cores.
        yield Figure(f"{workers} workers / 1", ratio, "", 0.85 * workers)


def _bare(protocol: Protocol) -> float:
    """Steps a second of a loop that keeps nothing."""
    source = open_source(protocol)
    env = source.env()
    factory = make_factory("random", "shop", source.env(), {})
    steps = 0
    begun = time.process_time()
    for number in range(len(source.keys)):
        agent = factory.agent(episode_seed(0, number))
        observation, info = env.reset(options=source.options(number))
        agent.begin(observation, info)
        over = False
        while not over:
            observation, _, terminated, truncated, info = env.step(agent.act(observation, info))
            over = terminated or truncated
            steps += 1
    return steps / (time.process_time() - begun)


def _kept(protocol: Protocol, place: Path) -> float:
    """Steps a second of the runner, actions and rewards kept."""
    begun = 0.0

    def start(info: object, pending: object) -> None:
        nonlocal begun
        begun = time.process_time()

    run(protocol, "random", out=place, observations="none", seconds=None, on_start=start)
    spent = time.process_time() - begun
    with contextlib.closing(open_run(place)) as store:
        return float(store.columns()["steps"].sum()) / spent


def _pace(protocol: Protocol, place: Path, workers: int) -> float:
    """Episodes a second by the clock, once all workers are at it."""
    times: list[float] = []
    run(
        protocol,
        "random",
        out=place,
        workers=workers,
        observations="none",
        on_episode=lambda summary: times.append(time.monotonic()),
    )
    # The first fifth is left out: workers do not begin at the same moment.
    start = len(times) // 5
    return (len(times) - start) / (times[-1] - times[start])


def bench_store(episodes: int = 1_000_000) -> Iterator[Figure]:
    """A large store, made here, then opened and reported on by a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "large"
        begun = time.process_time()
        _fill(place, episodes)
        each = (time.process_time() - begun) / episodes * 1e6
        yield cost("keeping an episode", each, "us")
        size = sum(file.stat().st_size for file in place.iterdir())
        yield cost("size of the store", size / 2**20, "MB")
        reported = measure(errands_command("report", place, "--out", f"{folder}/report"))
        yield cost(f"opening and reporting on {episodes:,} episodes", reported.cpu, "s", 10)
        yield cost("the same, by the clock", reported.seconds, "s")
        yield cost("its memory", reported.resident / 2**20, "MB", 500)


def _fill(place: Path, episodes: int) -> None:
    """Made-up purchases, as varied as real ones."""
    rng = random.Random(1)
    info = RunInfo(
        id="large",
        protocol=msgspec.to_builtins(
            Protocol(id="large", version=1, title="large", domain="shop", data="demo")
        ),
        protocol_key="large@1",
        domain="shop",
        agent="made-up",
        agent_settings={},
        episodes=episodes,
        seed=1,
        observations="none",
        checksum="",
    )
    store = create_run(place, info)
    actions = ["search[red running shoes]", "click[b000001]", "click[large]", "click[buy now]"]
    for number in range(episodes):
        thirds = rng.randrange(13) / 12
        parts = {
            "r_type": rng.choice((0.0, 0.1, 0.5, 1.0)),
            "r_att": thirds,
            "w_att": 0.5,
            "r_option": rng.randrange(3) / 2,
            "w_option": 0.25,
            "r_price": rng.random() < 0.9,
            "w_price": 0.25,
        }
        reward = round(parts["r_type"] * (0.5 * thirds + 0.5), 6)
        store.add(
            Episode(
                summary=Summary(
                    number=number,
                    key=f"goal {number % 5000}",
                    status="done" if thirds else "truncated",
                    reward=reward if thirds else 0.0,
                    success=bool(thirds) and reward >= 1.0,
                    steps=len(actions),
                    seconds=rng.random(),
                    states=rng.randrange(1, 12),
                    items=rng.randrange(1, 5),
                    searches=rng.randrange(1, 4),
                    parts=parts if thirds else {},
                ),
                steps=tuple(Step(action) for action in actions),
            )
        )
    store.close()
