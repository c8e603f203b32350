"""Option groups of generated products: colours, sizes, flavours, and what else one may choose."""

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from errands.shop.product import normalize_value
from errands.shop.synthetic.rng import Rng
from errands.shop.synthetic.wordbank import Bank, Subcategory, read_words, title_case, wordbank

__all__ = ["OptionValue", "choose_groups"]

_GROUPS: Mapping[str, tuple[float, float, float]] = {
    "beauty": (0.35, 0.092, 0.009),
    "electronics": (0.34, 0.092, 0.009),
    "fashion": (0.825, 0.56, 0.07),
    "garden": (0.408, 0.126, 0.019),
    "grocery": (0.35, 0.092, 0.009),
}
"""Shares of products with at least one, two and three option groups."""

_TAGGED = frozenset(
    ("color", "pattern", "shade", "hair", "wood", "metal", "letter", "flavor", "scent")
)
"""Values of which every maker has its own."""

_RUNS = {"clothing": "clothing", "width": "widths", "bed": "beds"}
"""Values in an order, of which neighbours are offered."""

_LISTED = {"fit": ("fits", 0.0), "material": ("materials", 0.05), "phone": ("phones", 0.3)}
"""Values of a list, and the share that is given an invented name."""

_SLOT = re.compile(r"\{([^{}]*)\}")
_NUMBER = re.compile(r"(\d+)-(\d+)(?:\*(\d+)|:0(\d)|(\.))?")

_LENGTHS = (
    (2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 6, 7, 8, 10, 14),
    (2, 3, 3, 4, 4, 5, 5, 6, 7),
    (2, 2, 3, 3, 4),
)
"""How many values the first, the second and the third group have."""


@dataclass(frozen=True, slots=True)
class OptionValue:
    """One value of an option group, and the colour it is drawn in, if it changes the picture."""

    value: str
    color: str | None = None


def choose_groups(
    rng: Rng,
    bank: Bank,
    kind: Subcategory,
    coin: Callable[[], str],
    at_least_one: bool,
    tagged: float,
    compact: float = 0.0,
) -> dict[str, list[OptionValue]]:
    """Option groups of one product.

    `at_least_one` makes sure of one, `coin` invents a word, `tagged` is the share of groups whose
    values bear the maker's own name or number, `compact` the share of these that are spelled in
    one piece.
    """
    number = rng.bits() / 4294967296.0
    shares = _GROUPS[kind.category]
    count = sum(number < share for share in shares)
    if at_least_one:
        count = max(count, 1)
    groups: dict[str, list[OptionValue]] = {}
    if not count:
        return groups
    offered = kind.options
    start = 0 if rng.bernoulli(0.7) else rng.below(len(offered))
    for place in range(len(offered)):
        name, values = offered[(start + place) % len(offered)]
        if name in groups:
            continue
        length = rng.pick(_LENGTHS[len(groups)])
        groups[name] = _choices(rng, bank, values, length, coin, tagged, compact)
        if len(groups) == count:
            break
    return groups


def _choices(
    rng: Rng,
    bank: Bank,
    values: str,
    length: int,
    coin: Callable[[], str],
    tagged: float,
    compact: float,
) -> list[OptionValue]:
    """Distinct values of one group, in one spelling."""
    if values in _RUNS:
        return _run(rng, bank, values, length)
    form = rng.below(8)
    tag = None
    own = _kinds()[values].compact if compact and values in _kinds() else ()
    if own and rng.bernoulli(tagged * compact):
        form = rng.below(len(own))
    elif values in _TAGGED and rng.bernoulli(tagged):
        own, tag, form = (), rng.below(3), form % 3
    else:
        own = ()
    seen: dict[str, OptionValue] = {}
    for _ in range(length * 2):
        choice = _value(rng, bank, values, form, coin, own)
        if tag is not None:
            choice = OptionValue(_tagged(rng, choice.value, tag, coin), choice.color)
        seen.setdefault(normalize_value(choice.value), choice)
        if len(seen) == length:
            break
    choices = list(seen.values())
    if not own and rng.bernoulli(0.6):
        return [OptionValue(title_case(choice.value), choice.color) for choice in choices]
    return choices


def _tagged(rng: Rng, value: str, tag: int, coin: Callable[[], str]) -> str:
    """A value with the maker's own name or number for it."""
    if tag == 0:
        return f"{coin()} {value}"
    if tag == 1:
        return f"{value} {'abcdefghjkmnprstuvwxyz'[rng.below(22)]}{rng.between(10, 999)}"
    return f"{value}-{rng.between(100, 9999)}"


def _run(rng: Rng, bank: Bank, values: str, length: int) -> list[OptionValue]:
    """Neighbours out of an ordered list, such as clothing sizes."""
    ordered = bank.values[_RUNS[values]]
    length = min(length, len(ordered))
    start = rng.below(len(ordered) - length + 1)
    return [OptionValue(title_case(value)) for value in ordered[start : start + length]]


def _value(
    rng: Rng,
    bank: Bank,
    values: str,
    form: int,
    coin: Callable[[], str],
    own: "tuple[_Spelling, ...]",
) -> OptionValue:
    """A value of this kind, in one of its eight forms, or of the maker's own."""
    if values in _LISTED:
        key, share = _LISTED[values]
        value = rng.pick(bank.values[key])
        return OptionValue(f"{coin()} {value}" if rng.bernoulli(share) else value)
    if values == "shoe":
        return OptionValue(_shoe(rng, bank, form))
    kind = _kinds()[values]
    drawn = {name: draw(rng, coin) for name, draw in kind.first}
    spelling = (own or kind.forms)[form]
    return OptionValue(spelling.fill(rng, coin, drawn), _shade(bank, drawn))


def _shoe(rng: Rng, bank: Bank, form: int) -> str:
    size = rng.between(5, 14)
    half = ".5" if rng.bernoulli(0.4) else ""
    if form < 5:
        return f"{size}{half}"
    if form < 7:
        return f"{size}{half} {rng.pick(bank.values['widths'])}"
    return f"{size}{half} women/{size - 1 - rng.below(2)}{half} men"


def _shade(bank: Bank, drawn: Mapping[str, Any]) -> str | None:
    """The colour that a value is drawn in."""
    if "color" in drawn:
        return bank.colors[drawn["color"]]
    if "finish" in drawn:
        named = (shade for name, shade in bank.colors.items() if name in drawn["finish"])
        return next(named, "8a6a4c")
    return drawn.get("shade")


Draw = Callable[[Rng, Callable[[], str]], Any]


@dataclass(frozen=True, slots=True)
class _Spelling:
    """A template of forms.toml, as a %-format."""

    text: str
    slots: tuple[str | Draw, ...]
    """What fills it: names of what was drawn first, or how to draw."""

    def fill(self, rng: Rng, coin: Callable[[], str], drawn: Mapping[str, Any]) -> str:
        return self.text % tuple(
            [drawn[slot] if isinstance(slot, str) else slot(rng, coin) for slot in self.slots]
        )


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of values."""

    first: tuple[tuple[str, Draw], ...]
    """What is drawn before the form's own slots, by name."""
    forms: tuple[_Spelling, ...]
    compact: tuple[_Spelling, ...]
    """How makers spell their own, in one piece."""


@cache
def _kinds() -> Mapping[str, _Kind]:
    kinds = {}
    for name, table in read_words("forms").items():
        first = {key: _draw(slot.strip("{}")) for key, slot in table.get("first", {}).items()}
        forms = [_spelling(text, first) for count, text in table["forms"] for _ in range(count)]
        compact = tuple(_spelling(text, first) for text in table.get("compact", ()))
        kinds[name] = _Kind(tuple(first.items()), tuple(forms), compact)
    return kinds


def _spelling(template: str, first: Container[str]) -> _Spelling:
    slots = [slot if slot in first else _draw(slot) for slot in _SLOT.findall(template)]
    return _Spelling(_SLOT.sub("%s", template.replace("%", "%%")), tuple(slots))


def _draw(slot: str) -> Draw:
    """How to draw what stands in braces; see forms.toml."""
    if slot == "coin":
        return lambda rng, coin: coin()
    number = _NUMBER.fullmatch(slot)
    if number is None:
        words = wordbank().values.get(slot) or tuple(slot.split("|"))
        return lambda rng, coin: rng.pick(words)
    first, last, times, width = int(number[1]), int(number[2]), int(number[3] or 1), number[4]
    if number[5]:
        return lambda rng, coin: f"{rng.between(first * 10, last * 10) / 10:g}"
    if width:
        return lambda rng, coin: str(rng.between(first, last)).zfill(int(width))
    return lambda rng, coin: rng.between(first, last) * times
