"""What a server counts, in Prometheus's text format.

By hand: a counter of prometheus-client costs seven times as much in the path of every step.
"""

import bisect
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

__all__ = ["Histogram", "Metrics", "metric", "resident_memory"]

_BUCKETS: Final = (
    *(0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005),
    *(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
)
"""Upper bounds in seconds."""


class Histogram:
    """Durations, counted in buckets."""

    __slots__ = ("_counts", "_sum")

    def __init__(self) -> None:
        self._counts = [0] * (len(_BUCKETS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect.bisect_left(_BUCKETS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str, labels: str) -> Iterator[str]:
        total = 0
        for bound, count in zip((*_BUCKETS, "+Inf"), self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{{labels},le="{bound}"}} {total}'
        yield f"{name}_sum{{{labels}}} {self._sum}"
        yield f"{name}_count{{{labels}}} {total}"


class Metrics:
    """Counters of one server; `sessions_open` tells how many sessions there are."""

    def __init__(self, sessions_open: Callable[[], int]) -> None:
        self._sessions_open = sessions_open
        self._started = time.time()
        self.created = self.closed = self.expired = self.lost = 0
        self.steps = self.resets = 0
        self.in_flight = self.sockets = self.slow_calls = 0
        self.errors: Counter[str] = Counter()
        """By code."""
        calls = ("create", "reset", "step", "close", "batch", "split")
        self.latency = {name: Histogram() for name in calls}

    def text(self) -> str:
        """Everything, for `GET /metrics`."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        resident, private = resident_memory()
        for name, about, value in (
            ("sessions_open", "Sessions that are open.", self._sessions_open()),
            ("requests_in_flight", "HTTP requests being read or answered.", self.in_flight),
            ("sockets_open", "WebSocket connections.", self.sockets),
            ("aside_waiting", "Slow calls that wait or are being made.", self.slow_calls),
            ("memory_bytes", "Resident memory, with what is shared.", resident),
            ("memory_private_bytes", "Memory that belongs to the process alone.", private),
            ("cpu_seconds", "CPU time used.", time.process_time()),
            ("started_seconds", "When the server started, since 1970.", self._started),
        ):
            yield from metric(name, "gauge", about, value)
        for name, about, value in (
            ("sessions_created", "Sessions ever created.", self.created),
            ("sessions_closed", "Sessions that clients closed.", self.closed),
            ("sessions_expired", "Sessions closed because nobody used them.", self.expired),
            ("sessions_lost", "Sessions that ended with the process that played them.", self.lost),
            ("steps", "Steps made.", self.steps),
            ("resets", "Episodes begun.", self.resets),
        ):
            yield from metric(f"{name}_total", "counter", about, value)
        yield from metric("errors_total", "counter", "Errors, by code.", self.errors, "code")
        about = "How long calls take, from decoded to answered."
        yield from metric("call_seconds", "histogram", about, self.latency, "call")


def metric(
    name: str,
    kind: str,
    about: str,
    values: float | Mapping[Any, float] | Mapping[Any, Histogram],
    label: str = "",
) -> Iterator[str]:
    """The lines of one metric: a value, or one for each value of a label."""
    name = f"errands_{name}"
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    if not isinstance(values, Mapping):
        yield f"{name} {values}"
        return
    for key, value in values.items() if kind == "histogram" else sorted(values.items()):
        labels = f'{label}="{key}"'
        if isinstance(value, Histogram):
            yield from value.lines(name, labels)
        else:
            yield f"{name}{{{labels}}} {value}"


def resident_memory(pid: int | str = "self") -> tuple[int, int]:
    """Bytes that a process has in memory: all of them, and those that no file stands behind."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            lines = (line for line in file if line.startswith(("VmRSS", "RssAnon")))
            sizes = dict(line.split(":", 1) for line in lines)
    except OSError:
        return 0, 0
    kilobytes = {name: int(value.split()[0]) for name, value in sizes.items()}
    return kilobytes.get("VmRSS", 0) * 1024, kilobytes.get("RssAnon", 0) * 1024
