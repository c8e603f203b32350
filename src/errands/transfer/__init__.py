"""Real shops as ours: their pages are read into records, records become pages of our shop.

`sites` reads pages, one file a site; `fetch` gets them; `live_catalog` and `environment` show them
as our shop does. Only two kinds of request ever leave: a search, and opening an item. Options and
buying stay inside; the purchase is recorded for scoring. See docs/guides/real-shops.md.
"""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = [
    "FetchError", "FetchedPage", "LiveShopEnv", "PageRequest", "SiteCard", "SiteError",
    "SiteProduct", "SiteReader", "SiteResults", "TransferConfig", "TransferGoal", "find_site",
    "read_goals", "site_results", "transfer", "with_missing",
]  # fmt: skip

if TYPE_CHECKING:
    from errands.transfer.environment import LiveShopEnv
    from errands.transfer.fetch.fetcher import FetchedPage, FetchError, PageRequest
    from errands.transfer.goals import TransferGoal, read_goals
    from errands.transfer.play import TransferConfig, transfer
    from errands.transfer.sites.record import (
        SiteCard,
        SiteProduct,
        SiteResults,
        site_results,
        with_missing,
    )
    from errands.transfer.sites.site import SiteError, SiteReader, find_site
else:
    __getattr__ = lazy_exports(__name__)
