"""Writing the site: a folder of plain files, of which only those are made anew that changed."""

import contextlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from errands.atomic import atomic_write
from errands.leaderboard.board import (
    JSON_FILE,
    BoardRow,
    BoardTable,
    CheckedBoard,
    to_json,
)
from errands.leaderboard.replaying import code_fingerprint
from errands.leaderboard.site.document import STYLE, site_style
from errands.leaderboard.site.entries import Listed, entry_page, episode_page, listed
from errands.leaderboard.site.tables import front_page, protocol_page
from errands.leaderboard.submission import SUFFIX, SubmissionError
from errands.progress import Progress, silent
from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.sample import EACH, pick
from errands.runs.store.places import open_run

__all__ = ["PAGES", "write_site"]

PAGES: Final = 2000
"""Episodes of a submission that have a page; of more, a sample."""
_MADE: Final = "made.txt"
"""Says with what the pages of a submission's episodes were made."""
_SHORT: Final = re.compile("[0-9a-f]{12}")


def write_site(
    checked: CheckedBoard, out: str | Path, *, pages: int = PAGES, progress: Progress = silent
) -> Path:
    """Write the site of a board; the front page, which is returned, comes last.

    `out` is a new folder, or one that holds a leaderboard, which becomes this one.
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise SubmissionError(f"{folder} is not a folder; name another.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / JSON_FILE).is_file():
        raise SubmissionError(f"{folder} holds something that is no leaderboard; name another.")
    board = checked.board
    rows = [(table, row) for table in board.tables for row in (*table.rows, *table.ceilings)]
    try:
        _write(folder / STYLE, site_style())
        _write(folder / JSON_FILE, to_json(board))
        for done, (table, row) in enumerate(rows):
            progress("writing", done, len(rows))
            _write_entry(folder / "submissions" / row.short, table, row, checked, pages)
        for table in board.tables:
            _write(folder / "protocols" / f"{table.slug}.html", protocol_page(table))
        _sweep(folder, {row.short for _, row in rows}, {table.slug for table in board.tables})
        front = folder / "index.html"
        _write(front, front_page(board))
        progress("writing", len(rows), len(rows))
    except OSError as failure:
        raise SubmissionError(f"{folder} cannot be written ({failure.strerror}).") from None
    return front


def _write_entry(
    folder: Path, table: BoardTable, row: BoardRow, checked: CheckedBoard, pages: int
) -> None:
    """A submission's own file, its page, and pages of its episodes unless they are there."""
    code = code_fingerprint("leaderboard", "reports", "runs")
    stamp = f"{row.hash} {table.slug} {pages} {code}\n"
    mark = folder / _MADE
    fresh = mark.is_file() and mark.read_text("utf-8") == stamp
    if not fresh and folder.exists():
        shutil.rmtree(folder)
    with contextlib.closing(open_run(checked.replays[row.hash])) as store:
        chosen = pick(read_columns(store), most=pages, each=min(EACH, pages // 4))
        episodes: list[Listed] = []
        numbers = chosen.numbers
        for place, episode in enumerate(store.episodes(numbers)):
            episodes.append(listed(episode))
            if not fresh:
                around = (
                    numbers[place - 1] if place else None,
                    numbers[place + 1] if place + 1 < len(numbers) else None,
                )
                path = folder / "episodes" / f"{episode.summary.number}.html"
                _write(path, episode_page(table, row, episode, around))
    packed = checked.files[row.hash].read_bytes()
    _write(folder / f"{row.short}{SUFFIX}", packed)
    _write(folder / "index.html", entry_page(table, row, episodes, chosen.rule))
    _write(mark, stamp)


def _sweep(folder: Path, rows: set[str], tables: set[str]) -> None:
    """Take away what an earlier board had and this one has not."""
    for path in (folder / "submissions").glob("*"):
        if path.is_dir() and _SHORT.fullmatch(path.name) and path.name not in rows:
            shutil.rmtree(path)
    for path in (folder / "protocols").glob("*.html"):
        if path.stem not in tables:
            path.unlink()


def _write(path: Path, content: str | bytes) -> None:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    fill: Callable[[Path], object] = lambda work: work.write_bytes(data)  # noqa: E731
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, fill)
