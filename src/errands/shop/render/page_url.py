"""The address of a page, as the original's text environment spells it.

Query words are joined by `+` and nothing is escaped; options are JSON on item pages and a
Python literal below them. The website has a proper address scheme of its own.
"""

import json
from typing import Final

from errands.shop.navigation import DONE, ITEM, RESULTS, SEARCH, Page

__all__ = ["BASE_URL", "page_url"]

BASE_URL: Final = "http://127.0.0.1:3000"


def page_url(page: Page, session: str) -> str:
    """The page's address in a session."""
    state = page.state
    if state.page == SEARCH:
        return f"{BASE_URL}/{session}"
    query = state.query.replace(" ", "+")
    if state.page == RESULTS:
        return f"{BASE_URL}/search_results/{session}/{query}/{state.number}"
    assert page.product is not None
    asin = page.product.asin
    if state.page == DONE:
        return f"{BASE_URL}/done/{session}/{asin}/{page.options}"
    if state.page == ITEM:
        chosen = json.dumps(page.options)
        return f"{BASE_URL}/item_page/{session}/{asin}/{query}/{state.number}/{chosen}"
    name = state.page.capitalize()
    return f"{BASE_URL}/item_sub_page/{session}/{asin}/{query}/{state.number}/{name}/{page.options}"
