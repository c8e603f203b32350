"""A terminal with a person at it: shows texts that nobody vouches for, and asks for lines.

What comes from pages cannot steer the terminal: it is never taken for markup, and characters
that control a terminal or turn the direction of writing are shown as a mark.
"""

import re
from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.text import Text

from errands.agents.agent import EndOfRun

__all__ = ["Terminal", "harmless"]

_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def harmless(text: str) -> str:
    """A text without characters that a terminal would obey.

    >>> harmless("red" + chr(27) + "[2J")
    'red�[2J'
    """
    return _CONTROL.sub("�", text.replace("\r\n", "\n").replace("\t", " "))


class Terminal:
    """Where a person reads and writes."""

    def __init__(self, read: Callable[[], str] | None = None, console: Console | None = None):
        self._read = read or input
        self._console = console or Console(markup=False, highlight=False, emoji=False)

    def show(self, *parts: str | tuple[str, str], end: str = "\n") -> None:
        """Print texts, some with a style."""
        line = Text()
        for part in parts:
            text, style = (part, "") if isinstance(part, str) else part
            line.append(harmless(text), style)
        self._console.print(line, end=end, soft_wrap=True)

    def rule(self, title: str) -> None:
        self._console.rule(Text(harmless(title)), align="left")

    def ask(self, prompt: str) -> str:
        """The next line; `quit`, or the end of the input, ends the run."""
        self.show((f"{prompt} > ", "bold"), end="")
        try:
            line = self._read()
        except EOFError:
            raise EndOfRun("The input has ended") from None
        line = line.encode("utf-8", "replace").decode().strip()
        if line == "quit":
            raise EndOfRun("The person at the terminal has quit")
        return line
