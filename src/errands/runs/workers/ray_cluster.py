"""Ray, joined or started: the only room that knows how a cluster is reached, and left again.

Ray is imported when it is asked for, and not before. A Ray that was there already is left as it
was found; one that was started for a run ends with it.
"""

import contextlib
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from errands.errors import ErrandsError, SettingError
from errands.extras import install_command

__all__ = ["ClusterError", "Node", "check_address", "import_ray", "joined", "living_nodes"]

_OBJECTS: Final = 128 << 20
"""Bytes of shared memory of a Ray of our own: results pass through it only where they are long."""
_PATIENCE: Final = 5.0
"""Seconds in which a cluster must answer that it is there."""


class ClusterError(ErrandsError):
    """A cluster cannot be reached, or none of its nodes can play."""


class Node(msgspec.Struct, frozen=True):
    """One machine of a cluster, or one that says so."""

    id: str
    name: str
    """For people."""
    cpus: int


@contextlib.contextmanager
def joined(address: str, workers: int | None = None) -> Iterator[Any]:
    """The module `ray`, connected.

    `address` is `host:port` of a cluster's head, `auto` for the cluster that this machine belongs
    to, `local` for a Ray of our own with at least as many CPUs as `workers`, or empty: what
    RAY_ADDRESS says, else `local`. Who is connected already stays where he is.
    """
    ray = import_ray()
    if ray.is_initialized():
        yield ray
        return
    place = check_address(address)
    with contextlib.ExitStack() as stack:
        given: dict[str, Any] = {"address": place}
        if place == "local":
            given |= {
                "num_cpus": max(workers or 1, os.cpu_count() or 1),
                "num_gpus": 0,
                "include_dashboard": False,
                "object_store_memory": _OBJECTS,
                "_temp_dir": stack.enter_context(_folder()),
            }
            stack.enter_context(_environment({"RAY_USAGE_STATS_ENABLED": "0"}))
        stack.enter_context(_silence(ray))
        stack.callback(ray.shutdown)
        _connect(ray, given)
        yield ray


def check_address(address: str) -> str:
    """Where a cluster is; one that is elsewhere must answer."""
    place = address or os.environ.get("RAY_ADDRESS") or "local"
    if place.startswith("ray://"):
        raise SettingError(
            f"--ray {place}: a run belongs on a machine of the cluster, as episodes come in by the"
            " thousand; run the same command there with --ray auto."
        )
    if place not in ("auto", "local") and not import_ray().is_initialized():
        _reach(place)
    return place


def living_nodes(ray: Any) -> list[Node]:
    """The nodes that a cluster has now."""
    held = [node for node in ray.nodes() if node["Alive"]]
    hosts = [node["NodeManagerHostname"] for node in held]
    found = []
    for node, host in zip(held, hosts, strict=True):
        # Several nodes of one machine, as tests have them, are told apart by their ids.
        name = host if hosts.count(host) == 1 else f"{host}/{node['NodeID'][:8]}"
        found.append(Node(node["NodeID"], name, int(node["Resources"].get("CPU", 0))))
    return found


def import_ray() -> Any:
    """The module `ray`, or a sentence that says how to get it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray
    except ModuleNotFoundError as failure:
        if failure.name != "ray":
            raise
        raise SettingError(
            f"--ray needs the package ray, which is not installed; run {install_command('ray')}."
        ) from None
    return ray


def _connect(ray: Any, given: Mapping[str, Any]) -> None:
    """`ray.init`, which would take over the program's signals and talk while it is at it."""
    here = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(**given, logging_level="ERROR", log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError, OSError) as failure:
        said = " ".join(str(failure).split()).rstrip(".")[:300]
        raise ClusterError(
            f"No Ray cluster could be joined at {given['address']!r} ({said}); `ray start --head`"
            " starts one, and --ray without an address needs none."
        ) from None
    finally:
        for number, handler in before.items():
            if here and handler is not None:
                signal.signal(number, handler)


def _reach(place: str) -> None:
    """Whether anybody is there: Ray itself would try for a minute, and then end the process."""
    host, _, port = place.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (OSError, ValueError, OverflowError) as failure:
        raise ClusterError(
            f"There is no Ray cluster at {place} ({failure}): expected the HOST:PORT that"
            " `ray start --head` printed, auto, or nothing for a Ray of this machine alone."
        ) from None


@contextlib.contextmanager
def _silence(ray: Any) -> Iterator[None]:
    """Ray prints on standard output that a worker has died, whatever its settings say. That is
    the pool's to tell; and standard output may be JSON."""
    worker: Any = ray._private.worker
    before = getattr(worker, "_worker_logs_enabled", True)
    worker._worker_logs_enabled = False
    try:
        yield
    finally:
        worker._worker_logs_enabled = before


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    """Where a Ray of our own keeps its sockets, whose paths may have 107 characters at most, and
    its logs, which some of its processes still write when it has said that it is gone."""
    place = tempfile.mkdtemp(prefix="errands-ray-", dir="/tmp")
    try:
        yield place
    finally:
        for _ in range(50):
            shutil.rmtree(place, ignore_errors=True)
            if not os.path.exists(place):
                break
            time.sleep(0.1)


@contextlib.contextmanager
def _environment(added: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in added}
    os.environ.update(added)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
