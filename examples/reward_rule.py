"""A reward rule of one's own: half for the right kind of product, half for its price.

    errands run shop-demo --agent rule --episodes 20 --rules reward_rule:half_and_half

from this folder; or `ShopEnv(rules=half_and_half)`. A package makes the rule known by name:

    [project.entry-points."errands.rules"]
    half-and-half = "reward_rule:half_and_half"

To test it, subclass `errands.testing.RulesConformance`: see tests/examples/test_reward_rule.py.
"""

from errands.shop import Goal, Purchase, Reward


class HalfAndHalf:
    name = "half-and-half"
    version = "1"  # Part of a result's key: raise it whenever a score can move.

    def __call__(self, purchase: Purchase, goal: Goal) -> Reward:
        kind = purchase.product.query == goal.query
        cheap = purchase.price <= goal.price_upper
        return Reward((kind + cheap) / 2, {"kind": kind, "cheap": cheap})


half_and_half = HalfAndHalf()
