"""How long a process takes until it shops, and what each dependency of the base costs."""

import json
import re
import statistics
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple

from errands.bench.figure import Figure, cost
from errands.bench.process import measure

__all__ = ["COLUMNS", "DependencyCost", "bench_start", "dependency_costs", "markdown"]

_START = """
import json, sys, time
times = [time.process_time()]
import errands
times.append(time.process_time())
import gymnasium
env = gymnasium.make("errands/Shop-v0", catalog=sys.argv[1])
times.append(time.process_time())
env.reset(seed=0)
times.append(time.process_time())
env.step("search[red running shoes]")
times.append(time.process_time())
print(json.dumps([*times, len(sys.modules)]))
"""
_IMPORT = """
import importlib, sys, time
before = time.process_time()
for name in sys.argv[1:]:
    importlib.import_module(name)
print(time.process_time() - before)
"""
_USED: Final = {"selectolax": ["selectolax.lexbor"], "rapidfuzz": ["rapidfuzz.fuzz"]}
"""Modules of packages that do nothing when they themselves are imported."""
COLUMNS: Final = (
    "dependency", "version", "itself (MB)", "less without it (MB)", "brings along", "import (ms)",
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def bench_start(catalog: str, *, starts: int = 10) -> Iterator[Figure]:
    """CPU time of a process until it has searched: the median of some, behind one that made what
    is made once on a machine."""
    command = [sys.executable, "-c", _START, catalog]
    measure(command)
    rows = [json.loads(measure(command).output) for _ in range(starts)]
    begun, imported, made, reset, searched, modules = map(
        statistics.median, zip(*rows, strict=True)
    )
    yield cost("Python itself", begun, "s")
    yield cost("import errands", imported - begun, "s")
    yield cost("import errands, gymnasium.make", made - begun, "s", 0.35)
    yield cost("first reset", reset - made, "s")
    yield cost("first search", searched - reset, "s", 0.15)
    yield cost("all of it", searched - begun, "s", 1.05, 0.5)
    yield cost("modules imported", modules, "modules")


class DependencyCost(NamedTuple):
    """What a direct dependency of the base costs."""

    name: str
    version: str
    megabytes: float
    """Installed, by itself."""
    alone: float
    """What an installation without it would be smaller by, in megabytes; nothing where another
    dependency needs it, too."""
    brings: tuple[str, ...]
    """Packages that nothing else of the base needs."""
    import_ms: float
    """CPU time of its import in a process that has imported nothing."""


def dependency_costs(*, starts: int = 5) -> Iterator[DependencyCost]:
    """All direct dependencies of the base as they are installed here, the largest first."""
    direct = _requirements("errands")
    costs = []
    for name in direct:
        others = _reach(other for other in direct if other != name)
        alone = _reach([name]) - others
        modules = _USED.get(name) or _modules(name)
        command = [sys.executable, "-c", _IMPORT, *modules]
        seconds = statistics.median(float(measure(command).output) for _ in range(starts))
        costs.append(
            DependencyCost(
                name,
                metadata.version(name),
                _bytes(name) / 1e6,
                sum(map(_bytes, alone)) / 1e6,
                tuple(sorted(alone - {name})),
                1000 * seconds,
            )
        )
    yield from sorted(costs, key=lambda one: -one.megabytes)


def markdown(costs: Iterable[DependencyCost]) -> str:
    """The table of docs/explanation/dependencies.md."""
    rows = [
        f"| {one.name} | {one.version} | {one.megabytes:.1f} | {one.alone:.1f} |"
        f" {', '.join(one.brings)} | {one.import_ms:.0f} |"
        for one in costs
    ]
    head = f"| {' | '.join(COLUMNS)} |"
    return "\n".join([head, "|---" * len(COLUMNS) + "|", *rows, ""])


def _requirements(name: str) -> list[str]:
    """What a package needs here without its extras; what is not installed is for other machines."""
    needed = []
    for line in metadata.requires(name) or ():
        requirement, _, marker = line.partition(";")
        word = _NAME.match(requirement)
        assert word is not None
        if not re.search(r"\bextra\b", marker) and _installed(word[0]):
            needed.append(_normal(word[0]))
    return needed


def _reach(names: Iterable[str]) -> set[str]:
    """Packages and all that they need."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _requirements(name)
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _bytes(name: str) -> int:
    files = (Path(str(file.locate())) for file in metadata.files(name) or ())
    return sum(path.stat().st_size for path in files if path.is_file())


def _modules(name: str) -> list[str]:
    """The modules by which a package is imported."""
    found = metadata.packages_distributions()
    return [
        module
        for module, owners in found.items()
        if name in map(_normal, owners) and not module.startswith("_")
    ]
