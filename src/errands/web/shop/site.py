"""The shop as a website: the pages of the state machine at their addresses, for people.

Every page is plain HTML made here, which works without its script, and there is no cookie but for a
program that asks for a goal (`errands.web.shop.results`). The address is the state
(`errands.shop.urls`), so Back, reload and a second tab work; which goal a session has, what
it did and what it bought is in the log, which is written before a page is sent.
"""

import contextlib
import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import URLPath
from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import Receive, Scope, Send

from errands.crowd.store.database import StorageError
from errands.envs.episode import ShopContext
from errands.shop.navigation import DONE, ITEM, RESULTS, SEARCH, Page
from errands.shop.page_addresses import PageNotFound, page_at
from errands.shop.render.html import html
from errands.shop.rewards.rules import Purchase
from errands.shop.urls import MAX_PATH, Address, build, parse
from errands.web.core.application import AppPart
from errands.web.core.bodies import read_body
from errands.web.core.http_errors import HttpError, bad_request, internal, not_found, too_large
from errands.web.core.metrics import Histogram, metric
from errands.web.core.openapi import Json, operation, paths
from errands.web.core.places import SHOP, Place
from errands.web.shop.assets import AssetFile, picture_file, picture_path, site_assets
from errands.web.shop.browsing import BROWSING
from errands.web.shop.pages import (
    NEW_SESSION,
    Link,
    error_page,
    explain,
    goal_details,
    site_frame,
)
from errands.web.shop.results import SessionKeys, result_paths, result_routes
from errands.web.shop.visitors import Visitor, Visitors

__all__ = ["ShopSite", "shop_site"]

_PARAMETERS: Final[dict[str, Json]] = {
    "session": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    "keywords": {"type": "string", "minLength": 1, "examples": ["['red', 'shoes']"]},
    "page": {"type": "integer", "minimum": 1, "maximum": 999_999},
    "asin": {"type": "string", "minLength": 1, "maxLength": 10},
    "options": {"type": "string", "minLength": 2, "examples": ["{'color': 'red'}"]},
    "sub_page": {
        "type": "string",
        "enum": ["Description", "Features", "Reviews", "Attributes"],
    },
    "kind": {"type": "string", "pattern": "^[a-z]{1,20}$"},
    "color": {"type": "string", "pattern": "^[0-9a-f]{6}$"},
    "variant": {"type": "integer", "minimum": 0, "maximum": 999_999},
}
_ERRORS: Final = {
    "400": "The form or the chosen option makes no sense",
    "403": "The request comes from a page elsewhere",
    "404": "There is no such page, product or goal",
    "405": "Another method",
    "408": "The form did not arrive in time",
    "409": "The session has bought something else already",
    "413": "The form is too large",
    "414": "The address is too long",
    "503": "The server is busy, or cannot log what happens",
}

_log = logging.getLogger(__name__)

_BODY: Final = 2**14
"""Bytes of a form."""
_BODY_SECONDS: Final = 20.0
_INDEX: Final = re.compile("[0-9]{1,18}")
_QUERY: Final = 1000
"""Characters of a search; the form says so, too."""
_IN_FLIGHT: Final = 2048

_RESERVED: Final = frozenset(
    {"v1", "health", "ready", "metrics", "openapi.json", "office", "work", "frame", "mturk"}
)
"""First parts of addresses that belong to others."""

_SAFETY: Final = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' https:;"
        b" form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)
_PAGE: Final = ((b"content-type", b"text/html; charset=utf-8"), (b"cache-control", b"no-store"))
_IMMUTABLE: Final = (b"cache-control", b"public, max-age=31536000, immutable")

Headers = Sequence[tuple[bytes, bytes]]
Answer = tuple[int, Headers, bytes]


class ShopSite:
    """Answers requests for the shop's pages."""

    def __init__(self, context: ShopContext, visitors: Visitors) -> None:
        self._context = context
        self.visitors = visitors
        self.keys = SessionKeys(visitors.secret())
        self._pages: Counter[str] = Counter()
        """Pages shown, by kind."""
        self._errors: Counter[int] = Counter()
        """Errors, by status."""
        self._purchases = 0
        self._latency = Histogram()
        # Ten products of a results page would be read for their pictures' sake alone.
        self._image_of = lru_cache(2**14)(lambda asin: context.catalog[asin].image)
        self.in_flight = 0

    @property
    def about(self) -> str:
        """What there is, in a sentence."""
        products, goals = len(self._context.catalog), len(self._context.goals)
        return f"{products:,} products and {goals:,} goals to shop for."

    def metrics(self) -> str:
        """Its counters, for `GET /metrics`."""
        about = "How long answers take to make."
        begun = self.visitors.begun
        lines = chain(
            metric("site_shoppers", "gauge", "Visitors in memory.", len(self.visitors)),
            metric("site_sessions_total", "counter", "Sessions begun.", begun),
            metric("site_purchases_total", "counter", "Products bought.", self._purchases),
            metric("site_pages_total", "counter", "Pages shown, by kind.", self._pages, "kind"),
            metric("site_refusals_total", "counter", "Errors, by status.", self._errors, "status"),
            metric("site_seconds", "histogram", about, {"site": self._latency}, "part"),
        )
        return "\n".join(lines) + "\n"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = time.perf_counter()
        self.in_flight += 1
        try:
            status, headers, body = await self._answer(scope, receive)
            self._latency.add(time.perf_counter() - begun)
            if body or scope["method"] != "HEAD":
                headers = (*headers, (b"content-length", str(len(body)).encode()))
            start = {"status": status, "headers": [*headers, *_SAFETY]}
            await send({"type": "http.response.start", **start})
            await send({"type": "http.response.body", "body": body})
        finally:
            self.in_flight -= 1

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        links: list[Link] = []
        try:
            return await self._respond(scope, receive, links)
        except HttpError as failure:
            error = failure
        except PageNotFound as missing:
            error = HttpError(missing.status, missing.code, str(missing))
        except StorageError:
            _log.exception("the log cannot be written")
            error = HttpError(
                503, "unavailable", "What you did could not be logged, so it was not done."
            )
        except Exception:
            # A defect of ours: the log says which, and the other visitors go on.
            _log.exception("a page could not be made")
            error = internal()
        self._errors[error.status] += 1
        more = [(b"connection", b"close")] if error.status in (408, 413) else []
        if error.status == 405:
            more.append((b"allow", b"GET, HEAD, POST"))
        return error.status, (*_PAGE, *more), error_page(error, links).encode()

    async def _respond(self, scope: Scope, receive: Receive, links: list[Link]) -> Answer:
        method = scope["method"]
        if method not in ("GET", "HEAD", "POST"):
            raise HttpError(405, "method_not_allowed", "Pages are asked for with GET or POST.")
        if self.in_flight > _IN_FLIGHT:
            raise HttpError(503, "busy", "Too many people are here at once; try again in a moment.")
        form: dict[str, str] = {}
        if method == "POST":
            form = _form(await read_body(scope, receive, _BODY, _BODY_SECONDS))
        path = _path(scope)
        if path in ("/", NEW_SESSION):
            return self._front_door(_wanted_goal(scope), method)
        file = site_assets().files.get(path) or picture_file(path)
        if file is not None:
            return _file(file)
        if path.endswith("/"):
            return _redirect(build(_address(path[:-1])))
        address = _address(path)
        if method == "HEAD":
            # Whoever only asks whether there is a page takes no step, and buys nothing.
            self.visitors.check(address.session)
            page_at(self._context.shop, address, ())
            return 200, _PAGE, b""
        # From here on there is a visitor, who may want to continue.
        visitor = self.visitors.of(address.session)
        links.append(("Back to Search", build(Address(SEARCH, visitor.name))))
        referrer = _referrer(scope)
        query = form.get("search_query", "").lower()
        if address.page == SEARCH and query.strip():
            return self._search(visitor, query, referrer)
        if address.page == DONE:
            return self._purchase(visitor, address, referrer, links, method)
        return self._page(visitor, address, referrer, links)

    def _front_door(self, goal: int | None, method: str) -> Answer:
        """To a new session; who wants a certain goal is given the key to the result, too."""
        if goal is None or method == "HEAD":
            return _redirect(f"/{secrets.token_hex(12)}")
        visitor = self.visitors.start(goal)
        status, headers, body = _redirect(build(Address(SEARCH, visitor.name)))
        return status, (*headers, self.keys.cookie(visitor.name)), body

    def _search(self, visitor: Visitor, query: str, referrer: Address | None) -> Answer:
        if len(query) > _QUERY:
            raise too_large(f"The search has {len(query):,} characters; the most is {_QUERY:,}.")
        address = Address(RESULTS, visitor.name, query)
        self.visitors.step(visitor, address, referrer)
        return _redirect(build(address))

    def _page(
        self, visitor: Visitor, address: Address, referrer: Address | None, links: list[Link]
    ) -> Answer:
        visited = visitor.visited_at(address)
        try:
            page = page_at(self._context.shop, address, visited)
        except PageNotFound as missing:
            if missing.code == "no_option":
                plain = address._replace(page=ITEM, options=())
                links.append(("Back to the product", build(plain)))
            raise
        body = self._render(page, visitor).encode()
        self.visitors.step(visitor, address, referrer)
        self._pages[address.page] += 1
        return 200, _PAGE, body

    def _purchase(
        self,
        visitor: Visitor,
        address: Address,
        referrer: Address | None,
        links: list[Link],
        method: str,
    ) -> Answer:
        if visitor.goal is BROWSING:
            raise HttpError(
                409,
                "no_goals",
                "This shop has no goals yet, so no purchase could be scored; look around instead.",
            )
        if visitor.bought is None and not self.visitors.may_buy(visitor):
            links.append(("Start another session", NEW_SESSION))
            raise HttpError(
                409,
                "goal_in_use",
                "A worker has a goal with the same product, and the score would tell what is"
                " wanted; buy this another day, or start another session.",
            )
        bought = visitor.bought
        if bought is not None:
            first = Address(DONE, visitor.name, asin=bought.asin, options=bought.options)
            if (address.asin, dict(address.options)) != (bought.asin, dict(bought.options)):
                links[:] = [
                    ("See what you bought", build(first)),
                    ("Start another session", NEW_SESSION),
                ]
                raise HttpError(
                    409,
                    "bought_already",
                    "A session ends with its first purchase, and only that one counts.",
                )
            address = first
        page = page_at(self._context.shop, address, ())
        product = page.product
        assert product is not None
        if bought is None:
            price = self._context.goals.price(product)
            reward = self._context.rules(Purchase(product, page.options, price), visitor.goal)
            self.visitors.buy(visitor, address, referrer, price, reward)
            self._purchases += 1
        if method == "POST":
            # So that a reload does not ask whether to buy again.
            return _redirect(build(address))
        self._pages[DONE] += 1
        return 200, _PAGE, self._render(page, visitor).encode()

    def _render(self, page: Page, visitor: Visitor) -> str:
        bought = visitor.bought if page.state.page == DONE else None
        goal = visitor.goal
        return html(
            page,
            goal.instruction_text,
            None if bought is None else bought.reward,
            session=visitor.name,
            picture=picture_path,
            image_of=self._image_of,
            explanation=None if bought is None else explain(bought, goal),
            extra="" if bought is None else goal_details(visitor.name, goal),
            site=site_frame(build(Address(SEARCH, visitor.name))),
        )


def shop_site(site: ShopSite) -> AppPart:
    """The part of an application that is the shop's website."""
    return AppPart(
        routes=(*result_routes(site.visitors, site.keys), _ShopRoute(site)),
        place=Place(
            SHOP,
            NEW_SESSION,
            f"{site.about} You are told what to find; search, choose, buy, and see your score.",
            "Start shopping",
        ),
        paths=site_paths,
        metrics=site.metrics,
        busy=lambda: site.in_flight > 0,
    )


class _ShopRoute(BaseRoute):
    """Every address that does not belong to another part, also those where nothing is."""

    def __init__(self, site: ShopSite) -> None:
        self._site = site

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        first = scope["path"][1:].partition("/")[0]
        is_ours = scope["type"] == "http" and first not in _RESERVED
        return (Match.FULL if is_ours else Match.NONE), {}

    def url_path_for(self, name: str, /, **path_params: Any) -> URLPath:
        raise NoMatchFound(name, path_params)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._site(scope, receive, send)


def _path(scope: Scope) -> str:
    """The path as it was sent: decoded, a slash in a query would end it."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    if len(raw) > MAX_PATH:
        raise HttpError(
            414, "too_large", f"The address has {len(raw):,} characters; the most is {MAX_PATH:,}."
        )
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise _no_page() from None


def _address(path: str) -> Address:
    address = parse(path)
    if address is None:
        raise _no_page()
    try:
        "".join([address.query, address.asin, *chain.from_iterable(address.options)]).encode()
    except UnicodeEncodeError:
        raise _no_page() from None
    return address


def _referrer(scope: Scope) -> Address | None:
    """The page that the browser says it comes from; believed only where it has been."""
    for name, value in scope["headers"]:
        if name == b"referer":
            with contextlib.suppress(ValueError):
                return parse(urlsplit(value[: MAX_PATH + 300].decode("latin-1")).path)
    return None


def _wanted_goal(scope: Scope) -> int | None:
    """The goal that an address ends in, as in `/?goal=4`."""
    wanted = _form(scope["query_string"]).get("goal")
    if wanted is None:
        return None
    if not _INDEX.fullmatch(wanted):
        raise HttpError(
            404, "no_goal", "There is no such goal; its index is expected, as in /?goal=4."
        )
    return int(wanted)


def _form(body: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(body.decode("latin-1"), keep_blank_values=True, max_num_fields=100))
    except ValueError:
        raise bad_request("The form that was sent makes no sense.") from None


def _file(file: AssetFile) -> Answer:
    return 200, ((b"content-type", file.media_type.encode()), _IMMUTABLE), file.body


def _redirect(address: str) -> Answer:
    headers = ((b"location", address.encode()), (b"cache-control", b"no-store"))
    return 303, headers, b""


def _no_page() -> HttpError:
    return not_found("The address leads to no page of this shop.")


def site_paths() -> Json:
    """Paths and schemas; every page answers GET and POST alike."""
    item = "{session}/{asin}/{keywords}/{page}"
    goal: Json = {"goal": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}}
    query = {"search_query": {"type": "string", "maxLength": 1000}}
    pages = {
        "/": _page("The home page; to a new session with a goal, or by POST", query=goal),
        NEW_SESSION: _page("Leads to a new session", status="303", query=goal),
        "/{session}": {
            **_page("The search page"),
            "post": _operation("A search, which leads to its results", form=query),
        },
        "/search_results/{session}/{keywords}/{page}": _page("A page of results"),
        f"/item_page/{item}/{{options}}": _page("A product with chosen options"),
        f"/item_sub_page/{item}/{{sub_page}}/{{options}}": _page("More about a product"),
        "/done/{session}/{asin}/{options}": _page("Buys; then it is the score page"),
        "/pictures/{kind}/{color}/{variant}.svg": _page("A drawn picture", media="image/svg+xml"),
    }
    described, results = paths(pages, parameters=_PARAMETERS), result_paths()
    return {name: {**results[name], **described[name]} for name in described}


def _page(
    summary: str, *, status: str = "200", media: str = "text/html", query: Json | None = None
) -> Json:
    operation = _operation(summary, status=status, media=media, query=query)
    return {"get": operation, "post": operation}


def _operation(
    summary: str,
    *,
    status: str = "200",
    media: str = "text/html",
    form: Json | None = None,
    query: Json | None = None,
) -> Json:
    described = operation(
        summary,
        status=status,
        media=media,
        form=form,
        query=query,
        errors=_ERRORS,
        error_media="text/html",
    )
    described["responses"]["303"] = {"description": "To the page that is meant"}
    return described
