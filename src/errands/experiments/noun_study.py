"""How much the choice of a noun tagger can move a reward.

Two questions, asked of any set of products. How near does a tagger come to the title scores that
the original's own tests expect of spaCy (`expectations`)? And for which share of all ordered
(goal, bought) pairs would the type reward differ under another tagger, or if the title score were
a little off (`pair_shares`)? `errands experiment nouns` prints the answers;
`docs/explanation/nouns.md` keeps them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from errands.shop.product import Product
from errands.shop.rewards.nouns import EMPTY_GOAL_SCORE, NounTagger, title_score
from errands.shop.rewards.title_tokens import tokens

__all__ = [
    "EXPECTED",
    "Expectation",
    "PairShare",
    "Study",
    "expectations",
    "pair_shares",
    "run_study",
    "type_reward",
]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_CORD = "Saireed UL Listed 2 Prong Power Cord for JBL Bar 3.1 Bar 2.1 Channel 4K Ultra HD Soundbar"
_OUTLET = (
    "BRST AC Power Cord Outlet Socket Cable Plug Lead for Panasonic SC-HT830V DVD/VCR Combo "
    "Home Theater System"
)

EXPECTED: tuple[tuple[str, str, str, float, float, float], ...] = (
    (
        "sneakers",
        "Mens D.O.N. Issue 2 Gca Basketball Sneakers Shoes Casual - Off White",
        "PEAK High Top Mens Basketball Shoes Lou Williams Streetball Master Breathable Non Slip "
        "Outdoor Sneakers",
        0.333,
        0.323,
        0.343,
    ),
    ("cord, long", f"{_CORD} Home Theater System Subwoofer", _OUTLET, 0.3, 0.29, 0.31),
    ("cord, short", _CORD, _OUTLET, 0.15, 0.14, 0.16),
    (
        "knob",
        "Rusticware 921ORB Kitchen and Bath Cabinet Knob",
        "Minkissy 2pcs Stainless Steel Eyebrow Tweezers Blackhead Acne Remover Portable Makeup "
        "Tweezers (Silver)",
        0.0,
        0.0,
        0.05,
    ),
)
"""Name, goal title, bought title, and the score that the original's tests expect of spaCy: its
middle (0 where only an upper bound is given) and the bounds that they accept."""


_BLOCK = 256
"""Goals that are compared with all products at once."""


class Expectation(msgspec.Struct, frozen=True):
    """One title score that the original's tests expect, and what a tagger gives."""

    tagger: str
    pair: str
    expected: float
    got: float
    deviation: float
    met: bool


class PairShare(msgspec.Struct, frozen=True):
    """Among `pairs` ordered pairs of a kind, the share whose type reward changes."""

    change: str
    """What is exchanged or perturbed, in words."""
    among: str
    """Which pairs are counted."""
    pairs: int
    share: float


class Study(msgspec.Struct, frozen=True):
    """Everything `errands nouns study` reports."""

    products: int
    expectations: list[Expectation]
    largest_deviation: float
    """Of the first tagger, over the expected pairs."""
    shares: list[PairShare]


def expectations(taggers: Iterable[NounTagger]) -> list[Expectation]:
    """The four title scores of the original's tests, under each tagger."""
    rows = []
    for tagger in taggers:
        for pair, goal, bought, middle, low, high in EXPECTED:
            got = title_score(tagger.nouns(bought), tagger.nouns(goal))
            rows.append(
                Expectation(tagger.name, pair, middle, got, got - middle, low <= got <= high)
            )
    return rows


def type_reward(score: Floats, match: Flags) -> Floats:
    """The `released` type reward of title scores, given query or category match."""
    reward = np.where(match | (score > 0.2), 1.0, 0.5)
    reward[score < 0.1] = 0.1
    reward[score == 0.0] = 0.0
    return reward


def _incidence(lists: Sequence[Sequence[str]]) -> NDArray[np.float32]:
    """Row i has a 1 for each word that list i holds."""
    columns: dict[str, int] = {}
    for words in lists:
        for word in words:
            columns.setdefault(word, len(columns))
    matrix = np.zeros((len(lists), max(1, len(columns))), np.float32)
    for row, words in enumerate(lists):
        matrix[row, [columns[word] for word in words]] = 1.0
    return matrix


def _scores(common: Floats, size: Floats) -> Floats:
    """Title scores of common noun counts against goal noun counts, cell by cell."""
    return np.where(size > 0, common / np.maximum(size, 1.0), EMPTY_GOAL_SCORE)


def _could_move(common: Floats, size: Floats, match: Flags, by: float) -> Flags:
    """Whether a score off by at most `by` could mean another reward.

    A score of 0 means no common noun: it can only become the score of one common noun.
    """
    score = _scores(common, size)
    reward = type_reward(score, match)
    low = np.maximum(score - by, 0.0)
    high = np.where((score == 0.0) & (by * size < 1.0), 0.0, score + by)
    ends = type_reward(low, match), type_reward(high, match)
    return np.not_equal(ends[0], reward) | np.not_equal(ends[1], reward)


def _could_flip(common: Floats, size: Floats, words: Floats, match: Flags) -> Flags:
    """Whether one word tagged otherwise in one title or both could mean another reward.

    `words` counts the candidates for a noun that both titles have: only one of these can join.
    """
    reward = type_reward(_scores(common, size), match)
    changed = np.zeros(reward.shape, np.bool_)
    joins, leaves = words > common, common > 0
    for possible, more, longer in (
        (joins, 1, 0), (joins, 1, 1), (leaves, -1, 0), (leaves, -1, -1),
        (size > 0, 0, 1), (size > 1, 0, -1),
    ):  # fmt: skip
        moved = type_reward(_scores(common + more, size + longer), match)
        changed |= possible & (moved != reward)
    return changed


def _candidates(
    products: Sequence[Product], nouns: Mapping[str, Sequence[Sequence[str]]]
) -> list[list[str]]:
    """The words of each title that are a noun in some list for some title."""
    known = {noun for lists in nouns.values() for words in lists for noun in words}
    return [
        [word for word in map(str.lower, tokens(product.title)) if word in known]
        for product in products
    ]


def pair_shares(
    products: Sequence[Product], nouns: Mapping[str, Sequence[Sequence[str]]], deviation: float
) -> list[PairShare]:
    """Shares of ordered pairs of different products whose type reward changes.

    `nouns` names the noun lists to compare, each in the order of `products`; every other list is
    compared with the first, and the first is perturbed by `deviation` and by one word. Memory
    grows with products times vocabulary: meant for some thousands of products.
    """
    names = list(nouns)
    count = len(products)
    sets = {name: _incidence(lists) for name, lists in nouns.items()}
    sizes = {
        name: np.array([len(words) for words in lists], np.float64)[:, None]
        for name, lists in nouns.items()
    }
    words = _incidence(_candidates(products, nouns))
    paths = _incidence([[e.strip() for e in p.product_category.split("›")] for p in products])
    _, queries = np.unique(np.array([p.query for p in products], np.str_), return_inverse=True)

    kinds = ("all pairs", "same query", "same category", "neither")
    changes = [f"{names[0]} → {name}" for name in names[1:]]
    changes += [f"title score ± {deviation:.4f}", "one word tagged otherwise"]
    totals = dict.fromkeys(kinds, 0)
    counts = {(change, kind): 0 for change in changes for kind in kinds}

    for start in range(0, count, _BLOCK):
        rows = slice(start, min(start + _BLOCK, count))
        goals = np.arange(rows.start, rows.stop)
        others = goals[:, None] != np.arange(count)[None, :]
        query = queries[goals][:, None] == queries[None, :]
        category = paths[rows] @ paths.T >= 2
        match = query | category
        common = {name: (m[rows] @ m.T).astype(np.float64) for name, m in sets.items()}
        base, *rewards = (
            type_reward(_scores(common[name], sizes[name][rows]), match) for name in names
        )
        first = common[names[0]]
        size = np.broadcast_to(sizes[names[0]][rows], first.shape)
        shared = (words[rows] @ words.T).astype(np.float64)
        changed = [reward != base for reward in rewards]
        changed.append(_could_move(first, size, match, deviation))
        changed.append(_could_flip(first, size, shared, match))
        for kind, mask in zip(kinds, (others, query, category, ~match), strict=True):
            mask = mask & others
            totals[kind] += int(mask.sum())
            for change, cells in zip(changes, changed, strict=True):
                counts[change, kind] += int((cells & mask).sum())
    return [
        PairShare(change, kind, totals[kind], counts[change, kind] / max(1, totals[kind]))
        for change in changes
        for kind in kinds
    ]


def run_study(
    products: Sequence[Product],
    taggers: Sequence[NounTagger],
    files: Mapping[str, Mapping[str, Any]] | None = None,
) -> Study:
    """Compare taggers (and noun files, asin to nouns) on products; the first tagger is the base."""
    table = expectations(taggers)
    nouns: dict[str, Sequence[Sequence[str]]] = {
        tagger.name: [tagger.nouns(product.title) for product in products] for tagger in taggers
    }
    for name, lists in (files or {}).items():
        nouns[name] = [lists.get(product.asin, []) for product in products]
    largest = max(abs(row.deviation) for row in table if row.tagger == taggers[0].name)
    return Study(len(products), table, largest, pair_shares(products, nouns, largest))
