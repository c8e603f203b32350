"""Products of our own, in the formats of the original WebShop files.

`make_product` depends on its arguments only, so products can be made in any order and by any
number of processes. The numbers of a catalogue are spread over the sub-categories by a
permutation; neighbours in a sub-category are near-twins, which share what they are and most of
what is hidden in them, and differ in options, text and price.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, pow
from typing import Any

from errands.shop.product import normalize_value
from errands.shop.synthetic.difficulty import PAPER, Difficulty
from errands.shop.synthetic.listing import write_listing
from errands.shop.synthetic.phrasing import human_instruction, synthetic_instruction
from errands.shop.synthetic.rng import Rng, exp, scatter
from errands.shop.synthetic.variants import OptionValue, choose_groups
from errands.shop.synthetic.wordbank import CATEGORIES, Attribute, Bank, Name, Subcategory, wordbank
from errands.shop.synthetic.wording import Shares, Wish, worded

__all__ = ["MOST_PRODUCTS", "GeneratedProduct", "generate", "human_goals", "make_product"]

MOST_PRODUCTS = 2_000_000
"""The largest catalogue whose ids are sure to be distinct."""

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
    wish: Wish | None
    """What the human instruction says, in parts."""


def generate(
    products: int, seed: int, difficulty: Difficulty = PAPER
) -> Iterator[GeneratedProduct]:
    """All products of a catalogue, in load order."""
    for number in range(products):
        yield make_product(number, seed=seed, products=products, difficulty=difficulty)


def human_goals(products: int) -> int:
    """How many human-style instructions a catalogue of this size has.

    The 12,087 of the original at its full size; many more for each product of a small one.

    >>> human_goals(1_181_436), human_goals(5_000), human_goals(1_000)
    (12087, 2250, 500)
    """
    return min(products // 2, round(2250 * pow(products / 5000, 0.3076334)))


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """What all products of one catalogue have in common."""

    bank: Bank
    knobs: Difficulty
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
    owned: float
    shares: Shares


@lru_cache(maxsize=8)
def _plan(seed: int, products: int, knobs: Difficulty) -> _Plan:
    if not 0 < products <= MOST_PRODUCTS:
        raise ValueError(
            f"a catalogue has 1 to {MOST_PRODUCTS:,} products, but {products} were asked for"
        )
    bank = wordbank()
    rng = Rng(f"{seed}/plan")
    known = bank.subcategories
    count = min(len(known), max(5, products // knobs.depth))
    chosen = tuple(known[place * len(known) // count] for place in range(count))
    total = sum(kind.weight for kind in chosen)
    starts, before = [], 0
    for kind in chosen:
        starts.append(before * products // total)
        before += kind.weight
    stride = max(1, products * 618 // 1000 + rng.below(max(1, products // 20)))
    while gcd(stride, products) != 1:
        stride += 1
    first, last = knobs.own_values
    return _Plan(
        bank=bank,
        knobs=knobs,
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
        owned=first + (last - first) * min(1.0, products / 1_000_000),
        shares=Shares.of(knobs, products),
    )


def make_product(
    number: int, *, seed: int, products: int, difficulty: Difficulty = PAPER
) -> GeneratedProduct:
    """The product of this number in the catalogue of this seed, size and difficulty."""
    plan = _plan(seed, products, difficulty)
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
    motifs = [rng.pick(bank.motifs) for _ in range(3)] if difficulty.motifs else ()
    listing = write_listing(rng, bank, kind, name, attributes, coined, motifs)
    groups = _groups(plan, kind, rank, rng, has_human)
    asin = _asin(number, plan.key)
    picture, images, options = _pictures(rng, bank, kind, groups)
    record = {
        "asin": asin,
        "name": listing.title,
        "full_description": listing.description,
        "small_description": listing.bullets,
        "pricing": _pricing(rng, kind, difficulty.price_spread),
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
    if not has_human:
        return GeneratedProduct(record, mined, [], None)
    human, wish = _human(plan, rng, kind, name, record, attributes, groups, coined["brand"])
    return GeneratedProduct(record, mined, [human], wish)


def _core(
    plan: _Plan, kind: Subcategory, rank: int, rng: Rng, at_least_one: bool
) -> tuple[Name, str, list[Attribute]]:
    """Name, brand and hidden attributes; shared with the near-twins but for small changes."""
    brands = max(8, plan.products * CATEGORIES[kind.category] * 85 // 1_000_000)
    pool, special = kind.attributes, plan.knobs.special_attributes
    name, brand, chosen = _shared(plan, kind.index, rank // plan.knobs.twins, brands, at_least_one)
    attributes = list(chosen.values())
    if rng.bernoulli(plan.knobs.twin_name):
        name = rng.pick(kind.names)
    if rng.bernoulli(0.55):
        brand = rng.low(brands)
    if attributes and rng.bernoulli(plan.knobs.twin_attribute):
        other = rng.pick(pool)
        if other.name not in chosen:
            attributes[rng.below(len(attributes))] = other
    if special:
        rare = plan.bank.special[kind.category]
        mixed = [
            rng.pick(rare) if rng.bernoulli(special) else attribute for attribute in attributes
        ]
        attributes = list({attribute.name: attribute for attribute in mixed}.values())
    group = tuple(CATEGORIES).index(kind.category)
    return name, plan.bank.coinage.word("brand", brand * len(CATEGORIES) + group), attributes


@lru_cache(maxsize=1 << 13)
def _shared(
    plan: _Plan, kind_index: int, group: int, brands: int, at_least_one: bool
) -> tuple[Name, int, Mapping[str, Attribute]]:
    """What all near-twins of a group begin with: name, brand and attributes."""
    kind = plan.bank.subcategories[kind_index]
    pool = kind.attributes
    rng = Rng(f"{plan.seed}/{kind_index}/{group}/core")
    name = rng.pick(kind.names)
    brand = rng.low(brands)
    count = min(rng.pick(_ATTRIBUTE_COUNTS), len(pool))
    if at_least_one:
        count = max(count, 1)
    chosen: dict[str, Attribute] = {}
    while len(chosen) < count:
        attribute = pool[rng.low(len(pool))]
        chosen[attribute.name] = attribute
    return name, brand, chosen


def _groups(
    plan: _Plan, kind: Subcategory, rank: int, rng: Rng, has_human: bool
) -> dict[str, list[OptionValue]]:
    """Option groups; near-twins often offer the same ones but for a value or two."""
    at_least_one = has_human and rng.bernoulli(plan.knobs.with_options)
    shared = rng.bernoulli(plan.knobs.twin_options)
    source = Rng(f"{plan.seed}/{kind.index}/{rank // plan.knobs.twins}/options") if shared else rng

    def coin() -> str:
        return plan.bank.coinage.word("series", source.below(plan.series))

    groups = choose_groups(
        source, plan.bank, kind, coin, at_least_one, plan.owned, plan.knobs.compact_values
    )
    if shared:
        for choices in groups.values():
            if len(choices) > 2 and rng.bernoulli(plan.knobs.twin_value):
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


def _pricing(rng: Rng, kind: Subcategory, spread: float) -> str:
    price = kind.price * exp(spread * rng.bell())
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
    name: Name,
    record: dict[str, Any],
    attributes: list[Attribute],
    groups: dict[str, list[OptionValue]],
    brand: str,
) -> tuple[dict[str, Any], Wish]:
    """A person's instruction for a product, and what it says."""
    count = (1, 1, 1, 1, 1, 2, 2, 2, 3)[rng.below(9)]
    if not groups:
        count += plan.knobs.more_attributes
    targets = rng.shuffled(attributes)[:count]
    values = {
        group.lower(): normalize_value(rng.pick(choices).value) for group, choices in groups.items()
    }
    names = list(values)
    if len(names) > 2:
        names.pop(rng.below(3))
    if names and rng.bernoulli(0.2):
        names.pop(rng.below(len(names)))
    chosen = {group: values[group] for group in names}
    wish = _wish(plan, rng, kind, name, record["name"].lower(), targets, chosen, brand)
    instruction = human_instruction(
        rng,
        plan.bank,
        wish.name,
        wish.attributes,
        wish.options,
        wish.brand,
        brand_share=1.0 if wish.listed else plan.knobs.brand,
        chatter=plan.knobs.chatter,
        typos=plan.knobs.typos,
    )
    goal = {
        "asin": record["asin"],
        "instruction": instruction,
        "attributes": [attribute.name for attribute in attributes],
        "options": [f"{group}: {value}" for group, value in values.items()] or [""],
        "instruction_attributes": [attribute.name for attribute in targets],
        "instruction_options": list(chosen.values()),
    }
    return goal, wish


def _wish(
    plan: _Plan,
    rng: Rng,
    kind: Subcategory,
    name: Name,
    title: str,
    attributes: list[Attribute],
    options: dict[str, str],
    brand: str,
) -> Wish:
    """What a person says of these attributes and options."""
    bank, knobs, shares = plan.bank, plan.knobs, plan.shares
    if not shares.loose:
        return Wish(rng.pick(kind.names), attributes, options, brand)
    return worded(rng, bank, kind, knobs, shares, name, title, attributes, options, brand)
