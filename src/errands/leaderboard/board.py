"""The whole leaderboard as data: a table for each protocol, and all that did not get into one.

`leaderboard` reads a folder of submissions and plays each again; the site and the JSON are two
ways of writing down what it returns. What it says depends on the submissions, the data and the
code, and on nothing else, so the same folder gives the same board.
"""

import contextlib
import hashlib
import os
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from errands import __version__
from errands.agents.registry import kinds
from errands.leaderboard.checking import CheckedRun, Mismatch, check
from errands.leaderboard.published import PublishedRow, published_rows
from errands.leaderboard.replaying import SECONDS, DataPlaces, Limits
from errands.leaderboard.submission import (
    SUFFIX,
    AgentCard,
    SubmissionError,
    SubmittedFigures,
    SubmittedRun,
    actions_digest,
    read_submission,
)
from errands.progress import Progress, silent
from errands.reports.content import command_of
from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.comparison import Contestant, compare, corrected
from errands.reports.statistics.estimate import Estimate
from errands.runs.episode import RunInfo, Summary
from errands.runs.failures import failure_of
from errands.runs.identity import DIFFICULTY
from errands.runs.protocol import Protocol, named_protocols
from errands.runs.store.places import open_run

__all__ = [
    "JSON_FILE",
    "LEVEL",
    "SCHEMA",
    "Board",
    "BoardRow",
    "BoardTable",
    "RefusedFile",
    "RowComparison",
    "UncheckedRow",
    "agent_kind",
    "cause_of",
    "leaderboard",
    "to_json",
]

SCHEMA: Final = 1
"""Raised whenever a name in the JSON changes its meaning or goes away."""
LEVEL: Final = 0.05
JSON_FILE: Final = "leaderboard.json"
"""What a site has, and by which it is known to be one."""
_TRAINED: Final = frozenset({"il", "rl", "rnn"})
_MOST_FILES: Final = 10_000


class RowComparison(msgspec.Struct, frozen=True, kw_only=True):
    """A row against another of its table, over the episodes that both played."""

    other: str
    """The other's hash."""
    name: str
    difference: Estimate
    """This row minus the other, in points."""
    p: float | None
    p_holm: float | None
    """Raised for all comparisons of the table."""
    pairs: int
    refused: str = ""

    @property
    def verdict(self) -> str:
        """Whether the two are told apart, in a word or two."""
        if self.p_holm is None or self.p_holm >= LEVEL or not self.difference.mean:
            return "not told apart"
        return "below" if self.difference.mean < 0 else "above"


class BoardRow(msgspec.Struct, frozen=True, kw_only=True):
    """A submission that came back."""

    hash: str
    file: str
    how: str
    """How it was checked."""
    agent: AgentCard
    agent_kind: str
    date: str
    seed: int
    versions: dict[str, str]
    episodes: int
    figures: SubmittedFigures
    failures: dict[str, int]
    """What cost the episodes below 1, and how many; the most frequent first."""
    command: str
    """What plays it anew."""
    remarks: tuple[str, ...]
    against_best: RowComparison | None = None
    against_above: RowComparison | None = None

    @property
    def short(self) -> str:
        """What the row is addressed by."""
        return self.hash[:12]


class BoardTable(msgspec.Struct, frozen=True, kw_only=True):
    """All that was played under one protocol, on the same data."""

    key: str
    slug: str
    """Its address; it depends on the key alone."""
    id: str
    version: int
    title: str
    domain: str
    warning: str
    source: str
    own: bool
    """Whether it is a protocol of a submitter's, or one that departs from a named one."""
    departures: tuple[str, ...] = ()
    """What is not as the protocol says: `episodes=50`, `without:12`."""
    rows: tuple[BoardRow, ...]
    """Best first."""
    ceilings: tuple[BoardRow, ...]
    """Agents that were shown the answers."""
    published: tuple[PublishedRow, ...]
    fingerprint: str
    """Of the submissions in it: what a citation names."""
    date: str
    """Of the newest of them; empty where there is none."""


class UncheckedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A submission that could not be played here: its figures are claims."""

    hash: str
    file: str
    agent: AgentCard
    agent_kind: str
    protocol: str
    """Its id and version, as claimed."""
    date: str
    episodes: int
    claimed: SubmittedFigures
    reason: str


class RefusedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is no submission, or did not come back."""

    file: str
    hash: str = ""
    name: str = ""
    protocol: str = ""
    reason: str
    mismatches: tuple[Mismatch, ...] = ()


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a leaderboard says."""

    schema: int = SCHEMA
    errands: str = __version__
    title: str
    tables: tuple[BoardTable, ...]
    unchecked: tuple[UncheckedRow, ...]
    refused: tuple[RefusedFile, ...]
    notes: tuple[str, ...]
    """Duplicates, and other things that a reader should know."""


class CheckedBoard(NamedTuple):
    """A board, and where the new plays and the files of its rows are."""

    board: Board
    replays: Mapping[str, str]
    """Places of runs, by hash."""
    files: Mapping[str, Path]


def leaderboard(
    folder: str | Path,
    data: DataPlaces | None = None,
    *,
    title: str = "Errands leaderboard",
    workers: int = 1,
    seconds: float = SECONDS,
    total_seconds: float | None = None,
    progress: Progress = silent,
) -> CheckedBoard:
    """Check every submission of a folder, and rank what came back.

    `data` says where the data of protocols is, by the name that they have for it; what is in
    Errands' home is found without. `seconds` is how long an episode may take, `total_seconds` a
    submission: one that takes longer is not checked, and goes on the next time.
    """
    files = _files(Path(folder))
    gathered = _Gathered()
    for file in files:
        try:
            submitted, digest = read_submission(file)
        except SubmissionError as failure:
            gathered.refused.append(RefusedFile(file=file.name, reason=str(failure)))
            continue
        if (first := gathered.files.get(digest)) is not None:
            gathered.notes.append(f"{file.name} is the same submission as {first.name}.")
            continue
        gathered.files[digest] = file
        deadline = None if total_seconds is None else time.monotonic() + total_seconds
        limits = Limits(workers, seconds, deadline)
        told = _Told(progress, file.name, len(submitted.episodes))
        checked = check(submitted, file, digest, data or {}, limits, told.episode)
        gathered.take(submitted, digest, file, checked)
    tables = tuple(_ranked(key, rows, gathered) for key, rows in gathered.tables.items())
    board = Board(
        title=title,
        tables=tuple(sorted((*tables, *_only_published(tables)), key=_order)),
        unchecked=tuple(gathered.unchecked),
        refused=tuple(gathered.refused),
        notes=tuple(gathered.notes),
    )
    return CheckedBoard(board, gathered.replays, gathered.files)


def to_json(board: Board) -> bytes:
    """The board as JSON, indented."""
    text = msgspec.json.encode(_writable(msgspec.to_builtins(board)))
    return msgspec.json.format(text, indent=1) + b"\n"


def _writable(value: Any) -> Any:
    """Without halves of surrogate pairs, which no file of text can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_writable(key): _writable(item) for key, item in value.items()}
    return [_writable(item) for item in value] if isinstance(value, list | tuple) else value


def _files(folder: Path) -> list[Path]:
    """The submissions of a folder and those below it; links are not followed, and the copies that
    a site holds are not looked at."""
    if not folder.is_dir():
        raise SubmissionError(f"{folder} is no folder; expected one with files *{SUFFIX}.")
    found = []
    for place, folders, names in os.walk(folder):
        if JSON_FILE in names:
            folders.clear()
            continue
        files = (Path(place, name) for name in names if name.endswith(SUFFIX))
        found += [path for path in files if path.is_file() and not path.is_symlink()]
    if not found:
        raise SubmissionError(
            f"{folder} has no file *{SUFFIX}; `errands submit RUN --out {folder}/NAME{SUFFIX}`"
            " makes one."
        )
    if len(found) > _MOST_FILES:
        raise SubmissionError(f"{folder} has more than {_MOST_FILES:,} submissions.")
    return sorted(found)


class _Told:
    """Tells the progress of one replay."""

    def __init__(self, progress: Progress, name: str, total: int) -> None:
        self._progress, self._name, self._total = progress, name, total
        self._done = 0

    def episode(self, summary: Summary) -> None:
        self._done += 1
        self._progress(self._name.removesuffix(SUFFIX)[:60], self._done, self._total)


class _Gathered:
    """What has been read so far; of submissions, no episodes."""

    def __init__(self) -> None:
        self.files: dict[str, Path] = {}
        self.replays: dict[str, str] = {}
        self.protocols: dict[str, Protocol] = {}
        self.titles: dict[str, str] = {}
        self.tables: dict[str, list[BoardRow]] = {}
        self.unchecked: list[UncheckedRow] = []
        self.refused: list[RefusedFile] = []
        self.notes: list[str] = []
        self._plays: dict[str, str] = {}

    def take(self, submitted: SubmittedRun, digest: str, file: Path, checked: CheckedRun) -> None:
        card = submitted.agent
        protocol = f"{submitted.protocol.get('id')}@{submitted.protocol.get('version')}"[:120]
        date = submitted.started[:10]
        if checked.mismatched:
            first = checked.mismatches[0]
            more = f", and {checked.mismatched - 1:,} more" if checked.mismatched > 1 else ""
            self.refused.append(
                RefusedFile(
                    file=file.name,
                    hash=digest,
                    name=card.name,
                    protocol=protocol,
                    reason=f"It does not come back. {first}{more}.",
                    mismatches=checked.mismatches,
                )
            )
        elif checked.unchecked or checked.found is None or checked.figures is None:
            self.unchecked.append(
                UncheckedRow(
                    hash=digest,
                    file=file.name,
                    agent=card,
                    agent_kind=agent_kind(card),
                    protocol=protocol,
                    date=date,
                    episodes=len(submitted.episodes),
                    claimed=submitted.figures,
                    reason=checked.unchecked,
                )
            )
        else:
            key = checked.found.key
            self.replays[digest] = checked.place
            self.protocols.setdefault(key, checked.found.protocol)
            self.titles.setdefault(key, checked.found.title)
            self.tables.setdefault(key, []).append(
                BoardRow(
                    hash=digest,
                    file=file.name,
                    how=_HOW[submitted.kind],
                    agent=card,
                    agent_kind=agent_kind(card),
                    date=date,
                    seed=submitted.seed,
                    versions=submitted.versions,
                    episodes=len(submitted.episodes),
                    figures=checked.figures,
                    failures=_failures(checked.place),
                    command=_command(submitted, digest),
                    remarks=(*submitted.remarks, *checked.remarks),
                )
            )
            self._note_copies(submitted, card, key)

    def _note_copies(self, submitted: SubmittedRun, card: AgentCard, key: str) -> None:
        """Two agents that did the very same: one may be a copy, and a reader should know."""
        total = hashlib.sha256(key.encode())
        for episode in submitted.episodes:
            done = episode.actions
            total.update((done if isinstance(done, str) else actions_digest(done)).encode())
        before = self._plays.setdefault(total.hexdigest(), card.name)
        if before != card.name:
            self.notes.append(f"{card.name} did exactly what {before} did, action by action.")


_HOW: Final = {
    "actions": "every action replayed",
    "reproducible": "the agent played again, every action the same",
}


def agent_kind(card: AgentCard) -> str:
    """What sort of agent a card is of, for the filters."""
    if card.privileged:
        return "ceiling"
    if card.agent == "llm" or card.tokens_in or card.tokens_out:
        return "language model"
    if card.agent in _TRAINED:
        return "trained"
    if card.agent == "human":
        return "person"
    return "scripted" if any(card.agent == kind.name for kind in kinds()) else "other"


def _failures(place: str) -> dict[str, int]:
    """What cost the episodes below 1."""
    counts: Counter[str] = Counter()
    with contextlib.closing(open_run(place)) as store:
        for summary in store.summaries():
            if cause := cause_of(store.info.domain, summary):
                counts[cause] += 1
    return dict(counts.most_common())


def cause_of(domain: str, summary: Summary) -> str:
    """What cost an episode its reward; empty where it has all of it."""
    if summary.status == "error":
        return "error"
    return failure_of(domain, summary.reward, summary.parts)


def _command(submitted: SubmittedRun, digest: str) -> str:
    """What plays a row anew, where its agent is at hand."""
    card = submitted.agent
    name = str(submitted.protocol.get("id", ""))
    own = {} if name in named_protocols() else {"id": f"PROTOCOLS.toml#{name}"}
    info = RunInfo(
        id=digest[:12],
        protocol={**submitted.protocol, **own},
        protocol_key=submitted.protocol_key,
        domain=str(submitted.protocol.get("half", "")),
        agent=card.agent,
        agent_settings=card.settings,
        privileged=card.privileged,
        episodes=len(submitted.episodes),
        seed=submitted.seed,
        observation=card.observation,
        observations="auto",
        checksum=submitted.checksum,
    )
    return command_of(info)


def _ranked(key: str, rows: Sequence[BoardRow], gathered: _Gathered) -> BoardTable:
    protocol = gathered.protocols[key]
    ranked = sorted(rows, key=lambda row: (-(row.figures.score.mean or 0.0), row.date, row.hash))
    agents = [row for row in ranked if not row.agent.privileged]
    own = " own:" in key
    return BoardTable(
        key=key,
        slug=slug_of(key),
        id=protocol.id,
        version=protocol.version,
        title=gathered.titles[key],
        domain=protocol.domain,
        warning=protocol.warning,
        source=protocol.source,
        own=own,
        departures=tuple(
            word for word in key.split(" ")[2:] if not word.startswith(("own:", DIFFICULTY))
        ),
        rows=_compared(agents, gathered.replays),
        ceilings=tuple(row for row in ranked if row.agent.privileged),
        published=() if own else _published(protocol.id),
        fingerprint=hashlib.sha256(
            "\n".join([key, *sorted(row.hash for row in rows)]).encode()
        ).hexdigest()[:12],
        date=max(row.date for row in rows),
    )


def slug_of(key: str) -> str:
    """A key as an address: its id and version, and a fingerprint of all of it."""
    words = re.sub("[^a-z0-9]+", "-", key.split(" ")[0].lower()).strip("-")[:60] or "protocol"
    return f"{words}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def _compared(rows: Sequence[BoardRow], replays: Mapping[str, str]) -> tuple[BoardRow, ...]:
    """Each row against the best and against the one above it, all p-values raised together."""
    pairs = dict.fromkeys(
        pair for place in range(1, len(rows)) for pair in ((place, 0), (place, place - 1))
    )
    with contextlib.ExitStack() as stack:
        agents: list[Contestant] = []
        for row in rows if pairs else ():
            store = stack.enter_context(contextlib.closing(open_run(replays[row.hash])))
            agents.append(Contestant(row.short, [(store, read_columns(store))]))
        made = corrected(
            [compare(agents[other], agents[place], anyway=True) for place, other in pairs]
        )
    told = {
        (place, other): RowComparison(
            other=rows[other].hash,
            name=rows[other].agent.name,
            difference=one.difference,
            p=one.p,
            p_holm=one.p_holm,
            pairs=one.pairs,
            refused=one.refused,
        )
        for (place, other), one in zip(pairs, made, strict=True)
    }
    return tuple(
        msgspec.structs.replace(
            row,
            against_best=told.get((place, 0)),
            against_above=told.get((place, place - 1)),
        )
        for place, row in enumerate(rows)
    )


def _published(protocol: str) -> tuple[PublishedRow, ...]:
    return tuple(row for row in published_rows() if row.protocol == protocol)


def _only_published(tables: Sequence[BoardTable]) -> list[BoardTable]:
    """Tables of published figures for which nobody has submitted anything yet."""
    there = {table.id for table in tables if not table.own}
    made = []
    for name in dict.fromkeys(row.protocol for row in published_rows()):
        protocol = named_protocols().get(name)
        if protocol is None or name in there:
            continue
        key = f"{protocol.id}@{protocol.version}"
        made.append(
            BoardTable(
                key=key,
                slug=slug_of(key),
                id=name,
                version=protocol.version,
                title=protocol.title,
                domain=protocol.domain,
                warning=protocol.warning,
                source=protocol.source,
                own=False,
                rows=(),
                ceilings=(),
                published=_published(name),
                fingerprint=hashlib.sha256(key.encode()).hexdigest()[:12],
                date="",
            )
        )
    return made


def _order(table: BoardTable) -> tuple[bool, bool, int, str]:
    """Named protocols as they are listed, those with submissions first, submitters' own last."""
    named = list(named_protocols())
    place = named.index(table.id) if table.id in named else len(named)
    return table.own, not table.date, place, table.key
