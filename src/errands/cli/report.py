"""`errands report`, `errands replay` and `errands export`: looking at runs that were kept."""

import shlex
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final

import typer

from errands.cli.output import (
    Json,
    answer,
    print_json,
    progress_bar,
    remarks,
    results,
    table,
)
from errands.errors import SettingError
from errands.plugins import nearest
from errands.reports.content import Report, Run, gather
from errands.reports.paper_figures import paper_figures, table_record
from errands.reports.statistics.estimate import Estimate
from errands.reports.tables import Cell, Table, Value
from errands.reports.writing import FORMATS, PageReplayer, episode_page, write
from errands.runs.export import FORMATS as EXPORTS
from errands.runs.export import export
from errands.runs.replay import reopen_source, replay
from errands.runs.store.base import Store
from errands.runs.store.places import open_run

__all__ = ["app", "show_report"]


_EXPORTS: Final = (*EXPORTS, "harbor")
_SHOWN: Final = 3
"""Comparisons that the command prints; a report has them all."""


app = typer.Typer()


@app.command("report")
def report_command(
    runs: list[str] = typer.Argument(metavar="RUN...", help="Directories of runs, or addresses."),
    out: Path | None = typer.Option(
        None, help="A directory for the report (default: the first run's)."
    ),
    formats: str = typer.Option(",".join(FORMATS), "--format", help="Of html, md and json."),
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

    Examples:

      errands report runs/rule runs/careful --out report

      errands report runs/rule --episode 17

      errands report runs/gpt4-relevant runs/gpt4-full runs/oracle --figures
    """
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(open_run(place))) for place in runs]
        replayer = stack.enter_context(closing(PageReplayer(remarks.print))) if pages else None
        folder = out or _beside(runs[0])
        if episode is not None:
            if figures:
                raise SettingError("--figures are of whole runs, and --episode shows one episode.")
            if len(stores) > 1:
                raise SettingError("--episode shows an episode of one run; name one run only.")
            path = episode_page(stores[0], episode, folder, watch=replayer)
            answer(as_json, {"written": [path]}, f"Episode {episode} is in {path}")
            return
        with remarks.status("reading the runs"):
            made = gather(stores, title=title, compare_anyway=compare_anyway, most_listed=listed)
        tables = paper_figures(made) if figures else ()
        with remarks.status("writing the report"):
            names = [name.strip() for name in formats.split(",") if name.strip()]
            paths = write(made, stores, folder, formats=names, watch=replayer)
        if as_json:
            drawn = {"figures": [table_record(each) for each in tables]} if figures else {}
            print_json({"written": paths, "runs": _plain(made), **drawn})
        elif figures:
            for each in tables:
                _print_table(each)
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


@app.command("replay")
def replay_command(
    run: str = typer.Argument(help="The directory of a run, or its address."),
    episodes: list[int] = typer.Argument(None, metavar="[EPISODE]...", help="Numbers; none: all."),
    as_json: bool = Json,
) -> None:
    """Do the actions of episodes again and prove that the same pages and rewards come back.

    Exit status 1 where anything differs.

    Examples:

      errands replay runs/rule 17

      errands replay runs/rule
    """
    with ExitStack() as stack:
        store = stack.enter_context(closing(open_run(run)))
        wanted = episodes or sorted(store.numbers())
        unknown = set(wanted) - store.numbers()
        if unknown:
            raise SettingError(
                f"{run} has no episode {min(unknown)}; it has {len(store.numbers())} of"
                f" {store.info.episodes}."
            )
        source = stack.enter_context(closing(reopen_source(store.info)))
        different = pages = 0
        with progress_bar() as bar:
            for done, episode in enumerate(store.episodes(wanted), 1):
                result = replay(source, episode)
                pages += result.compared
                different += not result.same
                if as_json:
                    print_json(
                        {
                            "episode": result.number,
                            "key": result.key,
                            "same": result.same,
                            "pages": result.pages,
                            "compared": result.compared,
                            "reward": result.reward,
                            "differences": result.differences,
                        }
                    )
                else:
                    for difference in result.differences:
                        results.print(f"episode {result.number} ({result.key}): {difference}")
                bar("replaying", done, len(wanted))
        if not as_json:
            _conclude(store, len(wanted), pages, different)
    if different:
        raise typer.Exit(1)


def _conclude(store: Store, episodes: int, pages: int, different: int) -> None:
    if different:
        results.print(f"{different} of {episodes} episodes are not as they were recorded.")
    elif not pages:
        none = store.info.observations == "none"
        why = "(--observations none)" if none else "(they failed before their first action)"
        results.print(
            f"{episodes} episodes replayed with the same rewards; no fingerprints of pages were"
            f" kept {why}, so pages could not be compared."
        )
    else:
        results.print(
            f"{episodes} episodes replayed: {pages:,} pages and all rewards are the same."
        )


@app.command("export")
def export_command(
    run: str = typer.Argument(
        help="The directory of a run, or its address; for harbor a protocol, or FILE.toml#name."
    ),
    path: Path = typer.Argument(
        help="What to write: a file; for atif a directory, or a .jsonl; for harbor a directory."
    ),
    form: str = typer.Option("jsonl", "--format", help=f"One of {', '.join(_EXPORTS)}."),
    force: bool = typer.Option(False, "--force", help="Replace a file that exists."),
    style: str | None = typer.Option(
        None,
        help="chat: act (default), react (with thoughts), or sent (a model's requests as sent).",
    ),
    min_reward: float | None = typer.Option(
        None, min=0, max=1, help="chat: only episodes with at least this reward."
    ),
    episodes: int | None = typer.Option(
        None, min=1, help="harbor: so many episodes, from the beginning."
    ),
    data: str | None = typer.Option(None, help="harbor: another catalogue or folder of tasks."),
    split: str | None = typer.Option(None, help="harbor: another split."),
    max_steps: int | None = typer.Option(None, min=1, help="harbor: steps of an episode."),
    image: str | None = typer.Option(
        None,
        metavar="NAME",
        help="harbor: a Docker image that has errands and the data (default: errands is installed"
        " from the package index, with the demo's data).",
    ),
    mcp: bool = typer.Option(
        True, "--mcp/--no-mcp", help="harbor: offer the tools over MCP, too, not by HTTP alone."
    ),
    open_network: bool = typer.Option(
        False,
        "--open-network",
        help="harbor: let agents reach the internet, where goals could be looked up.",
    ),
    as_json: bool = Json,
) -> None:
    """Write all episodes of a run in another format, or a protocol as tasks for Harbor.

    Examples:

      errands export runs/rule rule.jsonl

      errands export runs/rule rule.parquet --format parquet

      errands export runs/rule trajectories --format atif

      errands export runs/rule sft.jsonl --format chat --min-reward 0.8

      errands export shop-demo tasks --format harbor --episodes 20
    """
    for option, value in {"--style": style, "--min-reward": min_reward}.items():
        if value is not None and form != "chat":
            raise SettingError(f"{option} is for --format chat.")
    if form == "harbor":
        if force:
            raise SettingError("--force replaces a file; tasks for Harbor get a new directory.")
        changes = {"episodes": episodes, "data": data, "split": split, "max_steps": max_steps}
        options = {"image": image, "mcp": mcp, "open_network": open_network}
        _export_tasks(run, path, {**options, **changes}, as_json)
        return
    given = {
        "--episodes": episodes,
        "--data": data,
        "--split": split,
        "--max-steps": max_steps,
        "--image": image,
        "--no-mcp": None if mcp else True,
        "--open-network": open_network or None,
    }
    for option, value in given.items():
        if value is not None:
            raise SettingError(f"{option} is for --format harbor; a run is written as it is.")
    if form not in EXPORTS:
        raise SettingError(
            f"There is no format {form!r};{nearest(form, _EXPORTS)} expected {', '.join(_EXPORTS)}."
        )
    with closing(open_run(run)) as store, progress_bar() as bar:
        total = len(store.numbers())
        count = export(
            store,
            path,
            form,
            replace=force,
            style=style or "act",
            min_reward=min_reward,
            progress=lambda done: bar("writing", done, total),
        )
    record = {"written": path, "episodes": count}
    lines = [f"{count:,} episodes written to {path}"]
    if count < total:
        why = "failed" if min_reward is None else f"failed or have a reward below {min_reward:g}"
        lines.append(f"{total - count:,} others {why} and are left out.")
    if total < store.info.episodes:
        lines.append(
            f"The run is to have {store.info.episodes:,}; the command that began it goes on with"
            f" --out {shlex.quote(run)} --resume"
        )
    answer(as_json, record, *lines)


def _export_tasks(protocol: str, out: Path, options: dict[str, Any], as_json: bool) -> None:
    from errands.integrations.harbor import write_tasks

    with progress_bar() as bar:
        episodes = write_tasks(
            out, protocol, progress=lambda done, total: bar("writing", done, total), **options
        )
    record = {"written": out, "episodes": len(episodes), "protocol": episodes.key}
    answer(
        as_json,
        record,
        f"{len(episodes):,} tasks of {episodes.key} written to {out}",
        f"Try: harbor run --path {shlex.quote(str(out))} --agent oracle",
    )
