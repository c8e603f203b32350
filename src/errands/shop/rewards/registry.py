"""Which reward rules there are: ours, those of installed packages, and any object of yours.

Wherever rules are asked for (`ShopEnv(rules=...)`, `errands.run`, `--rules`, a protocol's `rules`)
they can be given as a name, as `module:attribute`, or as the object itself. A package offers rules
by an entry point of the group `errands.rules`. docs/guides/extending.md shows one.
"""

from typing import Any, Final

from errands.errors import SettingError
from errands.plugins import Registry, path_of, reference_of
from errands.shop.goals import Goal
from errands.shop.rewards.rules import Purchase, Reward, RewardRules
from errands.shop.rewards.thesaurus import thesaurus

__all__ = ["RULES", "ForeignRules", "rules_key", "rules_named", "rules_reference", "rules_version"]

RULES: Final = Registry(
    "reward rule",
    "errands.rules",
    {
        "released": "errands.shop.rewards.rules:released",
        "paper": "errands.shop.rewards.rules:paper",
        "synonym": "errands.shop.rewards.synonym:synonym",
    },
)


class ForeignRules:
    """Rules that are not ours: what they are called in results, and a check of what they return.

    `name` and `version` are attributes of the rules; without them they are called `module:name` by
    where they are defined, and their version is 0. Raise the version whenever a score can move.
    """

    def __init__(self, rules: RewardRules) -> None:
        self.rules = rules
        self.name = str(getattr(rules, "name", None) or path_of(rules))
        self.version = str(getattr(rules, "version", "0"))

    def __call__(self, purchase: Purchase, goal: Goal) -> Reward:
        reward: Any = self.rules(purchase, goal)
        if not isinstance(reward, Reward) or not 0 <= reward.total <= 1:
            raise SettingError(
                f"The reward rule {self.name!r} returned {reward!r}; expected a Reward"
                " (errands.shop.Reward) whose total is between 0 and 1."
            )
        return reward


def _own_name(rules: Any) -> str:
    """What rules of ours are called; empty for others'."""
    path = path_of(rules)
    return next((name for name, own in RULES.own.items() if own == path), "")


def rules_named(rules: str | RewardRules) -> RewardRules:
    """The rules that a name or `module:attribute` stands for, or those that are given.

    A class is called without arguments. What the rules need must be installed.
    """
    candidate: Any = RULES.find(rules) if isinstance(rules, str) else rules
    if isinstance(candidate, type):
        candidate = candidate()
    if not callable(candidate):
        raise SettingError(
            f"The reward rule {rules!r} cannot be called; expected a name, module:attribute, or"
            " a function of a purchase and a goal that returns a Reward."
        )
    own = _own_name(candidate)
    if own == "synonym":
        thesaurus()  # Now, and not at the first purchase, it is told what is missing.
    named: RewardRules = (
        candidate if own or isinstance(candidate, ForeignRules) else ForeignRules(candidate)
    )
    return named


def rules_version(rules: str | RewardRules) -> str:
    """What a result under these rules depends on beside this code; empty for most of ours."""
    rule = rules_named(rules)
    if isinstance(rule, ForeignRules):
        return rule.version
    return thesaurus().name if _own_name(rule) == "synonym" else ""


def rules_key(rules: str | RewardRules) -> str:
    """What rules add to the key of a result; nothing where a protocol's version covers them.

    >>> rules_key("released")
    ''
    """
    rule = rules_named(rules)
    version = rules_version(rule)
    if isinstance(rule, ForeignRules):
        return f"rules:{rule.name}@{version}"
    return f"words:{version}" if version else ""


def rules_reference(rules: str | RewardRules) -> str:
    """The text by which other processes find these rules; empty where they cannot."""
    if isinstance(rules, str):
        return rules
    rule = rules.rules if isinstance(rules, ForeignRules) else rules
    return _own_name(rule) or reference_of(rule)
