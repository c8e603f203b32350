"""The record of a transfer run: one file, a line of JSON for everything that happens, at once.

Requests, steps, purchases, ends and scores are appended as they come, so whatever ends the
process, all before it is kept. An episode without an end is played again by `--resume`; scores,
by hand or by rule, are lines like the others, and the last one for an episode counts.
"""

import fcntl
import os
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from errands.atomic import cut_off_torn_line
from errands.errors import DataError
from errands.transfer.environment import LivePurchase

__all__ = [
    "EndLine", "EpisodeRecord", "JournalLine", "PurchaseLine", "RequestLine", "RunLine",
    "ScoreLine", "StartLine", "StepLine", "TransferJournal", "TransferRun", "read_run",
]  # fmt: skip

FORMAT: Final = 1


class RunLine(msgspec.Struct, frozen=True, kw_only=True, tag="run", tag_field="what"):
    """What a run is: always the first line."""

    id: str
    site: str
    agent: str
    agent_settings: dict[str, Any]
    instructions: list[str] = msgspec.field(name="errands")
    """In order."""
    pages: str
    """Where pages come from."""
    rules: str
    max_steps: int | None
    seed: int
    started: str
    version: str
    goals: str = ""
    """The goals as a whole, hashed; empty where an older version did not say, as below."""
    where: str = ""
    """Where the site is searched."""
    details: bool | None = None
    format: int = FORMAT


class StartLine(msgspec.Struct, frozen=True, kw_only=True, tag="start", tag_field="what"):
    """An episode begins, from the beginning: what it may have had before counts no more."""

    episode: int


class RequestLine(msgspec.Struct, frozen=True, kw_only=True, tag="request", tag_field="what"):
    """A request that left."""

    episode: int
    kind: str
    url: str
    status: int
    seconds: float
    error: str = ""


class StepLine(msgspec.Struct, frozen=True, kw_only=True, tag="step", tag_field="what"):
    """What an agent did, and where it got."""

    episode: int
    action: str
    page: str
    site_url: str
    observation: str


class PurchaseLine(msgspec.Struct, frozen=True, kw_only=True, tag="purchase", tag_field="what"):
    """What would have been bought, for scoring."""

    episode: int
    purchase: LivePurchase = msgspec.field(name="held")


class EndLine(msgspec.Struct, frozen=True, kw_only=True, tag="end", tag_field="what"):
    """An episode is over."""

    episode: int
    status: str
    """`done`, `truncated` or `error`."""
    steps: int
    seconds: float
    notes: list[str]
    """What pages lacked, and where they contradict themselves."""
    error: str = ""
    owner: str = ""
    """Whose failure it was: `page` for one that was not understood, `agent`, `model`, `time`."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0


class ScoreLine(msgspec.Struct, frozen=True, kw_only=True, tag="score", tag_field="what"):
    """What a purchase is worth. Parts are 0 to 1; `option` is None where none was wanted."""

    episode: int
    attribute: float
    option: float | None
    type: float
    price: float
    total: float
    by: str
    """`rules ...`, or who entered it."""


JournalLine = RunLine | StartLine | RequestLine | StepLine | PurchaseLine | EndLine | ScoreLine
_DECODER: Final = msgspec.json.Decoder(JournalLine)


class EpisodeRecord(msgspec.Struct):
    """One episode as the journal tells it."""

    number: int
    instruction: str
    requests: list[RequestLine]
    steps: list[StepLine]
    purchase: LivePurchase | None = None
    end: EndLine | None = None
    score: ScoreLine | None = None


class TransferRun(msgspec.Struct):
    """A run as its journal tells it."""

    path: Path
    info: RunLine
    episodes: dict[int, EpisodeRecord]
    requests: int

    @property
    def finished(self) -> list[EpisodeRecord]:
        """Episodes that have an end, in order."""
        return [self.episodes[at] for at in sorted(self.episodes) if self.episodes[at].end]


def read_run(path: Path) -> TransferRun:
    """Read a journal; a last line that was cut off is left out."""
    try:
        data = path.read_bytes()
    except IsADirectoryError:
        raise DataError(
            f"{path} is a folder; expected the .jsonl file of a transfer run."
        ) from None
    except OSError as failure:
        raise DataError(f"{path} cannot be read ({failure.strerror}).") from None
    lines = data.split(b"\n")[:-1]
    run: TransferRun | None = None
    for number, text in enumerate(lines, 1):
        try:
            line = _DECODER.decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as failure:
            raise DataError(
                f"{path}, line {number}, is not of a transfer run ({failure}); expected a file"
                " that `errands transfer` wrote."
            ) from None
        if isinstance(line, RunLine):
            if line.format != FORMAT:
                raise DataError(f"{path} has format {line.format}; this version reads {FORMAT}.")
            run = run or TransferRun(path, line, {}, 0)
        elif run is None:
            raise DataError(f"{path} does not begin as a transfer run does.")
        else:
            _take(run, line, number)
    if run is None:
        raise DataError(f"{path} is empty; expected a file that `errands transfer` wrote.")
    return run


def _take(run: TransferRun, line: JournalLine, number: int) -> None:
    assert not isinstance(line, RunLine)
    at = line.episode
    count = len(run.info.instructions)
    if not 0 <= at < count:
        raise DataError(f"{run.path}, line {number}, is of episode {at}; there are {count}.")
    if isinstance(line, StartLine):
        run.episodes[at] = EpisodeRecord(at, run.info.instructions[at], [], [])
        return
    record = run.episodes.setdefault(at, EpisodeRecord(at, run.info.instructions[at], [], []))
    match line:
        case RequestLine():
            record.requests.append(line)
            run.requests += 1
        case StepLine():
            record.steps.append(line)
        case PurchaseLine():
            record.purchase = line.purchase
        case EndLine():
            record.end = line
        case ScoreLine():
            record.score = line


class TransferJournal:
    """A run's file, open for writing by one process."""

    def __init__(self, path: Path, *, is_new: bool = False) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT | os.O_EXCL if is_new else 0)
            self._handle = os.open(path, flags, 0o644)
        except FileExistsError:
            raise DataError(
                f"{path} is there already; choose another --out, or go on with it by --resume."
            ) from None
        except OSError as failure:
            raise DataError(f"{path} cannot be written ({failure.strerror}).") from None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._handle)
            raise DataError(f"{path} is being written by another process.") from None
        if not is_new:
            cut_off_torn_line(self._handle)

    def write(self, line: JournalLine) -> None:
        """Append a line; when this returns it outlives the process."""
        left = memoryview(msgspec.json.encode(line) + b"\n")
        while left:
            left = left[os.write(self._handle, left) :]

    def close(self) -> None:
        os.close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
