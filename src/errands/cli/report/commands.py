"""`errands report`: what runs and trainings came to, as one page."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final

import typer

from errands.cli.output import (
    Json,
    answer,
    print_json,
    remarks,
    results,
    table,
)
from errands.cli.report.trainings import is_training, show_trainings, write_trainings
from errands.errors import SettingError
from errands.reports.content import Report, Run, gather
from errands.reports.paper_figures import paper_figures, table_record
from errands.reports.statistics.estimate import Estimate
from errands.reports.tables import Cell, Table, Value
from errands.reports.writing import FORMATS, PageReplayer, episode_page, write
from errands.runs.store.places import open_run

__all__ = ["app", "show_report"]


_SHOWN: Final = 3
"""Comparisons that the command prints; a report has them all."""


app = typer.Typer()


@app.command("report")
def report_command(
    places: list[str] = typer.Argument(
        metavar="FOLDER",
        help="Folders of runs (or addresses of runs in a database), folders of trainings.",
    ),
    out: Path | None = typer.Option(None, help="A directory for the report (default: the first)."),
    formats: str = typer.Option(
        ",".join(FORMATS), "--format", help="Of html, md and json; trainings are a page of HTML."
    ),
    title: str = typer.Option("", help="The report's title."),
    episode: int | None = typer.Option(None, min=0, help="One episode on a page of its own."),
    compare_anyway: bool = typer.Option(
        False, "--compare-anyway", help="Compare runs of different protocols, too."
    ),
    listed: int = typer.Option(200, min=0, help="How many episodes of a run are listed."),
    pages: bool = typer.Option(
        True, help="Play episodes again to show pages of which only fingerprints were kept."
    ),
    figures: bool = typer.Option(
        False,
        "--figures",
        help="TurkingBench: print the paper's table 4 and figures 6 to 8 instead of the headlines.",
    ),
    as_json: bool = Json,
) -> None:
    """Write a report: one HTML page that needs nothing else, and the same as Markdown and JSON.

    Of trainings it has the curves, evaluations, speed, where the time went and the settings, side
    by side; one that is still going on can be looked at, too.

    Examples:

    \b
      errands report runs/rule runs/careful --out report
      errands report runs/rule --episode 17
      errands report il rl --out training
      errands report runs/gpt4-relevant runs/gpt4-full runs/oracle --figures
    """
    runs = [place for place in places if not is_training(place)]
    of_runs = {"--episode": episode is not None, "--figures": figures}
    if len(runs) < len(places) and any(of_runs.values()):
        option = next(name for name, is_given in of_runs.items() if is_given)
        training = next(place for place in places if place not in runs)
        raise SettingError(f"{option} is of runs, and {training} is a training; leave it out.")
    folder = out or _beside(places[0])
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(open_run(place))) for place in runs]
        replayer = stack.enter_context(closing(PageReplayer(remarks.print))) if pages else None
        if episode is not None:
            if figures:
                raise SettingError("--figures are of whole runs, and --episode shows one episode.")
            if len(stores) > 1:
                raise SettingError("--episode shows an episode of one run; name one run only.")
            path = episode_page(stores[0], episode, folder, watch=replayer)
            answer(as_json, {"written": [path]}, f"Episode {episode} is in {path}")
            return
        trainings, paths = write_trainings(
            [place for place in places if place not in runs], folder, title
        )
        made = None
        if stores:
            with remarks.status("reading the runs"):
                made = gather(
                    stores, title=title, compare_anyway=compare_anyway, most_listed=listed
                )
            with remarks.status("writing the report"):
                names = [name.strip() for name in formats.split(",") if name.strip()]
                paths = [*write(made, stores, folder, formats=names, watch=replayer), *paths]
        tables = paper_figures(made) if made and figures else ()
    if as_json:
        print_json(
            {
                "written": paths,
                **({} if made is None else {"runs": _plain(made)}),
                **({"trainings": trainings} if trainings else {}),
                **({"figures": [table_record(each) for each in tables]} if figures else {}),
            }
        )
        return
    for each in tables:
        _print_table(each)
    show_trainings(trainings)
    if made is None or figures:
        _print_paths(paths)
    else:
        show_report(made, paths)


def _beside(place: str) -> Path:
    if "://" in place:
        raise SettingError("A run in a database has no directory; say --out DIRECTORY.")
    path = Path(place)
    return path.parent if path.is_file() else path


def _plain(made: Report) -> list[dict[str, Any]]:
    return [
        {
            "run": run.label,
            "protocol": run.info.protocol_key,
            "episodes": run.figures.episodes,
            "errors": run.figures.errors,
            "score": run.figures.score.mean,
            "success": run.figures.success.mean,
        }
        for run in made.runs
    ]


def show_report(made: Report, paths: Sequence[Path]) -> None:
    """The headlines, and where the rest is."""
    rows = [
        (
            run.label + (" (shown the answers)" if run.info.privileged else ""),
            f"{run.figures.episodes:,}",
            _between(run.figures.score),
            _between(run.figures.success),
            str(run.figures.errors or ""),
        )
        for run in made.runs
    ]
    headings = ("run", "episodes", "score", "success %", "errors")
    shown = table(*headings, rows=rows, left=1, title=made.title)
    for column in shown.columns[1:]:
        column.no_wrap = True
    results.print(shown)
    for comparison in made.comparisons[:_SHOWN]:
        results.print(comparison.meaning or comparison.refused)
    if (more := len(made.comparisons) - _SHOWN) > 0:
        results.print(f"{more} more comparisons are in the report.")
    _print_paths(paths)


def _print_paths(paths: Sequence[Path]) -> None:
    for path in paths:
        results.print(f"Written: {path}")


def _print_table(content: Table) -> None:
    rows = [[_cell(cell) for cell in row] for row in content.rows]
    results.print(table(*content.head, rows=rows, left=1, title=content.caption))


def _cell(content: Cell) -> str:
    if isinstance(content, Value):
        return _between(content.estimate)
    return content.name if isinstance(content, Run) else str(content)


def _between(estimate: Estimate) -> str:
    if estimate.mean is None or estimate.low is None or estimate.high is None:
        return "-"
    return f"{estimate.mean:.1f} ({estimate.low:.1f}-{estimate.high:.1f})"
