"""One measured figure, and the machine it was measured on."""

import os
import platform
import resource
from typing import NamedTuple

__all__ = ["Figure", "cost", "machine", "memory_of", "number", "percentile", "private_memory"]


class Figure(NamedTuple):
    """A measurement; `floor` is the worst that is acceptable, `aim` what we are after."""

    name: str
    value: float
    unit: str
    floor: float | None = None
    aim: float | None = None
    more_is_better: bool = True

    @property
    def verdict(self) -> str:
        """What the figure reaches: `aim`, `floor` or `missed`; '' where nothing is set."""
        for name, bound in (("aim", self.aim), ("floor", self.floor)):
            if bound is not None and (
                self.value >= bound if self.more_is_better else self.value <= bound
            ):
                return name
        return "" if self.floor is None else "missed"


def cost(
    name: str, value: float, unit: str, floor: float | None = None, aim: float | None = None
) -> Figure:
    """A figure of which less is better."""
    return Figure(name, value, unit, floor, aim, more_is_better=False)


def machine() -> str:
    """The machine in one line."""
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores,"
        f" Python {platform.python_version()}"
    )


def number(value: float) -> str:
    """Three figures that matter."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def percentile(values: list[float], share: float) -> float:
    """The value below which that share of the values lies."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def private_memory() -> int:
    """Bytes that belong to this process alone; mapped files that are shared do not count."""
    try:
        return memory_of("Private_Dirty")[0]
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def memory_of(*kinds: str) -> list[int]:
    """Bytes of this process, by the kernel's names for kinds of memory."""
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        sizes = {name: rest.split()[0] for name, _, rest in (line.partition(":") for line in file)}
    return [int(sizes[kind]) * 1024 for kind in kinds]
