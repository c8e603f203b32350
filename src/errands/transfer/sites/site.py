"""What a site reader has: two kinds of address to request, and two kinds of page to read."""

import inspect
from typing import Any, Final, Literal, Protocol

from errands.errors import PageError, SettingError
from errands.plugins import Registry
from errands.transfer.sites.record import SiteProduct, SiteResults

__all__ = ["SITES", "PageKind", "RequestKind", "SiteError", "SiteReader", "find_site", "site_named"]

RequestKind = Literal["search", "item"]
"""What may be requested; a part of an item on a page of its own is requested as an item."""
PageKind = Literal["search", "item", "detail", ""]
"""What a page is; `detail` is a part of an item that has a page of its own."""


class SiteError(PageError):
    """A site answered with something else than its page, as a robot check; or with one that is
    not understood."""


class SiteReader(Protocol):
    """One shop on the web. All of it is pure: from a text to a record, from words to an address."""

    @property
    def name(self) -> str: ...

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that requests may go to, each with everything below it; with a port that is
        not the usual one."""
        ...

    def admits(self, kind: RequestKind, url: str) -> bool:
        """Whether an address is of this kind: nothing else, whoever names it, is requested."""
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
        return ""

    def read_results(self, html: str, url: str = "") -> SiteResults: ...

    def read_item(self, html: str, url: str = "") -> SiteProduct: ...

    def read_detail(self, product: SiteProduct, part: str, html: str) -> SiteProduct:
        """The record with a part that was on a page of its own."""
        return product


SITES: Final = Registry(
    "site",
    "errands.sites",
    {
        "amazon": "errands.transfer.sites.amazon:Amazon",
        "ebay": "errands.transfer.sites.ebay:Ebay",
        "schema.org": "errands.transfer.sites.schema_org:SchemaOrg",
        "webshop": "errands.transfer.sites.webshop:WebShopSite",
    },
)
"""Site readers by name: ours, those of the entry points `errands.sites`, and `module:attribute`.
What a name stands for is a reader, or a class or function that makes one."""

_PARTS: Final = (
    "name", "hosts", "admits", "search_url", "item_url", "kind", "refusal", "read_results",
    "read_item", "read_detail",
)  # fmt: skip


def find_site(site: "str | SiteReader") -> SiteReader:
    """A site reader, given itself or by its name."""
    return site_named(site) if isinstance(site, str) else site


def site_named(name: str, *, host: str = "", search: str = "") -> SiteReader:
    """A site reader by its name.

    `host` is another host of the same shop (`www.amazon.co.uk`; for `webshop` its address).
    `search` is for schema.org, which has no addresses of its own: where a shop's results are, with
    `{query}` and `{page}` in it. A reader of somebody else's takes either, if it takes arguments.
    """
    if name in SITES.own:
        if search and name != "schema.org":
            raise SettingError(f"--search-url is for the site schema.org; {name} has its own.")
        if host and name == "schema.org":
            raise SettingError("The site schema.org takes --search-url, not --host.")
    site: Any = SITES.find(name)
    if inspect.isclass(site) or not hasattr(site, "read_item"):
        site = _made(name, site, [text for text in (host, search) if text])
    elif host or search:
        raise SettingError(f"The site {name} takes neither --host nor --search-url.")
    absent = [part for part in _PARTS if not hasattr(site, part)]
    if absent:
        raise SettingError(
            f"The site {name} is a {type(site).__name__} without {absent[0]!r}; expected a reader"
            f" with {', '.join(_PARTS)}."
        )
    reader: SiteReader = site
    return reader


def _made(name: str, make: Any, arguments: list[str]) -> Any:
    """What a class or function makes of a host or a search address."""
    if not callable(make):
        raise SettingError(f"The site {name} is a {type(make).__name__}; expected a site reader.")
    try:
        inspect.signature(make).bind(*arguments)
    except TypeError as failure:
        raise SettingError(
            f"The site {name} cannot be made ({failure}); --host and --search-url are what it is"
            " given."
        ) from None
    return make(*arguments)
