"""What a person decided about candidates: a line for each answer, on disk before the next question.

    {"phrase": "easy clean", "use": "which is"}
    {"phrase": "oz ml", "use": "drop"}
    {"phrase": "oz ml", "use": null}                            (taken back)
    {"phrase": "easy clean", "use": "has", "back": true}        (back to an earlier answer)

The last line about a phrase counts. A line that was cut off by a power cut is cut away; the file
can be written by one review at a time, and read at any time.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import msgspec

from errands.errors import DataError, SettingError
from errands.mining.proposal import DROP, USES

__all__ = ["Decisions", "read_decisions"]


class _DecisionLine(msgspec.Struct, frozen=True, omit_defaults=True):
    phrase: str
    use: str | None
    back: bool = False
    """No new answer: the last one was taken back, and this is what was said before it."""


def read_decisions(path: Path) -> dict[str, str]:
    """Phrase to use, as a file says so far; a file that is not there yet says nothing."""
    return _net(_read(path)[0])


def _net(lines: list[_DecisionLine]) -> dict[str, str]:
    made: dict[str, str] = {}
    for line in lines:
        made.pop(line.phrase, None)
        if line.use is not None:
            made[line.phrase] = line.use
    return made


def _history(lines: list[_DecisionLine]) -> list[tuple[str, str | None]]:
    """The answers that can be taken back, the last one last, each with what was said before it."""
    history: list[tuple[str, str | None]] = []
    made: dict[str, str | None] = {}
    for line in lines:
        if line.back or line.use is None:
            places = range(len(history) - 1, -1, -1)
            place = next((at for at in places if history[at][0] == line.phrase), None)
            if place is not None:
                del history[place]
        else:
            history.append((line.phrase, made.get(line.phrase)))
        made[line.phrase] = line.use
    return history


def _read(path: Path) -> tuple[list[_DecisionLine], int]:
    """The lines of a file, and where the last whole one ends."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    except OSError as failure:
        raise DataError(f"{path} cannot be read ({failure.strerror}).") from None
    lines: list[_DecisionLine] = []
    end = 0
    for number, raw in enumerate(data.split(b"\n")[:-1], 1):
        end += len(raw) + 1
        if not raw.strip():
            continue
        try:
            line = msgspec.json.decode(raw, type=_DecisionLine)
            _check(line.use)
        except (msgspec.DecodeError, UnicodeDecodeError, SettingError, RecursionError):
            raise DataError(
                f"{path} is not a file of decisions: line {number} does not say phrase and use."
                " Name another file with --decisions."
            ) from None
        lines.append(line)
    return lines, end


def _check(use: str | None) -> None:
    if use is not None and use != DROP and use not in USES:
        raise SettingError(f"{use!r} is no use; expected {', '.join(USES)} or {DROP}.")


class Decisions:
    """A file of decisions that is being added to; use as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._made: dict[str, str] = {}
        self._history: list[tuple[str, str | None]] = []
        """What can be taken back, with what was said before."""

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as failure:
            raise DataError(f"{self.path} cannot be written ({failure.strerror}).") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise DataError(
                f"{self.path} is being written by another review; end that one, or name another"
                " file with --decisions."
            ) from None
        try:
            lines, end = _read(self.path)
            os.ftruncate(self._file, end)
        except BaseException:
            os.close(self._file)
            raise
        self._made = _net(lines)
        self._history = _history(lines)
        return self

    def __exit__(self, *failure: object) -> None:
        os.close(self._file)

    @property
    def made(self) -> Mapping[str, str]:
        """Phrase to use, so far."""
        return self._made

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def decide(self, phrase: str, use: str) -> None:
        """Keep a phrase for a use, or drop it; it is on disk when this returns."""
        self.decide_all([(phrase, use)])

    def decide_all(self, answers: Sequence[tuple[str, str]]) -> None:
        """Many answers at once, on disk together; each can be taken back by itself."""
        lines = [_DecisionLine(phrase, use) for phrase, use in answers]
        for line in lines:
            _check(line.use)
        self._write(lines)
        for phrase, use in answers:
            self._history.append((phrase, self._made.pop(phrase, None)))
            self._made[phrase] = use

    def undo(self) -> str | None:
        """Take back the last answer; gives its phrase, or None where there is none left."""
        while self._history:
            phrase, before = self._history.pop()
            if phrase not in self._made:
                continue
            self._write([_DecisionLine(phrase, before, before is not None)])
            if before is None:
                del self._made[phrase]
            else:
                self._made[phrase] = before
            return phrase
        return None

    def _write(self, lines: Sequence[_DecisionLine]) -> None:
        data = msgspec.json.Encoder().encode_lines(lines)
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as failure:
            raise DataError(f"{self.path} cannot be written ({failure.strerror}).") from None
