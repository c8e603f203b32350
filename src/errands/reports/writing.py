"""Writing reports to disk: one page, one Markdown file, one JSON file; whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, TextIO

from errands.errors import ErrandsError, SettingError
from errands.reports.content import Report, command_of, gather, to_json
from errands.reports.html.page import single_page, training_page, write_page
from errands.reports.html.replay import Watch
from errands.reports.markdown import to_markdown
from errands.reports.statistics.sample import MOST
from errands.reports.statistics.training import Training
from errands.runs.episode import RunInfo
from errands.runs.store.base import Store

__all__ = ["FORMATS", "NAME", "ReportError", "episode_page", "report", "training_report", "write"]

FORMATS: Final = ("html", "md", "json")
NAME: Final = "report"


class ReportError(ErrandsError):
    """A report cannot be written; the sentence says why and what to do."""


def report(
    stores: Sequence[Store],
    out: Path,
    *,
    formats: Iterable[str] = FORMATS,
    watch: Watch | None = None,
    title: str = "",
    compare_anyway: bool = False,
    most_listed: int = MOST,
    seed: int = 0,
    command: Callable[[RunInfo], str] = command_of,
) -> list[Path]:
    """Report on runs: `report.html`, `report.md` and `report.json` in the directory `out`.

    `watch` plays an episode again, for pages of which only fingerprints were kept. Runs of
    different protocols are not compared unless `compare_anyway`.
    """
    made = gather(
        stores,
        title=title,
        compare_anyway=compare_anyway,
        most_listed=most_listed,
        seed=seed,
        command=command,
    )
    return write(made, stores, out, formats=formats, watch=watch)


def write(
    made: Report,
    stores: Sequence[Store],
    out: Path,
    *,
    formats: Iterable[str] = FORMATS,
    watch: Watch | None = None,
) -> list[Path]:
    """Write down a report that was gathered from these stores."""
    asked = list(dict.fromkeys(formats))
    for name in asked:
        if name not in FORMATS:
            raise SettingError(
                f"There is no report format {name!r}; expected {', '.join(FORMATS)}."
            )
    paths = []
    for name in asked:
        path = out / f"{NAME}.{name}"
        with _whole(path) as file:
            if name == "html":
                write_page(file, made, stores, watch=watch)
            elif name == "md":
                file.write(to_markdown(made))
            else:
                file.write(to_json(made).decode())
        paths.append(path)
    return paths


def episode_page(
    store: Store,
    number: int,
    out: Path,
    *,
    watch: Watch | None = None,
    command: Callable[[RunInfo], str] = command_of,
) -> Path:
    """One episode of a run as a page of its own, `episode-N.html` in the directory `out`."""
    if number not in store.numbers():
        held = sorted(store.numbers())
        there = f"it has {held[0]} to {held[-1]}" if held else "it has none yet"
        raise SettingError(f"The run {store.info.id} has no episode {number}; {there}.")
    path = out / f"episode-{number}.html"
    with _whole(path) as file:
        file.write(single_page(store.info, command(store.info), store.episode(number), watch))
    return path


def training_report(trainings: Sequence[Training], path: Path, *, title: str = "") -> Path:
    """How trainings went, as one page."""
    with _whole(path) as file:
        file.write(training_page(trainings, title))
    return path


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[TextIO]:
    """A file that appears under its name only when all of it is written."""
    aside = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with open(handle, "w", encoding="utf-8") as file:
            yield file
        os.chmod(aside, 0o644)
        os.replace(aside, path)
        aside = None
    except OSError as failure:
        reason = failure.strerror or failure
        raise ReportError(
            f"{path} cannot be written ({reason}); give a directory that can be, with --out."
        ) from None
    finally:
        if aside is not None:
            with contextlib.suppress(OSError):
                os.unlink(aside)
