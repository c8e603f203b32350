"""The `browser` driver: pages in Chromium, with real clicks, keys and pictures.

One Chromium serves many pages, one after another or at once. A page gets no network: it is
served on a made-up address, with its task's files and the well-known libraries that are
installed (`errands.browser.libraries`); all else is refused and counted. It cannot leave, open
windows or hold up a run with dialogs. `Math.random` starts from a fixed seed and the clock at
a fixed instant, so that pages that shuffle are the same each time.

A page that hangs or crashes is opened once more, with the actions so far done again; if that
fails too, `DriverError` says why: an error, never a score of 0.
"""

import math
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from errands.browser.engine import Engine
from errands.browser.libraries import without_integrity
from errands.browser.tab import Failure, Settings, Tab
from errands.turk.actions.action import ACTIONS, Action
from errands.turk.browser.page_actions import SEEN, do
from errands.turk.dom.effect import Changes
from errands.turk.pages.driver import DriverError, Result, Unsupported
from errands.turk.pages.field import EXCLUDED, Field

__all__ = ["BrowserDriver", "BrowserPage"]

T = TypeVar("T")

_TRIES: Final = 2
_PAINTED: Final = frozenset({"capture_screen", "drag"})
"""Actions that need pages to be painted."""


class BrowserDriver:
    """Opens pages in Chromium.

    `executable` is Chromium's path (default: the variable `ERRANDS_CHROMIUM`, the system's, or
    Playwright's own); `allow` names hosts that pages may load from; `load_seconds` and
    `step_seconds` are how long a page may take to load and to answer one step; `seed` is that
    of the page's `Math.random` and `clock` what its clock starts at, in ms since 1970 (None
    leaves either to the browser). Without `pictures` pages are not painted, which is faster;
    screenshots and dragging are not to be had then. `height` is the window's, in pixels. Nothing
    is started before the first page.
    """

    def __init__(
        self,
        executable: str | os.PathLike[str] | None = None,
        *,
        allow: Sequence[str] = (),
        load_seconds: float = 10.0,
        step_seconds: float = 5.0,
        seed: int | None = 0,
        clock: int | None = Settings().clock,
        pictures: bool = True,
        height: int = Settings().height,
    ) -> None:
        for name, value in (("load_seconds", load_seconds), ("step_seconds", step_seconds)):
            if not (value > 0 and math.isfinite(value)):
                raise DriverError(f"{name} must be more than 0, not {value}")
        settings = Settings(load_seconds, step_seconds, seed, clock, tuple(allow), pictures, height)
        self._engine = Engine(executable, settings)
        self._pictures = pictures

    @property
    def name(self) -> str:
        return "browser"

    @property
    def actions(self) -> frozenset[str]:
        return frozenset(ACTIONS) - (frozenset() if self._pictures else _PAINTED)

    def open(self, html: str, *, files: Path | None = None) -> "BrowserPage":
        """Open a page; `files` is a folder whose files the page may load by relative address."""
        page = BrowserPage(self._engine, without_integrity(html), files)
        self._engine.run(page._open())
        return page

    def close(self) -> None:
        """End the browser; opening another page starts it again."""
        self._engine.close()

    def __enter__(self) -> "BrowserDriver":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class BrowserPage:
    """One page in a tab of its own."""

    def __init__(self, engine: Engine, html: str, files: Path | None) -> None:
        self._engine = engine
        self._html = html
        self._files = files
        self._tab: Tab | None = None
        self._done: list[Action] = []
        self._error: str | None = None
        self._closed = False

    @property
    def refused(self) -> Mapping[str, int]:
        """How often each host was refused to the page."""
        return {} if self._tab is None else dict(self._tab.gate.refused)

    def fields(self, names: Sequence[str] | None = None) -> list[Field]:
        asked = None if names is None else list(names)
        question = {"names": asked, "excluded": sorted(EXCLUDED)}
        return msgspec.convert(self._ask("fields", **question), list[Field])

    def values(self, name: str, *, attributes: bool = False) -> list[str]:
        return self.values_of([name], attributes=attributes)[name]

    def values_of(self, names: Iterable[str], *, attributes: bool = False) -> dict[str, list[str]]:
        asked = list(names)
        if not asked:
            return {}
        held = self._ask("values", names=asked, attributes=attributes)
        return dict(zip(asked, msgspec.convert(held, list[list[str]]), strict=True))

    def perform(self, action: Action) -> Result:
        if action.name in _PAINTED and not self._engine.settings.pictures:
            raise Unsupported(f"{action.name} needs a browser that paints its pages")

        async def work(tab: Tab) -> Result:
            return await do(tab, action)

        result = self._run(work)
        if action.name not in SEEN:
            self._done.append(action)
        return result

    def html(self, name: str | None = None) -> str:
        return str(self.perform(Action("get_html", {} if name is None else {"name": name})))

    def text(self) -> str:
        return str(self._ask("text"))

    def screenshot(self, name: str | None = None) -> bytes:
        arguments: dict[str, Any] = {} if name is None else {"name": name}
        picture = self.perform(Action("capture_screen", arguments))
        assert isinstance(picture, bytes)
        return picture

    def snapshot(self) -> bytes:
        """A PNG of the window, quick to take and to read; for pages that load no fonts."""

        async def work(tab: Tab) -> bytes:
            return await tab.snapshot()

        return self._run(work)

    def changes(self, mark: str) -> Changes:
        """What changed since the last time on elements that have this attribute, a number."""
        return msgspec.convert(self._ask("changes", mark=mark), Changes)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            tab, self._tab = self._tab, None
            if tab is not None:
                self._engine.release(tab)

    def __del__(self) -> None:
        # A page that was not closed gives its tab back when nothing refers to it any more.
        tab = getattr(self, "_tab", None)
        if tab is not None:
            self._engine.release(tab)

    def __enter__(self) -> "BrowserPage":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, name: str, /, **question: Any) -> Any:
        async def work(tab: Tab) -> Any:
            return await tab.ask(name, **question)

        return self._run(work)

    def _run(self, work: Callable[[Tab], Awaitable[T]]) -> T:
        """Do something on the page; where the tab is lost by it, once more on another."""
        if self._error is not None:
            raise DriverError(self._error)
        if self._closed:
            raise DriverError("The page is closed")
        return self._engine.run(self._attempt(work))

    async def _open(self) -> None:
        async def nothing(tab: Tab) -> None:
            """Loading is all."""

        await self._attempt(nothing)

    async def _attempt(self, work: Callable[[Tab], Awaitable[T]]) -> T:
        reason = ""
        for _ in range(_TRIES):
            try:
                return await work(await self._loaded())
            except Failure as failure:
                reason = str(failure)
                tab, self._tab = self._tab, None
                if tab is not None:
                    await self._engine.drop(tab)
        self._error = f"{reason}, twice"
        raise DriverError(self._error)

    async def _loaded(self) -> Tab:
        """The page's tab; a new one is brought to where the page was."""
        if self._tab is None:
            self._tab = await self._engine.tab()
            await self._tab.load(self._html, self._files)
            for action in self._done:
                await do(self._tab, action)
        return self._tab
