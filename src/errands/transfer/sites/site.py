"""What a real shop must have to be bridged: two addresses to ask for, and two pages to read."""

from collections.abc import Callable
from typing import Final, Literal, Protocol

from errands.errors import ErrandsError, SettingError
from errands.transfer.sites.record import FoundProduct, Listing

__all__ = ["SITES", "Kind", "PageKind", "Site", "SiteError", "site_named"]

Kind = Literal["search", "item"]
"""What may be asked for; a part of an item on a page of its own is asked for as an item."""
PageKind = Literal["search", "item", "detail", ""]
"""What a page is; `detail` is a part of an item that has a page of its own."""


class SiteError(ErrandsError):
    """A site answered with something else than its page: a robot check, or a refusal."""


class Site(Protocol):
    """One shop on the web. All of it is pure: from a text to a record, from words to an address."""

    @property
    def name(self) -> str: ...

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that may be asked, each with everything below it; with a port that is not the
        usual one."""
        ...

    def admits(self, kind: Kind, url: str) -> bool:
        """Whether an address is of this kind: nothing else, whoever names it, is asked for."""
        ...

    def search_url(self, query: str, page: int) -> str:
        """Where a page of results is, counted from 1."""
        ...

    def item_url(self, id: str) -> str:
        """Where an item is; empty where a page of results must say it."""
        ...

    def kind(self, html: str) -> PageKind:
        """What a saved page is; empty where it is none of this site's."""
        ...

    def refusal(self, html: str) -> str:
        """What a page says that is no page but a refusal; empty for all others."""
        ...

    def read_results(self, html: str, url: str = "") -> Listing: ...

    def read_item(self, html: str, url: str = "") -> FoundProduct: ...

    def read_detail(self, found: FoundProduct, part: str, html: str) -> FoundProduct:
        """The record with a part that was on a page of its own."""
        ...


def _amazon(host: str, search: str) -> Site:
    from errands.transfer.sites.amazon import Amazon

    return Amazon(host or "www.amazon.com")


def _ebay(host: str, search: str) -> Site:
    from errands.transfer.sites.ebay import Ebay

    return Ebay(host or "www.ebay.com")


def _schema_org(host: str, search: str) -> Site:
    from errands.transfer.sites.schema_org import SchemaOrg

    return SchemaOrg(search)


def _webshop(host: str, search: str) -> Site:
    from errands.transfer.sites.webshop import WebShopSite

    return WebShopSite(host or "http://127.0.0.1:8000")


SITES: Final[dict[str, Callable[[str, str], Site]]] = {
    "amazon": _amazon,
    "ebay": _ebay,
    "schema.org": _schema_org,
    "webshop": _webshop,
}


def site_named(name: str, *, host: str = "", search: str = "") -> Site:
    """A site by its name.

    `host` is another host of the same shop (`www.amazon.co.uk`; for `webshop` its address).
    `search` is for schema.org, which has no addresses of its own: where a shop's results are, with
    `{query}` and `{page}` in it.
    """
    if name not in SITES:
        raise SettingError(f"There is no site {name!r}; expected {', '.join(SITES)}.")
    if search and name != "schema.org":
        raise SettingError(f"--search-url is for the site schema.org; {name} has its own.")
    if host and name == "schema.org":
        raise SettingError("The site schema.org takes --search-url, not --host.")
    return SITES[name](host, search)
