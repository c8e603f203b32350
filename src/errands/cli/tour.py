"""`errands tour`: baselines and oracles on the demo data of both domains, and a report."""

import contextlib
import datetime
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import typer

from errands.cli.output import Json, print_json, program, progress_bar, remarks, results
from errands.cli.report import show_report
from errands.reports.content import gather
from errands.reports.writing import PageReplayer, write
from errands.runs.episode import RunInfo, Summary
from errands.runs.runner import run
from errands.runs.store.places import open_run

__all__ = ["register"]

AGENTS: Final = {
    "shop-demo": ("random", "rule", "careful", "choice-oracle"),
    "turk-demo": ("do-nothing", "random", "oracle"),
}
_LISTED: Final = 40
"""Episodes of each run that can be looked at in the report."""


def register(app: typer.Typer) -> None:
    app.command("tour")(tour)


def tour(
    out: Path | None = typer.Option(None, help="A new directory (default: below runs/)."),
    as_json: bool = Json,
) -> None:
    """Play random, rule and the oracles on both domains of the demo data, and report on them.

    Example: errands tour --out runs/tour
    """
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S")
    folder = out or Path("runs") / f"tour-{stamp}"
    places = []
    with progress_bar() as bar:
        for protocol, agents in AGENTS.items():
            for agent in agents:
                place = folder / f"{protocol}-{agent}"
                counter = _Counter(bar, f"{agent} on {protocol}")
                run(protocol, agent, out=place, on_start=counter.begun, on_episode=counter.played)
                places.append(place)
    with contextlib.ExitStack() as stack:
        stores = [stack.enter_context(contextlib.closing(open_run(place))) for place in places]
        replayer = stack.enter_context(contextlib.closing(PageReplayer(remarks.print)))
        with remarks.status("writing the report"):
            made = gather(
                stores, title="Baselines and oracles on the demo data", most_listed=_LISTED
            )
            paths = write(made, stores, folder, watch=replayer)
    if as_json:
        print_json({"report": str(paths[0]), "runs": [str(place) for place in places]})
        return
    show_report(made, paths)
    results.print(
        f"Open {paths[0]} in a browser: figures, comparisons, and every page as the agents saw it."
    )
    results.print(f"Your own agent: {program()} run shop-demo --agent module:Class")


class _Counter:
    """Counts a run's episodes on the progress bar."""

    def __init__(self, bar: Callable[[str, int, int | None], None], label: str) -> None:
        self._bar = bar
        self._label = label
        self._count = 0
        self._planned = 0

    def begun(self, info: RunInfo, pending: Sequence[int]) -> None:
        self._planned = len(pending)

    def played(self, summary: Summary) -> None:
        self._count += 1
        self._bar(self._label, self._count, self._planned)
