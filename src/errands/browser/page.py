"""A page shown in a tab of its own, brought back on another tab where its own is lost."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, Self, TypeVar

from errands.browser.chromium import BrowserError
from errands.browser.engine import Engine
from errands.browser.tab import Tab, TabLost

__all__ = ["WebPage"]

T = TypeVar("T")

_TRIES: Final = 2


class WebPage:
    """One page; `files` is a folder whose files it may load by relative address.

    A page that hangs or crashes is opened once more; if that fails too, `BrowserError` says why.
    """

    def __init__(self, engine: Engine, html: str, files: Path | None = None) -> None:
        self._engine = engine
        self._html = html
        self._files = files
        self._tab: Tab | None = None
        self._error: str | None = None
        self._closed = False
        self.run(_nothing)

    async def restore(self, tab: Tab) -> None:
        """Bring a page that was just loaded to where it was before its tab was lost."""

    def run(self, work: Callable[[Tab], Awaitable[T]]) -> T:
        """Do something on the page; where the tab is lost by it, once more on another."""
        if self._error is not None:
            raise BrowserError(self._error)
        if self._closed:
            raise BrowserError("The page is closed")
        return self._engine.run(self._attempt(work))

    def snapshot(self) -> bytes:
        """A PNG of the window, quick to take and to read; for pages that load no fonts."""
        return self.run(Tab.snapshot)

    @property
    def refused(self) -> Mapping[str, int]:
        """How often each host was refused to the page."""
        return {} if self._tab is None else dict(self._tab.policy.refused)

    def close(self) -> None:
        self._closed = True
        tab, self._tab = self._tab, None
        if tab is not None:
            self._engine.release(tab)

    def __del__(self) -> None:
        # A page that was not closed gives its tab back when nothing refers to it any more.
        if getattr(self, "_tab", None) is not None:
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _attempt(self, work: Callable[[Tab], Awaitable[T]]) -> T:
        reason = ""
        for _ in range(_TRIES):
            try:
                return await work(await self._loaded())
            except TabLost as failure:
                reason = str(failure)
                tab, self._tab = self._tab, None
                if tab is not None:
                    await self._engine.drop(tab)
        self._error = f"{reason}, twice"
        raise BrowserError(self._error)

    async def _loaded(self) -> Tab:
        if self._tab is None:
            self._tab = await self._engine.tab()
            await self._tab.load(self._html, self._files)
            await self.restore(self._tab)
        return self._tab


async def _nothing(tab: Tab) -> None:
    """Loading is all."""
