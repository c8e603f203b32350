"""The reward of a purchase, under named rules, with all its parts.

`released` is the code that the published numbers were computed with, quirks included: fuzzy
attribute and option matching, colour words found anywhere in a value, nouns of titles.
`paper` is equations 1 and 2 of the paper as they are meant: exact matching, the five coarse
categories, the whole fine-grained chain. (Equation 2 as printed gives 0.5 where everything
matches; the text around it and the released code show that the case is the opposite one:
0.5 only where neither the title, nor c, nor f matches.)
`synonym` is `released` and what a person would count besides; it needs the extra `synonyms`, and
is in `errands.shop.rewards.synonym`.

All are pure functions of the product bought, what it costs, the options chosen and the goal;
`errands.shop.rewards.registry` finds them, and rules of your own, by name.
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, Protocol

import msgspec

from errands.shop.goals import Goal
from errands.shop.product import Product
from errands.shop.rewards.nouns import title_score

__all__ = [
    "Purchase",
    "Reward",
    "RewardRules",
    "Type",
    "category_path",
    "matched_options",
    "matches",
    "missing_attributes",
    "normalize_color",
    "paper",
    "released",
    "released_type",
    "reward_of",
    "type_reward",
]

FUZZY_THRESHOLD: Final = 85
COLORS: Final = tuple(
    "alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown"
    " burgundy camel camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee"
    " cognac copper coral cranberry cream crystal dark denim eggplant elephant espresso fuchsia"
    " gold granite grape graphite grass gray green grey heather indigo ivory ivy khaki lavender"
    " lemon leopard light lilac lime magenta maroon mauve merlot midnight mint mocha multicolor"
    " mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow red"
    " rose royal rust sand sapphire seashell silver skull slate steel stone stonewash sunflower"
    " tan taupe teal tiger turquoise violet walnut wheat white wine yellow".split()
)

_COLOR_SET: Final = frozenset(COLORS)


class Purchase(NamedTuple):
    """What was bought."""

    product: Product
    options: Mapping[str, str]
    price: float


class Reward(msgspec.Struct, frozen=True):
    """A number in [0, 1] and what it is made of."""

    total: float
    parts: dict[str, float | bool]
    """`r_` the parts, `w_` their weights, and what decided the type: docs/explanation/reward.md."""


class RewardRules(Protocol):
    """How a purchase is rewarded: a pure function. Rules of your own may have a `name` and a
    `version`, both of which are stored with results (`errands.shop.rewards.registry`)."""

    def __call__(self, purchase: Purchase, goal: Goal, /) -> Reward: ...


class Type(NamedTuple):
    """Whether it is that kind of product, and what decided it."""

    value: float
    query_match: bool
    category_match: bool
    title_score: float


def released(purchase: Purchase, goal: Goal) -> Reward:
    """What WebShop's released code gives."""
    product = purchase.product
    return reward_of(
        type_=released_type(product, goal),
        attributes=len(goal.attributes) - len(missing_attributes(product, goal)),
        options=sum(matched_options(purchase.options.values(), goal)),
        affordable=purchase.price <= goal.price_upper,
        goal=goal,
    )


def paper(purchase: Purchase, goal: Goal) -> Reward:
    """What the paper's equations 1 and 2 describe, by exact matching."""
    product = purchase.product
    chain = _chain(product.product_category)
    return reward_of(
        type_=type_reward(
            product.category == goal.category,
            bool(chain) and chain == _chain(goal.product_category),
            title_score(product.nouns, goal.nouns),
        ),
        attributes=sum(attribute in product.attributes for attribute in goal.attributes),
        options=_exact_options(purchase.options, goal),
        affordable=purchase.price <= goal.price_upper,
        goal=goal,
    )


def reward_of(type_: Type, attributes: int, options: int, affordable: bool, goal: Goal) -> Reward:
    """Equation 1: the parts put together."""
    wanted_attributes, wanted_options = len(goal.attributes), len(goal.goal_options)
    everything = wanted_attributes + wanted_options + 1
    # The order of operations is part of the rule: the page prints every digit.
    total = ((attributes + options + affordable) / everything) * type_.value
    parts: dict[str, float | bool] = {
        "r_type": type_.value,
        "r_att": attributes / wanted_attributes,
        "w_att": wanted_attributes / everything,
        "query_match": type_.query_match,
        "category_match": type_.category_match,
        "title_score": type_.title_score,
    }
    if wanted_options:
        parts["r_option"] = options / wanted_options
        parts["w_option"] = wanted_options / everything
    parts["r_price"] = affordable
    parts["w_price"] = 1 / everything
    return Reward(total, parts)


def released_type(product: Product, goal: Goal) -> Type:
    """Whether it is that kind of product, by the released code."""
    common = category_path(product.product_category) & category_path(goal.product_category)
    return type_reward(
        product.query == goal.query,
        len(common) >= 2,
        title_score(product.nouns, goal.nouns),
    )


def type_reward(query_match: bool, category_match: bool, title: float) -> Type:
    """Equation 2 as it is meant; grows with each of its arguments."""
    value = 1.0
    if not (query_match or category_match or title > 0.2):
        value = 0.5
    if title < 0.1:
        value = 0.1
    if title == 0.0:
        value = 0.0
    return Type(value, query_match, category_match, title)


def _chain(product_category: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in product_category.split("›") if entry.strip())


@functools.lru_cache(1 << 12)
def category_path(product_category: str) -> frozenset[str]:
    """The entries of a path of categories, without their order."""
    return frozenset(entry.strip() for entry in product_category.split("›"))


def missing_attributes(product: Product, goal: Goal) -> list[str]:
    """The wanted attributes that the released code does not find."""
    missing = [
        attribute
        for attribute in goal.attributes
        if not any(matches(attribute, other) for other in product.attributes)
    ]
    if not missing:
        return missing
    texts = [
        product.title.lower(),
        " ".join(product.bullets).lower(),
        product.description.lower(),
    ]
    return [attribute for attribute in missing if not any(attribute in text for text in texts)]


def matched_options(chosen: Iterable[str], goal: Goal) -> list[bool]:
    """For each wanted option, whether the released code takes a chosen value for it."""
    bought = [normalize_color(value) for value in chosen]
    if isinstance(goal.goal_options, dict):
        # Synthetic goals are compared as (name, value) pairs: a colour is recognised only where
        # it is the whole name or value, and else the pair's text is matched, name and all.
        targets = [
            min((part for part in pair if part in _COLOR_SET), default=str(pair))
            for pair in goal.goal_options.items()
        ]
    else:
        targets = [normalize_color(value) for value in goal.goal_options]
    return [any(matches(other, value) for other in bought) for value in targets]


def _exact_options(chosen: Mapping[str, str], goal: Goal) -> int:
    if isinstance(goal.goal_options, dict):
        return sum(chosen.get(name) == value for name, value in goal.goal_options.items())
    return sum(value in chosen.values() for value in goal.goal_options)


@functools.lru_cache(1 << 14)
def normalize_color(value: str) -> str:
    """The first colour word, alphabetically, that occurs anywhere in the value; else the value.

    >>> normalize_color("light blue"), normalize_color("standard"), normalize_color("large")
    ('blue', 'tan', 'large')
    """
    return next((color for color in COLORS if color in value), value)


_LATIN_1 = dict.fromkeys(range(0x80, 0x100))
_NOT_A_WORD = re.compile(r"\W")


@functools.lru_cache(1 << 14)
def _comparable(text: str) -> str:
    return _NOT_A_WORD.sub(" ", text.translate(_LATIN_1)).lower().strip()


def fuzzy_score(one: str, other: str) -> int:
    """How alike the token sets of two texts are, 0-100; a subset scores 100.

    >>> fuzzy_score("large", "x-large"), fuzzy_score("7", "8")
    (100, 0)
    """
    one, other = _comparable(one), _comparable(other)
    return round(_token_set_ratio()(one, other)) if one and other else 0


@functools.cache
def _token_set_ratio() -> Callable[[str, str], float]:
    """Imported by the first purchase, not by every process that opens a shop."""
    from rapidfuzz.fuzz import token_set_ratio

    return token_set_ratio


def matches(one: str, other: str) -> bool:
    """Whether two attributes or option values count as the same."""
    return fuzzy_score(one, other) > FUZZY_THRESHOLD
