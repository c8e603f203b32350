"""The shop as a state machine: pages, what can be clicked on them, and where a click leads.

A `State` is a small frozen value. `look` gives the page a state shows, `turn` the page an
action leads to; both are pure functions of the catalogue and their arguments. The text
environment, the vector environment and the website are all made of these.
"""

import random
import zlib
from collections.abc import Container, Mapping
from concurrent.futures import Executor
from typing import Final, NamedTuple

import msgspec

from errands.notebook import notebook_facts, notebook_table
from errands.shop.catalog.catalog import Catalog
from errands.shop.product import Card, Product, ProductSource
from errands.shop.search.index import RankedBatch

__all__ = [
    "DETAILS",
    "DONE",
    "ITEM",
    "PER_PAGE",
    "RESULTS",
    "RESULT_LIMIT",
    "SEARCH",
    "Page",
    "Shop",
    "State",
    "parse_action",
    "special_hits",
]

SEARCH: Final = "search"
RESULTS: Final = "results"
ITEM: Final = "item"
DONE: Final = "done"
DETAILS: Final = ("description", "features", "reviews", "attributes")
"""The pages below an item; a state on one of them has its name."""

PER_PAGE: Final = 10
RESULT_LIMIT: Final = 50

BACK: Final = "back to search"
PREVIOUS: Final = "< prev"
NEXT: Final = "next >"
BUY: Final = "buy now"


class State(msgspec.Struct, frozen=True):
    """Where a shopper is and what has been chosen; everything an episode owns."""

    page: str = SEARCH
    query: str = ""
    number: int = 1
    """Of the results page."""
    hits: tuple[int, ...] = ()
    """Product numbers that the query found, best first."""
    product: int = -1
    options: tuple[tuple[str, str], ...] = ()
    """Chosen values by option name, in the order the names were first chosen."""
    visited: tuple[str, ...] = ()
    """Products opened since the last visit to the search page."""


class Page(NamedTuple):
    """A state with what the catalogue shows there."""

    state: State
    cards: list[Card]
    """The products of a results page."""
    product: Product | None
    """Of an item page, a page below it, or a purchase."""
    clicks: dict[str, int | str | None]
    """Names that can be clicked, in page order: with a product's number for a link, an option's
    name for a value, None for a button."""
    show_attrs: bool = False
    """Whether an item page has a button to the page of hidden attributes."""
    total: int | None = None
    """How many results a results page tells of; None: as many as its state has."""

    @property
    def has_search_bar(self) -> bool:
        return self.state.page == SEARCH

    @property
    def options(self) -> dict[str, str]:
        return dict(self.state.options)

    def _repr_html_(self) -> str:
        state = self.state
        if state.page == RESULTS:
            total = len(state.hits) if self.total is None else self.total
            rows = ((card.asin, card.title, card.price_tag) for card in self.cards)
            caption = f"Results for {state.query!r}, page {state.number}, of {total:,} products"
            return notebook_table(caption, ["click[...]", "title", "price"], rows)
        known: dict[str, object] = {}
        if self.product is not None:
            prices = " to ".join(f"${price:,.2f}" for price in self.product.prices)
            known = {"product": f"{self.product.asin}: {self.product.title}", "price": prices}
            known |= {"options": self.product.options, "chosen": self.options}
        bar = ["search[...]"] if self.has_search_bar else []
        known["actions"] = [*bar, *(f"click[{name}]" for name in self.clicks)]
        return notebook_facts(f"Page: {state.page}", known)


def parse_action(action: str) -> tuple[str, str | None]:
    """The name and the argument of an action; without brackets all is name.

    >>> parse_action("click[x] trailing"), parse_action("search[]")
    (('click', 'x'), ('search[]', None))
    """
    line = action.partition("\n")[0]
    end = line.rfind("]")
    start = line.rfind("[", 1, max(end - 1, 0))
    return (line[:start], line[start + 1 : end]) if start > 0 else (action, None)


class Shop:
    """Products, the pages that show them, and the rules of moving between pages."""

    def __init__(
        self,
        source: ProductSource,
        *,
        search_anywhere: bool = True,
        show_attrs: bool = False,
        special_queries: bool = False,
        locked_when_done: bool = True,
    ) -> None:
        """`special_queries` lets the hidden queries of the original work, on a catalogue only."""
        self.source = source
        self.search_anywhere = search_anywhere
        self.show_attrs = show_attrs
        self.special_queries = special_queries
        self.locked_when_done = locked_when_done
        details = DETAILS if show_attrs else DETAILS[:-1]
        self._item_buttons = dict.fromkeys((BACK, PREVIOUS, *details, BUY))
        self._batch: RankedBatch | None = None
        self._ahead: dict[str, int] = {}
        """Which of the batch a query is."""

    def look(self, state: State, product: Product | None = None) -> Page:
        """The page that a state shows; `product` spares reading the state's product again."""
        kind = state.page
        if kind == RESULTS:
            return self._results(state)
        if kind == SEARCH:
            return Page(state, [], None, {"search": None})
        product = product or self.source.product(state.product)
        clicks: dict[str, int | str | None] = {}
        if kind == ITEM:
            clicks = self._item_buttons.copy()
            for name, values in product.options.items():
                for value in values:
                    clicks[value] = name
        elif kind != DONE:
            clicks = {BACK: None, PREVIOUS: None}
        return Page(state, [], product, clicks, self.show_attrs)

    def turn(self, page: Page, action: str) -> Page:
        """The page that an action leads to; the same page where the action is not possible."""
        name, argument = parse_action(action)
        if argument is None or (page.state.page == DONE and self.locked_when_done):
            return page
        argument = argument.lower()
        if name == "search":
            if self.search_anywhere or page.has_search_bar:
                return self.search(page.state, argument)
        elif name == "click" and argument != "search" and argument in page.clicks:
            return self._click(page, argument)
        return page

    def act(self, state: State, action: str) -> State:
        """The state that an action leads to."""
        return self.turn(self.look(state), action).state

    def search(self, state: State, query: str) -> Page:
        """The first results page of a query."""
        hits = self.find(query)
        return self._results(State(RESULTS, query, 1, hits, visited=state.visited))

    def find(self, query: str) -> tuple[int, ...]:
        """The product numbers that a query finds, best first."""
        if self.special_queries and isinstance(self.source, Catalog):
            hits = special_hits(self.source, query)
            if hits is not None:
                return hits
        ahead = self._ahead.get(query)
        if ahead is None or self._batch is None:
            return self.source.find(query, RESULT_LIMIT)
        return tuple(self._batch.numbers(ahead).tolist())

    def search_ahead(
        self, turns: Mapping[int, tuple[Page, str]], pool: Executor, helpers: int
    ) -> Container[int]:
        """Begin to rank the queries of many turns on threads of a pool, before the turns are taken;
        which of them search, and are best taken last."""
        self._ahead, queries = {}, {}
        for number, (page, action) in turns.items():
            name, argument = parse_action(action)
            if name == "search" and argument and (self.search_anywhere or page.has_search_bar):
                queries[number] = argument.lower()
        asked = list(dict.fromkeys(queries.values()))
        if len(asked) > 1 and isinstance(self.source, Catalog):
            self._batch = self.source.find_batch(asked, RESULT_LIMIT, pool, helpers)
            self._ahead = {query: i for i, query in enumerate(asked)}
        return queries

    def _results(self, state: State) -> Page:
        first = (state.number - 1) * PER_PAGE
        clicks: dict[str, int | str | None]
        if state.number > 1:
            clicks = {BACK: None, PREVIOUS: None, NEXT: None}
        else:
            clicks = {BACK: None, NEXT: None}
        cards = []
        card = self.source.card
        for number in state.hits[max(first, 0) : first + PER_PAGE]:
            shown = card(number)
            cards.append(shown)
            clicks[shown.asin.lower()] = number
        return Page(state, cards, None, clicks)

    def _click(self, page: Page, name: str) -> Page:
        """Follow a click; a name is looked at before what it names, as in the original."""
        state, kind = page.state, page.state.page
        if name == BUY:
            return self.look(_at(state, DONE), page.product)
        if name == BACK:
            return self.look(State())
        if kind == RESULTS and name == NEXT:
            return self._results(_numbered(state, state.number + 1))
        if name == PREVIOUS:
            if kind == RESULTS:
                return self._results(_numbered(state, state.number - 1))
            if kind == ITEM:
                return self._results(_numbered(state, state.number))
            return self.look(_at(state, ITEM), page.product)
        if name in DETAILS and (self.show_attrs or name != "attributes"):
            return self.look(_at(state, name), page.product)
        target = page.clicks[name]
        if isinstance(target, int):
            return self._open(page, target)
        if target is None:
            return page
        chosen = {**page.options, target: name}
        # The same page but for the choice.
        return page._replace(state=_at(state, ITEM, tuple(chosen.items())))

    def _open(self, page: Page, number: int) -> Page:
        state = page.state
        product = self.source.product(number)
        visited = state.visited
        if product.asin not in visited:
            visited = (*visited, product.asin)
        opened = State(ITEM, state.query, state.number, state.hits, number, (), visited)
        return self.look(opened, product)


def _at(state: State, page: str, options: tuple[tuple[str, str], ...] | None = None) -> State:
    """The same shopper on another page of the same product."""
    chosen = state.options if options is None else options
    return State(page, state.query, state.number, state.hits, state.product, chosen, state.visited)


def _numbered(state: State, number: int) -> State:
    """The same shopper on a results page."""
    return State(RESULTS, state.query, number, state.hits, visited=state.visited)


def special_hits(catalog: Catalog, query: str) -> tuple[int, ...] | None:
    """The product numbers that a special query lists; None where it is an ordinary one.

    They are the original's hidden queries, and list products by properties that an agent must not
    see. `<r>` draws 50 products by a generator seeded with the query, so that the same query shows
    the same page; `<a> words` lists by attribute, `<c> word` by category, `<q> words` by the
    product's own query, all in load order.
    """
    token, *words = query.split(" ")
    rest = " ".join(words).strip()
    if token == "<r>":
        rng = random.Random(zlib.crc32(query.encode("utf-8", "surrogatepass")))
        return tuple(rng.sample(range(len(catalog)), min(50, len(catalog))))
    if token == "<a>":
        return tuple(
            catalog.number(product.asin) for product in catalog if rest in product.attributes
        )
    if token == "<c>":
        category = words[0] if words else ""
        return tuple(catalog.number(p.asin) for p in catalog if p.category == category)
    if token == "<q>":
        return tuple(catalog.number(p.asin) for p in catalog if p.query == rest)
    return None
