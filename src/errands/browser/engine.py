"""One Chromium for many pages: started when first needed, replaced when it dies.

Playwright runs on an event loop in a thread of its own, so that pages can be used from any
thread (also one that has a loop, as in a notebook), and so that a page that hangs is given up
after a set time, whatever its renderer does.
"""

import asyncio
import atexit
import os
import threading
import weakref
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from errands.browser import chromium
from errands.browser.chromium import BrowserError
from errands.browser.network_policy import PATTERNS, refusal
from errands.browser.tab import Tab, TabConfig, forget

if TYPE_CHECKING:
    from playwright.async_api import Browser, CDPSession, Playwright

__all__ = ["Engine"]

T = TypeVar("T")

_LIVE: "weakref.WeakSet[Engine]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for engine in list(_LIVE):
        engine.close()


class Engine:
    """The loop, the browser and the tabs that wait for a page."""

    def __init__(
        self, executable: str | os.PathLike[str] | None = None, config: TabConfig | None = None
    ) -> None:
        self.config = config or TabConfig()
        self._executable = executable
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._owner = 0
        self._start = threading.Lock()
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._guard: CDPSession | None = None
        self._process = 0
        self._launching: asyncio.Lock | None = None
        self._free: list[Tab] = []
        self._releasing: set[asyncio.Future[None]] = set()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run on the engine's loop, and wait for it."""
        try:
            loop = self._running()
        except BaseException:
            work.close()
            raise
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._start:
            if self._loop is not None and self._owner == os.getpid():
                return self._loop
            try:
                import playwright.async_api  # noqa: F401
            except ImportError as error:
                raise BrowserError(chromium.MISSING_PACKAGE) from error
            # A new start, also in a process that was forked off: its parent keeps the old one.
            self._owner = os.getpid()
            self._playwright = self._browser = None
            self._free = []
            self._releasing = set()
            self._launching = asyncio.Lock()
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._loop.run_forever, name="errands-browser", daemon=True
            )
            self._thread.start()
            _LIVE.add(self)
            return self._loop

    async def tab(self) -> Tab:
        """A clean tab: one that waits, or a new one."""
        while self._free or self._releasing:
            if not self._free:  # One is being cleaned, which is sooner done than a new one.
                await asyncio.wait(self._releasing, return_when=asyncio.FIRST_COMPLETED)
                continue
            tab = self._free.pop()
            if not tab.lost:
                return tab
            await self.drop(tab)
        browser = await self._launched()
        try:
            return await asyncio.wait_for(Tab.new(browser, self.config), 30)
        except Exception:  # The browser may have died since it was last used: once more.
            await self.restart(browser)
            browser = await self._launched()
            try:
                return await asyncio.wait_for(Tab.new(browser, self.config), 30)
            except Exception as error:
                raise BrowserError(f"Chromium opens no page: {error}") from error

    async def give_back(self, tab: Tab) -> None:
        if await tab.clean():
            self._free.append(tab)
        else:
            await self.drop(tab)

    async def drop(self, tab: Tab) -> None:
        """Close a tab; where even that fails, the browser is ended and started anew."""
        if not await tab.close():
            await self.restart(tab.browser)

    async def restart(self, browser: "Browser | None") -> None:
        """End this browser, if it is still the one in use."""
        if browser is None or browser is not self._browser:
            return
        self._browser, process = None, self._process
        self._free = []
        try:
            await asyncio.wait_for(browser.close(), 5)
        except Exception:
            if process:
                chromium.end(process)

    async def _launched(self) -> "Browser":
        assert self._launching is not None
        async with self._launching:
            if self._browser is not None and self._browser.is_connected():
                return self._browser
            from playwright.async_api import async_playwright

            path = chromium.find(self._executable)
            if self._playwright is None:
                self._playwright = await async_playwright().start()
            self._free = []
            self._browser = await chromium.launch(
                self._playwright, path, pictures=self.config.pictures
            )
            # Tabs answer their pages' requests; those of any other page are refused.
            self._guard = await self._browser.new_browser_cdp_session()
            self._guard.on("Fetch.requestPaused", self._refuse)
            await self._guard.send("Fetch.enable", PATTERNS)
            self._process = 0
            with suppress(Exception):
                all_of_them = await asyncio.wait_for(chromium.processes(self._browser), 10)
                self._process = next(n for n, kind in all_of_them.items() if kind == "browser")
            return self._browser

    def _refuse(self, event: dict[str, Any]) -> None:
        assert self._guard is not None
        task = asyncio.ensure_future(self._guard.send(*refusal(event["requestId"])))
        task.add_done_callback(forget)

    def release(self, tab: Tab) -> None:
        """Give a tab back, some time soon."""
        loop = self._loop
        if loop is not None and self.owns(tab):
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._later, tab)

    def _later(self, tab: Tab) -> None:
        task = asyncio.ensure_future(self.give_back(tab))
        self._releasing.add(task)
        task.add_done_callback(self._releasing.discard)

    def owns(self, tab: Tab) -> bool:
        """Whether a tab is of the browser now running, in this process."""
        return self._owner == os.getpid() and tab.browser is self._browser is not None

    @property
    def process(self) -> int:
        """The browser's process id; 0 where none runs."""
        return self._process if self._browser is not None else 0

    def close(self) -> None:
        """End the browser and the thread; using the engine again starts both again."""
        with self._start:
            loop, thread, self._loop = self._loop, self._thread, None
            if loop is None or thread is None or self._owner != os.getpid():
                return
            with suppress(Exception):
                asyncio.run_coroutine_threadsafe(self._stop(), loop).result(20)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(5)
            if not thread.is_alive():
                loop.close()
            _LIVE.discard(self)

    async def _stop(self) -> None:
        self._free = []
        await self.restart(self._browser)
        if self._playwright is not None:
            playwright, self._playwright = self._playwright, None
            await asyncio.wait_for(playwright.stop(), 10)
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
