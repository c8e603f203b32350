"""`errands demo tour`: baselines and oracles on the demo data of both domains, and a report."""

import contextlib
import datetime
from pathlib import Path
from typing import Final

from rich.progress import Progress

from errands.cli.output import counting, print_json, program, remarks, results
from errands.cli.report.commands import show_report
from errands.reports.content import gather
from errands.reports.writing import PageReplayer, write
from errands.runs.runner import run
from errands.runs.store.places import open_run

__all__ = ["play_baselines"]

AGENTS: Final = {
    "shop-demo": ("random", "rule", "careful", "choice-oracle"),
    "turk-demo": ("do-nothing", "random", "oracle"),
}
_LISTED: Final = 40
"""Episodes of each run that can be looked at in the report."""


def play_baselines(out: Path | None, as_json: bool) -> None:
    """Play random, rule and the oracles on both domains, and report on them."""
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
