"""The quick way to the best purchase finds what trying everything finds."""

import itertools
import random
from collections.abc import Iterator

import msgspec
import pytest

from errands.agents.oracles.best_purchase import (
    BestPurchase,
    PurchaseOption,
    best_options,
    best_purchase,
)
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal, option_choices
from errands.shop.rewards.registry import RULES, rules_named
from errands.shop.rewards.rules import Purchase, RewardRules

WORDS = "black white dark red blue x large small 9.5 wide pack of 2 3 tan cotton ounce".split()


def combinations(offer: PurchaseOption) -> Iterator[dict[str, str]]:
    """Everything that can be chosen: of each name one value, or none."""
    names = list(offer.choices)
    most = offer.most_options
    for values in itertools.product(*([None, *offer.choices[name]] for name in names)):
        chosen = {name: value for name, value in zip(names, values, strict=True) if value}
        if most is None or len(chosen) <= most:
            yield chosen


def by_trying(
    offers: list[PurchaseOption], goal: Goal, rules: RewardRules
) -> tuple[float, int, int]:
    """The best reward, the first place that has it, and the fewest options there."""
    tried = [
        (rules(Purchase(offer.product, chosen, offer.price), goal).total, -place, -len(chosen))
        for place, offer in enumerate(offers)
        for chosen in combinations(offer)
    ]
    top = max(total for total, _, _ in tried)
    return max((top, place, length) for total, place, length in tried if total > top - 1e-9)


def summed_up(best: BestPurchase | None) -> tuple[float, int, int]:
    assert best is not None
    return best.reward.total, -best.place, -len(best.options)


def some_value(rng: random.Random) -> str:
    return " ".join(rng.sample(WORDS[:9], rng.choice([1, 1, 2])))


def invented(rng: random.Random, goal: Goal) -> Goal:
    """The goal with options that are more or less like those on offer."""
    values = [some_value(rng) for _ in range(rng.randint(0, 4))]
    wanted = tuple(values) if rng.random() < 0.5 else dict(zip("abcd", values, strict=False))
    return msgspec.structs.replace(goal, goal_options=wanted)


@pytest.mark.parametrize("rules", RULES.names())
def test_invented_products(little: Catalog, rules: str) -> None:
    rng = random.Random(4)
    goals = little.goals("human")
    chosen = largest = 0
    for number in range(60):
        goal = invented(rng, goals[number % len(goals)])
        offers = []
        for _ in range(4):
            product = little[goal.asin] if rng.random() < 0.5 else little.product(number)
            large = number % 20 == 0
            choices = {
                name: [some_value(rng) for _ in range(11 if large else 4)]
                for name in rng.sample("abcde", 3 if large else rng.randint(0, 3))
            }
            most = None if large else rng.choice([None, 0, 1, 2])
            offers.append(PurchaseOption(product, rng.choice([1.0, 1e7]), choices, most))
        largest = max(largest, *(len(list(combinations(offer))) for offer in offers))
        found = best_purchase(offers, goal, rules_named(rules))
        assert summed_up(found) == by_trying(offers, goal, rules_named(rules))
        chosen += len(found.options) if found else 0
    assert chosen > 10
    assert largest > 1500


@pytest.mark.shared
@pytest.mark.parametrize("goal_set", ["synthetic", "human"])
@pytest.mark.parametrize("rules", RULES.names())
def test_real_products(catalog_1k: Catalog, goal_set: str, rules: str) -> None:
    goals = catalog_1k.goals(goal_set)
    rng = random.Random(1)
    counts = {number: option_choices(catalog_1k.product(number).options) for number in range(1000)}
    largest = sorted((n for n in counts if counts[n] < 1500), key=lambda n: -counts[n])[:12]
    for number in range(16):
        goal = goals[rng.randrange(len(goals))]
        # The target, which has the options, some of its neighbours, and much to choose from.
        hits = [*catalog_1k.find(goal.instruction_text, 3), catalog_1k.number(goal.asin)]
        products = [catalog_1k.product(hit) for hit in [*hits, largest[number // 2]]]
        offers = [PurchaseOption(item, goals.price(item), item.options) for item in products]
        found = best_purchase(offers, goal, rules_named(rules))
        assert summed_up(found) == by_trying(offers, goal, rules_named(rules))
    assert counts[largest[0]] > 500


def test_thousands_of_combinations_cost_little(little: Catalog) -> None:
    goal = msgspec.structs.replace(
        little.goals("human")[0], goal_options=("red", "large", "pack of 2", "cotton", "wide")
    )
    values = [f"{word} {number}" for number in range(8) for word in WORDS]
    choices = {name: [*values, wanted] for name, wanted in zip("abcde", WORDS, strict=False)}
    offer = PurchaseOption(little.product(0), 1.0, choices)
    asked = 0

    def counted(purchase: Purchase, goal: Goal) -> object:
        nonlocal asked
        asked += 1
        return rules_named("released")(purchase, goal)

    best_options(offer, goal, counted)  # type: ignore[arg-type]
    assert asked <= 5 * 5 * len(choices["a"])


def test_nothing_on_offer(little: Catalog) -> None:
    assert best_purchase([], little.goals("human")[0], rules_named("paper")) is None
