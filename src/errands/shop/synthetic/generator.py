"""Products of our own, in the formats of the original WebShop files.

`make_product` depends on its arguments only, so products can be made in any order and by any
number of processes. The numbers of a catalogue are spread over the sub-categories by a
permutation; neighbours in a sub-category are near-twins, which share what they are and most of
what is hidden in them, and differ in options, text and price.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, pow
from typing import Any

from errands.shop.product import normalize_value
from errands.shop.synthetic.listing import write_listing
from errands.shop.synthetic.phrasing import human_instruction, synthetic_instruction
from errands.shop.synthetic.rng import Rng, exp, scatter
from errands.shop.synthetic.variants import OptionValue, choose_groups
from errands.shop.synthetic.wordbank import CATEGORIES, Attribute, Bank, Name, Subcategory, wordbank

__all__ = ["MOST_PRODUCTS", "GeneratedProduct", "generate", "human_goals", "make_product"]

MOST_PRODUCTS = 2_000_000
"""The largest catalogue whose ids are sure to be distinct."""

TWINS = 4
"""Neighbours in a sub-category that share their core."""

_ATTRIBUTE_COUNTS = tuple(
    count for count, share in enumerate((12, 13, 17, 18, 15, 11, 7, 4, 2, 1)) for _ in range(share)
)
_BASE_36 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class GeneratedProduct:
    """One generated product, in the record formats of the three original files."""

    record: dict[str, Any]
    """As in items_shuffle.json."""
    attributes: dict[str, Any]
    """As in items_ins_v2.json: attributes, and for some an instruction and its attributes."""
    human: list[dict[str, Any]]
    """As in items_human_ins.json; empty for most products of a large catalogue."""


def generate(products: int, seed: int) -> Iterator[GeneratedProduct]:
    """All products of a catalogue, in load order."""
    for number in range(products):
        yield make_product(number, seed=seed, products=products)


def human_goals(products: int) -> int:
    """How many human-style instructions a catalogue of this size has.

    The 12,087 of the original at its full size; many more for each product of a small one.

    >>> human_goals(1_181_436), human_goals(5_000), human_goals(1_000)
    (12087, 2250, 500)
    """
    return min(products // 2, round(2250 * pow(products / 5000, 0.3076334)))


@dataclass(frozen=True, slots=True)
class _Plan:
    """What all products of one catalogue have in common."""

    bank: Bank
    seed: int
    products: int
    subcategories: tuple[Subcategory, ...]
    starts: tuple[int, ...]
    """Where each sub-category begins among the permuted numbers."""
    stride: int
    shift: int
    human: int
    key: int
    series: int
    places: int
    tagged: float


@lru_cache(maxsize=8)
def _plan(seed: int, products: int) -> _Plan:
    if not 0 < products <= MOST_PRODUCTS:
        raise ValueError(
            f"a catalogue has 1 to {MOST_PRODUCTS:,} products, but {products} were asked for"
        )
    bank = wordbank()
    rng = Rng(f"{seed}/plan")
    known = bank.subcategories
    count = min(len(known), max(5, products // 12))
    chosen = tuple(known[place * len(known) // count] for place in range(count))
    total = sum(kind.weight for kind in chosen)
    starts, before = [], 0
    for kind in chosen:
        starts.append(before * products // total)
        before += kind.weight
    stride = max(1, products * 618 // 1000 + rng.below(max(1, products // 20)))
    while gcd(stride, products) != 1:
        stride += 1
    return _Plan(
        bank=bank,
        seed=seed,
        products=products,
        subcategories=chosen,
        starts=tuple(starts),
        stride=stride,
        shift=rng.below(products),
        human=human_goals(products),
        key=rng.bits(),
        series=max(250, products * 60 // 1000),
        places=max(150, products * 54 // 1000),
        tagged=0.15 + 0.4 * min(1.0, products / 1_000_000),
    )


def make_product(number: int, *, seed: int, products: int) -> GeneratedProduct:
    """The product of this number in the catalogue of this seed and size."""
    plan = _plan(seed, products)
    if not 0 <= number < products:
        raise ValueError(f"product {number} is not in a catalogue of {products} products")
    bank = plan.bank
    place = (number * plan.stride + plan.shift) % products
    index = bisect_right(plan.starts, place) - 1
    kind = plan.subcategories[index]
    rank = place - plan.starts[index]
    rng = Rng(f"{seed}/{number}")
    has_human = (number + 1) * plan.human // products > number * plan.human // products
    name, brand, attributes = _core(plan, kind, rank, rng, has_human)
    coined = _coined(plan, rng, brand)
    listing = write_listing(rng, bank, kind, name, attributes, coined)
    groups = _groups(plan, kind, rank, rng, has_human)
    asin = _asin(number, plan.key)
    picture, images, options = _pictures(rng, bank, kind, groups)
    record = {
        "asin": asin,
        "name": listing.title,
        "full_description": listing.description,
        "small_description": listing.bullets,
        "pricing": _pricing(rng, kind),
        "customization_options": options or "",
        "category": kind.category,
        "query": kind.query,
        "product_category": kind.path,
        "images": [picture, *images],
        "average_rating": (30 + rng.below(11) + rng.below(11)) / 10,
        "page": 1 + rank // 20,
    }
    words = [attribute.name for attribute in attributes]
    mined: dict[str, Any] = {"attributes": words}
    if len(words) > 1 and rng.bernoulli(0.56):
        mined["instruction"] = synthetic_instruction(kind.query, attributes)
        mined["instruction_attributes"] = words
    human = (
        [_human(plan, rng, kind, asin, attributes, groups, coined["brand"])] if has_human else []
    )
    return GeneratedProduct(record, mined, human)


def _core(
    plan: _Plan, kind: Subcategory, rank: int, rng: Rng, at_least_one: bool
) -> tuple[Name, str, list[Attribute]]:
    """Name, brand and hidden attributes; shared with the near-twins but for small changes."""
    brands = max(8, plan.products * CATEGORIES[kind.category] * 85 // 1_000_000)
    core = Rng(f"{plan.seed}/{kind.index}/{rank // TWINS}/core")
    pool = kind.attributes
    name = core.pick(kind.names)
    brand = core.low(brands)
    count = min(core.pick(_ATTRIBUTE_COUNTS), len(pool))
    if at_least_one:
        count = max(count, 1)
    chosen: dict[str, Attribute] = {}
    while len(chosen) < count:
        attribute = pool[core.low(len(pool))]
        chosen[attribute.name] = attribute
    attributes = list(chosen.values())
    if rng.bernoulli(0.3):
        name = rng.pick(kind.names)
    if rng.bernoulli(0.55):
        brand = rng.low(brands)
    if attributes and rng.bernoulli(0.35):
        other = rng.pick(pool)
        if other.name not in chosen:
            attributes[rng.below(len(attributes))] = other
    group = tuple(CATEGORIES).index(kind.category)
    return name, plan.bank.coinage.word("brand", brand * len(CATEGORIES) + group), attributes


def _groups(
    plan: _Plan, kind: Subcategory, rank: int, rng: Rng, has_human: bool
) -> dict[str, list[OptionValue]]:
    """Option groups; near-twins often offer the same ones but for a value or two."""
    at_least_one = has_human and rng.bernoulli(0.7)
    shared = rng.bernoulli(0.7)
    source = Rng(f"{plan.seed}/{kind.index}/{rank // TWINS}/options") if shared else rng

    def coin() -> str:
        return plan.bank.coinage.word("series", source.below(plan.series))

    groups = choose_groups(source, plan.bank, kind, coin, at_least_one, plan.tagged)
    if shared:
        for choices in groups.values():
            if len(choices) > 2 and rng.bernoulli(0.5):
                choices.pop(rng.below(len(choices)))
    return groups


def _coined(plan: _Plan, rng: Rng, brand: str) -> dict[str, str]:
    """The invented words of a product."""
    coinage = plan.bank.coinage
    letters = _BASE_36[10 + rng.below(26)] + _BASE_36[10 + rng.below(26)]
    return {
        "brand": brand.capitalize(),
        "series": coinage.word("series", rng.low(plan.series)).capitalize(),
        "place": coinage.word("place", rng.low(plan.places)).capitalize(),
        "tech": coinage.word("place", rng.low(plan.places)).capitalize(),
        "code": f"{letters}{'-' if rng.bernoulli(0.3) else ''}{rng.between(10, 999)}",
    }


def _asin(number: int, key: int) -> str:
    """An id that looks like the original's; distinct for distinct numbers."""
    left = scatter(number, key)
    digits = ""
    for _ in range(7):
        left, digit = divmod(left, 36)
        digits += _BASE_36[digit]
    return f"B0{'789'[(number * 7 + key) % 3]}{digits}"


def _pricing(rng: Rng, kind: Subcategory) -> str:
    price = kind.price * exp(0.5 * rng.bell())
    number = rng.bits() / 4294967296.0
    if number < 0.09:
        return ""
    if number < 0.18:
        return f"{_dollars(rng, price)} - {_dollars(rng, price * (1.2 + rng.below(100) / 80))}"
    return _dollars(rng, price)


def _dollars(rng: Rng, price: float) -> str:
    cents = (99, 99, 99, 99, 95, 49, 0, 0, 90, 98, rng.below(100))[rng.below(11)]
    return f"${max(1, int(price)):,}.{cents:02d}"


def _pictures(
    rng: Rng, bank: Bank, kind: Subcategory, groups: dict[str, list[OptionValue]]
) -> tuple[str, list[str], dict[str, list[dict[str, Any]]]]:
    """The main picture, more pictures, and the options as the original writes them."""
    look = rng.below(60)
    shown = (choice.color for choices in groups.values() for choice in choices if choice.color)
    color = next(shown, None) or bank.colors[rng.pick(bank.values["colors"])]
    options: dict[str, list[dict[str, Any]]] = {}
    for name, choices in groups.items():
        selected = rng.below(len(choices))
        options[name] = [
            {
                "value": choice.value,
                "image": f"picture:{kind.picture}/{choice.color}/{look}" if choice.color else None,
                "is_selected": place == selected,
            }
            for place, choice in enumerate(choices)
        ]
    more = [f"picture:{kind.picture}/{color}/{look + place + 1}" for place in range(rng.below(5))]
    return f"picture:{kind.picture}/{color}/{look}", more, options


def _human(
    plan: _Plan,
    rng: Rng,
    kind: Subcategory,
    asin: str,
    attributes: list[Attribute],
    groups: dict[str, list[OptionValue]],
    brand: str,
) -> dict[str, Any]:
    """A person's instruction for a product."""
    count = (1, 1, 1, 1, 1, 2, 2, 2, 3)[rng.below(9)]
    targets = rng.shuffled(attributes)[:count]
    values = {
        name.lower(): normalize_value(rng.pick(choices).value) for name, choices in groups.items()
    }
    names = list(values)
    if len(names) > 2:
        names.pop(rng.below(3))
    if names and rng.bernoulli(0.2):
        names.pop(rng.below(len(names)))
    chosen = {name: values[name] for name in names}
    return {
        "asin": asin,
        "instruction": human_instruction(
            rng, plan.bank, rng.pick(kind.names), targets, chosen, brand
        ),
        "attributes": [attribute.name for attribute in attributes],
        "options": [f"{name}: {value}" for name, value in values.items()] or [""],
        "instruction_attributes": [attribute.name for attribute in targets],
        "instruction_options": list(chosen.values()),
    }
