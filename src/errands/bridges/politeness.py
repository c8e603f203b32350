"""Manners towards a shop that is asked for pages: a pause between requests, and its robots.txt.

robots.txt is asked for once a host, before the first request to it. It is the one thing beside
searches and items that is ever asked for, and only of live sites.
"""

import time
from collections.abc import Callable
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

from errands.bridges.fetcher import Answer, Fetch, FetchError, Request
from errands.errors import SettingError

__all__ = ["Polite", "Robots"]


class Robots:
    """What hosts allow, by their robots.txt."""

    def __init__(self, get: Callable[[str], Answer], user_agent: str) -> None:
        self._get = get
        self._name = user_agent.partition("/")[0].strip() or "*"
        self._held: dict[str, RobotFileParser] = {}

    def check(self, url: str) -> float:
        """Raises where an address must not be asked for; else the pause that the host asks for."""
        parts = urlsplit(url)
        place = f"{parts.scheme}://{parts.netloc}"
        if place not in self._held:
            self._held[place] = self._read(f"{place}/robots.txt")
        rules = self._held[place]
        if not rules.can_fetch(self._name, url):
            raise FetchError(
                f"{place}/robots.txt asks robots not to open {url}; use saved pages (--pages), or,"
                " where you have the shop's leave, --ignore-robots."
            )
        return float(rules.crawl_delay(self._name) or 0)

    def _read(self, url: str) -> RobotFileParser:
        answer = self._get(url)
        rules = RobotFileParser()
        if answer.status == 200:
            rules.parse(answer.body.splitlines())
        elif 400 <= answer.status < 500 and answer.status not in (401, 403, 429):
            rules.parse([])  # There is none: everything is allowed.
        else:
            raise FetchError(
                f"{url} was answered with status {answer.status}, so nobody knows what is allowed;"
                " nothing more was asked (--ignore-robots goes on)."
            )
        return rules


class Polite:
    """A fetcher that waits between requests and asks for nothing that a host does not want."""

    def __init__(
        self,
        fetch: Fetch,
        *,
        pause: float = 2.0,
        robots: Robots | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not 0 <= pause <= 3600:
            raise SettingError(f"--pause {pause:g}: expected 0 to 3600 seconds.")
        self._fetch = fetch
        self._pause = pause
        self._robots = robots
        self._clock = clock
        self._sleep = sleep
        self._last: float | None = None

    def __call__(self, request: Request) -> Answer:
        asked = self._robots.check(request.url) if self._robots is not None else 0.0
        if self._last is not None:
            left = self._last + max(self._pause, asked) - self._clock()
            if left > 0:
                self._sleep(left)
        try:
            return self._fetch(request)
        finally:
            self._last = self._clock()
