"""An informed critic: what a moment of an episode is worth, for one who knows the goal.

A policy is shown pages alone, but what it is trained by may know more (asymmetric actor-critic,
Pinto et al. 2018): what the product at hand earns as it stands, what it could earn, what the best
of those opened, listed and found could. How lucky a goal was with its search then no longer blurs
whether an action was good. Played with, a policy needs no critic.
"""

from typing import Final

from torch import Tensor, nn

from errands.envs.episode import ShopContext, ShopEpisode
from errands.learn.data.view import ChoiceView
from errands.learn.teacher import LookingTeacher

__all__ = ["GoalKnowledge", "InformedCritic"]

_KINDS: Final = ("search", "results", "item", "detail")
_PER_STEP: Final = 50
_KNOWN: Final = len(_KINDS) + 11


class GoalKnowledge:
    """What is known of an episode by who knows its goal, in numbers."""

    def __init__(self, context: ShopContext) -> None:
        self._teacher = LookingTeacher(context)

    def features(self, episode: ShopEpisode, view: ChoiceView) -> list[float]:
        """Of the moment that a view shows."""
        worths = self._teacher.worths(episode, view)
        opened = [worths[one.name] for one in view.seen if one.opened]
        listed = [worths[one.name] for one in view.seen if one.name in view.names]
        found = self._teacher.best_found(episode)
        here = worths.get(view.here, 0.0)
        now = episode.judge(episode.page).total if view.kind == "item" else 0.0
        best = max(opened, default=0.0)
        return [
            *(float(view.kind == kind) for kind in _KINDS),
            view.steps / _PER_STEP,
            len(opened) / 10,
            len(view.queries) / 4,
            here,
            now,
            best,
            float(bool(view.here) and here >= best),
            max(listed, default=0.0),
            found,
            max(0.0, found - best),
            sum(worth >= best for worth in opened) / 10 if opened else 0.0,
        ]


class InformedCritic(nn.Module):
    """Values of moments (B) from what is known of them (B x known)."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(_KNOWN, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, 1),
        )  # fmt: skip

    def forward(self, known: Tensor) -> Tensor:
        values: Tensor = self.layers(known)
        return values.squeeze(1)
