"""What a model is shown of a page: what is asked for, what was done, the page, what can be done.

A `ChoiceView` is read off a `text_rich` observation alone, so the environment, a stored
demonstration and the original's own files all give the same.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from errands.agents.page_reading import groups, offers, read_instruction

__all__ = [
    "OBSERVATION",
    "PAST",
    "PURCHASE",
    "ChoiceView",
    "EpisodeMemory",
    "PageKind",
    "SeenProduct",
    "action_of",
    "instruction_on",
    "known_text",
    "read_view",
    "with_actions",
]

OBSERVATION: Final = "text_rich"
"""The format of pages that views are read off."""
PAST: Final = 6
"""How many earlier actions a view tells."""
_HEADING: Final = "Instruction:"
_BUTTON: Final = re.compile(
    r"^[^\S\n]*+\[(clicked )?button\] (.*?) \[(?:clicked )?button_\][^\S\n]*+$", re.M
)
PURCHASE: Final = "buy now"
"""The button that ends an episode."""
_SEARCH: Final = "search"
"""The button of the search page."""
_PER_PAGE: Final = 10
_CLICKED: Final = "[clicked button] "
_AGAIN: Final = f"{_CLICKED}item "
"""How a product is called that was opened before."""
_LONGEST: Final = 60
"""Characters of an action that are remembered."""

PageKind = Literal["search", "results", "item", "detail"]


class SeenProduct(msgspec.Struct, frozen=True):
    """What the pages of an episode have told of a product so far."""

    name: str
    """As the environment calls it."""
    title: str
    price: float
    """The lowest; 0 where none is shown."""
    rank: int = 0
    """Its place among the results, from 0, when it was last listed."""
    opened: int = 0
    """How often."""
    options: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Values by the name of their group, once its page was seen."""
    chosen: tuple[str, ...] = ()
    """Values that are chosen now."""
    details: tuple[tuple[str, str], ...] = ()
    """The pages below it that were read, by their buttons."""
    query: str = ""
    """What was searched for when it was last listed."""


class ChoiceView(msgspec.Struct, frozen=True):
    """One moment of an episode."""

    instruction: str
    """The instruction without its price phrase, and the price as a token."""
    past: tuple[str, ...]
    """How many products were opened, and the last actions, in words."""
    page: str
    """Without the instruction."""
    actions: tuple[str, ...]
    """What can be clicked, in words: a product by its place, price and title, an option by its
    value."""
    names: tuple[str, ...]
    """The same as the environment calls it."""
    product: str = ""
    """Whose page this is, as the environment calls it: its picture is to be seen. Empty on all
    other pages."""
    kind: PageKind = "detail"
    seen: tuple[SeenProduct, ...] = ()
    """The products that were opened in this episode, in that order, then those listed here."""
    here: str = ""
    """The product whose page, or page below it, this is."""
    queries: tuple[str, ...] = ()
    """What was searched for so far."""
    steps: int = 0
    """Actions so far."""


class EpisodeMemory:
    """What was done so far in an episode, and what it has shown of products."""

    def __init__(self) -> None:
        self._past: list[str] = []
        self._opened = ""
        self._count = 0
        self._seen: dict[str, SeenProduct] = {}
        self._queries: list[str] = []
        self._results = 1

    def view(self, observation: str) -> ChoiceView:
        """What is shown now."""
        view = read_view(observation, self._past, self._opened, self._count)
        return msgspec.structs.replace(
            view,
            seen=self._known(view),
            here=self._opened if view.kind in ("item", "detail") else "",
            queries=tuple(self._queries),
            steps=len(self._past),
        )

    def record(self, view: ChoiceView, action: str) -> None:
        """Remember what was done on a page."""
        words = action
        name = action.removeprefix("click[").removesuffix("]")
        if action.startswith("click[") and name in view.names:
            words = view.actions[view.names.index(name)]
        seen = {one.name: one for one in view.seen}
        self._seen = {name: one for name, one in seen.items() if one.opened}
        if action.startswith("search["):
            self._queries.append(action.removeprefix("search[").removesuffix("]"))
            self._results = 1
        elif view.kind == "results" and name in ("next >", "< prev"):
            self._results = max(1, self._results + (1 if name == "next >" else -1))
        # An option can be called so, too, but stands where its product can be bought.
        if PURCHASE not in view.names and words.startswith(("item ", _AGAIN)):
            self._opened = name
            self._count += words.startswith("item ")
            known = seen.get(name)
            if known is not None:
                self._seen[name] = msgspec.structs.replace(known, opened=known.opened + 1)
        self._past.append(words[:_LONGEST])

    def _known(self, view: ChoiceView) -> tuple[SeenProduct, ...]:
        """What was known of products, and what this page adds."""
        known = dict(self._seen)
        if view.kind == "results":
            first = (self._results - 1) * _PER_PAGE
            query = self._queries[-1] if self._queries else ""
            for place, offer in enumerate(offers(view.page, view.names), first):
                before = known.get(offer.name)
                if before is None:
                    before = SeenProduct(offer.name, offer.title, offer.price)
                known[offer.name] = msgspec.structs.replace(before, rank=place, query=query)
        elif self._opened in known and view.kind == "item":
            known[self._opened] = _on_item(known[self._opened], view)
        elif self._opened in known and view.kind == "detail" and self._past:
            one = known[self._opened]
            details = dict(one.details)
            details[self._past[-1]] = _BUTTON.sub("", view.page)
            known[self._opened] = msgspec.structs.replace(one, details=tuple(details.items()))
        return tuple(known.values())


def _on_item(one: SeenProduct, view: ChoiceView) -> SeenProduct:
    shown = groups(view.page, view.names)
    return msgspec.structs.replace(
        one,
        options=tuple(
            (name, tuple(value.removeprefix("*") for value in values)) for name, values in shown
        ),
        chosen=tuple(
            value.removeprefix("*") for _, values in shown for value in values if value[:1] == "*"
        ),
    )


def read_view(
    observation: str, past: Sequence[str] = (), opened: str = "", count: int = 0
) -> ChoiceView:
    """What a model is shown of a page; `past` are all earlier actions, in words, `opened` is the
    product that was opened last, and `count` says how many were."""
    instruction, page = _split(observation)
    request = read_instruction(instruction)
    price = "" if request.cap == float("inf") else f" ${request.cap:.2f}"
    clicked = {name.lower(): bool(mark) for mark, name in _BUTTON.findall(page)}
    names = tuple(clicked)
    shown = offers(page, names) if "next >" in clicked else []
    titles = {
        offer.name: f"item {place} ${offer.price:.2f} {offer.title}"
        for place, offer in enumerate(shown, 1)
    }
    return ChoiceView(
        instruction=f"{request.text}{price}",
        past=(f"opened {count}", *past[-PAST:]),
        page=page,
        actions=tuple(
            (_CLICKED if clicked[name] else "") + titles.get(name, name) for name in names
        ),
        names=names,
        product=opened if PURCHASE in clicked else "",
        kind=_kind(clicked),
    )


def _kind(clicked: Mapping[str, bool]) -> PageKind:
    if PURCHASE in clicked:
        return "item"
    if "next >" in clicked:
        return "results"
    return "search" if _SEARCH in clicked else "detail"


def with_actions(view: ChoiceView, queries: Sequence[str]) -> ChoiceView:
    """The view of a search page on which these queries are what can be done."""
    return msgspec.structs.replace(
        view, names=tuple(queries), actions=tuple(f"search {query}" for query in queries)
    )


def action_of(view: ChoiceView, name: str) -> str:
    """The action that does what is called so on a page."""
    is_query = view.kind == "search" and view.names != (_SEARCH,)
    return f"search[{name}]" if is_query else f"click[{name}]"


def known_text(one: SeenProduct) -> str:
    """All that pages have said of a product."""
    values = " ".join(value for _, values in one.options for value in values)
    return " ".join((one.title, values, *(text for _, text in one.details)))


def instruction_on(observation: str) -> str:
    """The instruction that a page shows, its price included."""
    return _split(observation)[0]


def _split(observation: str) -> tuple[str, str]:
    """The instruction that a page shows, and what stands below it."""
    _, heading, rest = observation.partition(_HEADING)
    if not heading:
        return "", observation
    instruction, _, page = rest.lstrip().partition("\n")
    return instruction, page
