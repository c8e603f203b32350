"""Is a reward rule right? What results depend on, as tests for anybody's rule.

It is a pure function of a purchase and a goal: a total between 0 and 1 and its parts, the same
whenever it is asked, and no product or goal, however bare, brings it down. Its name and version
are words of a result's key.
"""

import math
import random
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import msgspec

from errands.envs.shop import ShopEnv
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal, GoalSet
from errands.shop.product import Product
from errands.shop.rewards.registry import rules_key, rules_named
from errands.shop.rewards.rules import Purchase, Reward, RewardRules
from errands.testing.environment import check_own_randomness

__all__ = ["RulesConformance"]


class RulesConformance:
    """To test your own reward rule, subclass this and say which it is:

    class TestMine(RulesConformance):
        def rules(self) -> RewardRules:
            return my_rule

    Purchases are made in `catalog`, the demo shop, for its synthetic and its human goals.
    """

    count: int = 12
    """Goals of each kind that are shopped for."""
    target_total: float | None = 1.0
    """What buying the target itself earns, with the options and below the price that are wanted;
    None where that depends on the goal."""

    def rules(self) -> RewardRules:
        """The rule: a function, or an object that can be called."""
        raise NotImplementedError("Override `rules(self)`: it gives the reward rule to test.")

    def catalog(self) -> Catalog:
        """Where purchases are made."""
        return Catalog.open("demo")

    # What it is called

    def test_its_name_and_version_are_words(self) -> None:
        key = rules_key(self.rules())
        assert len(key.split()) <= 1, f"name and version are parts of a key, so no spaces: {key!r}"
        assert not key.endswith("@"), "the version is empty"

    # What it gives

    def test_totals_lie_between_0_and_1(self) -> None:
        for purchase, goal in self._purchases():
            reward = self.rules()(purchase, goal)
            assert isinstance(reward, Reward), f"it gave a {type(reward).__name__}, not a Reward"
            assert isinstance(reward.total, int | float), f"the total is {reward.total!r}"
            assert 0 <= reward.total <= 1, f"the total is {reward.total!r}"

    def test_parts_are_numbers_by_name(self) -> None:
        for purchase, goal in self._purchases():
            for name, value in self.rules()(purchase, goal).parts.items():
                assert isinstance(name, str), f"the part {name!r} has no name"
                assert isinstance(value, bool | int | float), f"{name} is a {type(value).__name__}"
                assert math.isfinite(value), f"{name} is {value!r}"

    def test_the_target_earns_most(self) -> None:
        for goal, bought in self._shopping():
            totals = [self.rules()(purchase, goal).total for purchase in bought]
            wanted = goal.instruction_text
            assert totals[0] == max(totals), f"something earns more than the target of {wanted!r}"
            if self.target_total is not None:
                assert math.isclose(totals[0], self.target_total), (
                    f"the target of {wanted!r} earns {totals[0]}; see `target_total`"
                )

    def test_purchases_are_told_apart(self) -> None:
        totals = {self.rules()(purchase, goal).total for purchase, goal in self._purchases()}
        assert len(totals) > 1, f"every purchase earns {totals}"

    # That it is a function

    def test_a_purchase_earns_the_same_again(self) -> None:
        purchases = list(self._purchases())
        rules = self.rules()
        check_own_randomness(
            lambda: [rules(*one) for one in purchases],
            lambda: [rules(*one) for one in reversed(purchases)][::-1],
        )

    def test_it_leaves_purchase_and_goal_alone(self) -> None:
        for purchase, goal in self._purchases():
            before = repr((purchase, goal))
            self.rules()(purchase, goal)
            assert repr((purchase, goal)) == before, "it changed the purchase or the goal"

    def test_odd_purchases_do_not_bring_it_down(self) -> None:
        rules = rules_named(self.rules())
        for purchase, goal in list(self._purchases())[:3]:
            for odd in _odd_products(purchase.product):
                for price in (0.0, 1e9):
                    for odd_goal in _odd_goals(goal):
                        rules(Purchase(odd, purchase.options, price), odd_goal)
                        rules(Purchase(odd, {"color": "", "ü": "\ud800"}, price), odd_goal)

    # Where it is used

    def test_an_environment_rewards_by_it(self) -> None:
        rules = rules_named(self.rules())
        env = ShopEnv(self._catalog, rules=self.rules(), goals=self._goal_sets[0])
        for number in range(min(self.count, 3)):
            _, info = env.reset(options={"goal": number})
            goal = self._goal_sets[0][number]
            env.step(f"search[{info['instruction']}]")
            product = self._catalog[env.episode.page.cards[0].asin]
            env.step(f"click[{product.asin}]")
            _, reward, terminated, _, info = env.step("click[buy now]")
            assert terminated
            expected = rules(Purchase(product, {}, self._goal_sets[0].price(product)), goal)
            assert (reward, info["reward_parts"]) == (expected.total, expected.parts)
            msgspec.json.encode(info["reward_parts"])
        env.close()

    # Purchases

    @cached_property
    def _catalog(self) -> Catalog:
        return self.catalog()

    @cached_property
    def _goal_sets(self) -> list[GoalSet]:
        return [self._catalog.goals(name) for name, count in self._counts().items() if count]

    def _counts(self) -> dict[str, int]:
        return dict(self._catalog.manifest.goals)

    def _shopping(self) -> Iterator[tuple[Goal, list[Purchase]]]:
        """Goals, and for each: its target as it is wanted, without options, and other products."""
        rng = random.Random(0)
        for goals in self._goal_sets:
            for number in range(min(self.count, len(goals))):
                goal = goals[number]
                target = self._catalog[goal.asin]
                others = [self._catalog.product(rng.randrange(len(self._catalog))) for _ in "123"]
                wanted = Purchase(target, _wanted_options(target, goal), goals.price(target))
                bought = [Purchase(one, {}, goals.price(one)) for one in (target, *others)]
                yield goal, [wanted, *bought]

    def _purchases(self) -> Iterator[tuple[Purchase, Goal]]:
        for goal, bought in self._shopping():
            for purchase in bought:
                yield purchase, goal


def _wanted_options(product: Product, goal: Goal) -> dict[str, str]:
    """What a buyer chooses who knows the goal."""
    if isinstance(goal.goal_options, dict):
        return dict(goal.goal_options)
    return {
        name: value
        for name, values in product.options.items()
        for value in values
        if value in goal.goal_options
    }


def _odd_products(product: Product) -> Iterator[Product]:
    changes: tuple[dict[str, Any], ...] = (
        {"attributes": (), "nouns": (), "options": {}, "option_images": {}},
        {"title": "", "query": "", "category": "", "product_category": "", "description": ""},
        {"title": "\ud800ü靴\x00", "nouns": ("\ud800",), "attributes": ("", "ü" * 1000)},
    )
    for change in changes:
        yield msgspec.structs.replace(product, **change)


def _odd_goals(goal: Goal) -> Iterator[Goal]:
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"goal_options": (), "nouns": ()},
        {"goal_options": {}, "query": "", "category": "", "product_category": "", "name": ""},
        {"goal_options": ("\ud800",), "attributes": ("",), "price_upper": 0.0},
    )
    for change in changes:
        yield msgspec.structs.replace(goal, **change)
