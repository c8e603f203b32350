"""Writing reports to disk: one page, one Markdown file, one JSON file; whole or not at all."""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol, TextIO, cast

from errands.atomic import atomic_write
from errands.errors import ErrandsError, SettingError
from errands.reports.content import Report, command_of, gather, to_json
from errands.reports.html.page import single_page, training_page, write_page
from errands.reports.html.replay import Watch
from errands.reports.markdown import to_markdown
from errands.reports.statistics.sample import MOST
from errands.reports.statistics.training import Training
from errands.runs.episode import Episode, RunInfo
from errands.runs.episode_source import EpisodeSource
from errands.runs.replay import ReplayedPage, reopen_source, watch
from errands.runs.store.base import Store
from errands.runs.store.places import open_run

__all__ = [
    "FORMATS",
    "NAME",
    "PageReplayer",
    "ReportError",
    "RunSource",
    "episode_page",
    "report",
    "training_report",
    "write",
]

FORMATS: Final = ("html", "md", "json")
NAME: Final = "report"


class ReportError(ErrandsError):
    """A report cannot be written; the sentence says why and what to do."""


class RunHandle(Protocol):
    """An open store, or what `errands.run` returned: both say where a run is."""

    @property
    def place(self) -> str: ...


RunSource = str | Path | RunHandle


def report(
    runs: RunSource | Sequence[RunSource],
    out: str | Path | None = None,
    *,
    formats: Iterable[str] = FORMATS,
    title: str = "",
    pages: bool = True,
    compare_anyway: bool = False,
    most_listed: int = MOST,
    seed: int = 0,
) -> Report:
    """Report on runs: scores with intervals, comparisons, costs, errors and episodes.

        result = errands.run("shop-demo", "rule", out="runs/rule")
        made = errands.report([result, "runs/careful"], "report")
        print(made.runs[0].figures.score.mean, made.comparisons[0].meaning)

    Args:
        runs: One run or several: directories, addresses of databases, results of `errands.run`.
        out: A directory for `report.html`, `report.md` and `report.json`; None writes nothing.
        formats: Which of them.
        title: Of the report; by default the titles of the protocols.
        pages: Play episodes again to show pages of which only fingerprints were kept.
        compare_anyway: Compare runs of different protocols, too.
        most_listed: Episodes of a run that are shown; of more, a sample.
        seed: Of bootstrap intervals, tests and samples.
    """
    one = _is_run(runs) or not isinstance(runs, Iterable)
    several = cast("Sequence[RunSource]", [runs] if one else runs)
    with contextlib.ExitStack() as stack:
        stores = [_store(run, stack) for run in several]
        made = gather(
            stores, title=title, compare_anyway=compare_anyway, most_listed=most_listed, seed=seed
        )
        if out is not None:
            replayer = stack.enter_context(contextlib.closing(PageReplayer())) if pages else None
            write(made, stores, Path(out), formats=formats, watch=replayer)
    return made


def _is_run(run: object) -> bool:
    return isinstance(run, str | Path) or hasattr(run, "place")


def _store(run: RunSource, stack: contextlib.ExitStack) -> Store:
    if hasattr(run, "summaries"):
        return cast(Store, run)
    if not _is_run(run):
        raise SettingError(
            f"{run!r} is no run; expected a directory, an address of a database, or a result of"
            " errands.run."
        )
    place = run if isinstance(run, str | Path) else run.place
    return stack.enter_context(contextlib.closing(open_run(place)))


class PageReplayer:
    """Plays episodes again for the pages of a report; what a run was played in is opened once.

    Where that cannot be done, `on_failure` is told why, and the report does without the pages.
    """

    def __init__(self, on_failure: Callable[[str], object] = lambda reason: None) -> None:
        self._on_failure = on_failure
        self._sources: dict[str, EpisodeSource | None] = {}

    def __call__(self, info: RunInfo, episode: Episode) -> Sequence[ReplayedPage] | None:
        if info.id not in self._sources:
            try:
                self._sources[info.id] = reopen_source(info)
            except ErrandsError as failure:
                self._sources[info.id] = None
                self._on_failure(f"Pages of {info.agent} are not shown again: {failure}")
        source = self._sources[info.id]
        if source is None:
            return None
        try:
            return list(watch(source, episode))
        except ErrandsError as failure:
            self._on_failure(f"Episode {episode.summary.number} of {info.agent}: {failure}")
            return None

    def close(self) -> None:
        for source in self._sources.values():
            if source is not None:
                source.close()


def write(
    made: Report,
    stores: Sequence[Store],
    out: Path,
    *,
    formats: Iterable[str] = FORMATS,
    watch: Watch | None = None,
) -> list[Path]:
    """Write down a report that was gathered from these stores."""
    names = list(dict.fromkeys(formats))
    for name in names:
        if name not in FORMATS:
            raise SettingError(
                f"There is no report format {name!r}; expected {', '.join(FORMATS)}."
            )
    writers: dict[str, Callable[[TextIO], object]] = {
        "html": lambda file: write_page(file, made, stores, watch=watch),
        "md": lambda file: file.write(to_markdown(made)),
        "json": lambda file: file.write(to_json(made).decode()),
    }
    return [_write_whole(out / f"{NAME}.{name}", writers[name]) for name in names]


def episode_page(store: Store, number: int, out: Path, *, watch: Watch | None = None) -> Path:
    """One episode of a run as a page of its own, `episode-N.html` in the directory `out`."""
    if number not in store.numbers():
        numbers = sorted(store.numbers())
        there = f"it has {numbers[0]} to {numbers[-1]}" if numbers else "it has none yet"
        raise SettingError(f"The run {store.info.id} has no episode {number}; {there}.")
    page = single_page(store.info, command_of(store.info), store.episode(number), watch)
    return _write_whole(out / f"episode-{number}.html", lambda file: file.write(page))


def training_report(trainings: Sequence[Training], path: Path, *, title: str = "") -> Path:
    """How trainings went, as one page."""
    page = training_page(trainings, title)
    return _write_whole(path, lambda file: file.write(page))


def _write_whole(path: Path, write: Callable[[TextIO], object]) -> Path:
    """Write a file that appears under its name only when all of it is written."""

    def fill(work: Path) -> None:
        with work.open("w", encoding="utf-8") as file:
            write(file)

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, fill)
    except OSError as failure:
        reason = failure.strerror or failure
        raise ReportError(
            f"{path} cannot be written ({reason}); give a directory that can be, with --out."
        ) from None
    return path
