"""Every benchmark in one go, as one page: `errands bench all`.

Each part is kept as soon as it is measured, so a long measurement that is stopped goes on where it
was. The figures of an earlier time, given as `before`, stand beside today's.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from errands import __version__
from errands.bench import scale
from errands.bench.figure import Figure, machine, number
from errands.browser import chromium
from errands.errors import ErrandsError, SettingError
from errands.reports.html.plots import log_curves
from errands.shop.catalog.catalog import Catalog

__all__ = [
    "Measured",
    "Part",
    "bench_all",
    "environments_plot",
    "markdown",
    "new_measured",
    "read_measured",
    "sizes_plot",
]

_BUILT: Final = "Built from files: "


class Part(msgspec.Struct, frozen=True):
    """The figures of one benchmark."""

    title: str
    command: str
    """What measures this alone."""
    figures: tuple[Figure, ...] = ()
    without: str = ""
    """Why there are none."""


class Measured(msgspec.Struct, frozen=True):
    """All parts, and where they were measured."""

    version: str
    machine: str
    parts: tuple[Part, ...] = ()


Bench = Callable[[], Iterator[Figure]]


def bench_all(
    done: Sequence[Part],
    *,
    catalog: str,
    full: str | None = None,
    people: Path | None = None,
    sizes: Sequence[int] = (),
    work: Path = Path("bench"),
    only: Sequence[str] = (),
    quick: bool = False,
) -> Iterator[Part]:
    """Every part that is not done yet. `full` is a catalogue of the full size, if there is one;
    catalogues of `sizes` are built in `work`; `only` are beginnings of titles."""
    parts = list(_parts(catalog, full, people, quick=quick))
    for size in sizes:
        part = Part(f"{_BUILT}{size:,} products", f"errands bench scale --sizes {size}")
        parts.append((part, partial(_built, size, work)))
    for wanted in only:
        if not any(part.title.lower().startswith(wanted.lower()) for part, _ in parts):
            known = ", ".join(dict.fromkeys(part.title.partition(":")[0] for part, _ in parts))
            raise SettingError(f"--only {wanted!r}: there is no such part; expected {known}.")
    if people is not None:
        from errands.bench.search import people_queries

        people_queries(people)
    # Only now, as what is wrong is told at once.
    return _measured(parts, done, only)


def _measured(
    parts: Sequence[tuple[Part, Bench]], done: Sequence[Part], only: Sequence[str]
) -> Iterator[Part]:
    for part, bench in parts:
        if only and not part.title.lower().startswith(tuple(each.lower() for each in only)):
            continue
        if any(each.title == part.title for each in done):
            continue
        try:
            yield msgspec.structs.replace(part, figures=tuple(bench()))
        except ErrandsError as failure:
            yield msgspec.structs.replace(part, without=str(failure))


def _parts(
    catalog: str, full: str | None, people: Path | None, *, quick: bool
) -> Iterator[tuple[Part, Bench]]:
    from errands.bench.pixels import bench_pixels
    from errands.bench.runs import bench_runs
    from errands.bench.search import bench_search
    from errands.bench.serve import bench_serve
    from errands.bench.shop import bench_shop
    from errands.bench.start import bench_start
    from errands.bench.turk import bench_turk

    steps = 2000 if quick else 50_000
    sizes = (1, 16) if quick else (1, 4, 16, 64, 256, 1024, 4096)
    yield (
        Part("Starting", f"errands bench start --data {catalog}"),
        partial(bench_start, catalog, starts=2 if quick else 10),
    )
    for data in filter(None, (catalog, full)):
        yield (
            Part(f"The shop: {_name(data)}", f"errands bench shop --data {data}"),
            partial(bench_shop, data, steps=steps),
        )
        yield (
            Part(f"Searching: {_name(data)}", f"errands bench search --data {data}"),
            partial(bench_search, data, queries=100 if quick else 4300, people=people),
        )
        for threads in (1, 2):
            on = "" if threads == 1 else f", {threads} threads"
            yield (
                Part(
                    f"Vector environments{on}: {_name(data)}",
                    f"errands bench vector --data {data} --threads {threads}",
                ),
                partial(_vectors, data, sizes, steps // 5, threads),
            )
    has_browser = chromium.find() is not None
    drivers = ("dom", "browser") if has_browser else ("dom",)
    yield (
        Part("Form pages", "errands bench turk --data demo"),
        partial(bench_turk, "demo", instances=1 if quick else 5, drivers=drivers),
    )
    yield (
        Part("Pixels", f"errands bench pixels --data {catalog}"),
        partial(bench_pixels, catalog, steps=20 if quick else 300),
    )
    yield (
        Part("Runs", f"errands bench runs --data {catalog}"),
        partial(bench_runs, catalog, episodes=200 if quick else 12_000),
    )
    for transport, processes in (("websocket", 0), ("batch", 2)):
        command = f"errands bench serve --transport {transport} --processes {processes}"
        yield (
            Part(f"Serving ({transport})", command),
            partial(
                bench_serve, catalog, transport=transport, processes=processes,
                sessions=64 if quick else 2000, seconds=1.0 if quick else 20.0, at_once=64,
            ),
        )  # fmt: skip


def _vectors(data: str, sizes: Sequence[int], steps: int, threads: int) -> Iterator[Figure]:
    """In a catalogue that ranks every query anew."""
    from errands.bench.shop import bench_vector

    unremembered = Catalog(Catalog.open(data).path, remember=0)
    return bench_vector(unremembered, sizes=sizes, steps=steps, threads=threads)


def _built(size: int, work: Path) -> Iterator[Figure]:
    for point in scale.bench_scale(work, [size]):
        yield from point.figures


def _name(data: str) -> str:
    return f"{len(Catalog.open(data)):,} products"


def read_measured(path: Path) -> Measured:
    """What `errands bench all` kept; the folder or its figures.json."""
    path = path / "figures.json" if path.is_dir() else path
    try:
        return msgspec.json.decode(path.read_bytes(), type=Measured)
    except OSError as failure:
        raise SettingError(f"{path} cannot be read ({failure.strerror}).") from None
    except (msgspec.DecodeError, RecursionError) as failure:
        raise SettingError(
            f"{path} holds no figures ({failure}); expected what `errands bench all` wrote."
        ) from None


def new_measured() -> Measured:
    return Measured(__version__, machine())


def markdown(measured: Measured, before: Measured | None = None) -> str:
    """All figures as one page; with those of before, if there are any."""
    earlier = {
        (part.title, figure.name): figure
        for part in (before.parts if before else ())
        for figure in part.figures
    }
    lines = ["# All figures", "", f"Errands {measured.version} on {measured.machine}."]
    if before:
        lines.append(f"*Before* is Errands {before.version} on {before.machine}.")
    columns = ["figure", *(["before"] if before else []), "now", "floor", "aim", "reaches"]
    for part in measured.parts:
        if part.title.startswith(_BUILT) and part.figures:
            continue
        lines += ["", f"## {part.title}", "", f"`{part.command}`", ""]
        if part.without:
            lines.append(f"Not measured: {part.without}")
            continue
        lines += [_row(columns), _row(["---", *["---:"] * (len(columns) - 2), "---"])]
        for figure in part.figures:
            was = earlier.get((part.title, figure.name))
            cells = [f"{figure.name} ({figure.unit})" if figure.unit else figure.name]
            if before:
                cells.append("" if was is None else number(was.value))
            bounds = ("" if each is None else f"{each:,g}" for each in (figure.floor, figure.aim))
            lines.append(_row([*cells, number(figure.value), *bounds, figure.verdict]))
    for title, points in (("", _points(measured)), (", before", _points(before))):
        if points:
            lines += ["", f"## {_BUILT}by number of products{title}", "", "`errands bench scale`"]
            lines += ["", scale.markdown(points).rstrip()]
    return "\n".join([*lines, ""])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _points(measured: Measured | None) -> list[scale.Point]:
    """The sizes that were built from files."""
    return [
        scale.Point(int(part.title.removeprefix(_BUILT).split()[0].replace(",", "")), part.figures)
        for part in (measured.parts if measured else ())
        if part.title.startswith(_BUILT) and part.figures
    ]


def sizes_plot(measured: Measured) -> str:
    """Cost over the number of products; empty if no size was built."""
    points = _points(measured)
    return scale.plot(points) if points else ""


def environments_plot(measured: Measured) -> str:
    """Steps a second over the number of environments in a vector, for each catalogue."""
    panels = []
    for part in measured.parts:
        points = [
            (float(figure.name.partition(" ")[0].replace(",", "")), figure.value)
            for figure in part.figures
            if " environments" in figure.name and figure.unit == "1/s"
        ]
        if part.title.startswith("Vector") and points:
            panels.append((part.title.removeprefix("Vector environments").strip(": ,"), points))
    return log_curves("Steps a second by number of environments", panels, unit="environments")
