"""The runs that a server shows: those that were named at its start, and those below named folders.

A run has an id for addresses, made here of its folder's name and a fingerprint of its place. What
a client sends is only ever looked up among these ids, so no path can come from outside. What
cannot be read is listed with its reason, and the others are shown all the same.
"""

import hashlib
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from errands.errors import ErrandsError, SettingError
from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.estimate import NOTHING, Estimate
from errands.reports.statistics.figures import reward_estimates
from errands.runs.answers import answer_figures
from errands.runs.episode import RunInfo
from errands.runs.store.places import FILE, DatabaseAddress, read_place
from errands.runs.store.postgres_view import postgres_views
from errands.runs.store.sqlite import check_file
from errands.runs.store.sqlite_view import SqliteView
from errands.runs.store.view import RunView, Totals

__all__ = ["RunEntry", "RunLibrary", "RunStatus", "UnreadableRun"]

_DEEP: Final = 4
"""Folders below a named one that are looked into."""
_MOST: Final = 20_000
"""Folders that are looked into at all."""
_WITH_INTERVALS: Final = 20_000
"""Episodes of a run up to which a list of runs shows intervals."""
_FRESH: Final = 2.0
"""Seconds after which folders are looked through again."""


class RunStatus(NamedTuple):
    """The status of a run."""

    totals: Totals
    score: Estimate
    """Mean reward times 100, errors left out."""
    success: Estimate
    writing: bool
    """Whether a runner is at work on it."""
    waiting: bool
    """Whether finished episodes still lie beside the database of a run that nobody writes."""
    failed: str = ""
    """Why it has no score: too many of a model's answers came to nothing."""


class RunEntry(NamedTuple):
    """A run that can be shown."""

    id: str
    name: str
    """Its place below the folder that was named."""
    view: RunView

    @property
    def info(self) -> RunInfo:
        return self.view.info


class UnreadableRun(msgspec.Struct, frozen=True):
    """Something in a folder that is no run that can be shown."""

    name: str
    reason: str


class RunLibrary:
    """All runs of some places, newest first. May be used by several threads."""

    def __init__(self, places: Sequence[str]) -> None:
        self._places = [_place(place) for place in places]
        self._lock = threading.Lock()
        self._refreshed = float("-inf")
        self._runs: dict[str, RunEntry] = {}
        self._unreadable: tuple[UnreadableRun, ...] = ()
        self._views: dict[Path, tuple[object, RunView]] = {}
        self._statuses: dict[str, tuple[object, RunStatus]] = {}

    def runs(self) -> list[RunEntry]:
        """All runs, the newest first."""
        self._refresh()
        return list(self._runs.values())

    def unreadable(self) -> tuple[UnreadableRun, ...]:
        self._refresh()
        return self._unreadable

    def counts(self) -> tuple[int, int]:
        """How many runs and how many others there were when somebody last looked."""
        return len(self._runs), len(self._unreadable)

    def find(self, id: str) -> RunEntry | None:
        """The run of an id, if there is one."""
        if id not in self._runs:
            self._refresh()
        return self._runs.get(id)

    def message(self, failure: Exception) -> str:
        """A failure as others may read it: where runs lie on this machine is not their business."""
        text = str(failure)
        for place in self._places:
            if isinstance(place, Path):
                text = text.replace(f"{place.parent}{os.sep}", "")
            else:
                text = text.replace(place.shown, "the database")
        return text

    def status(self, run: RunEntry) -> RunStatus:
        """The status of a run; counted again only when something was added."""
        view = run.view
        writing = view.is_written()
        waiting = not writing and view.waiting()
        # Before the counting: what is added meanwhile makes it stale.
        stamp = view.stamp()
        cached = self._statuses.get(run.id)
        if cached is not None and cached[0] == stamp:
            return cached[1]._replace(writing=writing, waiting=waiting)
        totals = view.totals()
        failed = _failed(view)
        scores = (NOTHING, NOTHING) if failed else _scores(view, totals)
        counted = RunStatus(totals, *scores, writing, waiting, failed)
        self._statuses[run.id] = stamp, counted
        return counted

    def _refresh(self) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._refreshed < _FRESH:
                return
            runs: list[RunEntry] = []
            unreadable: list[UnreadableRun] = []
            for named in self._places:
                if isinstance(named, DatabaseAddress):
                    _read_database(named, runs, unreadable)
                    continue
                for name, path in _files(named):
                    try:
                        runs.append(RunEntry(_id(path.parent.name, path), name, self._view(path)))
                    except (ErrandsError, OSError) as failure:
                        unreadable.append(UnreadableRun(name, self.message(failure)))
            runs.sort(key=lambda one: (one.info.started, one.id), reverse=True)
            self._runs = {one.id: one for one in runs}
            self._unreadable = tuple(dict.fromkeys(unreadable))
            self._statuses = {k: v for k, v in self._statuses.items() if k in self._runs}
            self._refreshed = now

    def _view(self, path: Path) -> RunView:
        """A view for each file, for as long as it is the same file."""
        there = path.stat()
        which = there.st_dev, there.st_ino
        kept = self._views.get(path)
        if kept is None or kept[0] != which:
            kept = self._views[path] = which, SqliteView(path)
        return kept[1]


def _failed(view: RunView) -> str:
    """Why a run has no score; only those of models are read for it."""
    settings = view.info.agent_settings
    if not isinstance(settings.get("model"), str):
        return ""
    figures = answer_figures((parts for _, parts in view.parts()), settings)
    return "" if figures is None else figures.failed


def _scores(view: RunView, totals: Totals) -> tuple[Estimate, Estimate]:
    """Task Score and Success Rate, made as reports make them; of very many episodes the intervals
    are left to the report."""
    if not totals.rewards:
        return NOTHING, NOTHING
    weights = str(view.info.protocol.get("weights", "episode"))
    if totals.kept <= _WITH_INTERVALS or weights != "episode":
        score, success = reward_estimates(read_columns(view), weights)
        return score, success
    size = sum(count for _, count in totals.rewards)
    means = (
        100 * sum(each(value) * count for value, count in totals.rewards) / size
        for each in (float, lambda value: value >= 1.0)
    )
    score, success = (Estimate(mean, None, None, size) for mean in means)
    return score, success


def _read_database(
    database: DatabaseAddress, runs: list[RunEntry], unreadable: list[UnreadableRun]
) -> None:
    """The runs of a database."""
    try:
        for id, view in postgres_views(database.url, database.run, database.shown):
            if isinstance(view, Exception):
                unreadable.append(UnreadableRun(id, str(view)))
            else:
                runs.append(RunEntry(_id(id, f"{database.url} {id}"), id, view))
    except ErrandsError as failure:
        unreadable.append(UnreadableRun("the database", str(failure).replace(database.shown, "It")))


def _place(place: str) -> Path | DatabaseAddress:
    if "://" in place:
        database = read_place(place)
        assert isinstance(database, DatabaseAddress)
        return database
    path = Path(place).absolute()
    if path.is_file():
        check_file(path)
    elif not path.is_dir():
        raise SettingError(
            f"There is nothing at {place}; name the directory of a run, or a folder of such, with"
            " --runs."
        )
    return path


def _files(named: Path) -> Iterator[tuple[str, Path]]:
    """The files of runs at or below a place, each with what to call it."""
    if named.is_file():
        yield named.parent.name or named.name, named
        return
    left = _MOST
    waiting = [(named, 0)]
    while waiting and left:
        folder, depth = waiting.pop()
        left -= 1
        try:
            if (folder / FILE).is_file():
                yield str(folder.relative_to(named.parent)), folder / FILE
                continue
            with os.scandir(folder) as entries:
                # Links could lead out of what was named, or round in a circle.
                below = [e.name for e in entries if e.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        if depth < _DEEP:
            waiting += [(folder / name, depth + 1) for name in below if not name.startswith(".")]


def _id(name: str, place: str | os.PathLike[str]) -> str:
    """A name for addresses: what people recognise, and what no other place has."""
    shown = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60].rstrip("-")
    mark = hashlib.blake2b(os.fsencode(place), digest_size=6).hexdigest()
    return f"{shown}-{mark}" if shown else mark
