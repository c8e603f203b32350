"""Our reward rules pass the kit, and rules with one defect each do not."""

import random
from typing import Any

import pytest
from kits import failures

from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal
from errands.shop.rewards.registry import rules_named
from errands.shop.rewards.rules import Purchase, Reward, RewardRules
from errands.testing import RulesConformance


class OwnRulesKit(RulesConformance):
    name = ""

    @pytest.fixture(autouse=True)
    def _little(self, little: Catalog) -> None:
        self.little = little

    def catalog(self) -> Catalog:
        return self.little

    def rules(self) -> RewardRules:
        return rules_named(self.name)


class TestReleased(OwnRulesKit):
    name = "released"


class TestPaper(OwnRulesKit):
    name = "paper"


class TestSynonym(OwnRulesKit):
    name = "synonym"

    def rules(self) -> RewardRules:
        pytest.importorskip("wn", reason="needs pip install 'errands[synonyms]'")
        return super().rules()


class Toy:
    """Half for the kind, half for the price."""

    name = "toy"
    version = "1"

    def __call__(self, purchase: Purchase, goal: Goal) -> Any:
        kind = float(purchase.product.query == goal.query)
        cheap = float(purchase.price <= goal.price_upper)
        return Reward(self.total(kind, cheap), {"kind": kind, "cheap": cheap})

    def total(self, kind: float, cheap: float) -> float:
        return (kind + cheap) / 2


class Spaced(Toy):
    name = "my toy"


class Unversioned(Toy):
    version = ""


class BareNumber(Toy):
    def __call__(self, purchase: Purchase, goal: Goal) -> Any:
        return super().__call__(purchase, goal).total


class Generous(Toy):
    def total(self, kind: float, cheap: float) -> float:
        return kind + cheap


class Contrary(Toy):
    def total(self, kind: float, cheap: float) -> float:
        return 1 - (kind + cheap) / 2


class Constant(Toy):
    def total(self, kind: float, cheap: float) -> float:
        return 1.0


class Moody(Toy):
    def total(self, kind: float, cheap: float) -> float:
        return (kind + cheap) / 2 * random.random()


class Tired(Toy):
    """Gives less the more it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def total(self, kind: float, cheap: float) -> float:
        self.asked += 1
        return (kind + cheap) / 2 / self.asked


class Wordy(Toy):
    def __call__(self, purchase: Purchase, goal: Goal) -> Any:
        return Reward(1.0, {"why": "because"})  # type: ignore[dict-item]


class Scribbles(Toy):
    def __call__(self, purchase: Purchase, goal: Goal) -> Any:
        purchase.options["color"] = "seen"  # type: ignore[index]
        return super().__call__(purchase, goal)


class Fragile(Toy):
    def __call__(self, purchase: Purchase, goal: Goal) -> Any:
        return Reward(float(purchase.product.attributes[0] in goal.attributes), {})


class ToyKit(OwnRulesKit):
    def __init__(self, kind: type[Toy], catalog: Catalog) -> None:
        self.toy = kind()
        self.little = catalog

    def rules(self) -> RewardRules:
        return self.toy


def test_a_sound_toy_passes(little: Catalog) -> None:
    assert failures(ToyKit(Toy, little)) == set()


@pytest.mark.parametrize(
    ("kind", "failure"),
    [
        (Spaced, "its_name_and_version_are_words"),
        (Unversioned, "its_name_and_version_are_words"),
        (BareNumber, "totals_lie_between_0_and_1"),
        (Generous, "totals_lie_between_0_and_1"),
        (Contrary, "the_target_earns_most"),
        (Constant, "purchases_are_told_apart"),
        (Moody, "a_purchase_earns_the_same_again"),
        (Tired, "a_purchase_earns_the_same_again"),
        (Wordy, "parts_are_numbers_by_name"),
        (Scribbles, "it_leaves_purchase_and_goal_alone"),
        (Fragile, "odd_purchases_do_not_bring_it_down"),
        (Tired, "an_environment_rewards_by_it"),
    ],
)
def test_a_broken_toy_fails(kind: type[Toy], failure: str, little: Catalog) -> None:
    assert failure in failures(ToyKit(kind, little))
