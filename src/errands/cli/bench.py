"""`errands bench`: measure this machine."""

import itertools
from collections.abc import Iterable
from pathlib import Path

import msgspec
import typer
from rich.table import Table

from errands.bench.figure import Figure, machine
from errands.cli.options import CatalogData, TasksData
from errands.cli.output import (
    Force,
    json_lines,
    print_json,
    printable,
    progress_bar,
    refuse_to_replace,
    remarks,
    results,
)
from errands.errors import SettingError

__all__ = ["app"]

app = typer.Typer(name="bench", help="Measure speed and memory.", no_args_is_help=True)
_JSON = json_lines("figure")


@app.command()
def shop(
    catalog: str = CatalogData,
    steps: int = typer.Option(50_000, min=1000, help="Environment steps of one measurement."),
    seed: int = typer.Option(1, min=0, help="Of the random shopper."),
    as_json: bool = _JSON,
) -> None:
    """Measure the shop: steps a second, resets, searches, memory of an environment.

    Example: errands bench shop --data shop-1k --json
    """
    from errands.bench.shop import bench_shop

    _report(f"Shop {catalog}", bench_shop(catalog, steps=steps, seed=seed), as_json)


@app.command()
def pixels(
    catalog: str = CatalogData,
    steps: int = typer.Option(200, min=8, help="Pictures of one measurement."),
    seed: int = typer.Option(1, min=0, help="Of the random shopper."),
    tabs: int = typer.Option(None, min=1, help="Pages pictured at once; default: one a core."),
    as_json: bool = _JSON,
) -> None:
    """Measure the shop as pixels: a picture of one tab, steps a second of a pool of tabs.

    Also whether the pixels are those of pages that are loaded afresh. Needs Chromium.

    Example: errands bench pixels --steps 1000
    """
    from errands.bench.pixels import bench_pixels

    measured = bench_pixels(catalog, steps=steps, seed=seed, tabs=tabs)
    _report(f"Pixels of {catalog}", measured, as_json)


@app.command()
def turk(
    tasks: str = TasksData,
    instances: int = typer.Option(5, min=1, help="Instances of each task."),
    driver: str = typer.Option("both", help="dom, browser or both."),
    memory: bool = typer.Option(
        False, "--memory", help="Play every instance on dom and watch the memory instead."
    ),
    as_json: bool = _JSON,
) -> None:
    """Measure form pages: instances a second with each driver, by the oracle.

    With --memory: the private memory after 1,000 and 10,000 instances and at the end.

    Example: errands bench turk --data tasks --json
    """
    from errands.bench.turk import bench_turk, bench_turk_memory

    if driver not in ("dom", "browser", "both"):
        raise SettingError(f"driver={driver!r}: expected dom, browser or both.")
    if memory:
        if driver == "browser":
            raise SettingError("--memory measures the driver dom, which is not a browser.")
        _report(f"Tasks {tasks}", bench_turk_memory(tasks), as_json)
        return
    drivers = ("dom", "browser") if driver == "both" else (driver,)
    _report(f"Tasks {tasks}", bench_turk(tasks, instances=instances, drivers=drivers), as_json)


@app.command()
def runs(
    catalog: str = CatalogData,
    episodes: int = typer.Option(12_000, min=100, help="Episodes of one measurement."),
    workers: int = typer.Option(2, min=2, help="Workers to compare with one."),
    store: int = typer.Option(
        0, min=0, help="Also fill a store with so many episodes and report on it (1000000)."
    ),
    as_json: bool = _JSON,
) -> None:
    """Measure the runner: its cost beside the bare environment, workers, a large store.

    Example: errands bench runs --data shop-1k --store 1000000
    """
    from errands.bench.runs import bench_runs, bench_store

    measured = bench_runs(catalog, episodes=episodes, workers=workers)
    stored = bench_store(store) if store else ()
    _report(f"Runs on {catalog}", itertools.chain(measured, stored), as_json)


@app.command()
def search(
    catalog: str = CatalogData,
    queries: int = typer.Option(2000, min=100, help="How many queries, of 8 to 16 words."),
    seed: int = typer.Option(1, min=0, help="Of the queries."),
    processes: int = typer.Option(
        0, min=0, help="Also open it in so many processes at once and see what they share (100)."
    ),
    people: Path = typer.Option(
        None,
        help="Also what people searched for: a query a line, or WebShop's goal_query_map.json.",
    ),
    against: str = typer.Option(
        None,
        help="A program to measure beside: given a file of queries and a number of hits, its last"
        ' line is {"queries_per_second": ..., "hits": ...}, the hits a list of ids for each query.',
    ),
    as_json: bool = _JSON,
) -> None:
    """Measure opening and searching, and prove that pruning changes no answer.

    Example: errands bench search --data full --queries 2000
    """
    from errands.bench.search import bench_search

    measured = bench_search(
        catalog, queries=queries, seed=seed, processes=processes, against=against, people=people
    )
    _report(f"Search in {catalog}", measured, as_json)


@app.command()
def scale(
    sizes: str = typer.Option("1000,10000,100000,1181436", help="Numbers of products."),
    out: Path = typer.Option(Path("scale"), help="Where table, picture and figures are written."),
    workers: int = typer.Option(None, min=1, help="Processes that build; default: all cores."),
    keep: bool = typer.Option(False, "--keep", help="Keep the catalogues and files."),
    as_json: bool = json_lines("size"),
) -> None:
    """Measure how cost grows with the number of products: built, opened, searched, shopped in.

    Writes scale.json, scale.md and scale.svg. The full size takes 10 to 20 minutes and 8 GB.

    Example: errands bench scale --sizes 1000,10000 --out scale
    """
    from errands.bench.scale import bench_scale, markdown, plot

    points = []
    with remarks.status("measuring") as status:
        for point in bench_scale(
            out, _numbers(sizes), workers=workers, keep=keep, say=status.update
        ):
            points.append(point)
            # After each size, so that a long measurement is never lost.
            (out / "scale.json").write_bytes(msgspec.json.encode(points))
            (out / "scale.md").write_text(markdown(points), encoding="utf-8")
            (out / "scale.svg").write_text(plot(points), encoding="utf-8")
            if as_json:
                print_json(msgspec.to_builtins(point))
    if not as_json:
        for point in points:
            print_figures(f"{point.products:,} products", list(point.figures))
        results.print(f"Written: {out}/scale.md, scale.svg, scale.json.")


@app.command()
def ray(
    catalog: str = CatalogData,
    episodes: int = typer.Option(12_000, min=1000, help="Episodes of the run."),
    as_json: bool = _JSON,
) -> None:
    """Measure runs on a cluster: two Ray nodes on this machine (docs/guides/cluster.md).

    Example: errands bench ray --data shop-1k --json
    """
    from errands.bench.ray import bench_ray

    _report(f"Ray on {catalog}", bench_ray(catalog, episodes=episodes), as_json)


@app.command()
def serve(
    catalog: str = CatalogData,
    sessions: int = typer.Option(2000, min=1, help="Sessions that are open and played."),
    seconds: float = typer.Option(20.0, min=1.0, help="How long to play."),
    transport: str = typer.Option(
        "websocket", help="http or websocket (a connection for each session), or batch."
    ),
    at_once: int = typer.Option(64, min=1, help="Calls that wait for an answer at a time."),
    processes: int = typer.Option(
        0, min=0, help="Processes that play (`errands serve --shop-processes`)."
    ),
    as_json: bool = _JSON,
) -> None:
    """Measure `errands serve --environments`: a real server, loaded from here.

    Example: errands bench serve --transport batch --seconds 60
    """
    from errands.bench.serve import bench_serve

    measured = bench_serve(
        catalog,
        sessions=sessions,
        seconds=seconds,
        transport=transport,
        at_once=at_once,
        processes=processes,
    )
    _report(f"Serving {catalog} ({transport})", measured, as_json)


@app.command()
def site(
    catalog: str = CatalogData,
    shoppers: int = typer.Option(500, min=1, help="People who shop at once."),
    seconds: float = typer.Option(30.0, min=1, help="How long."),
    think: float = typer.Option(
        1.0, min=0.001, help="Seconds that a person looks at a page, on average."
    ),
    as_json: bool = _JSON,
) -> None:
    """Measure the shop's website: a real server, with people who search, click and buy.

    Example: errands bench site --shoppers 500 --seconds 60
    """
    from errands.bench.site import bench_site

    measured = bench_site(catalog, shoppers=shoppers, seconds=seconds, think=think)
    _report(f"Website, {shoppers} shoppers", measured, as_json)


@app.command()
def soak(
    catalog: str = CatalogData,
    minutes: float = typer.Option(30.0, min=0.1, max=10_000, help="How long."),
    clients: int = typer.Option(
        400, min=10, max=10_000, help="Honest clients; for each hundred there is a hostile one."
    ),
    seed: int = typer.Option(1, min=0, help="Of what clients do."),
    as_json: bool = _JSON,
) -> None:
    """Soak one server with everything on it: shoppers, environments, workers and viewers, and
    hostile clients among them.

    No honest client may get an error or wait for long, and the server's memory may not grow.
    Needs Linux.

    Example: errands bench soak --minutes 30 --clients 400
    """
    from errands.bench.soak import bench_soak

    def trouble(text: str) -> None:
        remarks.print(printable(text))

    with progress_bar() as shown:
        measured = list(
            bench_soak(
                catalog,
                minutes=minutes,
                clients=clients,
                seed=seed,
                progress=shown,
                remark=trouble,
            )
        )
    _report(f"Soak of {catalog}, {clients} clients", measured, as_json)


@app.command()
def start(
    catalog: str = CatalogData,
    starts: int = typer.Option(10, min=1, help="Processes of which the median is told."),
    as_json: bool = _JSON,
) -> None:
    """Measure how long a process takes until it shops: import, environment, first search.

    Example: errands bench start --starts 20
    """
    from errands.bench.start import bench_start

    _report(f"Starting in {catalog}", bench_start(catalog, starts=starts), as_json)


@app.command()
def install(
    out: Path | None = typer.Option(None, help="Also write the table, as Markdown."),
    force: bool = Force,
    as_json: bool = json_lines("dependency"),
) -> None:
    """Measure what each dependency of the base costs: on disk, and when it is imported.

    Example: errands bench install --out dependencies.md
    """
    from errands.bench.start import COLUMNS, dependency_costs, markdown

    refuse_to_replace(out, force)
    with remarks.status("measuring"):
        costs = list(dependency_costs())
    if as_json:
        for one in costs:
            print_json(one._asdict())
    else:
        table = Table(*COLUMNS)
        for one in costs:
            numbers = f"{one.megabytes:.1f}", f"{one.alone:.1f}"
            brings = ", ".join(one.brings)
            table.add_row(one.name, one.version, *numbers, brings, f"{one.import_ms:.0f}")
        results.print(table)
    if out is not None:
        out.write_text(markdown(costs), encoding="utf-8")


@app.command()
def vector(
    catalog: str = CatalogData,
    sizes: str = typer.Option("1,4,16,64,256,1024,4096", help="Numbers of environments."),
    steps: int = typer.Option(20_000, min=100, help="Steps of one measurement."),
    threads: int = typer.Option(
        1, min=1, max=1024, help="Threads that rank the searches of a step."
    ),
    as_json: bool = _JSON,
) -> None:
    """Measure vector environments of several sizes, by the clock; no query is remembered.

    Example: errands bench vector --data full --sizes 1024 --threads 2
    """
    from errands.bench.shop import bench_vector
    from errands.shop.catalog.catalog import Catalog

    opened = Catalog(Catalog.open(catalog).path, remember=0)
    measured = bench_vector(opened, sizes=_numbers(sizes), steps=steps, threads=threads)
    _report(f"Vector environments in {catalog}", measured, as_json)


@app.command("all")
def every(
    out: Path = typer.Option(Path("bench"), help="Where the page and the figures are written."),
    catalog: str = CatalogData,
    full: str = typer.Option(None, help="A catalogue of the full size, measured as well."),
    people: Path = typer.Option(None, help="What people searched for: see `errands bench search`."),
    before: Path = typer.Option(
        None, help="The figures.json of an earlier time, to stand beside today's."
    ),
    sizes: str = typer.Option(
        None,
        help="Also cost over the number of products, such as 1000,10000,100000,1181436 (see"
        " `errands bench scale`; the full size takes 10 minutes and 8 GB).",
    ),
    only: list[str] = typer.Option(
        [], help="Only parts whose titles begin so (may be repeated): Searching, Pixels, ..."
    ),
    quick: bool = typer.Option(False, "--quick", help="Very short measurements: does it all run?"),
    anew: bool = typer.Option(False, "--anew", help="Also measure what was measured in OUT."),
) -> None:
    """Measure everything and write one page: figures.json, performance.md, environments.svg,
    sizes.svg.

    Stopped, it goes on with the next part.

    Example: errands bench all --out bench --full shop-full --before bench-of-last-month
    """
    from errands.bench.every import (
        bench_all,
        environments_plot,
        markdown,
        new_measured,
        read_measured,
        sizes_plot,
    )

    numbers = [] if sizes is None else _numbers(sizes)
    earlier = None if before is None else read_measured(before)
    kept = out / "figures.json"
    measured = read_measured(kept) if kept.is_file() and not anew else new_measured()
    parts = bench_all(
        measured.parts, catalog=catalog, full=full, people=people, sizes=numbers,
        work=out / "sizes", only=only, quick=quick,
    )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    with remarks.status("measuring") as status:
        for part in parts:
            measured = msgspec.structs.replace(measured, parts=(*measured.parts, part))
            kept.write_bytes(msgspec.json.encode(measured))
            status.update(f"measured: {part.title}")
    (out / "performance.md").write_text(markdown(measured, earlier), encoding="utf-8")
    (out / "environments.svg").write_text(environments_plot(measured), encoding="utf-8")
    if numbers:
        (out / "sizes.svg").write_text(sizes_plot(measured), encoding="utf-8")
    for part in measured.parts:
        if part.without:
            remarks.print(f"{part.title}: not measured. {part.without}")
        else:
            print_figures(part.title, list(part.figures))
    results.print(f"Written: {out}/performance.md, environments.svg, figures.json.")


def _numbers(listed: str) -> list[int]:
    try:
        numbers = [int(each) for each in listed.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise SettingError(f"--sizes {listed!r}: expected whole numbers, such as 1000,10000.")
    return numbers


def _report(title: str, measured: Iterable[Figure], as_json: bool) -> None:
    """Print figures: as JSON one by one as they come, else as a table at the end."""
    figures = []
    with remarks.status("measuring"):
        for figure in measured:
            figures.append(figure)
            if as_json:
                fields = ("name", "value", "unit", "floor", "aim")
                print_json({name: getattr(figure, name) for name in fields})
    if not as_json:
        print_figures(title, figures)


def print_figures(title: str, figures: list[Figure]) -> None:
    table = Table("figure", "value", "unit", "floor", "aim", "reaches", title=title)
    for column in (1, 3, 4):
        table.columns[column].justify = "right"
    for figure in figures:
        bounds = ("" if bound is None else f"{bound:,g}" for bound in (figure.floor, figure.aim))
        value = f"{figure.value:,.0f}" if figure.value >= 100 else f"{figure.value:,.2f}"
        table.add_row(figure.name, value, figure.unit, *bounds, figure.verdict)
    results.print(table)
    results.print(f"CPU time on {machine()}.")
