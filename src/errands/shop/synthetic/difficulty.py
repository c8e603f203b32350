"""Difficulties: how hard the goals of a generated catalogue are, as named sets of knobs.

`easy` is the generator as it was before there were others, with the same bytes. `paper` is set so
that the paper's two agents without training score what they score on the original's data
(docs/catalog.md has the table); `hard` is beyond that. Knobs that have two numbers are for 5,000
products and for the original's 1,181,436: words alone tell a product from 5,000 others, not from
a million, so what a person leaves unsaid has to do more in a small catalogue.
"""

from dataclasses import dataclass
from math import log
from typing import Final

from errands.errors import CatalogError

__all__ = ["DIFFICULTIES", "EASY", "HARD", "PAPER", "Difficulty", "at_size", "difficulty"]

_SMALL: Final = 5_000
_FULL: Final = 1_181_436


Pair = tuple[float, float]
"""A share in a catalogue of 5,000 products, and in one of the original's number."""


@dataclass(frozen=True, slots=True)
class Difficulty:
    """The knobs. Shares are from 0 to 1."""

    name: str

    # How special products are.
    own_values: Pair
    """Share of option groups whose values are the maker's own (`vomis plaid`, `plaid-1204`): in a
    catalogue of few products, and in one of a million."""
    compact_values: float = 0.0
    """Share of these that are spelled in one piece (`ys102`, `60x40cm`) and match no other."""
    special_attributes: float = 0.0
    """Share of hidden attributes that few products have (`scalloped trim`)."""
    with_options: float = 0.7
    """Share of products that are asked for which are sure to have options."""
    more_attributes: int = 0
    """How many attributes more are asked for of a product without options."""
    motifs: bool = False
    """Whether titles have nouns of the product's own (`Heron`) in place of nouns of its kind, so
    that titles of one type share few."""
    price_spread: float = 0.5
    """How far prices of one sub-category are apart: the deviation of their logarithm."""

    # Near-duplicates: neighbours in a sub-category that share what they are.
    depth: int = 12
    """How many products a sub-category has at least, on average; for it a small catalogue has
    fewer sub-categories."""
    twins: int = 4
    """How many products share a core: name, brand, attributes."""
    twin_name: float = 0.3
    """Share of twins that go by another name."""
    twin_attribute: float = 0.35
    """Share of twins that miss one of the attributes, and have another instead."""
    twin_options: float = 0.7
    """Share of products that offer the options of their twins."""
    twin_value: float = 0.5
    """Share of option groups of a twin that miss one value."""

    # How people's words depart from the listing.
    loose: Pair = (0.0, 0.0)
    """Share of instructions in loose words: attributes in synonyms or left out, option values from
    memory (numbers in words, names misspelled), the brand left out."""
    vague: Pair = (0.0, 0.0)
    """Share of loose instructions that do not say what the thing is called, but `gadget`."""
    renamed: Pair = (0.0, 0.0)
    """Share of the other loose instructions that call it by a name that is not in its title."""
    unsaid: Pair = (0.0, 0.0)
    """Share of attributes without a synonym that a loose instruction leaves out."""
    slips: float = 0.0
    """Share of the parts of a clear instruction that are in other words after all."""
    chatter: float = 1.0
    """Share of instructions that may tell of the person or the occasion, too."""
    typos: float = 0.04
    """Share of instructions in which one word is mistyped, if it is of five letters or more: a
    third of that share shows."""
    brand: float = 0.14
    """Share of clear instructions that name the brand."""

    # How people search, for the files of queries.
    corrected: float = 0.0
    """Share of what was said in other words that a person has put right by the last query."""


def at_size(pair: Pair, products: int) -> float:
    """What a pair is for a catalogue of this size: between the two, by the logarithm."""
    first, last = pair
    place = log(products / _SMALL) / log(_FULL / _SMALL)
    # Rounded, for the last bit of a logarithm is not the same on every machine.
    return round(first + (last - first) * min(max(place, 0.0), 1.0), 4)


EASY: Final = Difficulty("easy", own_values=(0.15, 0.55))
PAPER: Final = Difficulty(
    "paper",
    own_values=(0.9, 0.9),
    compact_values=0.8,
    special_attributes=0.4,
    with_options=0.55,
    more_attributes=2,
    motifs=True,
    price_spread=0.2,
    depth=200,
    twins=200,
    twin_attribute=0.2,
    twin_options=0.1,
    loose=(0.78, 0.72),
    vague=(0.03, 0.03),
    renamed=(1.0, 0.0),
    unsaid=(0.4, 0.4),
    slips=0.05,
    chatter=0.1,
    typos=0.08,
    brand=0.7,
    corrected=0.1,
)
HARD: Final = Difficulty(
    "hard",
    own_values=(1.0, 1.0),
    compact_values=1.0,
    special_attributes=0.7,
    more_attributes=1,
    motifs=True,
    price_spread=0.5,
    depth=200,
    twins=200,
    twin_attribute=0.5,
    twin_options=0.1,
    loose=(0.85, 0.85),
    vague=(0.3, 0.3),
    renamed=(1.0, 0.5),
    unsaid=(1.0, 0.8),
    slips=0.2,
    chatter=0.3,
    typos=0.15,
    brand=0.1,
    corrected=0.1,
)

DIFFICULTIES: Final = {one.name: one for one in (EASY, PAPER, HARD)}


def difficulty(name: str) -> Difficulty:
    """The difficulty of this name."""
    try:
        return DIFFICULTIES[name]
    except KeyError:
        raise CatalogError(
            f"There is no difficulty {name!r}; choose {', '.join(list(DIFFICULTIES)[:-1])}"
            f" or {list(DIFFICULTIES)[-1]}."
        ) from None
