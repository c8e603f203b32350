"""A browser tab that shows one page after another, each with nothing left of the one before."""

import asyncio
import base64
import json
from collections.abc import Awaitable
from contextlib import suppress
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from errands.browser.chromium import BrowserError
from errands.browser.network_policy import ORIGIN, PATTERNS, NetworkPolicy, refusal

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession, Dialog, Frame, Page

__all__ = ["WORLD", "Tab", "TabConfig", "TabLost", "forget", "guard_script"]

T = TypeVar("T")

WIDTH: Final = 1280
HEIGHT: Final = 720
_MOST_PAGES: Final = 200
"""After this many pages a tab is replaced, so that memory stays flat."""


_AWAY: Final = {"type": "mouseMoved", "x": -1, "y": -1}
WORLD: Final = "errands"
"""Where scripts of ours run: beside the page, with its document and none of its globals."""


class TabLost(BrowserError):
    """The tab is lost: it hangs, crashed or was closed. Another may do better."""


class TabConfig(msgspec.Struct, frozen=True):
    """How pages are loaded."""

    load_seconds: float = 10.0
    """How long a page may take to load."""
    step_seconds: float = 5.0
    """How long it may take to answer one step."""
    seed: int | None = 0
    """Of `Math.random`; None leaves randomness to the browser."""
    clock: int | None = 1_704_110_400_000
    """What the page's clock starts at, in ms since 1970 (12:00 on 1 January 2024, UTC); None
    leaves it to the browser."""
    allow: tuple[str, ...] = ()
    """Hosts that pages may load from."""
    pictures: bool = True
    """Whether pages are painted; without, filling in forms takes a quarter less time."""
    height: int = HEIGHT
    """Of the window."""
    script: str = ""
    """Runs beside every page; what it defines can be called by `Tab.evaluate`."""


@cache
def guard_script(config: TabConfig) -> str:
    """Runs in every frame before the page: what pages may not do, their clock and their chance."""
    script = resources("errands.browser").joinpath("guard.js").read_text("utf-8")
    return script.replace("__SETTINGS__", json.dumps({"seed": config.seed, "clock": config.clock}))


class Tab:
    """One page of one browser context, used again and again."""

    def __init__(
        self, context: "BrowserContext", page: "Page", session: "CDPSession", config: TabConfig
    ) -> None:
        from playwright.async_api import Error

        self.page = page
        self.config = config
        self.policy = NetworkPolicy(config.allow)
        self.spoilt = False
        """Whether it must not be used for another page."""
        self.maximized = False
        self._browser_error = Error
        self._context = context
        self._session = session
        self._frame = ""
        self._world = 0
        self._pages = 0
        self._answering: set[asyncio.Future[None]] = set()
        self._lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @classmethod
    async def new(cls, browser: "Browser", config: TabConfig) -> "Tab":
        context = await browser.new_context(
            viewport={"width": WIDTH, "height": config.height},
            locale="en-US",
            timezone_id="UTC",
            accept_downloads=False,
            service_workers="block",
            permissions=[],
        )
        await context.add_init_script(guard_script(config))
        page = await context.new_page()
        session = await context.new_cdp_session(page)
        tab = cls(context, page, session, config)
        tab._frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        session.on("Fetch.requestPaused", tab._requested)
        await session.send("Fetch.enable", PATTERNS)
        await session.send("Page.enable")
        if config.script:
            script = {"source": config.script, "worldName": WORLD}
            await session.send("Page.addScriptToEvaluateOnNewDocument", script)
        context.on("page", tab._close_other)
        page.on("dialog", _dismiss)
        page.on("crash", lambda _: tab._lose("the page's process crashed"))
        page.on("framenavigated", tab._check_stays)
        page.on("close", lambda _: tab._lose("the page was closed"))
        return tab

    async def load(self, html: str, files: Path | None) -> None:
        """Show a page; raises `TabLost` where that takes too long or crashes."""
        self._pages += 1
        self._world = 0
        if self.maximized:
            self.maximized = False
            await self.page.set_viewport_size({"width": WIDTH, "height": self.config.height})
        self.policy.expect(html, files)
        loading = self.page.goto(f"{ORIGIN}/", wait_until="load", timeout=0)
        await self.within(loading, "load", self.config.load_seconds)

    async def clean(self) -> bool:
        """Leave nothing for the next page; False where the tab had better be closed."""
        if self.spoilt or self._lost.done() or self._pages >= _MOST_PAGES:
            return False
        databases = "indexedDB.databases().then((all) => all.length)"
        # Where the pointer was left, the next page would look as if it were pointed at. The answer
        # comes with the next frame: it is not waited for, and never comes where nothing is drawn.
        leaving = asyncio.ensure_future(self._session.send("Input.dispatchMouseEvent", _AWAY))
        leaving.add_done_callback(forget)
        try:
            _, left = await asyncio.gather(
                self.within(self._session.send("Network.clearBrowserCookies"), "clear", 2),
                self.evaluate(databases, wait=True, seconds=2),
            )
            # One that is still being opened is not counted; the request has come, and goes with it.
            stored = {"origin": ORIGIN, "storageTypes": "indexeddb"}
            clearing = self._session.send("Storage.clearDataForOrigin", stored)
            await self.within(clearing, "clear", 2)
        except BrowserError:
            return False
        return left == 0 and len(self._context.pages) == 1

    async def close(self) -> bool:
        """Close the tab, also one that hangs; False where it would not close."""
        with suppress(Exception):
            await asyncio.wait_for(self._context.close(), 5)
            return True
        return False

    async def snapshot(self) -> bytes:
        """The window as a PNG written in haste: larger, and read back in a fiftieth of the time.

        Fonts that a page loads are not waited for.
        """
        options = {"format": "png", "optimizeForSpeed": True}
        capture = self._session.send("Page.captureScreenshot", options)
        picture = await self.within(capture, "be pictured", 2 * self.config.step_seconds)
        return base64.b64decode(picture["data"])

    async def pass_time(self, seconds: float) -> bool:
        """Let the page's clock run ahead, timers and all, until so much has passed; False where it
        takes too long. The clock then stands still, so the tab is used for no other page."""
        self.spoilt = True
        passed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def note(event: object) -> None:
            if not passed.done():
                passed.set_result(None)

        self._session.on("Emulation.virtualTimeBudgetExpired", note)
        policy = {"policy": "advance", "budget": 1000 * seconds}
        await self.within(self._session.send("Emulation.setVirtualTimePolicy", policy), "run ahead")
        done, _ = await asyncio.wait((passed,), timeout=self.config.step_seconds)
        return bool(done)

    async def click(self, x: float, y: float) -> None:
        """A real click of the left button; sent at once, for each answer costs a round."""
        place = {"x": x, "y": y, "button": "left", "clickCount": 1}
        send = self._session.send
        await asyncio.gather(
            send("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y}),
            send("Input.dispatchMouseEvent", {"type": "mousePressed", "buttons": 1, **place}),
            send("Input.dispatchMouseEvent", {"type": "mouseReleased", **place}),
        )

    async def evaluate(
        self, expression: str, *, wait: bool = False, seconds: float | None = None
    ) -> Any:
        """What an expression gives, beside the page."""

        async def answered() -> Any:
            if not self._world:
                place = {"frameId": self._frame, "worldName": WORLD}
                world = await self._session.send("Page.createIsolatedWorld", place)
                self._world = world["executionContextId"]
            options = {"contextId": self._world, "returnByValue": True, "awaitPromise": wait}
            return await self._session.send(
                "Runtime.evaluate", {"expression": expression, **options}
            )

        answer = await self.within(answered(), "answer", seconds)
        if "exceptionDetails" in answer:
            reason = answer["exceptionDetails"].get("exception", {}).get("description", "an error")
            raise BrowserError(f"The page's probe failed: {reason.splitlines()[0]}")
        return answer["result"].get("value")

    async def within(self, work: Awaitable[T], what: str, seconds: float | None = None) -> T:
        """Await something of the browser, not longer than a step may take, nor after a crash."""
        seconds = seconds or self.config.step_seconds
        task = asyncio.ensure_future(work)
        both: tuple[asyncio.Future[Any], ...] = (task, self._lost)
        await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            try:
                return task.result()
            except self._browser_error as error:
                self.spoilt = True
                reason = (error.message or "").strip().splitlines()
                raise TabLost(f"{what}: {reason[0] if reason else 'no reason'}") from error
        task.cancel()
        task.add_done_callback(forget)
        self.spoilt = True
        if self._lost.done():
            raise TabLost(f"The page did not {what}: {self._lost.result()}")
        raise TabLost(f"The page did not {what} within {seconds:g} seconds")

    @property
    def lost(self) -> bool:
        return self._lost.done()

    @property
    def browser(self) -> "Browser | None":
        return self._context.browser

    def _lose(self, reason: str) -> None:
        if not self._lost.done():
            self._lost.set_result(reason)

    def _requested(self, event: dict[str, Any]) -> None:
        task = asyncio.ensure_future(self._answer(event))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, event: dict[str, Any]) -> None:
        request = event["request"]
        navigates = event["resourceType"] == "Document" and event["frameId"] == self._frame
        answer = None
        with suppress(Exception):
            if not navigates and self.policy.allows(request):
                answer = await self.policy.fetch(request, self._context.request)
            else:
                answer = self.policy.answer(request, navigates=navigates)
        number = event["requestId"]
        with suppress(Exception):  # A page that is gone wants no answer.
            await self._session.send(*(answer.command(number) if answer else refusal(number)))

    def _check_stays(self, frame: "Frame") -> None:
        if frame.parent_frame is None and not frame.url.startswith(f"{ORIGIN}/"):
            self._lose(f"the page left for {frame.url[:80]}")

    def _close_other(self, page: "Page") -> None:
        if page is not self.page:
            self.spoilt = True
            self.policy.refused["window.open"] += 1
            task = asyncio.ensure_future(page.close())
            task.add_done_callback(forget)


async def _dismiss(dialog: "Dialog") -> None:
    with suppress(Exception):
        if dialog.type == "beforeunload":
            await dialog.accept()
        else:
            await dialog.dismiss()


def forget(task: "asyncio.Future[Any]") -> None:
    """Take a given-up task's outcome, so that nothing complains about it later."""
    if not task.cancelled():
        task.exception()
