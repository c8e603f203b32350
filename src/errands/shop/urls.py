"""Addresses of the shop's website: how they are built, and how one is read again.

    /{session}
    /search_results/{session}/{keywords}/{page}
    /item_page/{session}/{asin}/{keywords}/{page}/{options}
    /item_sub_page/{session}/{asin}/{keywords}/{page}/{SubPage}/{options}
    /done/{session}/{asin}/{options}

Keywords are the Python literal of a list of words and options that of a dictionary, and every
component is percent-encoded, so that no character of a query, a value or an id can end one.
A server must read the path as it was sent (`raw_path` in ASGI): once it is decoded, a slash in
a query cannot be told from one between components.
"""

import ast
import json
import re
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

from errands.shop.navigation import DETAILS, DONE, ITEM, RESULTS, SEARCH, Page

__all__ = ["BASE_URL", "MAX_PATH", "Address", "build", "page_url", "parse"]

BASE_URL: Final = "http://127.0.0.1:3000"
"""Where the original's text environment says that it is."""

MAX_PATH: Final = 16_384
"""Characters of the longest path that is read."""

_ESCAPE: Final = r"\\(?:[\\'\"abfnrtv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_STRING: Final = rf"""(?:'(?:[^'\\\r\n\0]|{_ESCAPE})*'|"(?:[^"\\\r\n\0]|{_ESCAPE})*")"""
_PAIR: Final = rf"{_STRING} ?: ?{_STRING}"
_LIST: Final = re.compile(rf"\[(?:{_STRING}(?:, ?{_STRING})*)?\]")
_DICT: Final = re.compile(rf"\{{(?:{_PAIR}(?:, ?{_PAIR})*)?\}}")
_NUMBER: Final = re.compile(r"[0-9]{1,6}")


class Address(NamedTuple):
    """What a path says; fields that its page does not have keep their defaults."""

    page: str
    """Kind of the page, as in `State.page`."""
    session: str
    query: str = ""
    number: int = 1
    """Of the results page."""
    asin: str = ""
    options: tuple[tuple[str, str], ...] = ()
    """Chosen values by option name, in order, as in `State.options`."""


def build(address: Address) -> str:
    """The path of an address.

    >>> build(Address("results", "abc", "red shoes", 2))
    '/search_results/abc/%5B%27red%27%2C%20%27shoes%27%5D/2'
    """
    page, session, query, number, asin, options = address
    session = _quoted(session)
    if page == SEARCH:
        return f"/{session}"
    if page == RESULTS:
        return f"/search_results/{session}/{_keywords(query)}/{number}"
    chosen = _quoted(repr(dict(options))) if options else "%7B%7D"
    asin = _quoted(asin)
    if page == DONE:
        return f"/done/{session}/{asin}/{chosen}"
    if page == ITEM:
        return f"/item_page/{session}/{asin}/{_keywords(query)}/{number}/{chosen}"
    name = page.capitalize()
    return f"/item_sub_page/{session}/{asin}/{_keywords(query)}/{number}/{name}/{chosen}"


def parse(path: str) -> Address | None:
    """What a percent-encoded path says, or None where it is no page's address.

    >>> parse("/done/abc/B01/%7B%27size%27%3A%20%27xl%27%7D")
    Address(page='done', session='abc', query='', number=1, asin='B01', options=(('size', 'xl'),))

    The words of a query may also stand as they are (`/search_results/abc/shoes/1`).
    """
    if len(path) > MAX_PATH or not path.startswith("/"):
        return None
    try:
        parts = [unquote(part, errors="surrogatepass") for part in path[1:].split("/")]
    except UnicodeDecodeError:
        return None
    if any(part in ("", ".", "..") for part in parts):
        return None
    match parts:
        case [session]:
            return Address(SEARCH, session)
        case ["search_results", session, keywords, number]:
            return _checked(RESULTS, session, keywords, number)
        case ["item_page", session, asin, keywords, number, options]:
            return _checked(ITEM, session, keywords, number, asin, options)
        case ["item_sub_page", session, asin, keywords, number, name, options]:
            page = name.lower()
            if page in DETAILS:
                return _checked(page, session, keywords, number, asin, options)
        case ["done", session, asin, options]:
            return _checked(DONE, session, "[]", "1", asin, options)
    return None


def _checked(
    page: str, session: str, keywords: str, number: str, asin: str = "", options: str = "{}"
) -> Address | None:
    words = _literal(_LIST, keywords) if keywords.startswith("[") else [keywords]
    chosen = _literal(_DICT, options)
    if words is None or chosen is None or not _NUMBER.fullmatch(number):
        return None
    return Address(page, session, " ".join(words), int(number), asin, tuple(chosen.items()))


def _literal(shape: re.Pattern[str], source: str) -> Any:
    """The value of a flat literal of strings; nothing that nests, computes or warns gets in."""
    if not shape.fullmatch(source):
        return None
    try:
        return ast.literal_eval(source)
    except (SyntaxError, ValueError):  # a character beyond Unicode, a lone surrogate
        return None


def _keywords(query: str) -> str:
    return _quoted(repr(query.split(" ")))


@lru_cache(maxsize=1024)
def _quoted(part: str) -> str:
    return quote(part, safe="", errors="surrogatepass")


def page_url(page: Page, session: str) -> str:
    """The page's address as the original's text environment spells it.

    Query words are joined by `+` and nothing is escaped; options are JSON on item pages and a
    Python literal below them.
    """
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
