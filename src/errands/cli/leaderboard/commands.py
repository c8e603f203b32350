"""`errands submit` and `errands leaderboard`: runs as files, replayed before they are ranked."""

import os
from pathlib import Path

import typer

from errands.cli.output import (
    Json,
    answer,
    printable,
    program,
    progress_bar,
    remarks,
    results,
    table,
)
from errands.errors import SettingError
from errands.home import exists, expanded
from errands.leaderboard.board import Board, BoardRow, BoardTable, leaderboard
from errands.leaderboard.making import submit
from errands.leaderboard.replaying import SECONDS
from errands.leaderboard.site.writing import PAGES, write_site
from errands.leaderboard.submission import read_submission
from errands.reports.formatting import points

__all__ = ["app"]


app = typer.Typer()


@app.command("submit")
def submit_command(
    run: str = typer.Argument(help="The directory of a finished run, or its address."),
    out: Path | None = typer.Option(
        None, help="The file (default: AGENT@PROTOCOL.errands.json.gz in this folder)."
    ),
    name: str = typer.Option("", help="What the leaderboard calls the agent."),
    authors: str = typer.Option("", help="Who made it."),
    url: str = typer.Option("", help="Where more is told about it."),
    note: str = typer.Option("", help="Anything a reader should know."),
    reproducible: bool = typer.Option(
        False,
        "--reproducible",
        help="Send fingerprints of the actions, for agents that ship with Errands: a leaderboard"
        " plays them again.",
    ),
    force: bool = typer.Option(False, "--force", help="Replace a file that exists."),
    as_json: bool = Json,
) -> None:
    """Make one file of a run, for a leaderboard that plays it again.

    It has the protocol, the agent's settings, every action and reward. A run that is not finished
    is refused; episodes that failed are sent along, and count as 0. See docs/guides/leaderboard.md.

    Examples:

      errands submit runs/mine --name "Mine, 7B" --authors "A. Person" --url https://example.org

      errands submit runs/rule --reproducible --out results/rule@shop-demo.errands.json.gz
    """
    kind = "reproducible" if reproducible else "actions"
    path = submit(
        *(run, out),
        name=name,
        authors=authors,
        url=url,
        note=note,
        kind=kind,  # type: ignore[arg-type]
        replace=force,
    )
    submitted, digest = read_submission(path)
    errors = submitted.figures.errors
    if errors:
        remarks.print(f"Note: {errors:,} episodes failed; on a leaderboard they count as 0.")
    answer(
        as_json,
        {
            "file": path,
            "hash": digest,
            "protocol": submitted.protocol_key,
            "agent": submitted.agent.name,
            "kind": kind,
            "episodes": len(submitted.episodes),
            "errors": errors,
            "score": submitted.figures.score,
            "success": submitted.figures.success,
        },
        f"{path}: {submitted.agent.name} on {submitted.protocol_key},"
        f" score {points(submitted.figures.score)}, hash {digest[:12]}.",
        f"To see it come back: {program()} leaderboard {path.parent}",
    )


@app.command("leaderboard")
def leaderboard_command(
    folder: Path = typer.Argument(help="A folder of submissions (*.errands.json.gz)."),
    out: Path = typer.Option(
        Path("leaderboard-site"), help="The folder of the site; an earlier one is renewed."
    ),
    data: list[str] = typer.Option(
        [], metavar="NAME=PATH", help="Where the data is that protocols call NAME."
    ),
    title: str = typer.Option("Errands leaderboard", help="Of the site."),
    workers: int = typer.Option(os.cpu_count() or 1, min=1, help="Episodes replayed at once."),
    seconds: float = typer.Option(SECONDS, min=0.1, help="An episode's time to be replayed."),
    total_seconds: float = typer.Option(
        3600.0, min=1.0, help="A submission's; what takes longer goes on the next time."
    ),
    pages: int = typer.Option(
        PAGES, min=0, help="Episodes of a submission that have a page; of more, a sample."
    ),
    as_json: bool = Json,
) -> None:
    """Replay every submission of a folder, refuse what does not come back, and write a site.

    Every action is done again on the protocol's data, every reward, figure and interval computed
    anew. What was replayed is remembered, so the next time only new submissions take time. Exit
    status 1 where a submission was refused. See docs/guides/leaderboard.md.

    Examples:

      errands leaderboard submissions --out site

      errands leaderboard results --data webshop-1k=shop-1k --data turkingbench=TASKS
    """
    with progress_bar() as progress:
        checked = leaderboard(
            folder,
            _places(data),
            title=title,
            workers=workers,
            seconds=seconds,
            total_seconds=total_seconds,
            progress=progress,
        )
        front = write_site(checked, out, pages=pages, progress=progress)
    board = checked.board
    if not as_json:
        for each in board.tables:
            if each.date:
                results.print(_shown(each))
        _tell_the_rest(board)
    answer(as_json, {"site": front, **_record(board)}, f"Open {front} in a browser.")
    if board.refused:
        raise typer.Exit(1)


def _places(pairs: list[str]) -> dict[str, str]:
    places = {}
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not equals or not name or not path:
            raise SettingError(f"--data {pair}: expected NAME=PATH, as webshop-1k=shop-1k.")
        if not exists(expanded(path)):
            raise SettingError(f"--data {pair}: there is nothing at {path}.")
        places[name] = str(expanded(path))
    return places


def _shown(each: BoardTable) -> object:
    rows = [_row(str(place), row) for place, row in enumerate(each.rows, 1)]
    rows += [_row("ceiling", row) for row in each.ceilings]
    headings = ("", "agent", "score", "success %", "against the best", "hash")
    made = table(*headings, rows=rows, left=2, title=f"{printable(each.title)}\n{each.key}")
    made.columns[-1].no_wrap = True
    return made


def _row(place: str, row: BoardRow) -> tuple[str, ...]:
    against = row.against_best
    told = ""
    if against is not None and against.difference.mean is not None:
        told = f"{against.difference.mean:+.1f}, {against.verdict}"
    figures = row.figures
    return (
        place,
        printable(row.agent.name),
        points(figures.score),
        points(figures.success),
        told,
        row.short,
    )


def _tell_the_rest(board: Board) -> None:
    for unchecked in board.unchecked:
        remarks.print(printable(f"Not checked: {unchecked.file}: {unchecked.reason}."))
    for note in board.notes:
        remarks.print(printable(f"Note: {note}"))
    for refused in board.refused:
        remarks.print(printable(f"Refused: {refused.file}: {refused.reason}"))
        for mismatch in refused.mismatches[1:6]:
            remarks.print(printable(f"  {mismatch}"))


def _record(board: Board) -> dict[str, object]:
    """What a script asks for; leaderboard.json has it all."""
    return {
        "tables": [
            {
                "key": each.key,
                "slug": each.slug,
                "fingerprint": each.fingerprint,
                "rows": [
                    {
                        "agent": row.agent.name,
                        "privileged": row.agent.privileged,
                        "score": row.figures.score,
                        "success": row.figures.success,
                        "hash": row.hash,
                    }
                    for row in (*each.rows, *each.ceilings)
                ],
            }
            for each in board.tables
            if each.date
        ],
        "unchecked": [{"file": one.file, "reason": one.reason} for one in board.unchecked],
        "refused": [
            {"file": one.file, "reason": one.reason, "mismatches": one.mismatches}
            for one in board.refused
        ],
        "notes": board.notes,
    }
