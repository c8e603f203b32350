"""What a cluster costs: the figures from which the behaviour of many nodes is derived.

Everything is measured on a Ray of this machine, of two nodes with one CPU each. What the runner
spends is CPU time of its process, Ray's own threads in it included. It does not depend on the
number of nodes: the runner sees messages and episodes only.
"""

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from errands.bench.figure import Figure, cost
from errands.bench.runs import bench_protocol
from errands.runs.episode import Episode
from errands.runs.play import PlayConfig
from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.runs.store.places import create_run, open_run
from errands.runs.store.rows import pack, unpack
from errands.runs.workers.processes import Job
from errands.runs.workers.ray_cluster import import_ray, joined, living_nodes
from errands.runs.workers.ray_worker import WorkerReply, actor_class

__all__ = ["bench_ray"]

_MESSAGES: Final = 1000
_SAMPLE: Final = 500
_ROUNDS: Final = 3
_NODE: Final = {"num_cpus": 1, "num_gpus": 0, "object_store_memory": 80 << 20}


def bench_ray(catalog: str, *, episodes: int = 12_000) -> Iterator[Figure]:
    """What the runner spends, what a worker plays, and how long a start and a loss take."""
    protocol = bench_protocol(catalog, episodes)
    with tempfile.TemporaryDirectory() as folder, _two_nodes() as (cluster, second):
        place = Path(folder) / "run"
        yield from _whole_run(protocol, place, cluster.address)
        for observations in ("none", "hash", "full"):
            kept = Path(folder) / observations
            pace = max(_here(protocol, kept / str(again), observations) for again in range(_ROUNDS))
            kept /= "0"
            with contextlib.closing(open_run(kept)) as store:
                played = list(store.episodes())
            size = len(pack(WorkerReply(done=tuple(played)))) / len(played)
            yield Figure(f"a worker: episodes a second of CPU, {observations}", pace, "1/s")
            yield Figure(f"bytes of an episode, {observations}", size, "B")
            spent = min(_keeping(place, Path(folder), played) for _ in range(_ROUNDS))
            name = f"runner: CPU to read and keep an episode, {observations}"
            yield cost(name, spent * 1e6, "us")
        with joined(cluster.address) as ray:
            config = PlayConfig(0, None, "hash")
            job = Job(
                protocol=protocol, agent="random", settings={}, observation="text", rules=config,
                place="",
            )  # fmt: skip
            yield from _one_worker(ray, job, second, cluster)


@contextlib.contextmanager
def _two_nodes() -> Iterator[tuple[Any, Any]]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import_ray()
    from ray.cluster_utils import Cluster

    # The paths of Ray's sockets must be short.
    with tempfile.TemporaryDirectory(prefix="er-", dir="/tmp", ignore_cleanup_errors=True) as place:
        cluster = Cluster(
            initialize_head=True,
            head_node_args={**_NODE, "include_dashboard": False, "temp_dir": place},
        )
        try:
            yield cluster, cluster.add_node(**_NODE)
        finally:
            cluster.shutdown()


def _whole_run(protocol: Protocol, place: Path, address: str) -> Iterator[Figure]:
    begun: list[float] = []
    clock: list[float] = []
    spent: list[float] = []

    def note(_: object) -> None:
        clock.append(time.monotonic())
        spent.append(time.process_time())

    run(
        protocol,
        "random",
        out=place,
        ray=address,
        on_start=lambda *_: begun.append(time.monotonic()),
        on_episode=note,
    )
    start = len(clock) // 5  # Until then a worker may still be on its way.
    count = len(clock) - start
    yield Figure("from the start to the first episode", clock[0] - begun[0], "s")
    yield Figure("two nodes of one CPU: episodes", count / (clock[-1] - clock[start]), "1/s")
    share = (spent[-1] - spent[start]) / count * 1e6
    yield Figure("runner: CPU for an episode, messages and all", share, "us")


def _here(protocol: Protocol, place: Path, observations: str) -> float:
    """Episodes for a second of CPU, in this process: as a worker plays them."""
    spent: list[float] = []
    run(
        protocol,
        "random",
        out=place,
        episodes=2 * _SAMPLE,
        observations=observations,
        on_episode=lambda _: spent.append(time.process_time()),
    )
    # What is read for the first time makes the first ones slow.
    return _SAMPLE / (spent[-1] - spent[_SAMPLE - 1])


def _keeping(run_place: Path, folder: Path, played: Sequence[Episode]) -> float:
    """CPU seconds from a message to a kept episode."""
    with contextlib.closing(open_run(run_place)) as store:
        info = store.info
    said = pack(WorkerReply(done=tuple(played)))
    with (
        tempfile.TemporaryDirectory(dir=folder) as place,
        contextlib.closing(create_run(place, info)) as store,
    ):
        begun = time.process_time()
        with store.writer() as writer:
            for episode in unpack(said, WorkerReply).done:
                writer.write(episode)
        return (time.process_time() - begun) / len(played)


def _one_worker(ray: Any, job: Job, second: Any, cluster: Any) -> Iterator[Figure]:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    node = next(node for node in living_nodes(ray) if node.id == second.node_id)
    place = NodeAffinitySchedulingStrategy(node_id=node.id, soft=False)
    begun = time.monotonic()
    actor = ray.remote(actor_class(False)).options(num_cpus=1, scheduling_strategy=place).remote()
    path = [os.path.abspath(entry) for entry in sys.path if entry]
    ray.get(actor.hello.remote(path, os.getcwd(), msgspec.json.encode(job)))
    yield Figure("a worker begins after", time.monotonic() - begun, "s")
    numbers = list(range(job.protocol.episodes or 1))
    before = time.process_time()
    for _ in range(_MESSAGES):
        actor.play.remote([], 0.0, 0.0).future().result()
    each = (time.process_time() - before) / _MESSAGES * 1e6
    yield Figure("runner: CPU for a message and its answer", each, "us")
    answer = actor.play.remote(numbers * 100, 1e9, 0.0).future()
    time.sleep(0.5)
    begun = time.monotonic()
    cluster.remove_node(second, allow_graceful=False)
    answer.exception()
    yield Figure("a node that is killed is noticed after", time.monotonic() - begun, "s")
