"""Reviewing candidates in a terminal, a key an answer; through a pipe, a character an answer."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

from errands.cli.output import printable, results
from errands.mining.candidates import AttributeCandidate
from errands.mining.review import KEYS, Review

__all__ = ["ask", "keys"]

_HELP = "1 good for, 2 has, 3 which is, 4 is a, d drop, a agree, u undo, ? more"
_MORE = "space: drop; Enter: agree with the filter; n: later; q: quit, nothing is lost"


def ask(going: Review, read: Callable[[], str] | None = None) -> None:
    """Ask about each candidate until none is left, or q, or the end of the input."""
    with keys() if read is None else contextlib.nullcontext(read) as key:
        while (one := going.next()) is not None:
            _show(going, one)
            if not _answered(going, one, key):
                return
    results.print("There is nothing left to ask.")


def _answered(going: Review, one: AttributeCandidate, key: Callable[[], str]) -> bool:
    """Do what the next key that means something says; False: the end."""
    while True:
        pressed = key()
        if pressed in ("", "q", "\x03", "\x04"):
            return False
        if pressed in KEYS:
            going.answer(one.phrase, KEYS[pressed])
            results.print(f"  {one.phrase}: {KEYS[pressed]}")
        elif pressed in ("a", "\r"):
            going.answer(one.phrase, one.proposal.use)
            results.print(f"  {one.phrase}: {one.proposal.use}")
        elif pressed == "n":
            going.later(one.phrase)
        elif pressed == "u":
            taken = going.undo()
            results.print(f"  taken back: {taken}" if taken else "  there is nothing to take back")
            # What was taken back is asked for again, and before everything else.
            again = None if taken is None else going.find(taken)
            if again is not None and again != going.next():
                _show(going, again)
                return _answered(going, again, key)
        elif pressed == "?":
            results.print(f"  {_MORE}")
            continue
        else:
            continue
        return True


def _show(going: Review, one: AttributeCandidate) -> None:
    progress = going.progress()
    groups = ", ".join(f"{printable(group.name)} #{group.rank}" for group in one.groups[:3])
    more = len(one.groups) - 3
    results.print(
        f"\n[{progress.decided + 1:,} of {progress.total:,}] {printable(one.phrase)}", style="bold"
    )
    results.print(f"  {one.products:,} products; {groups}{f' and {more} more' if more > 0 else ''}")
    for example in one.examples:
        results.print(f"  “{printable(example)}”", style="dim")
    proposal = one.proposal
    results.print(f"  proposed: {proposal.use} ({printable(proposal.reason)})")
    results.print(f"  {_HELP}", style="dim")


def _next_in(source: TextIO) -> str:
    """The next character of a pipe; its lines' ends say nothing."""
    while (character := source.read(1)) in ("\n", "\r"):
        pass
    return character


@contextlib.contextmanager
def keys() -> Iterator[Callable[[], str]]:
    """A function that gives the next key; nothing at the end of the input."""
    source = sys.stdin
    if not source.isatty():
        yield lambda: _next_in(source)
        return
    import termios
    import tty

    before = termios.tcgetattr(source)
    try:
        tty.setcbreak(source)
        yield lambda: source.read(1).replace("\n", "\r")
    finally:
        termios.tcsetattr(source, termios.TCSADRAIN, before)
