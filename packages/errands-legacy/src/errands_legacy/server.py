"""The simulated server and browser: sessions as dictionaries, pages by `errands.shop`.

All that a session is lies in its dictionary and in the browser's address, as in the original, so
that who keeps, copies or puts back the two finds the shop where it was left. Pages are made of
both when they are asked for; nothing else is remembered.
"""

import copy
import json
import operator
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Self

from errands.errors import GoalError
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import GoalSet
from errands.shop.navigation import (
    DETAILS,
    DONE,
    ITEM,
    RESULT_LIMIT,
    RESULTS,
    SEARCH,
    Page,
    Shop,
    State,
)
from errands.shop.render.html import html
from errands.shop.render.images import picture_source
from errands.shop.rewards.rules import Purchase, released
from errands.shop.urls import BASE_URL, page_url
from errands_legacy.engine import SearchEngine
from errands_legacy.goals import GoalFilter, choose_goals, draw_index
from errands_legacy.records import GoalList, ProductItems, ProductList, ProductPrices, goal_of
from errands_legacy.sources import PathLike, find_catalog

__all__ = ["GoalIndexError", "Session", "SimBrowser", "SimServer", "Status"]

Session = dict[str, Any]
Status = dict[str, Any]

_PAGES: Final = {"search_results": RESULTS, "item_page": ITEM, "item_sub_page": "", "done": DONE}


class GoalIndexError(GoalError, IndexError):
    """There is no goal with such an index."""


class SimServer:
    """Products, goals and sessions; any number of environments may share one."""

    def __init__(
        self,
        base_url: str = BASE_URL,
        file_path: PathLike | None = None,
        filter_goals: GoalFilter | None = None,
        limit_goals: int = -1,
        num_products: int | None = None,
        human_goals: Any = 0,
        show_attrs: bool = False,
        *,
        attr_path: PathLike | None = None,
        catalog: PathLike | Catalog | None = None,
        goals: PathLike | GoalSet | None = None,
        seed: int | None = None,
        shuffle: str | None = None,
    ) -> None:
        """Ours beside the original's: `catalog` (a name or a directory) in place of files,
        `goals` (a goal file) in place of those of the catalogue, and `shuffle`."""
        self.base_url = base_url
        self.catalog = find_catalog(
            catalog, file_path=file_path, attr_path=attr_path, num_products=num_products
        )
        if goals is None:
            goals = "human" if human_goals else "synthetic"
        self.goal_set = choose_goals(
            self.catalog, goals, seed=seed, shuffle=shuffle, where=filter_goals, limit=limit_goals
        )
        self.show_attrs = show_attrs
        self.shop = Shop(self.catalog, show_attrs=show_attrs, locked_when_done=False)
        self.goals: Sequence[Mapping[str, Any]] = GoalList(self.goal_set)
        self.all_products = ProductList(self.catalog)
        self.product_item_dict: Mapping[str, Any] = ProductItems(self.catalog)
        self.product_prices: Mapping[str, float] = ProductPrices(self.catalog, self.goal_set.price)
        self.search_engine: Any = SearchEngine(self.catalog)
        self.user_sessions: dict[str, Session] = {}
        self.assigned_instruction_text: str | None = None

    @cached_property
    def weights(self) -> list[float]:
        return [goal["weight"] for goal in self.goals]

    @cached_property
    def cum_weights(self) -> Sequence[float]:
        return self.goal_set.cumulative

    def __getstate__(self) -> dict[str, Any]:
        # Mapped sums of weights are had again from the goals.
        return {k: value for k, value in self.__dict__.items() if not isinstance(value, memoryview)}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """The same shop, with sessions of its own and what was changed of goals and prices."""
        twin = copy.copy(self)
        memo[id(self)] = twin
        twin.user_sessions = copy.deepcopy(self.user_sessions, memo)
        twin.goals = copy.deepcopy(self.goals, memo)
        twin.product_prices = copy.deepcopy(self.product_prices, memo)
        return twin

    def open(self, session_id: str, session_int: Any = None) -> Page:
        """The search page; a session that is new gets the goal `session_int`, or one drawn."""
        session = self.user_sessions.get(session_id)
        if session is None:
            goal = self._goal(session_int)
            session = self.user_sessions[session_id] = {"goal": goal, "done": False}
        # What an earlier episode of the same name was rewarded with is not this one's.
        for stale in ("reward", "verbose_info"):
            session.pop(stale, None)
        session["done"] = False
        return self._begin(session)

    def _begin(self, session: Session) -> Page:
        """The search page, with nothing found or chosen."""
        self._assign(session)
        session.update(
            keywords=None,
            page=None,
            asin=None,
            asins=set(),
            options={},
            actions=defaultdict(int),
        )
        return self.shop.look(State())

    def _assign(self, session: Session) -> None:
        """Let the instruction that is assigned, if one is, take the place of the goal's."""
        if self.assigned_instruction_text is not None:
            session["goal"]["instruction_text"] = self.assigned_instruction_text

    def _goal(self, wanted: Any) -> Mapping[str, Any]:
        if wanted is None:
            return self.goals[draw_index(self.cum_weights)]
        try:
            return self.goals[operator.index(wanted)]
        except IndexError:
            raise GoalIndexError(
                f"There is no goal {wanted}; expected 0 to {len(self.goals) - 1}."
            ) from None

    def find(self, query: str) -> tuple[int, ...]:
        """The numbers of the products that a query finds: by the search engine that is in place,
        among the products that are, for both may have been replaced."""
        engine, items = self.search_engine, self.product_item_dict
        if isinstance(engine, SearchEngine) and isinstance(items, ProductItems):
            return self.catalog.find(query, RESULT_LIMIT)
        found = [engine.doc(hit.docid) for hit in engine.search(query, k=RESULT_LIMIT)]
        asins = [json.loads(document.raw())["id"] for document in found if document is not None]
        numbers = (self.catalog.number(asin) for asin in asins if asin in items)
        return tuple(number for number in numbers if number >= 0)

    def state(self, session_id: str, url: str, known: State | None = None) -> State:
        """Where a session is: what its dictionary says, on the page that the address names.

        What a query found is taken from a `known` state with the same query.
        """
        session = self.user_sessions[session_id]
        path = url.removeprefix(self.base_url).lstrip("/")
        kind = _PAGES.get(path.partition("/")[0], SEARCH)
        if kind == SEARCH or session["keywords"] is None:
            return State()
        query, number, asin = " ".join(session["keywords"]), session["page"], session["asin"]
        hits = known.hits if known is not None and known.query == query else self.find(query)
        visited = tuple(session["asins"])
        if kind == RESULTS or asin is None:
            return State(RESULTS, query, number, hits, visited=visited)
        if not kind:
            words = "+".join(session["keywords"])
            rest = path.removeprefix(f"item_sub_page/{session_id}/{asin}/{words}/{number}/")
            name = rest.partition("/")[0].lower()
            kind = name if name in DETAILS else ITEM
        product = self.catalog.number(asin)
        if product < 0:  # A session that was kept elsewhere and put back here.
            raise KeyError(asin)
        options = tuple(session["options"].items())
        return State(kind, query, number, hits, product, options, visited)

    def search(self, session_id: str, before: Page, query: str, number: int = 1) -> Page:
        """A page of the results of a query."""
        page = self._results(query, number, before.state.visited)
        self._note(self.user_sessions[session_id], before, page)
        return page

    def click(self, session_id: str, before: Page, name: str) -> Page:
        """The page that a click leads to; the same page where there is no such name."""
        page = self.shop.turn(before, f"click[{name}]")
        if page is before:
            return page
        if page.state.page == SEARCH:
            return self._begin(self.user_sessions[session_id])
        if page.state.page == RESULTS:
            page = self._results(page.state.query, page.state.number, page.state.visited)
        self._note(self.user_sessions[session_id], before, page)
        return page

    def _results(self, query: str, number: int, visited: tuple[str, ...]) -> Page:
        """A page of results, searched for anew whenever it is come to."""
        return self.shop.look(State(RESULTS, query, number, self.find(query), visited=visited))

    def _note(self, session: Session, before: Page, page: Page) -> None:
        """Write down in the session what has happened."""
        self._assign(session)
        state, actions = page.state, session["actions"]
        session.update(
            keywords=state.query.split(" "), page=state.number, options=dict(state.options)
        )
        if state.page == RESULTS:
            actions["search"] += 1
            session["asin"] = None
            return
        assert page.product is not None
        session["asin"] = asin = page.product.asin
        if state.page == DONE:
            actions["purchase"] += 1
            self._reward(session, page)
        elif state.page != ITEM:
            actions[state.page.capitalize()] += 1
        elif before.state.page == RESULTS:
            actions["asin"] += 1
            session["asins"].add(asin)
        elif before.state.page == ITEM:
            actions["options"] += 1

    def _reward(self, session: Session, page: Page) -> None:
        assert page.product is not None
        price = self.product_prices[page.product.asin]
        reward = released(Purchase(page.product, page.options, price), goal_of(session["goal"]))
        session.update(verbose_info=dict(reward.parts), done=True, reward=reward.total)

    def instruction(self, session_id: str) -> str:
        """What a session's pages ask for."""
        text: str = self.user_sessions[session_id]["goal"]["instruction_text"]
        return text

    def html(self, session_id: str, page: Page) -> str:
        """A page as a document; its addresses do not name the session, which may name the goal."""
        return html(
            page,
            self.instruction(session_id),
            self.user_sessions[session_id].get("reward"),
            picture=picture_source,
            image_of=lambda asin: self.catalog[asin].image,
        )

    def url(self, session_id: str, page: Page) -> str:
        return self.base_url + page_url(page, session_id).removeprefix(BASE_URL)

    def receive(
        self, session_id: str, current_url: str | None, session_int: Any = None, **kwargs: Any
    ) -> tuple[str, str, Status]:
        """Act as the original's server does: `keywords` (and the `page` of results),
        `clickable_name`, or neither (a visit).

        Gives the page's HTML, its address, and reward and done.
        """
        browser = SimBrowser(self)
        browser.session_id, browser.current_url = session_id, current_url
        status: Status = {"reward": 0.0, "done": False}
        if "keywords" in kwargs:
            status = browser.search(kwargs["keywords"], kwargs.get("page", 1))
        elif "clickable_name" in kwargs:
            status = browser.click(kwargs["clickable_name"])
        else:
            browser.get(f"{self.base_url}/{session_id}", session_id, session_int)
        return browser.page_source, browser.current_url or "", status

    def get_page_name(self, url: str | None) -> str | None:
        """The kind of page that an address names; the search page's is empty."""
        if url is None:
            return None
        return next((name for name in _PAGES if name in url), "")


class SimBrowser:
    """One visitor of a server: a session and an address."""

    def __init__(self, server: SimServer) -> None:
        self.server = server
        self.session_id: str | None = None
        self.current_url: str | None = None
        self._page: Page | None = None
        self._source: tuple[str | None, str] | None = None

    def get(self, url: str, session_id: str | None = None, session_int: Any = None) -> None:
        """Visit the search page of a session."""
        session_id = url.rpartition("/")[2] if session_id is None else session_id
        self._page = self.server.open(session_id, session_int)
        self.session_id, self.current_url = session_id, url

    def search(self, keywords: str | Sequence[str], page: int = 1) -> Status:
        query = keywords if isinstance(keywords, str) else " ".join(keywords)
        return self._go(self.server.search(self.session, self.page, query, page))

    def click(self, clickable_name: str, text_to_clickable: Any = None) -> Status:
        return self._go(self.server.click(self.session, self.page, clickable_name.lower()))

    @property
    def page(self) -> Page:
        """Where the session is."""
        known = None if self._page is None else self._page.state
        state = self.server.state(self.session, self.current_url or "", known)
        if self._page is None or self._page.state != state:
            self._page = self.server.shop.look(state)
        return self._page

    @property
    def page_source(self) -> str:
        """The page's HTML, made when it is read."""
        if self._source is not None and self._source[0] == self.current_url:
            return self._source[1]
        return self.server.html(self.session, self.page)

    @page_source.setter
    def page_source(self, source: str) -> None:
        """A page that was kept, of the current address."""
        self._source = self.current_url, source

    @property
    def session(self) -> str:
        """The name of the session that is open."""
        if self.session_id is None:
            raise GoalError("No session has begun; call reset() or browser.get(url) first.")
        return self.session_id

    def _go(self, page: Page) -> Status:
        moved = page is not self._page
        self._page, self._source = page, None
        self.current_url = self.server.url(self.session, page)
        bought = moved and page.state.page == DONE
        reward = self.server.user_sessions[self.session]["reward"] if bought else 0.0
        return {"reward": reward, "done": bought}
