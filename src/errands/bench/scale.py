"""How cost grows with the number of products: built from files, opened, searched and shopped in.

For each size a catalogue is generated and written in the original formats; what is measured is a
build from these files, as it would be from the original's, and what that build is worth.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from errands.bench.figure import Figure, cost, machine, number
from errands.bench.process import Cost, errands_command, measure
from errands.bench.search import FULL, bench_cold, bench_queries
from errands.bench.shop import bench_steps
from errands.errors import SettingError
from errands.reports.html.plots import log_curves
from errands.shop.catalog.catalog import Catalog

__all__ = ["SIZES", "Point", "bench_scale", "markdown", "plot"]

SIZES: Final = (1_000, 10_000, 100_000, 1_181_436)
MB: Final = 1e6


class Point(msgspec.Struct, frozen=True):
    """All figures of one size."""

    products: int
    figures: tuple[Figure, ...]


def bench_scale(
    folder: Path,
    sizes: Sequence[int] = SIZES,
    *,
    workers: int | None = None,
    keep: bool = False,
    seed: int = 1,
    say: Callable[[str], None] = lambda stage: None,
) -> Iterator[Point]:
    """Measure each size; what is needed on the way is removed again unless it is to be kept."""
    more = () if workers is None else ("--workers", str(workers))
    for size in sizes:
        work = folder / f"{size}"
        try:
            work.mkdir(parents=True, exist_ok=True)
        except OSError as failure:
            raise SettingError(f"{work} cannot be made ({failure.strerror}).") from None
        files = {name: work / f"{name}.json" for name in ("items", "attributes", "human")}
        given = [part for name, path in files.items() for part in (f"--{name}", path)]
        try:
            say(f"{size:,} products: generating")
            made = measure(
                errands_command(
                    "catalog", "generate", work / "made", "--products", str(size),
                    "--seed", str(seed), "--force", *more,
                )
            )  # fmt: skip
            say(f"{size:,} products: writing the original formats")
            written = measure(
                errands_command("catalog", "export", work / "made", *given, "--force")
            )
            say(f"{size:,} products: building from files")
            built = measure(
                errands_command("catalog", "build", work / "built", *given, "--force", *more)
            )
            say(f"{size:,} products: measuring")
            yield Point(size, tuple(_figures(work / "built", files["items"], made, written, built)))
        finally:
            if not keep:
                # What was made, and nothing else: the folder is the user's choice.
                for path in files.values():
                    path.unlink(missing_ok=True)
                for made_here in ("made", "built"):
                    shutil.rmtree(work / made_here, ignore_errors=True)
                with contextlib.suppress(OSError):
                    work.rmdir()


def _figures(folder: Path, items: Path, made: Cost, written: Cost, built: Cost) -> Iterator[Figure]:
    catalog = Catalog.open(folder)
    full = len(catalog) >= FULL

    def bounded(name: str, value: float, unit: str, floor: float, aim: float | None) -> Figure:
        return cost(name, value, unit, floor, aim) if full else cost(name, value, unit)

    yield bounded("generate", made.seconds, "s", 150, None)
    yield cost("generate: private memory", made.private / MB, "MB")
    yield cost("export", written.seconds, "s")
    yield cost("export: private memory", written.private / MB, "MB")
    yield cost("items file", items.stat().st_size / MB, "MB")
    yield bounded("build", built.seconds, "s", 118, 90)
    yield cost("build: CPU", built.cpu, "s")
    yield bounded("build: private memory", built.private / MB, "MB", 4000, 2000)
    yield bounded("build: with mapped files", built.resident / MB, "MB", 4000, 2000)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    yield cost("catalogue", size / MB, "MB")
    index = sum(path.stat().st_size for path in (folder / "index").iterdir())
    yield cost("its index", index / MB, "MB")
    yield bounded("catalogue / items file", size / items.stat().st_size, "x", 1, 0.5)
    yield from bench_cold(folder)
    yield from bench_queries(catalog)
    yield from bench_steps(Catalog(folder, remember=0))


def markdown(points: Sequence[Point]) -> str:
    """A table with a column for each size."""
    names = list(dict.fromkeys(figure.name for point in points for figure in point.figures))
    columns = [{figure.name: figure for figure in point.figures} for point in points]
    rows = [
        ["", *(f"{point.products:,}" for point in points), "floor", "aim"],
        ["---", *("---:" for _ in points), "---:", "---:"],
    ]
    for name in names:
        row = [figures.get(name) for figures in columns]
        last = next(figure for figure in reversed(row) if figure is not None)
        bounds = ("" if bound is None else f"{bound:,g}" for bound in (last.floor, last.aim))
        cells = ("" if figure is None else number(figure.value) for figure in row)
        rows.append([f"{name} ({last.unit})" if last.unit else name, *cells, *bounds])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines, "", f"{machine()}.", ""])


def plot(points: Sequence[Point]) -> str:
    """The figures that matter most, by size, as one picture."""
    shown = (
        "build",
        "build: private memory",
        "catalogue",
        "open in a new process",
        "first search in a new process",
        "search, median",
        "search, 99th percentile",
        "steps per second",
    )
    panels: list[tuple[str, list[tuple[float, float]]]] = []
    for name in shown:
        measured = [
            (point.products, figure)
            for point in points
            for figure in point.figures
            if figure.name == name and figure.value > 0
        ]
        if measured:
            unit = measured[-1][1].unit
            panels.append((f"{name} ({unit})", [(x, figure.value) for x, figure in measured]))
    return log_curves("Figures by number of products", panels, unit="products")
