"""Scores of one purchase, part by part, under any rules or by hand."""

from collections.abc import Sequence
from typing import Final

import msgspec

from errands.shop.goals import Goal
from errands.shop.rewards.rules import Reward, RewardRules
from errands.shop.rewards.synonym import Credit, second_look
from errands.verify.trajectories import Trajectory

__all__ = ["PARTS", "Scores", "by_rules", "from_ticks", "nothing", "reasons"]

PARTS: Final = ("price", "type", "attribute", "option", "overall")
"""In the order of the paper's table 4, whose "result" column is the options."""


class Scores(msgspec.Struct, frozen=True):
    """Each in [0, 1]."""

    price: float
    type: float
    attribute: float
    option: float | None
    """None where no option was wanted."""
    overall: float

    def part(self, name: str) -> float | None:
        value: float | None = getattr(self, name)
        return value


def nothing(goal: Goal) -> Scores:
    """Of a purchase that never happened."""
    return Scores(0.0, 0.0, 0.0, 0.0 if goal.goal_options else None, 0.0)


def by_rules(trajectory: Trajectory, rules: RewardRules) -> Scores:
    """What rules give a trajectory's purchase."""
    if trajectory.purchase is None:
        return nothing(trajectory.goal)
    return _of(rules(trajectory.purchase, trajectory.goal))


def reasons(trajectory: Trajectory) -> tuple[Credit, ...]:
    """Which words counted for which under the rules `synonym`."""
    if trajectory.purchase is None:
        return ()
    return second_look(trajectory.purchase, trajectory.goal)[1]


def from_ticks(
    type_: float, attributes: Sequence[bool], options: Sequence[bool], price: bool
) -> Scores:
    """What a person ticked, put together by equation 1."""
    everything = len(attributes) + len(options) + 1
    return Scores(
        float(price),
        type_,
        sum(attributes) / len(attributes),
        sum(options) / len(options) if options else None,
        ((sum(attributes) + sum(options) + price) / everything) * type_,
    )


def _of(reward: Reward) -> Scores:
    parts = reward.parts
    option = parts.get("r_option")
    return Scores(
        float(parts["r_price"]),
        float(parts["r_type"]),
        float(parts["r_att"]),
        None if option is None else float(option),
        reward.total,
    )
