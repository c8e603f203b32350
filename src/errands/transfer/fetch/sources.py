"""Where pages come from, out of what a user says: saved pages, a cassette, or a live shop."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from errands.errors import SettingError
from errands.transfer.fetch.cassette import Recorder, Replayer
from errands.transfer.fetch.fetcher import Fetch, own_fetch
from errands.transfer.fetch.http import USER_AGENT, HttpFetch, service_fetch
from errands.transfer.fetch.politeness import PoliteFetch, Robots
from errands.transfer.fetch.saved_pages import SavedPages
from errands.transfer.sites.site import SiteReader

__all__ = ["FetchConfig", "live_pages", "page_source"]


class FetchConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a live shop is asked."""

    service: str = ""
    """A scraping service's address, with `{url}`."""
    service_key: str = ""
    """The environment variable that holds its key."""
    own: str = ""
    """`module:function` of the user's."""
    pause: float = 2.0
    ignore_robots: bool = False
    user_agent: str = USER_AGENT
    timeout: float = 20.0
    allow_local: bool = False


def live_pages(site: SiteReader, live: FetchConfig) -> tuple[Fetch, str]:
    """A polite fetcher of a live shop, and its name for the record.

    Only plain HTTP asks for robots.txt and says who is asking: how a service, or a function of the
    user's, gets its pages is theirs.
    """
    if live.service and live.own:
        raise SettingError("Pages come from --service or from --fetch, not from both.")
    if live.service or live.own:
        _check_of_use(live, "--service" if live.service else "--fetch")
    if live.own:
        return PoliteFetch(own_fetch(live.own), pause=live.pause), f"the function {live.own}"
    if live.service:
        through = service_fetch(
            live.service,
            live.service_key,
            hosts=site.hosts,
            seconds=live.timeout,
            allow_local=live.allow_local,
        )
        return PoliteFetch(through, pause=live.pause), "a scraping service"
    plain = HttpFetch(
        site.hosts,
        user_agent=live.user_agent,
        seconds=live.timeout,
        allow_local=live.allow_local,
        admits=site.admits,
    )
    robots = None if live.ignore_robots else Robots(plain.get, plain.user_agent)
    return PoliteFetch(plain, pause=live.pause, robots=robots), "plain HTTP"


def _check_of_use(live: FetchConfig, source: str) -> None:
    """Refuse what is for plain HTTP alone, rather than to ignore it."""
    for flag, is_given in (
        ("--ignore-robots", live.ignore_robots),
        ("--user-agent", live.user_agent != USER_AGENT),
    ):
        if is_given:
            raise SettingError(
                f"{flag} has no effect with {source}: it is for plain HTTP, which alone asks for"
                " robots.txt and names itself; leave it out."
            )


@contextlib.contextmanager
def page_source(
    site: SiteReader,
    *,
    pages: Path | None = None,
    cassette: Path | None = None,
    record: bool = False,
    live: FetchConfig | None = None,
) -> Iterator[tuple[Fetch, str]]:
    """A fetcher and its name for the record; a cassette that is recorded is closed in the end."""
    if record and cassette is None:
        raise SettingError("--record needs --cassette, the file to write.")
    if pages is not None and cassette is not None and not record:
        raise SettingError("Pages come from --pages or from --cassette, not from both.")
    if cassette is not None and not record:
        _check_of_use(live or FetchConfig(), "--cassette")
        yield Replayer(cassette), f"cassette {cassette}"
        return
    if pages is not None:
        _check_of_use(live or FetchConfig(), "--pages")
        source: Fetch = SavedPages(pages, site)
        told = f"saved pages in {pages}"
    else:
        source, told = live_pages(site, live or FetchConfig())
    if cassette is None:
        yield source, told
        return
    with contextlib.closing(Recorder(cassette, source, site.refusal)) as recorder:
        yield recorder, f"{told}, recorded on {cassette}"
