"""How a person's words for a wish depart from the listing's: loosely, or by a slip."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from errands.shop.synthetic.difficulty import Difficulty, at_size
from errands.shop.synthetic.rng import Rng
from errands.shop.synthetic.wordbank import Attribute, Bank, Name

__all__ = ["Nameable", "Shares", "Wish", "misspelled", "worded"]

_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty"
).split()
_UNITS = {
    "cm": "centimeters", "ct": "count", "ft": "feet", "g": "grams",
    "gb": "gigabytes", "gx": "grams by", "mlx": "milliliters by",
    "in": "inches", "lt": "lights", "m": "meters", "ml": "milliliters", "pcs": "pieces",
    "pk": "pack", "tb": "terabytes", "x": "by",
}  # fmt: skip
_PIECE = re.compile(r"\d+(?:\.\d+)?|[a-z]+")


class Nameable(Protocol):
    """What has names: a sub-category, or a product of another catalogue."""

    @property
    def category(self) -> str: ...
    @property
    def names(self) -> tuple[Name, ...]: ...


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person says of a goal: a name for the thing, attributes, options (name to value)."""

    name: Name
    attributes: Sequence[Attribute]
    options: Mapping[str, str]
    brand: str
    """Empty where it is not named."""
    listed: "Wish | None" = None
    """The same in the listing's words, if they are others."""


@dataclass(frozen=True, slots=True)
class Shares:
    """The knobs that depend on a catalogue's size, at its size."""

    loose: float
    vague: float
    renamed: float
    unsaid: float

    @classmethod
    def of(cls, knobs: Difficulty, products: int) -> Self:
        return cls(
            at_size(knobs.loose, products),
            at_size(knobs.vague, products),
            at_size(knobs.renamed, products),
            at_size(knobs.unsaid, products),
        )


def worded(
    rng: Rng,
    bank: Bank,
    kind: Nameable,
    knobs: Difficulty,
    shares: Shares,
    listed: Name,
    title: str,
    attributes: Sequence[Attribute],
    options: Mapping[str, str],
    brand: str,
) -> Wish:
    """The words of one person for what is wanted.

    `listed` is what the listing calls it, `title` its title in lower case.
    """
    loose = rng.bernoulli(shares.loose)
    share = 1.0 if loose else knobs.slips
    name = listed
    if loose:
        if rng.bernoulli(shares.vague):
            name = rng.pick(bank.vague[kind.category])
        elif rng.bernoulli(shares.renamed):
            others = [other for other in kind.names if other.text not in title]
            name = rng.pick(others or [listed])
    said = []
    for attribute in attributes:
        if rng.bernoulli(share):
            reworded = bank.reworded.get(attribute.name)
            if reworded:
                attribute = rng.pick(reworded)
                if attribute in said:
                    continue
            elif rng.bernoulli(shares.unsaid):
                continue
        said.append(attribute)
    values = {
        option: _respelled(rng, value) if rng.bernoulli(share) else value
        for option, value in options.items()
    }
    named = brand if not loose and rng.bernoulli(knobs.brand) else ""
    plain = Wish(listed, attributes, options, named)
    return Wish(name, said or list(attributes[: not values]), values, named, plain)


def _respelled(rng: Rng, value: str) -> str:
    """An option value as one remembers it: units and numbers in words, a name left out or wrong.

    >>> _respelled(Rng("7"), "12x340ml"), _respelled(Rng("7"), "vomis plaid")
    ('twelve by 340 milliliters', 'plaid')
    """
    if any(map(str.isdigit, value)):
        pieces = _PIECE.findall(value)
        if "-" in value:
            # A colour and the maker's number of it, or a code.
            is_word = len(pieces[0]) > 3 or len(pieces[-1]) > 2
            return pieces[0] if is_word else "".join(pieces)
        before = ["", *pieces]
        return " ".join(
            _UNITS.get(piece, piece) if last.isdigit() else _number(piece)
            for last, piece in zip(before, pieces, strict=False)
        )
    words = value.split(" ")
    if len(words) > 1:
        return " ".join(words[1:])
    return misspelled(rng, value)


def _number(piece: str) -> str:
    """A small number in words; anything else as it is."""
    small = piece.isdigit() and int(piece) < len(_NUMBERS)
    return _NUMBERS[int(piece)] if small else piece


def misspelled(rng: Rng, word: str) -> str:
    """A word with two letters exchanged; a short one as it is."""
    if len(word) < 4 or not word.isalpha():
        return word
    cut = rng.between(1, len(word) - 2)
    return word[:cut] + word[cut + 1] + word[cut] + word[cut + 2 :]
