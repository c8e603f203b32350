"""The original's text environment, with its server and browser, and what it imports itself."""

from typing import Any

from errands_legacy.engine import (
    ACTION_TO_TEMPLATE,
    BACK_TO_SEARCH,
    END_BUTTON,
    NEXT_PAGE,
    PREV_PAGE,
    get_goals,
    get_product_per_page,
    get_top_n_product_from_keywords,
    init_search_engine,
    load_products,
    parse_action,
)
from errands_legacy.html_text import UNSEEN
from errands_legacy.rewards import get_reward
from errands_legacy.server import SimBrowser, SimServer
from errands_legacy.text_env import WebAgentTextEnv

__all__ = [
    "ACTION_TO_TEMPLATE",
    "BACK_TO_SEARCH",
    "END_BUTTON",
    "NEXT_PAGE",
    "PREV_PAGE",
    "SimBrowser",
    "SimServer",
    "WebAgentTextEnv",
    "get_goals",
    "get_product_per_page",
    "get_reward",
    "get_top_n_product_from_keywords",
    "init_search_engine",
    "load_products",
    "parse_action",
    "tag_visible",
]


def tag_visible(element: Any) -> bool:
    """Whether a page shows a text that BeautifulSoup found in it."""
    return element.parent.name not in UNSEEN and type(element).__name__ != "Comment"
