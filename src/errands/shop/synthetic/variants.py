"""Option groups of generated products: colours, sizes, flavours, and what else one may choose."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from errands.shop.product import normalize_value
from errands.shop.synthetic.rng import Dice
from errands.shop.synthetic.wordbank import Bank, Subcategory, title_case

__all__ = ["Choice", "choose_groups"]

_GROUPS: Mapping[str, tuple[float, float, float]] = {
    "beauty": (0.35, 0.092, 0.009),
    "electronics": (0.34, 0.092, 0.009),
    "fashion": (0.825, 0.56, 0.07),
    "garden": (0.408, 0.126, 0.019),
    "grocery": (0.35, 0.092, 0.009),
}
"""Shares of products with at least one, two and three option groups."""

_LENGTHS = (2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 6, 7, 8, 10, 14)
_SECOND_LENGTHS = (2, 3, 3, 4, 4, 5, 5, 6, 7)
_THIRD_LENGTHS = (2, 2, 3, 3, 4)


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of an option group, and the colour it is drawn in, if it changes the picture."""

    value: str
    color: str | None = None


def choose_groups(
    dice: Dice, bank: Bank, kind: Subcategory, coin: Callable[[], str], wanted: bool, tagged: float
) -> dict[str, list[Choice]]:
    """Option groups of one product.

    `wanted` makes sure of one, `coin` invents a word, and `tagged` is the share of groups whose
    values bear the maker's own name or number.
    """
    number = dice.bits() / 4294967296.0
    shares = _GROUPS[kind.category]
    count = sum(number < share for share in shares)
    if wanted:
        count = max(count, 1)
    groups: dict[str, list[Choice]] = {}
    if not count:
        return groups
    offered = kind.options
    start = 0 if dice.chance(0.7) else dice.below(len(offered))
    for place in range(len(offered)):
        name, values = offered[(start + place) % len(offered)]
        if name in groups:
            continue
        lengths = (_LENGTHS, _SECOND_LENGTHS, _THIRD_LENGTHS)[len(groups)]
        groups[name] = _choices(dice, bank, values, dice.pick(lengths), coin, tagged)
        if len(groups) == count:
            break
    return groups


def _choices(
    dice: Dice, bank: Bank, values: str, length: int, coin: Callable[[], str], tagged: float
) -> list[Choice]:
    """Distinct values of one group, in one spelling."""
    if values in _RUNS:
        return _run(dice, bank, values, length)
    make = _MAKERS[values]
    form = dice.below(8)
    tag = None
    if values in _TAGGED and dice.chance(tagged):
        tag, form = dice.below(3), form % 3
    seen: dict[str, Choice] = {}
    for _ in range(length * 2):
        choice = make(dice, bank, form, coin)
        if tag is not None:
            choice = Choice(_tagged(dice, choice.value, tag, coin), choice.color)
        seen.setdefault(normalize_value(choice.value), choice)
        if len(seen) == length:
            break
    choices = list(seen.values())
    if dice.chance(0.6):
        return [Choice(title_case(choice.value), choice.color) for choice in choices]
    return choices


def _tagged(dice: Dice, value: str, tag: int, coin: Callable[[], str]) -> str:
    """A value with the maker's own name or number for it."""
    if tag == 0:
        return f"{coin()} {value}"
    if tag == 1:
        return f"{value} {'abcdefghjkmnprstuvwxyz'[dice.below(22)]}{dice.between(10, 999)}"
    return f"{value}-{dice.between(100, 9999)}"


def _run(dice: Dice, bank: Bank, values: str, length: int) -> list[Choice]:
    """Neighbours out of an ordered list, such as clothing sizes."""
    ordered = bank.values[_RUNS[values]]
    length = min(length, len(ordered))
    start = dice.below(len(ordered) - length + 1)
    return [Choice(title_case(value)) for value in ordered[start : start + length]]


_TAGGED = frozenset(
    ("color", "pattern", "shade", "hair", "wood", "metal", "letter", "flavor", "scent")
)
"""Values of which every maker has its own."""

_RUNS = {"clothing": "clothing", "width": "widths", "bed": "beds"}


def _color(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
    name, shade = dice.pick(bank.colors)
    if form < 3:
        return Choice(name, shade)
    if form == 3:
        return Choice(f"{dice.pick(bank.values['modifiers'])} {name}", shade)
    if form == 4:
        return Choice(f"{name}/{dice.pick(bank.colors)[0]}", shade)
    if form == 5:
        return Choice(f"{'abcdefgh'[dice.below(8)]}-{name}", shade)
    if form == 6:
        return Choice(f"{name}-{dice.between(1, 99):02d}", shade)
    return Choice(f"{coin()} {name}", shade)


def _pattern(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
    name, shade = dice.pick(bank.colors)
    pattern = dice.pick(bank.values["patterns"])
    if form < 2:
        return Choice(name, shade)
    if form == 2:
        return Choice(pattern, shade)
    if form < 5:
        return Choice(f"{name} {pattern}", shade)
    if form == 5:
        return Choice(f"{pattern}-{dice.between(1, 999):03d}", shade)
    return Choice(f"{coin()} {pattern}", shade)


def _shade(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
    _, shade = dice.pick(bank.colors)
    name = dice.pick(bank.values["shades"])
    if form < 2:
        return Choice(name, shade)
    if form == 2:
        return Choice(f"{dice.between(1, 60):02d} {name}", shade)
    if form == 3:
        return Choice(f"{dice.pick(bank.values['modifiers'])} {name}", shade)
    if form == 4:
        return Choice(f"#{dice.between(101, 999)} {name}", shade)
    return Choice(f"{coin()} {name}", shade)


def _hair(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
    name = dice.pick(bank.values["hairs"])
    shade = ("2b2320", "4a3226", "b08d57", "8a5a35", "7a2438", "b9bdc2")[dice.below(6)]
    if form < 3:
        return Choice(name, shade)
    if form < 5:
        return Choice(f"#{dice.between(1, 99)}", shade)
    if form < 7:
        return Choice(f"{dice.between(1, 30)}/{dice.between(31, 99)} {name}", shade)
    return Choice(f"{coin()} {name}", shade)


def _listed(key: str, share: float = 0.15) -> Callable[..., Choice]:
    """Values of a list; a small share is invented."""

    def make(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
        value = dice.pick(bank.values[key])
        if dice.chance(share):
            return Choice(f"{coin()} {value}")
        return Choice(value)

    return make


def _blend(key: str) -> Callable[..., Choice]:
    """One value of a list or two together."""

    def make(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
        value = dice.pick(bank.values[key])
        if form < 4:
            return Choice(value)
        if form < 7:
            return Choice(f"{value} & {dice.pick(bank.values[key])}")
        return Choice(f"{coin()} {value}")

    return make


def _finish(key: str) -> Callable[..., Choice]:
    """Values of a list that are drawn in the colour they name."""

    def make(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
        value = dice.pick(bank.values[key])
        color = next((shade for name, shade in bank.colors if name in value), "8a6a4c")
        if form < 4:
            return Choice(value, color)
        if form < 7:
            return Choice(f"{value}-{dice.between(1, 9)}", color)
        return Choice(f"{coin()} {value}", color)

    return make


def _letter(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
    letter = "abcdefghjkmnpqrstw"[dice.below(18)]
    if form < 2:
        return Choice(f"style {letter}")
    if form == 2:
        return Choice(f"{letter}{dice.between(1, 99)}")
    if form < 6:
        return Choice(dice.pick(bank.values["styles"]))
    return Choice(f"{coin()} {dice.pick(bank.values['styles'])}")


def _half(dice: Dice, first: int, last: int) -> str:
    """A measure with at most one decimal."""
    tenths = dice.between(first * 10, last * 10)
    return f"{tenths // 10}.{tenths % 10}" if tenths % 10 else str(tenths // 10)


def _dimension2(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
    width, height = dice.between(2, 30) * 4, dice.between(2, 30) * 4
    if form < 2:
        return Choice(f'{width}"x{height}"')
    if form < 4:
        return Choice(f"{width}w x {height}l")
    if form < 6:
        return Choice(f"{width} x {height} inch")
    return Choice(f"{_half(dice, 12, 120)}w by {_half(dice, 12, 120)}l")


def _dimension3(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
    width, depth = dice.between(4, 24) * 4, dice.between(3, 12) * 4
    if form < 2:
        return Choice(f'{width}"')
    if form < 4:
        return Choice(f"{width} x {depth} inch")
    if form < 6:
        return Choice(f'{width}"w x {depth}"d x {dice.between(6, 36) * 2}"h')
    return Choice(f"{_half(dice, 16, 96)} x {_half(dice, 12, 48)} x {_half(dice, 12, 72)} in")


def _weight(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
    pack = dice.pick((1, 1, 1, 2, 3, 4, 6, 8, 10, 12, 24))
    if form < 3:
        return Choice(f"{dice.between(1, 32)} ounce (pack of {pack})")
    if form < 6:
        return Choice(f"{_half(dice, 1, 36)} ounce (pack of {pack})")
    if form == 6:
        return Choice(f"{dice.between(1, 10)} pound (pack of {pack})")
    return Choice(f"{dice.between(2, 40) * 25} g x {pack}")


def _volume(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
    if form < 3:
        return Choice(f"{dice.between(1, 34)} fl oz")
    if form < 5:
        return Choice(f"{_half(dice, 1, 34)} fl oz (pack of {dice.between(1, 6)})")
    if form < 7:
        return Choice(f"{dice.between(1, 40) * 25} ml")
    return Choice(f"{_half(dice, 1, 24)} ounce")


def _drink(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
    pack = dice.pick((1, 4, 6, 8, 12, 18, 24))
    size = str(dice.between(2, 34)) if form < 5 else _half(dice, 2, 34)
    return Choice(f"{size} {'fl oz' if form < 6 else 'ounce'} (pack of {pack})")


def _count(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
    number = dice.between(1, 12) if form < 5 else dice.between(1, 240)
    unit = ("pack", "count", "pcs", "piece set")[form % 4]
    return Choice(f"{number} {unit}")


def _pack(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
    if form < 5:
        return Choice(f"pack of {dice.between(1, 12)}")
    return Choice(dice.pick(bank.values["styles"]))


def _number(unit: str, first: int, last: int, step: int = 1) -> Callable[..., Choice]:
    """Whole measures in one unit."""

    def make(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
        number = dice.between(first, last) * step
        if form == 7:
            return Choice(f"{number} {unit} {dice.between(1, 6)} pack")
        return Choice(f"{number} {unit}" if form < 5 else f"{number}{unit}")

    return make


def _shoe(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
    size = dice.between(5, 14)
    half = ".5" if dice.chance(0.4) else ""
    if form < 5:
        return Choice(f"{size}{half}")
    if form < 7:
        return Choice(f"{size}{half} {dice.pick(bank.values['widths'])}")
    return Choice(f"{size}{half} women/{size - 1 - dice.below(2)}{half} men")


def _storage(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
    disk = dice.pick(("32gb", "64gb", "128gb", "256gb", "512gb", "1tb", "2tb", "4tb"))
    if form < 3:
        return Choice(disk)
    return Choice(f"{dice.pick((4, 8, 12, 16, 24, 32, 64))}gb ram/{disk} ssd")


def _backdrop(dice: Dice, bank: Bank, form: int, coin: Callable[[], str]) -> Choice:
    return Choice(f"{dice.between(3, 12)}x{dice.between(4, 20)}ft{'' if form < 5 else ' roll'}")


_MAKERS: Mapping[str, Callable[[Dice, Bank, int, Callable[[], str]], Choice]] = {
    "color": _color,
    "pattern": _pattern,
    "shade": _shade,
    "hair": _hair,
    "wood": _finish("woods"),
    "metal": _finish("metals"),
    "letter": _letter,
    "dimension2": _dimension2,
    "dimension3": _dimension3,
    "weight": _weight,
    "volume": _volume,
    "drink": _drink,
    "count": _count,
    "pack": _pack,
    "flavor": _blend("flavors"),
    "scent": _blend("scents"),
    "fit": _listed("fits", 0.0),
    "material": _listed("materials", 0.05),
    "phone": _listed("phones", 0.3),
    "inch": _number("inch", 4, 30),
    "cable": _number("ft", 1, 100),
    "screen": _number("inch", 19, 120),
    "lights": _number("light", 1, 12),
    "shoe": _shoe,
    "storage": _storage,
    "backdrop": _backdrop,
}
