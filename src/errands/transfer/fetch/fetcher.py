"""Requests for pages, what comes back, and the one policy that all requests go through.

How a page comes is the user's to configure: plain HTTP, a scraping service, a function of one's
own, saved pages, a cassette. All of them are a `Fetch`: from a request to a page. There are
two kinds of request and no third: a search, and opening an item; the site says which address is
which. What else is requested of a live shop, its robots.txt and where a page has moved to, is
logged under names of its own.
"""

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import msgspec

from errands.agents.agent import EndOfRun
from errands.errors import ErrandsError, SettingError
from errands.plugins import import_attribute
from errands.transfer.sites.site import RequestKind, SiteError, SiteReader

__all__ = [
    "REQUEST_KINDS",
    "Fetch",
    "FetchError",
    "FetchedPage",
    "MissingPage",
    "PageRequest",
    "RequestKind",
    "RequestPolicy",
    "RequestRecord",
    "log_request",
    "own_fetch",
]

_REFUSALS: Final = frozenset({401, 403, 429, 503})
_PATIENCE: Final = 3
REQUEST_KINDS: Final[tuple[RequestKind, ...]] = ("search", "item")


class FetchError(ErrandsError):
    """A page could not be had; the sentence says why."""


class MissingPage(FetchError):
    """A folder or a cassette has no such page; nothing was requested."""


class PageRequest(NamedTuple):
    """What is requested: a search, or an item."""

    kind: RequestKind
    url: str


class FetchedPage(msgspec.Struct, frozen=True):
    """What comes back: a page and its status."""

    url: str
    """Where the page was in the end."""
    status: int
    body: str


class Fetch(Protocol):
    """Gets one page; raises `FetchError` with a sentence where it cannot."""

    def __call__(self, request: PageRequest) -> FetchedPage: ...


class RequestRecord(msgspec.Struct, frozen=True):
    """A request that was made, for the record."""

    kind: str
    """`search` or `item`; `robots` for a robots.txt, `redirect` for a page that has moved."""
    url: str
    status: int
    seconds: float
    error: str = ""


_LOG: ContextVar[Callable[[RequestRecord], None] | None] = ContextVar("log", default=None)


def log_request(record: RequestRecord) -> None:
    """Add to the log of the policy whose request is under way, if one is, what else it took."""
    if (log := _LOG.get()) is not None:
        log(record)


@dataclass(eq=False)
class RequestPolicy:
    """Counts requests, holds them to their limits, and checks what comes back.

    More requests than an episode may send are that episode's error; more than a run may send end
    the run, which can be resumed. So do three refusals in a row.
    """

    fetch: Fetch
    site: SiteReader
    per_episode: int = 60
    per_run: int = 3_000
    sent: int = 0
    """Requests of the run so far."""
    on_request: Callable[[RequestRecord], None] = lambda record: None
    """Gets every request as it is made."""
    log: list[RequestRecord] = field(default_factory=list)
    """Requests of the episode, in order."""
    _refused: int = 0

    def __post_init__(self) -> None:
        if self.per_episode < 1 or self.per_run < 1:
            raise SettingError("The limits of requests must be 1 or more.")

    def begin(self) -> None:
        """A new episode."""
        self.log = []

    def __call__(self, request: PageRequest) -> FetchedPage:
        if self.sent >= self.per_run:
            raise EndOfRun(f"The run has sent its {self.per_run} requests (--run-requests)")
        if len(self.log) >= self.per_episode:
            raise FetchError(
                f"The episode has sent its {self.per_episode} requests (--episode-requests);"
                " no more leave."
            )
        if request.kind not in REQUEST_KINDS or not self.site.admits(request.kind, request.url):
            raise FetchError(
                f"{request.url} is neither a search nor an item of {self.site.name}; nothing was"
                " sent."
            )
        begun = time.perf_counter()
        token = _LOG.set(self._keep)
        try:
            page = self.fetch(request)
        except MissingPage:
            raise  # Nothing was requested.
        except FetchError as failure:
            self._note(request, 0, begun, str(failure))
            raise
        except BaseException as failure:  # Whatever happened, the request may have left.
            self._note(request, 0, begun, f"{type(failure).__name__}: {failure}")
            raise
        finally:
            _LOG.reset(token)
        self._note(request, page.status, begun)
        refused = self.site.refusal(page.body)
        self._refused = self._refused + 1 if refused or page.status in _REFUSALS else 0
        if self._refused >= _PATIENCE:
            raise EndOfRun(f"{self.site.name} has refused {_PATIENCE} requests in a row")
        if page.status != 200:
            raise FetchError(
                f"{request.url} was answered with status {page.status}; expected a page."
            )
        if refused:
            raise SiteError(
                f"{self.site.name} answered with {refused!r} instead of a page; slow down"
                " (--pause), use saved pages (--pages) or a service that may (--service)."
            )
        return page

    def _note(self, request: PageRequest, status: int, begun: float, error: str = "") -> None:
        self._keep(RequestRecord(*request, status, time.perf_counter() - begun, error))

    def _keep(self, record: RequestRecord) -> None:
        self.log.append(record)
        self.sent += 1
        self.on_request(record)


def own_fetch(name: str) -> Fetch:
    """A function of the user's own, `module:attribute`, from an address to a page's text."""
    try:
        function = import_attribute(name, "function")
    except SettingError as failure:
        raise SettingError(f"--fetch: {failure}") from None
    if not callable(function):
        raise SettingError(f"--fetch {name!r} is no function; expected one from a URL to a page.")

    def fetch(request: PageRequest) -> FetchedPage:
        try:
            body = function(request.url)
        except ErrandsError:
            raise
        except Exception as failure:
            raise FetchError(
                f"{name} failed for {request.url}: {type(failure).__name__}: {failure}"
            ) from None
        if not isinstance(body, str):
            raise FetchError(f"{name} gave a {type(body).__name__}; expected the page's text.")
        return FetchedPage(request.url, 200, body)

    return fetch
