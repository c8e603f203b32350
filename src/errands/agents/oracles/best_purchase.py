"""The best purchase among some products: every product, every combination of its options.

Trying each combination would be slow where a product has thousands. But the rules count a
wanted option as soon as one chosen value matches it, so a value is only worth the set of wanted
options that it matches, and combinations with the same set are worth the same. Going through the
option names one by one, it is enough to know for each set of matched options the shortest way
to it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from errands.shop.goals import Goal
from errands.shop.product import Product
from errands.shop.rewards.rules import Purchase, Reward, RewardRules

__all__ = ["BestPurchase", "PurchaseOption", "best_options", "best_purchase"]

_NOISE = 1e-9
"""Rewards that differ by less are the same."""

ChosenOptions = tuple[tuple[str, str], ...]


class PurchaseOption(NamedTuple):
    """A product that can be bought."""

    product: Product
    price: float
    choices: Mapping[str, Sequence[str]]
    """The option values that can be chosen, by name."""
    most_options: int | None = None
    """How many options can be chosen at most; None for any number."""


class BestPurchase(NamedTuple):
    """What to buy."""

    place: int
    """Of the offer, from 0."""
    offer: PurchaseOption
    options: ChosenOptions
    reward: Reward


def best_purchase(
    offers: Iterable[PurchaseOption], goal: Goal, rules: RewardRules
) -> BestPurchase | None:
    """The purchase with the highest reward; of equal ones the first, with the fewest options."""
    best: BestPurchase | None = None
    for place, offer in enumerate(offers):
        plain = rules(Purchase(offer.product, {}, offer.price), goal)
        parts = plain.parts
        hope = plain.total + parts.get("w_option", 0.0) * parts["r_type"]
        if best is not None and hope <= best.reward.total + _NOISE:
            continue
        options = best_options(offer, goal, rules)
        reward = rules(Purchase(offer.product, dict(options), offer.price), goal)
        if reward.total <= plain.total + _NOISE:
            # Of a product of the wrong type no option is worth anything.
            options, reward = (), plain
        if best is None or reward.total > best.reward.total + _NOISE:
            best = BestPurchase(place, offer, options, reward)
        if best.reward.total >= 1.0:
            break
    return best


def best_options(offer: PurchaseOption, goal: Goal, rules: RewardRules) -> ChosenOptions:
    """The fewest options that match as many wanted ones as possible."""
    wanted = _singly(goal)
    shortest: dict[int, ChosenOptions] = {0: ()}
    for name, values in offer.choices.items():
        worth: dict[int, str] = {}
        for value in values:
            worth.setdefault(_matched(offer, name, value, wanted, rules), value)
        for matched, chosen in list(shortest.items()):
            for also, value in worth.items():
                both = matched | also
                if both not in shortest or len(chosen) + 1 < len(shortest[both]):
                    shortest[both] = (*chosen, (name, value))
    most = offer.most_options
    return max(
        (item for item in shortest.items() if most is None or len(item[1]) <= most),
        key=lambda item: (item[0].bit_count(), -len(item[1])),
    )[1]


def _singly(goal: Goal) -> list[Goal]:
    """The goal with each of its wanted options alone."""
    options: list[tuple[str, ...] | dict[str, str]]
    if isinstance(goal.goal_options, dict):
        options = [{name: value} for name, value in goal.goal_options.items()]
    else:
        options = [(value,) for value in goal.goal_options]
    return [msgspec.structs.replace(goal, goal_options=one) for one in options]


def _matched(
    offer: PurchaseOption, name: str, value: str, wanted: Sequence[Goal], rules: RewardRules
) -> int:
    """Which wanted options a value matches, as a set of bits."""
    bought = Purchase(offer.product, {name: value}, offer.price)
    return sum(1 << at for at, goal in enumerate(wanted) if rules(bought, goal).parts["r_option"])
