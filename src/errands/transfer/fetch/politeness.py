"""Manners towards a shop that is asked for pages: a pause between requests, and its robots.txt.

robots.txt is asked for once a host, before the first request to it. It is the one thing beside
searches and items that is ever asked for, and only of live sites; it is paused for and logged like
the others.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from errands.errors import SettingError
from errands.transfer.fetch.fetcher import (
    Fetch,
    FetchedPage,
    FetchError,
    PageRequest,
    RequestRecord,
    log_request,
)
from errands.transfer.fetch.robots_txt import RobotsTxt, read_robots

__all__ = ["PoliteFetch", "Robots"]

_LONGEST_PAUSE = 3600.0


class _Get(Protocol):
    def __call__(self, url: str, kind: str = "") -> FetchedPage: ...


class Robots:
    """What hosts allow, by their robots.txt."""

    def __init__(self, get: _Get, user_agent: str) -> None:
        self._get = get
        self._name = user_agent.partition("/")[0].strip() or "*"
        self._rules: dict[str, RobotsTxt] = {}

    def knows(self, url: str) -> bool:
        """Whether the robots.txt of an address was read already."""
        return _place(url) in self._rules

    def ask(self, url: str) -> None:
        """Ask for the robots.txt of an address."""
        robots, begun, status, error = f"{_place(url)}/robots.txt", time.perf_counter(), 0, ""
        try:
            answer = self._get(robots, "robots")
            status = answer.status
        except FetchError as failure:
            error = str(failure)
            raise
        finally:
            log_request(RequestRecord("robots", robots, status, time.perf_counter() - begun, error))
        if status == 200:
            self._rules[_place(url)] = read_robots(answer.body, self._name)
        elif 400 <= status < 500 and status not in (401, 403, 429):
            self._rules[_place(url)] = RobotsTxt()  # There is none: everything is allowed.
        else:
            raise FetchError(
                f"{robots} was answered with status {status}, so nobody knows what is allowed;"
                " nothing more was asked (--ignore-robots goes on)."
            )

    def check(self, url: str) -> float:
        """Raises where an address must not be asked for; else the pause that the host asks for."""
        if not self.knows(url):
            self.ask(url)
        rules = self._rules[_place(url)]
        if not rules.allows(url):
            raise FetchError(
                f"{_place(url)}/robots.txt asks robots not to open {url}; use saved pages"
                " (--pages), or, where you have the shop's leave, --ignore-robots."
            )
        if rules.delay > _LONGEST_PAUSE:
            raise FetchError(
                f"{_place(url)}/robots.txt asks for {rules.delay:g} seconds between requests; use"
                " saved pages (--pages), or, where you have the shop's leave, --ignore-robots."
            )
        return rules.delay


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@dataclass(eq=False)
class PoliteFetch:
    """A fetcher that waits between requests and asks for nothing that a host does not want."""

    fetch: Fetch
    pause: float = 2.0
    robots: Robots | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _last: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.pause <= _LONGEST_PAUSE:
            raise SettingError(f"--pause {self.pause:g}: expected 0 to 3600 seconds.")

    def __call__(self, request: PageRequest) -> FetchedPage:
        pause = self.pause
        if (robots := self.robots) is not None:
            if not robots.knows(request.url):
                self._wait(self.pause)
                try:
                    robots.ask(request.url)
                finally:
                    self._last = self.clock()
            pause = max(pause, robots.check(request.url))
        self._wait(pause)
        try:
            return self.fetch(request)
        finally:
            self._last = self.clock()

    def _wait(self, pause: float) -> None:
        if self._last is not None and (left := self._last + pause - self.clock()) > 0:
            self.sleep(left)
