"""One saved page as our page: what an agent would see of it, and could do there."""

from typing import Any, NamedTuple

from errands.transfer.environment import RealShopEnv
from errands.transfer.fetch.fetcher import Answer, Request
from errands.transfer.sites.record import FoundCard, FoundProduct, Listing, listing
from errands.transfer.sites.site import Kind, PageKind, Site

__all__ = ["Translated", "translated"]


class Translated(NamedTuple):
    """A page of ours."""

    text: str
    clickables: list[str]


class _OnePage:
    """A shop that is one page: every search finds it."""

    name = "one page"
    hosts: tuple[str, ...] = ()

    def __init__(self, site: Site, kind: PageKind) -> None:
        self._site = site
        self._kind = kind

    def admits(self, kind: Kind, url: str) -> bool:
        return True

    def search_url(self, query: str, page: int) -> str:
        return f"saved:{page}"

    def item_url(self, id: str) -> str:
        return f"saved:{id}"

    def kind(self, html: str) -> PageKind:
        return self._kind

    def refusal(self, html: str) -> str:
        return ""

    def read_results(self, html: str, url: str = "") -> Listing:
        if self._kind == "search":
            return self._site.read_results(html)
        card = FoundCard(id=self._site.read_item(html).id or "item")
        return listing([card], has_next=False, left_out=0, no_id=0)

    def read_item(self, html: str, url: str = "") -> FoundProduct:
        return self._site.read_item(html)

    def read_detail(self, found: FoundProduct, part: str, html: str) -> FoundProduct:
        return found


def translated(site: Site, html: str, kind: PageKind, instruction: str) -> Translated:
    """The page of ours that a real page of results, or an item, becomes."""

    def fetch(request: Request) -> Answer:
        return Answer(request.url, 200, html)

    env = RealShopEnv([instruction], _OnePage(site, kind), fetch)
    env.reset()
    seen: tuple[Any, ...] = env.step("search[page]")
    if kind != "search":
        link = seen[4]["available_actions"]["clickables"][-1]
        seen = env.step(f"click[{link}]")
    return Translated(seen[0], seen[4]["available_actions"]["clickables"])
