"""Views as what a person sees at a glance: how well actions and products fit what is asked for.

    reader = MatchReader(associations)
    batch = reader.pack([reader.encode(view), ...])

Everything that can be done on a page, and every product that was opened before, is an *entity*: a
row of numbers. They count what a text covers of the instruction (words, words that mean the same,
pairs of words), how an option's value is said, the price against the cap, and what was opened,
read and chosen, also as differences from the best of the others. Whole titles, options and
details count, however long: nothing is cut. Only what pages have shown is in them.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import log
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from rapidfuzz import fuzz
from torch import Tensor

from errands.learn.data.associations import Associations, content, pieces
from errands.learn.data.view import ChoiceView, SeenProduct, known_text

__all__ = ["FEATURES", "EncodedMatch", "MatchBatch", "MatchReader"]

_KINDS: Final = (
    "back to search", "< prev", "next >", "description", "features", "reviews", "attributes",
    "buy now", "query", "product", "option", "opened",
)  # fmt: skip
"""Of entities: the buttons, and what else there is; one-hot."""
_KIND: Final = {kind: place for place, kind in enumerate(_KINDS)}
_PAGES: Final = ("search", "results", "item", "detail")
_FIT: Final = 6
_COMMON: Final = 5
_ABOUT: Final = 18
_OWN: Final = 12
FEATURES: Final = len(_KINDS) + len(_PAGES) + _COMMON + _FIT + _ABOUT + 2 * _FIT + _OWN
_TOO_DEAR: Final = 0.3
"""What a price above the cap takes off a fit, where products are compared."""
_UNCOVERED: Final = 0.3
_SQUEEZED: Final = re.compile(r"[^a-z0-9]")


class EncodedMatch(NamedTuple):
    """A view in numbers."""

    features: NDArray[np.float32]
    """Entities x FEATURES: actions in their order, then products that were opened before."""
    actions: int
    """How many of the entities are actions."""
    products: tuple[str, ...]
    """The product that each entity is, or empty."""


class MatchBatch(NamedTuple):
    """Views side by side."""

    features: Tensor
    """B x E x FEATURES."""
    entities: Tensor
    """B x E: whether there is one."""
    actions: Tensor
    """B x E: whether it is an action."""


class _Fit(NamedTuple):
    """How well a text covers an instruction."""

    cover: float
    """The mean over the instruction's words."""
    weighted: float
    """The same, rare words counting more."""
    exact: float
    """The share of words that are there themselves."""
    missing: float
    """The weight of what is missed most."""
    uncovered: float
    """How many words are."""
    pairs: float
    """The share of pairs of neighbouring words that are there together."""


_NOTHING: Final = _Fit(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class MatchReader:
    """Encodes views for a matching model."""

    def __init__(self, associations: Associations) -> None:
        self.associations = associations
        self._cover = lru_cache(1 << 16)(associations.cover)
        self.fit = lru_cache(1 << 16)(self._fit_of)
        self.said = lru_cache(1 << 16)(self._said_of)
        self._choice = lru_cache(1 << 16)(self._choice_of)

    @property
    def words(self) -> tuple[str, ...]:
        return ()

    def encode(self, view: ChoiceView) -> EncodedMatch:
        return _Encoding(self, view).encoded()

    def pack(self, views: Sequence[EncodedMatch]) -> MatchBatch:
        """Many views as tensors."""
        most = max(len(one.features) for one in views)
        features = np.zeros((len(views), most, FEATURES), np.float32)
        entities = np.zeros((len(views), most), np.bool_)
        actions = np.zeros_like(entities)
        for row, one in enumerate(views):
            features[row, : len(one.features)] = one.features
            entities[row, : len(one.features)] = True
            actions[row, : one.actions] = True
        return MatchBatch(*map(torch.from_numpy, (features, entities, actions)))

    def choice(self, instruction: str, one: SeenProduct) -> tuple[float, ...]:
        """How well the options of a product say what is asked for beside its title."""
        return self._choice(instruction, one.title, one.options)

    def gain(self, instruction: str, value: str, shown: str) -> float:
        """What a value covers of an instruction that is not covered by what is shown already."""
        weight = self.associations.weight
        words = content(instruction)
        new, old = self._cover(instruction, value), self._cover(instruction, shown)
        gains = (max(0.0, one - other) for one, other in zip(new, old, strict=True))
        return sum(weight(word) * gain for word, gain in zip(words, gains, strict=True))

    def _fit_of(self, instruction: str, text: str) -> _Fit:
        words = content(instruction)
        if not words or not text:
            return _NOTHING
        cover = self._cover(instruction, text)
        weights = list(map(self.associations.weight, words))
        pairs = set(pairwise(words))
        there = pieces(text)
        together = pairs.intersection(pairwise(there))
        return _Fit(
            sum(cover) / len(words),
            sum(c * w for c, w in zip(cover, weights, strict=True)) / (sum(weights) or 1.0),
            sum(c == 1.0 for c in cover) / len(words),
            max(w * (1 - c) for c, w in zip(cover, weights, strict=True)),
            sum(c < _UNCOVERED for c in cover) / 4,
            len(together) / max(len(pairs), 1),
        )

    def _choice_of(
        self, instruction: str, title: str, options: tuple[tuple[str, tuple[str, ...]], ...]
    ) -> tuple[float, ...]:
        """Of the value that says it best, in each of six ways: as a phrase, in one piece, by its
        letters, all in all, beyond the title; and the last summed over the groups."""
        if not options:
            return (0.0,) * 6
        said = [
            [
                (self.said(instruction, value), self.gain(instruction, value, title))
                for value in values
            ]
            for _, values in options
        ]
        flat = [pair for group in said for pair in group]
        return (
            max(one[0] for one, _ in flat),
            max(one[2] for one, _ in flat),
            max(one[3] for one, _ in flat),
            max(sum(one) for one, _ in flat),
            max(gain for _, gain in flat),
            sum(max(gain for _, gain in group) for group in said if group),
        )

    def _said_of(self, instruction: str, value: str) -> tuple[float, ...]:
        """How an instruction says an option's value: as a phrase, by the share of its words, in
        one piece, by its letters, in words that mean the same."""
        words, said = pieces(value), pieces(instruction)
        if not words:
            return (0.0,) * 5
        count = len(words)
        there = set(said)
        asked = content(instruction)
        squeezed = _SQUEEZED.sub("", value.lower())
        return (
            float(any(said[at : at + count] == words for at in range(len(said) - count + 1))),
            sum(word in there for word in words) / count,
            float(len(squeezed) > 2 and squeezed in _SQUEEZED.sub("", instruction)),
            fuzz.partial_ratio(value, instruction) / 100,
            sum(self.associations.meant(word, asked) for word in words) / count,
        )


class _Encoding:
    """One view on its way to numbers."""

    def __init__(self, reader: MatchReader, view: ChoiceView) -> None:
        self.reader, self.view = reader, view
        text, _, price = view.instruction.rpartition(" $")
        self.instruction = text or view.instruction
        self.cap = float(price) if text and price.replace(".", "", 1).isdigit() else 0.0
        self.seen = {one.name: one for one in view.seen}
        self.here = self.seen.get(view.here)
        self.opened = [one for one in view.seen if one.opened]
        self.known = {one.name: self._fit(known_text(one)) for one in view.seen}
        self.titles = {one.name: self._fit(one.title) for one in view.seen}
        self.worth = {
            one.name: self.known[one.name].weighted - self._dear(one) for one in self.opened
        }
        self.looks = {
            one.name: self.titles[one.name].weighted - self._dear(one)
            for one in view.seen
            if view.kind == "results" and one.name in view.names
        }
        self.chosen = set(self.here.chosen) if self.here is not None else set[str]()
        self.common = [
            *(float(view.kind == page) for page in _PAGES),
            view.steps / 50,
            len(view.queries) / 4,
            len(self.opened) / 10,
            max(self.worth.values(), default=0.0),
            max(self.looks.values(), default=0.0),
        ]

    def encoded(self) -> EncodedMatch:
        view = self.view
        of_kind = {"search": self._queries, "item": self._options_and_buttons}
        rows = of_kind.get(view.kind, self._links_and_buttons)()
        actions = len(rows)
        elsewhere = [
            one for one in self.opened if view.kind != "results" or one.name not in view.names
        ]
        rows += [self._row("opened", one.title, one) for one in elsewhere]
        products = [
            name if view.kind == "results" and name in self.seen else "" for name in view.names
        ]
        products += [one.name for one in elsewhere]
        return EncodedMatch(np.array(rows, np.float32), actions, tuple(products))

    def _fit(self, text: str) -> _Fit:
        return self.reader.fit(self.instruction, text)

    def _dear(self, one: SeenProduct) -> float:
        return _TOO_DEAR if self.cap and one.price > self.cap else 0.0

    def _queries(self) -> list[list[float]]:
        view = self.view
        best = max(self.opened, key=lambda one: self.worth[one.name], default=None)
        return [
            self._row(
                "query",
                name,
                None,
                [
                    view.queries.count(name),
                    len(pieces(name)) / 20,
                    place,
                    best is not None and best.query == name,
                ],
            )
            for place, name in enumerate(view.names)
        ]

    def _links_and_buttons(self) -> list[list[float]]:
        seen = self.seen if self.view.kind == "results" else {}
        return [
            self._row("product", seen[name].title, seen[name])
            if name in seen
            else self._button(name, 0, (0.0, 0.0))
            for name in self.view.names
        ]

    def _options_and_buttons(self) -> list[list[float]]:
        """Values beside the best other of their group; buttons know what is left to choose."""
        groups = [values for _, values in self.here.options] if self.here is not None else []
        shown = f"{self.here.title} {' '.join(self.here.chosen)}" if self.here is not None else ""
        said = {
            value: self.reader.said(self.instruction, value)
            for values in groups
            for value in values
        }
        gains = {value: self.reader.gain(self.instruction, value, shown) for value in said}
        group_of = {value: values for values in groups for value in values}
        left = [values for values in groups if not self.chosen.intersection(values)]
        promised = (
            max((sum(said[value]) for values in left for value in values), default=0.0),
            max((gains[value] for values in left for value in values), default=0.0),
        )
        rows = []
        for name in self.view.names:
            if name not in group_of:
                rows.append(self._button(name, len(left), promised))
                continue
            values = group_of[name]
            others = [value for value in values if value != name]
            own = [
                *said[name],
                gains[name],
                sum(said[name]) - max((sum(said[value]) for value in others), default=0.0),
                gains[name] - max((gains[value] for value in others), default=0.0),
                name in self.chosen,
                bool(self.chosen.intersection(values)),
                len(values) / 10,
            ]
            rows.append(self._row("option", name, None, own))
        return rows

    def _button(self, name: str, left: int, promised: tuple[float, float]) -> list[float]:
        if name not in _KIND:
            return self._row("option", name, None)
        is_read = self.here is not None and any(name == page for page, _ in self.here.details)
        own = [is_read, left / 3, *promised, len(self.chosen) / 3]
        return self._row(name, " ".join(sorted(self.chosen)), self.here, own)

    def _row(
        self, kind: str, text: str, product: SeenProduct | None, own: Sequence[float] = ()
    ) -> list[float]:
        one_hot = [0.0] * len(_KINDS)
        one_hot[_KIND[kind]] = 1.0
        about = [0.0] * (_ABOUT + 2 * _FIT) if product is None else self._about(product)
        row = [*one_hot, *self.common, *self._fit(text), *about, *map(float, own)]
        return row + [0.0] * (FEATURES - len(row))

    def _about(self, one: SeenProduct) -> list[float]:
        """What is known of a product, alone and beside others."""
        ratio = log(max(one.price, 0.5) / self.cap) if self.cap and one.price else 0.0
        worth = self.known[one.name].weighted - self._dear(one)
        looks = self.titles[one.name].weighted - self._dear(one)
        opened = max((w for name, w in self.worth.items() if name != one.name), default=0.0)
        listed = max((w for name, w in self.looks.items() if name != one.name), default=0.0)
        return [
            max(-3.0, min(3.0, ratio)),
            float(self._dear(one) > 0),
            one.rank / 20,
            min(one.opened, 4) / 2,
            len(one.details) / 2,
            float(bool(one.options)),
            worth - opened,
            worth - listed,
            looks - listed,
            float(worth >= opened),
            float(looks >= listed),
            float(one.name == self.view.here),
            *self.reader.choice(self.instruction, one),
            *self.known[one.name],
            *self.titles[one.name],
        ]
