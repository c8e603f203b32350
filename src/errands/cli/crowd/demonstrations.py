"""The part of `errands crowd` that is about shopping: people's sessions, counted, and as runs."""

import shlex
from pathlib import Path
from typing import Any

import typer

from errands.cli.completion import catalog_names
from errands.cli.crowd.store import IncludeTrials, Store
from errands.cli.options import CatalogData
from errands.cli.output import Json, print_json, program, remarks, results, table
from errands.crowd.shopping.demonstrations import Overview, SessionFilter, export_run
from errands.crowd.shopping.human_run import DemonstrationExport, count_people
from errands.crowd.store.database import open_read_only

__all__ = ["export_demonstrations", "import_logs", "show_demonstrations"]

_OUT = typer.Option(..., help="A new directory for the run, or a PostgreSQL address.")
_MIN_REWARD = typer.Option(0.0, min=0.0, max=1.0, help="Leave out lower rewards.")
_OBSERVATION = typer.Option("text_rich", help="How pages are kept: text, text_rich, html, url.")


def show_demonstrations(told: Overview) -> None:
    """Workers with their status and figures, and the figures of groups."""
    workers = [
        (
            f"w{worker.id} {worker.name}",
            "expert" if worker.is_expert else worker.status,
            _number(worker.trial, 2),
            str(worker.figures.count),
            _number(worker.figures.score),
            _number(worker.figures.success),
            _number(worker.figures.deviation),
        )
        for worker in told.workers
    ]
    headings: tuple[str, ...] = (
        "worker",
        "status",
        "trial",
        "assignments",
        "score",
        "success %",
        "deviation",
    )
    results.print(table(*headings, rows=workers, left=2))
    groups = [
        (
            who,
            str(group.count),
            _number(group.score),
            _number(group.success),
            *map(_spread, (group.steps, group.states, group.items, group.searches)),
        )
        for who, group in (
            ("all", told.all),
            ("qualified", told.qualified),
            ("experts", told.experts),
        )
    ]
    headings = ("who", "assignments", "score", "success %", "steps", "states", "items", "searches")
    results.print(table(*headings, rows=groups, left=1))
    results.print(
        f"{told.finished} assignments are finished, {told.open} open, {told.returned} returned;"
        f" {told.visitors} visitors without an assignment bought something."
    )


def export_demonstrations(
    store: str = Store,
    out: str = _OUT,
    catalog: str = CatalogData,
    goals: str | None = typer.Option(
        None, help="What they shopped for, where that was a goal file."
    ),
    experts: bool = typer.Option(False, "--experts", help="The better half of the qualified."),
    qualified: bool = typer.Option(False, "--qualified", help="Those who passed the trial."),
    worker: int | None = typer.Option(None, min=1, help="One worker alone, by number."),
    visitors: bool = typer.Option(False, "--visitors", help="Also people without an assignment."),
    min_reward: float = _MIN_REWARD,
    include_trials: bool = IncludeTrials,
    observation: str = _OBSERVATION,
    as_json: bool = Json,
) -> None:
    """Write demonstrations as a run, which `report`, `replay`, `export` and `serve --runs` read.

    Every session is done again in the environment; those that cannot be are named. Beside the run
    is its protocol, under which agents can be run on the same goals. The server may go on
    meanwhile. Examples:

    \b
      errands crowd export demonstrations site.sqlite --data shop-1k --experts --out runs/experts
      errands export runs/experts experts.jsonl
      errands run runs/experts/protocol.toml --agent rule --out runs/rule
      errands report runs/experts runs/rule
    """
    chosen = SessionFilter(
        experts=experts,
        qualified=qualified,
        min_reward=min_reward,
        include_trials=include_trials,
        worker=worker,
        visitors=visitors,
    )
    with open_read_only(store) as database, remarks.status("replaying sessions"):
        made = export_run(
            database, out, chosen, catalog=catalog, goals=goals, observation=observation
        )
    _tell(made, as_json)


def import_logs(
    folder: Path = typer.Argument(help="The original's user_session_logs, or a folder of them."),
    out: str = _OUT,
    catalog: str = typer.Option(
        ...,
        "--data",
        help="The catalogue of the products they shopped in.",
        autocompletion=catalog_names,
    ),
    goals: str = typer.Option("human", help="What they shopped for: human, synthetic, a file."),
    min_reward: float = _MIN_REWARD,
    observation: str = _OBSERVATION,
    as_json: bool = Json,
) -> None:
    """Write the original WebShop's logs of people as a run, with the actions that they lack.

    Example:

    \b
      errands crowd import-logs user_session_logs --data shop --out runs/people
    """
    from errands.crowd.shopping.session_logs import import_logs as imported

    with remarks.status("replaying sessions"):
        made = imported(
            folder,
            out,
            catalog=catalog,
            goals=goals,
            min_reward=min_reward,
            observation=observation,
        )
    _tell(made, as_json)


def _tell(made: DemonstrationExport, as_json: bool) -> None:
    if as_json:
        print_json(made)
        return
    for one in made.unfit:
        remarks.print(f"Left out: {one.session} of {one.worker} (goal {one.goal}): {one.reason}.")
    place = shlex.quote(made.place)
    results.print(
        f"In {made.place}: {made.kept} demonstrations of {count_people(made.workers)}, score"
        f" {made.score:.1f}, success {made.success:.1f} %; left out: {len(made.unfit)}."
    )
    remarks.print(f"Look at them: {program()} report {place}")
    if made.protocol_file:
        remarks.print(
            f"Run an agent on the same goals: {program()} run {shlex.quote(made.protocol_file)}"
            " --agent rule"
        )


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _spread(spread: Any) -> str:
    return "-" if spread is None else f"{spread.mean:.1f} ({spread.least:.0f} to {spread.most:.0f})"
