"""Option groups of generated products: colours, sizes, flavours, and what else one may choose."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from errands.shop.product import normalize_value
from errands.shop.synthetic.rng import Rng
from errands.shop.synthetic.wordbank import Bank, Subcategory, title_case

__all__ = ["OptionValue", "choose_groups"]

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
class OptionValue:
    """One value of an option group, and the colour it is drawn in, if it changes the picture."""

    value: str
    color: str | None = None


def choose_groups(
    rng: Rng, bank: Bank, kind: Subcategory, coin: Callable[[], str], wanted: bool, tagged: float
) -> dict[str, list[OptionValue]]:
    """Option groups of one product.

    `wanted` makes sure of one, `coin` invents a word, and `tagged` is the share of groups whose
    values bear the maker's own name or number.
    """
    number = rng.bits() / 4294967296.0
    shares = _GROUPS[kind.category]
    count = sum(number < share for share in shares)
    if wanted:
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
        lengths = (_LENGTHS, _SECOND_LENGTHS, _THIRD_LENGTHS)[len(groups)]
        groups[name] = _choices(rng, bank, values, rng.pick(lengths), coin, tagged)
        if len(groups) == count:
            break
    return groups


def _choices(
    rng: Rng, bank: Bank, values: str, length: int, coin: Callable[[], str], tagged: float
) -> list[OptionValue]:
    """Distinct values of one group, in one spelling."""
    if values in _RUNS:
        return _run(rng, bank, values, length)
    make = _MAKERS[values]
    form = rng.below(8)
    tag = None
    if values in _TAGGED and rng.bernoulli(tagged):
        tag, form = rng.below(3), form % 3
    seen: dict[str, OptionValue] = {}
    for _ in range(length * 2):
        choice = make(rng, bank, form, coin)
        if tag is not None:
            choice = OptionValue(_tagged(rng, choice.value, tag, coin), choice.color)
        seen.setdefault(normalize_value(choice.value), choice)
        if len(seen) == length:
            break
    choices = list(seen.values())
    if rng.bernoulli(0.6):
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


_TAGGED = frozenset(
    ("color", "pattern", "shade", "hair", "wood", "metal", "letter", "flavor", "scent")
)
"""Values of which every maker has its own."""

_RUNS = {"clothing": "clothing", "width": "widths", "bed": "beds"}


def _color(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
    name, shade = rng.pick(bank.colors)
    if form < 3:
        return OptionValue(name, shade)
    if form == 3:
        return OptionValue(f"{rng.pick(bank.values['modifiers'])} {name}", shade)
    if form == 4:
        return OptionValue(f"{name}/{rng.pick(bank.colors)[0]}", shade)
    if form == 5:
        return OptionValue(f"{'abcdefgh'[rng.below(8)]}-{name}", shade)
    if form == 6:
        return OptionValue(f"{name}-{rng.between(1, 99):02d}", shade)
    return OptionValue(f"{coin()} {name}", shade)


def _pattern(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
    name, shade = rng.pick(bank.colors)
    pattern = rng.pick(bank.values["patterns"])
    if form < 2:
        return OptionValue(name, shade)
    if form == 2:
        return OptionValue(pattern, shade)
    if form < 5:
        return OptionValue(f"{name} {pattern}", shade)
    if form == 5:
        return OptionValue(f"{pattern}-{rng.between(1, 999):03d}", shade)
    return OptionValue(f"{coin()} {pattern}", shade)


def _shade(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
    _, shade = rng.pick(bank.colors)
    name = rng.pick(bank.values["shades"])
    if form < 2:
        return OptionValue(name, shade)
    if form == 2:
        return OptionValue(f"{rng.between(1, 60):02d} {name}", shade)
    if form == 3:
        return OptionValue(f"{rng.pick(bank.values['modifiers'])} {name}", shade)
    if form == 4:
        return OptionValue(f"#{rng.between(101, 999)} {name}", shade)
    return OptionValue(f"{coin()} {name}", shade)


def _hair(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
    name = rng.pick(bank.values["hairs"])
    shade = ("2b2320", "4a3226", "b08d57", "8a5a35", "7a2438", "b9bdc2")[rng.below(6)]
    if form < 3:
        return OptionValue(name, shade)
    if form < 5:
        return OptionValue(f"#{rng.between(1, 99)}", shade)
    if form < 7:
        return OptionValue(f"{rng.between(1, 30)}/{rng.between(31, 99)} {name}", shade)
    return OptionValue(f"{coin()} {name}", shade)


def _listed(key: str, share: float = 0.15) -> Callable[..., OptionValue]:
    """Values of a list; a small share is invented."""

    def make(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
        value = rng.pick(bank.values[key])
        if rng.bernoulli(share):
            return OptionValue(f"{coin()} {value}")
        return OptionValue(value)

    return make


def _blend(key: str) -> Callable[..., OptionValue]:
    """One value of a list or two together."""

    def make(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
        value = rng.pick(bank.values[key])
        if form < 4:
            return OptionValue(value)
        if form < 7:
            return OptionValue(f"{value} & {rng.pick(bank.values[key])}")
        return OptionValue(f"{coin()} {value}")

    return make


def _finish(key: str) -> Callable[..., OptionValue]:
    """Values of a list that are drawn in the colour they name."""

    def make(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
        value = rng.pick(bank.values[key])
        color = next((shade for name, shade in bank.colors if name in value), "8a6a4c")
        if form < 4:
            return OptionValue(value, color)
        if form < 7:
            return OptionValue(f"{value}-{rng.between(1, 9)}", color)
        return OptionValue(f"{coin()} {value}", color)

    return make


def _letter(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
    letter = "abcdefghjkmnpqrstw"[rng.below(18)]
    if form < 2:
        return OptionValue(f"style {letter}")
    if form == 2:
        return OptionValue(f"{letter}{rng.between(1, 99)}")
    if form < 6:
        return OptionValue(rng.pick(bank.values["styles"]))
    return OptionValue(f"{coin()} {rng.pick(bank.values['styles'])}")


def _half(rng: Rng, first: int, last: int) -> str:
    """A measure with at most one decimal."""
    tenths = rng.between(first * 10, last * 10)
    return f"{tenths // 10}.{tenths % 10}" if tenths % 10 else str(tenths // 10)


def _dimension2(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
    width, height = rng.between(2, 30) * 4, rng.between(2, 30) * 4
    if form < 2:
        return OptionValue(f'{width}"x{height}"')
    if form < 4:
        return OptionValue(f"{width}w x {height}l")
    if form < 6:
        return OptionValue(f"{width} x {height} inch")
    return OptionValue(f"{_half(rng, 12, 120)}w by {_half(rng, 12, 120)}l")


def _dimension3(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
    width, depth = rng.between(4, 24) * 4, rng.between(3, 12) * 4
    if form < 2:
        return OptionValue(f'{width}"')
    if form < 4:
        return OptionValue(f"{width} x {depth} inch")
    if form < 6:
        return OptionValue(f'{width}"w x {depth}"d x {rng.between(6, 36) * 2}"h')
    return OptionValue(f"{_half(rng, 16, 96)} x {_half(rng, 12, 48)} x {_half(rng, 12, 72)} in")


def _weight(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
    pack = rng.pick((1, 1, 1, 2, 3, 4, 6, 8, 10, 12, 24))
    if form < 3:
        return OptionValue(f"{rng.between(1, 32)} ounce (pack of {pack})")
    if form < 6:
        return OptionValue(f"{_half(rng, 1, 36)} ounce (pack of {pack})")
    if form == 6:
        return OptionValue(f"{rng.between(1, 10)} pound (pack of {pack})")
    return OptionValue(f"{rng.between(2, 40) * 25} g x {pack}")


def _volume(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
    if form < 3:
        return OptionValue(f"{rng.between(1, 34)} fl oz")
    if form < 5:
        return OptionValue(f"{_half(rng, 1, 34)} fl oz (pack of {rng.between(1, 6)})")
    if form < 7:
        return OptionValue(f"{rng.between(1, 40) * 25} ml")
    return OptionValue(f"{_half(rng, 1, 24)} ounce")


def _drink(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
    pack = rng.pick((1, 4, 6, 8, 12, 18, 24))
    size = str(rng.between(2, 34)) if form < 5 else _half(rng, 2, 34)
    return OptionValue(f"{size} {'fl oz' if form < 6 else 'ounce'} (pack of {pack})")


def _count(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
    number = rng.between(1, 12) if form < 5 else rng.between(1, 240)
    unit = ("pack", "count", "pcs", "piece set")[form % 4]
    return OptionValue(f"{number} {unit}")


def _pack(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
    if form < 5:
        return OptionValue(f"pack of {rng.between(1, 12)}")
    return OptionValue(rng.pick(bank.values["styles"]))


def _number(unit: str, first: int, last: int, step: int = 1) -> Callable[..., OptionValue]:
    """Whole measures in one unit."""

    def make(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
        number = rng.between(first, last) * step
        if form == 7:
            return OptionValue(f"{number} {unit} {rng.between(1, 6)} pack")
        return OptionValue(f"{number} {unit}" if form < 5 else f"{number}{unit}")

    return make


def _shoe(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
    size = rng.between(5, 14)
    half = ".5" if rng.bernoulli(0.4) else ""
    if form < 5:
        return OptionValue(f"{size}{half}")
    if form < 7:
        return OptionValue(f"{size}{half} {rng.pick(bank.values['widths'])}")
    return OptionValue(f"{size}{half} women/{size - 1 - rng.below(2)}{half} men")


def _storage(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
    disk = rng.pick(("32gb", "64gb", "128gb", "256gb", "512gb", "1tb", "2tb", "4tb"))
    if form < 3:
        return OptionValue(disk)
    return OptionValue(f"{rng.pick((4, 8, 12, 16, 24, 32, 64))}gb ram/{disk} ssd")


def _backdrop(rng: Rng, bank: Bank, form: int, coin: Callable[[], str]) -> OptionValue:
    return OptionValue(f"{rng.between(3, 12)}x{rng.between(4, 20)}ft{'' if form < 5 else ' roll'}")


_MAKERS: Mapping[str, Callable[[Rng, Bank, int, Callable[[], str]], OptionValue]] = {
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
