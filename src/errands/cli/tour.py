"""`errands tour`: baselines and oracles on the demo data of both domains, and a report."""

import contextlib
import datetime
from pathlib import Path
from typing import Final

import typer
from rich.progress import Progress

from errands.cli.output import Json, counting, print_json, program, remarks, results
from errands.cli.report import show_report
from errands.reports.content import gather
from errands.reports.writing import PageReplayer, write
from errands.runs.runner import run
from errands.runs.store.places import open_run

__all__ = ["app"]

AGENTS: Final = {
    "shop-demo": ("random", "rule", "careful", "choice-oracle"),
    "turk-demo": ("do-nothing", "random", "oracle"),
}
_LISTED: Final = 40
"""Episodes of each run that can be looked at in the report."""


app = typer.Typer()


@app.command("tour")
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
    with counting(transient=False) as shown:
        for protocol, agents in AGENTS.items():
            for agent in agents:
                places.append(folder / f"{protocol}-{agent}")
                _play(protocol, agent, places[-1], shown)
    with contextlib.ExitStack() as stack:
        stores = [stack.enter_context(contextlib.closing(open_run(place))) for place in places]
        replayer = stack.enter_context(contextlib.closing(PageReplayer(remarks.print)))
        with remarks.status("writing the report"):
            made = gather(
                stores, title="Baselines and oracles on the demo data", most_listed=_LISTED
            )
            paths = write(made, stores, folder, watch=replayer)
    if as_json:
        print_json({"report": paths[0], "runs": places})
        return
    show_report(made, paths)
    results.print(
        f"Open {paths[0]} in a browser: figures, comparisons, and every page as the agents saw it."
    )
    results.print(f"Your own agent: {program()} run shop-demo --agent module:Class")


def _play(protocol: str, agent: str, place: Path, shown: Progress) -> None:
    task = shown.add_task(f"{agent} on {protocol}", total=None, remark="")
    run(
        protocol,
        agent,
        out=place,
        on_start=lambda info, pending: shown.update(task, total=len(pending)),
        on_episode=lambda summary: shown.advance(task),
    )
