"""A page that goes over to another driver when its own cannot do what is asked.

`auto` shows a proven page without a browser; an agent that then clicks, drags or wants a picture
gets what it would have got in one from the beginning.
"""

from collections.abc import Callable, Iterable, Sequence

from errands.turk.actions.action import Action
from errands.turk.pages.driver import OpenPage, Result, Unsupported
from errands.turk.pages.field import Field, SubmittedField

__all__ = ["SwitchingPage"]


class SwitchingPage:
    """One page, and how to open it where more actions are possible; there, all that was done so far
    is done again first."""

    def __init__(self, page: OpenPage, open_other: Callable[[], OpenPage]) -> None:
        self._page = page
        self._open_other: Callable[[], OpenPage] | None = open_other
        self._done: list[Action] = []

    def perform(self, action: Action) -> Result:
        try:
            result = self._page.perform(action)
        except Unsupported:
            if not self._switch():
                raise
            return self._page.perform(action)
        if self._open_other is not None:
            self._done.append(action)
        return result

    def screenshot(self, name: str | None = None) -> bytes:
        try:
            return self._page.screenshot(name)
        except Unsupported:
            if not self._switch():
                raise
            return self._page.screenshot(name)

    def _switch(self) -> bool:
        """Whether there was another driver to go over to."""
        if self._open_other is None:
            return False
        page = self._open_other()
        for action in self._done:
            page.perform(action)
        self._page.close()
        self._page, self._open_other, self._done = page, None, []
        return True

    def fields(self, names: Sequence[str] | None = None) -> list[Field]:
        return self._page.fields(names)

    def values(self, name: str, *, attributes: bool = False) -> list[str]:
        return self._page.values(name, attributes=attributes)

    def values_of(self, names: Iterable[str], *, attributes: bool = False) -> dict[str, list[str]]:
        return self._page.values_of(names, attributes=attributes)

    def submission(self, names: Sequence[str] | None = None) -> list[SubmittedField]:
        return self._page.submission(names)

    def html(self, name: str | None = None) -> str:
        return self._page.html(name)

    def text(self) -> str:
        return self._page.text()

    def close(self) -> None:
        self._page.close()
