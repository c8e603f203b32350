"""Damaged runs: many of them in one process.

    python run_damage.py FOLDER FIRST COUNT

damages a copy of a run in so many ways, each by its number alone, reads it in every way, goes on
with it, and prints a line of JSON for each.
"""

import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from catalog_damage import WAYS, outcome_of

__all__ = ["main"]


def _read(place: Path) -> str:
    from errands.runs.store.places import open_run

    with closing(open_run(place)) as store:
        return _told(store)


def _looked_at(place: Path) -> str:
    from errands.runs.store.sqlite_view import SqliteView
    from errands.runs.store.view import EpisodeFilter

    view = SqliteView(place / "run.sqlite")
    return repr([view.totals(), view.some(EpisodeFilter(order="reward"), 0, 5), _told(view)])


def _told(store: Any) -> str:
    columns = {name: values.tolist() for name, values in store.columns().items()}
    return repr(
        [store.info, list(store.summaries()), columns, list(store.details()), [*store.episodes()]]
    )


def _reported(place: Path) -> str:
    from errands.reports.writing import report

    report([str(place)], place / "report")
    return (place / "report" / "report.md").read_text()


def _resumed(place: Path) -> str:
    from errands.runs.protocol import Protocol
    from errands.runs.runner import run

    protocol = msgspec.json.decode((place / "protocol.json").read_bytes(), type=Protocol)
    return str(run(protocol, "rule", out=place, resume=True, observations="full").kept)


READERS: dict[str, Callable[[Path], str]] = {
    "read": _read, "look": _looked_at, "report": _reported, "resume": _resumed,
}  # fmt: skip


def main(source: Path, first: int, count: int) -> None:
    names = [path.name for path in sorted(source.glob("run.sqlite*")) if path.stat().st_size]
    with tempfile.TemporaryDirectory() as work:
        for number in range(first, first + count):
            rng = random.Random(number)
            folder = Path(shutil.copytree(source, Path(work, str(number))))
            way = list(WAYS)[number % len(WAYS)]
            path = folder / names[number // len(WAYS) % len(names)]
            data = bytearray(path.read_bytes())
            WAYS[way](data, rng)
            path.write_bytes(data)
            print(json.dumps({"number": number, "file": path.name, "way": way}), flush=True)
            # On copies: who opens a run may write to it.
            outcomes = {}
            for name, use in READERS.items():
                copy = Path(shutil.copytree(folder, Path(work, f"{number}-{name}")))
                kind, said = outcome_of(lambda use=use, copy=copy: use(copy))  # type: ignore[misc]
                outcomes[name] = [kind, said if kind != "answer" else ""]
                shutil.rmtree(copy)
            print(json.dumps(outcomes), flush=True)
            shutil.rmtree(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
