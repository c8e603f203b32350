"""Scores that people give, one line of JSON each, added to a file and never changed.

A line is on its way to the disk before the person sees the next purchase. A later line for the
same episode corrects an earlier one. A line that was cut off by a power cut or a full disk is the
last one, and is left out; anything else that is not as expected is told with its line. A file can
be written by one server at a time, and read at any time.
"""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Self

import msgspec

from errands.errors import DataError
from errands.verify.scores import Scores, from_ticks
from errands.verify.trajectories import Trajectory

__all__ = ["TYPES", "HandFile", "HandScore", "read_hand_scores", "read_judged"]

TYPES: Final = (1.0, 0.5, 0.1, 0.0)
"""The type scores of equation 2."""
LONGEST_NOTE: Final = 2_000
LONGEST_NAME: Final = 60


class HandScore(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What a person says about one purchase: which wanted things it has."""

    run: str
    episode: int
    type: float
    attributes: tuple[bool, ...]
    """In the order of the goal's."""
    options: tuple[bool, ...]
    price: bool
    note: Annotated[str, msgspec.Meta(max_length=LONGEST_NOTE)] = ""
    at: str = ""
    """UTC, ISO 8601."""
    judge: Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)] = ""
    """Who says it, where that was told."""

    def __post_init__(self) -> None:
        if self.type not in TYPES:
            raise ValueError(f"type is {self.type:g}; expected 1, 0.5, 0.1 or 0")

    def scores(self, trajectory: Trajectory) -> Scores:
        """As numbers; they must be about this goal."""
        goal = trajectory.goal
        for name, ticks, wanted in (
            ("attributes", self.attributes, len(goal.attributes)),
            ("options", self.options, len(goal.goal_options)),
        ):
            if len(ticks) != wanted:
                raise DataError(
                    f"The hand score of episode {self.episode} has {len(ticks)} {name}, and its"
                    f" goal has {wanted}: it is about other data."
                )
        return from_ticks(self.type, self.attributes, self.options, self.price)


def read_hand_scores(path: Path, run: str) -> dict[int, HandScore]:
    """The last score of each episode, whoever gave it; every line must be about this run."""
    return {
        episode: score
        for scores in read_judged(path, run).values()
        for episode, score in scores.items()
    }


def read_judged(path: Path, run: str) -> dict[str, dict[int, HandScore]]:
    """The last score that each judge gave each episode; every line must be about this run."""
    try:
        data = path.read_bytes()
    except OSError as failure:
        raise DataError(
            f"The hand scores {path} cannot be read ({failure.strerror}); `errands verify-reward"
            " RUN --web` makes such a file."
        ) from None
    scores: dict[str, dict[int, HandScore]] = {}
    for line, score in _lines(path, data):
        if score.run != run:
            raise DataError(
                f"{path}, line {line}: that score is about the run {score.run[:40]}, and this is"
                f" {run}; each run has a file of its own."
            )
        scores.setdefault(score.judge, {})[score.episode] = score
    return scores


def _lines(path: Path, data: bytes) -> Iterator[tuple[int, HandScore]]:
    *whole, rest = data.split(b"\n")
    for line, text in enumerate([*whole, rest], 1):
        if not text.strip():
            continue
        try:
            yield line, _DECODER.decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as failure:
            if line == len(whole) + 1:
                return  # It was cut off.
            raise DataError(
                f"{path}, line {line} is not a hand score ({failure}); expected what `errands"
                " verify-reward RUN --web` writes."
            ) from None


class HandFile:
    """A file of hand scores that is open for more."""

    def __init__(self, path: Path, run: str, judge: str = "") -> None:
        self._path = path
        self._run = run
        self._judge = judge
        self._scores: dict[int, HandScore] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as failure:
            raise DataError(
                f"Hand scores cannot be written to {path} ({failure.strerror}); choose another"
                " --hand."
            ) from None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._handle)
            raise DataError(
                f"{path} is being written by another server; end that one, or name another file"
                " with --hand."
            ) from None
        try:
            self._scores = read_judged(path, run).get(judge, {})
        except BaseException:
            os.close(self._handle)
            raise
        size = os.fstat(self._handle).st_size
        if size and os.pread(self._handle, 1, size - 1) != b"\n":
            # What was cut off must not hide the next line; a whole one keeps its end.
            self._cut(size)

    @property
    def scores(self) -> dict[int, HandScore]:
        """The last score of each episode."""
        return dict(self._scores)

    def others(self) -> dict[str, dict[int, HandScore]]:
        """What other judges have said in this file."""
        judged = read_judged(self._path, self._run)
        return {name: scores for name, scores in judged.items() if name != self._judge}

    def add(self, score: HandScore) -> None:
        """When this returns, the score survives the end of the process, and of the machine."""
        score = msgspec.structs.replace(score, judge=self._judge)
        line = _ENCODER.encode(score) + b"\n"
        size = os.fstat(self._handle).st_size
        try:
            if os.write(self._handle, line) != len(line):
                raise OSError(28, "the disk is full")
            os.fsync(self._handle)
        except OSError as failure:
            os.ftruncate(self._handle, size)
            raise DataError(
                f"The score could not be written to {self._path} ({failure.strerror})."
            ) from None
        self._scores[score.episode] = score

    def close(self) -> None:
        os.close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _cut(self, size: int) -> None:
        data = os.pread(self._handle, size, 0)
        tail = data.rpartition(b"\n")[2]
        try:
            _DECODER.decode(tail)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            os.ftruncate(self._handle, size - len(tail))
        else:
            os.write(self._handle, b"\n")


_DECODER: Final = msgspec.json.Decoder(HandScore)
_ENCODER: Final = msgspec.json.Encoder()
