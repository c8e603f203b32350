"""Asking for pages: what is asked, what is answered, and the one gate that all of it goes through.

How a page comes is the user's to configure: plain HTTP, a scraping service, a function of one's
own, saved pages, a cassette. All of them are a `Fetch`: from a request to an answer. There are
two kinds of request and no third: a search, and opening an item; the site says which address is
which. What a live shop is asked beside them, its robots.txt and where a page has moved to, is
logged under names of its own.
"""

import importlib
import sys
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from errands.agents.agent import EndOfRun
from errands.errors import ErrandsError, SettingError
from errands.transfer.sites.site import Kind, Site, SiteError

__all__ = [
    "KINDS", "Answer", "Fetch", "FetchError", "Gate", "Kind", "NotHeld", "Outgoing", "Request",
    "aside", "own_fetch",
]  # fmt: skip

_REFUSALS: Final = frozenset({401, 403, 429, 503})
_PATIENCE: Final = 3
KINDS: Final[tuple[Kind, ...]] = ("search", "item")


class FetchError(ErrandsError):
    """A page could not be had; the sentence says why."""


class NotHeld(FetchError):
    """The page is not among those that are held: a folder or a cassette asks nobody."""


class Request(NamedTuple):
    """What leaves."""

    kind: Kind
    url: str


class Answer(msgspec.Struct, frozen=True):
    """What comes back."""

    url: str
    """Where the page was in the end."""
    status: int
    body: str


class Fetch(Protocol):
    """Gets one page; raises `FetchError` with a sentence where it cannot."""

    def __call__(self, request: Request) -> Answer: ...


class Outgoing(msgspec.Struct, frozen=True):
    """A request that was made, for the record."""

    kind: str
    """`search` or `item`; `robots` for a robots.txt, `redirect` for a page that has moved."""
    url: str
    status: int
    seconds: float
    error: str = ""


_ASIDE: ContextVar[Callable[[Outgoing], None] | None] = ContextVar("aside", default=None)


def aside(made: Outgoing) -> None:
    """Tell the gate, if one is waiting for an answer, what else left for it."""
    if (note := _ASIDE.get()) is not None:
        note(made)


class Gate:
    """Counts what leaves, holds it to its limits, and looks at what comes back.

    More requests than an episode may send are that episode's error; more than a run may send end
    the run, which can be resumed. So do three refusals in a row: who is not wanted stops asking.
    """

    def __init__(
        self,
        fetch: Fetch,
        site: Site,
        *,
        per_episode: int = 60,
        per_run: int = 3_000,
        sent: int = 0,
        on_request: Callable[[Outgoing], None] | None = None,
    ) -> None:
        if per_episode < 1 or per_run < 1:
            raise SettingError("The limits of requests must be 1 or more.")
        self._fetch = fetch
        self._site = site
        self._per_episode = per_episode
        self._per_run = per_run
        self._on_request = on_request
        self._refused = 0
        self.sent = sent
        """Requests of the run so far."""
        self.log: list[Outgoing] = []
        """Requests of the episode, in order."""

    def begin(self) -> None:
        """A new episode."""
        self.log = []

    def __call__(self, request: Request) -> Answer:
        if self.sent >= self._per_run:
            raise EndOfRun(f"The run has sent its {self._per_run} requests (--run-requests)")
        if len(self.log) >= self._per_episode:
            raise FetchError(
                f"The episode has sent its {self._per_episode} requests (--episode-requests);"
                " no more leave."
            )
        if request.kind not in KINDS or not self._site.admits(request.kind, request.url):
            raise FetchError(
                f"{request.url} is neither a search nor an item of {self._site.name}; nothing was"
                " sent."
            )
        begun = time.perf_counter()
        token = _ASIDE.set(self._keep)
        try:
            answer = self._fetch(request)
        except NotHeld:
            raise  # Nobody was asked.
        except FetchError as failure:
            self._note(request, 0, begun, str(failure))
            raise
        except BaseException as failure:  # Whatever happened, the request may have left.
            self._note(request, 0, begun, f"{type(failure).__name__}: {failure}")
            raise
        finally:
            _ASIDE.reset(token)
        self._note(request, answer.status, begun)
        refused = self._site.refusal(answer.body)
        self._refused = self._refused + 1 if refused or answer.status in _REFUSALS else 0
        if self._refused >= _PATIENCE:
            raise EndOfRun(f"{self._site.name} has refused {_PATIENCE} requests in a row")
        if answer.status != 200:
            raise FetchError(
                f"{request.url} was answered with status {answer.status}; expected a page."
            )
        if refused:
            raise SiteError(
                f"{self._site.name} answered with {refused!r} instead of a page; slow down"
                " (--pause), use saved pages (--pages) or a service that may (--service)."
            )
        return answer

    def _note(self, request: Request, status: int, begun: float, error: str = "") -> None:
        self._keep(Outgoing(*request, status, time.perf_counter() - begun, error))

    def _keep(self, made: Outgoing) -> None:
        self.log.append(made)
        self.sent += 1
        if self._on_request is not None:
            self._on_request(made)


def own_fetch(name: str) -> Fetch:
    """A function of the user's own, `module:attribute`, from an address to a page's text."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise SettingError(f"--fetch {name!r}: expected module:function of your own code.")
    if "" not in sys.path:
        sys.path.insert(0, "")  # A command does not look into the folder it is called from.
    try:
        found: Any = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as failure:
        raise SettingError(f"--fetch {name!r} cannot be loaded ({failure}).") from None
    if not callable(found):
        raise SettingError(f"--fetch {name!r} is no function; expected one from a URL to a page.")

    def fetch(request: Request) -> Answer:
        try:
            body = found(request.url)
        except ErrandsError:
            raise
        except Exception as failure:
            raise FetchError(
                f"{name} failed for {request.url}: {type(failure).__name__}: {failure}"
            ) from None
        if not isinstance(body, str):
            raise FetchError(f"{name} gave a {type(body).__name__}; expected the page's text.")
        return Answer(request.url, 200, body)

    return fetch
