"""`errands bench`: measure this machine."""

import itertools
from collections.abc import Iterable

import typer
from rich.table import Table

from errands.bench.figure import Figure, machine
from errands.cli.output import Json, print_json, remarks, results
from errands.errors import SettingError

__all__ = ["register"]

group = typer.Typer(name="bench", help="Measure speed and memory.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(group)


@group.command()
def shop(
    catalog: str = typer.Option("demo", help="A catalogue's directory or name."),
    steps: int = typer.Option(50_000, min=1000, help="Environment steps of one measurement."),
    seed: int = typer.Option(1, help="Of the random shopper."),
    as_json: bool = Json,
) -> None:
    """Measure the shop: steps a second, resets, searches, memory of an environment.

    Example: errands bench shop --catalog shop-1k --json
    """
    from errands.bench.shop import bench_shop

    _report(f"Shop {catalog}", bench_shop(catalog, steps=steps, seed=seed), as_json)


@group.command()
def turk(
    tasks: str = typer.Option("demo", help="A folder of tasks, or demo."),
    instances: int = typer.Option(5, min=1, help="Instances of each task."),
    driver: str = typer.Option("both", help="dom, browser or both."),
    memory: bool = typer.Option(
        False, "--memory", help="Play every instance on dom and watch the memory instead."
    ),
    as_json: bool = Json,
) -> None:
    """Measure the paperwork: instances a second with each driver, by the oracle.

    With --memory: the private memory after 1,000 and 10,000 instances and at the end.

    Example: errands bench turk --tasks tasks --json
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


@group.command()
def runs(
    catalog: str = typer.Option("demo", help="A catalogue's directory or name."),
    episodes: int = typer.Option(12_000, min=100, help="Episodes of one measurement."),
    workers: int = typer.Option(2, min=2, help="Workers to compare with one."),
    store: int = typer.Option(
        0, min=0, help="Also fill a store with so many episodes and report on it (1000000)."
    ),
    as_json: bool = Json,
) -> None:
    """Measure the runner: its cost beside the bare environment, workers, a large store.

    Example: errands bench runs --catalog shop-1k --store 1000000
    """
    from errands.bench.runs import bench_runs, bench_store

    measured = bench_runs(catalog, episodes=episodes, workers=workers)
    stored = bench_store(store) if store else ()
    _report(f"Runs on {catalog}", itertools.chain(measured, stored), as_json)


@group.command()
def serve(
    catalog: str = typer.Option("demo", help="A catalogue's directory or name."),
    sessions: int = typer.Option(2000, min=1, help="Sessions that are open and played."),
    seconds: float = typer.Option(20.0, min=1.0, help="How long to play."),
    transport: str = typer.Option(
        "websocket", help="http or websocket (a connection for each session), or batch."
    ),
    at_once: int = typer.Option(64, min=1, help="Calls that wait for an answer at a time."),
    as_json: bool = Json,
) -> None:
    """Measure `errands serve --environments`: a real server, loaded from here.

    Example: errands bench serve --transport batch --seconds 60
    """
    from errands.bench.serve import bench_serve

    measured = bench_serve(
        catalog, sessions=sessions, seconds=seconds, transport=transport, at_once=at_once
    )
    _report(f"Serving {catalog} ({transport})", measured, as_json)


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
