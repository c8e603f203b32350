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
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import msgspec

from errands.browser.chromium import BrowserError
from errands.browser.engine import Engine
from errands.browser.libraries import without_integrity
from errands.browser.page import WebPage
from errands.browser.tab import Tab, TabConfig
from errands.turk.actions.action import ACTIONS, Action
from errands.turk.browser.page_actions import PASSIVE, ask, perform
from errands.turk.dom.effects import Changes, Fact
from errands.turk.pages.comparison import PageState
from errands.turk.pages.driver import DriverError, Result, Unsupported
from errands.turk.pages.field import EXCLUDED, UNSENT, Field, SubmittedField

__all__ = ["BrowserDriver", "BrowserPage", "probe_script"]

T = TypeVar("T")

_SCRIPTS: Final = ("sight.js", "submission.js", "probe.js")

_PAINTED: Final = frozenset({"capture_screen", "drag"})
"""Actions that need pages to be painted."""


@cache
def probe_script() -> str:
    """Answers the driver's questions about a page, from beside it."""
    folder = resources("errands.turk.browser")
    return "".join(folder.joinpath(name).read_text("utf-8") for name in _SCRIPTS)


class BrowserDriver:
    """Opens pages in Chromium; nothing is started before the first page.

    `executable` is Chromium's path (default: the variable `ERRANDS_CHROMIUM`, the system's, or
    Playwright's own); the other options are those of `TabConfig`. Without `pictures`, screenshots
    and dragging are not to be had.
    """

    def __init__(
        self,
        executable: str | os.PathLike[str] | None = None,
        *,
        allow: Sequence[str] = (),
        load_seconds: float = 10.0,
        step_seconds: float = 5.0,
        seed: int | None = 0,
        clock: int | None = TabConfig().clock,
        pictures: bool = True,
        height: int = TabConfig().height,
    ) -> None:
        for name, value in (("load_seconds", load_seconds), ("step_seconds", step_seconds)):
            if not (value > 0 and math.isfinite(value)):
                raise DriverError(f"{name} must be more than 0, not {value}")
        config = TabConfig(
            load_seconds, step_seconds, seed, clock, tuple(allow), pictures, height, probe_script()
        )
        self._engine = Engine(executable, config)

    @property
    def name(self) -> str:
        return "browser"

    @property
    def actions(self) -> frozenset[str]:
        return frozenset(ACTIONS) - (frozenset() if self._engine.config.pictures else _PAINTED)

    def open(self, html: str, *, files: Path | None = None) -> "BrowserPage":
        """Open a page; `files` is a folder whose files the page may load by relative address."""
        return BrowserPage(self._engine, without_integrity(html), files)

    def close(self) -> None:
        """End the browser; opening another page starts it again."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class BrowserPage(WebPage):
    """A form page in a tab of its own; on another tab, its actions so far are done again."""

    def __init__(self, engine: Engine, html: str, files: Path | None) -> None:
        self._done: list[Action] = []
        self._paints = engine.config.pictures
        super().__init__(engine, html, files)

    def run(self, work: Callable[[Tab], Awaitable[T]]) -> T:
        try:
            return super().run(work)
        except BrowserError as failure:
            raise DriverError(str(failure)) from failure

    async def restore(self, tab: Tab) -> None:
        for action in self._done:
            await perform(tab, action)

    def fields(self, names: Sequence[str] | None = None) -> list[Field]:
        return msgspec.convert(self._ask("fields", **_about(names)), list[Field])

    def state(self, names: Sequence[str] | None = None) -> PageState:
        """Fields, values and text in one answer."""
        return msgspec.convert(self._ask("state", **_about(names)), PageState)

    def values(self, name: str, *, attributes: bool = False) -> list[str]:
        return self.values_of([name], attributes=attributes)[name]

    def values_of(self, names: Iterable[str], *, attributes: bool = False) -> dict[str, list[str]]:
        names = list(names)
        if not names:
            return {}
        values = self._ask("values", names=names, attributes=attributes)
        return dict(zip(names, msgspec.convert(values, list[list[str]]), strict=True))

    def submission(self, names: Sequence[str] | None = None) -> list[SubmittedField]:
        fields = self._ask(
            "submission",
            names=None if names is None else list(names),
            excluded=sorted(EXCLUDED),
            unsent=sorted(UNSENT),
        )
        return msgspec.convert(fields, list[SubmittedField])

    def perform(self, action: Action) -> Result:
        if action.name in _PAINTED and not self._paints:
            raise Unsupported(f"{action.name} needs a browser that paints its pages")
        result = self.run(lambda tab: perform(tab, action))
        if action.name not in PASSIVE:
            self._done.append(action)
        return result

    def html(self, name: str | None = None) -> str:
        return str(self.perform(Action("get_html", {} if name is None else {"name": name})))

    def text(self) -> str:
        return str(self._ask("text"))

    def screenshot(self, name: str | None = None) -> bytes:
        picture = self.perform(Action("capture_screen", {} if name is None else {"name": name}))
        assert isinstance(picture, bytes)
        return picture

    def pass_time(self, seconds: float) -> bool:
        """Let so much time pass for the page at once, the last thing that is done to it; False
        where it has so much to do that this takes too long."""
        return self.run(lambda tab: tab.pass_time(seconds))

    def changes(self, mark: str) -> Changes:
        """What changed since the last time on elements that have this attribute, a number."""
        return msgspec.convert(self._ask("changes", mark=mark), Changes)

    def facts(self, mark: str) -> dict[int, dict[str, Fact]]:
        """What holds of elements that have this attribute, a number."""
        facts = msgspec.convert(self._ask("facts", mark=mark), dict[str, dict[str, Fact]])
        return {int(number): own for number, own in facts.items()}

    def _ask(self, name: str, /, **question: Any) -> Any:
        return self.run(lambda tab: ask(tab, name, **question))


def _about(names: Sequence[str] | None) -> dict[str, Any]:
    """A question about the fields of these names."""
    return {"names": names if names is None else list(names), "excluded": sorted(EXCLUDED)}
