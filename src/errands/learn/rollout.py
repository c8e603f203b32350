"""Rollout: the episodes that are under way in a vector environment, as the policy is shown them.

Searching is done by a fixed source of queries, greedily (the best query first, with each further
search of an episode the next best) or sampled, or by the policy itself (`CHOSEN`). Which goal
comes next in which environment, and which query is sampled, follow from the seed and from how far
the environment is, so the state of all of them is a few numbers and the actions of their current
episodes: `state` gives it, and `Rollout(state=...)` goes on from there.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from errands.agents.rule import search_action
from errands.learn.data.queries import candidates, own_words, with_queries
from errands.learn.data.view import ChoiceView, EpisodeMemory
from errands.learn.timing import Stopwatch

__all__ = [
    "CHOSEN",
    "QuerySource",
    "Rollout",
    "SearchPolicy",
    "StepResult",
    "VectorShop",
    "default_search",
]

QuerySource = Callable[[str], Sequence[str]]
"""From an instruction to what can be searched for, the best first."""
_IDLE: Final = "click[]"


class VectorShop(Protocol):
    """What is needed of a vector environment whose caller begins its episodes."""

    num_envs: int

    def reset(self, *, options: Any = None) -> tuple[Sequence[str], dict[str, Any]]: ...
    def step(self, actions: Sequence[str]) -> tuple[Sequence[str], Any, Any, Any, Any]: ...


class StepResult(NamedTuple):
    """What one step gave in one environment."""

    reward: float
    is_over: bool


class SearchPolicy(NamedTuple):
    """How searching is done."""

    queries: QuerySource = own_words
    is_sampled: bool = False
    """Whether any of the queries is drawn, instead of the next best."""
    name: str = "own words"
    """Where queries come from; a training is resumed with the same."""
    is_chosen: bool = False
    """Whether the policy chooses among the queries, as among all other actions."""


CHOSEN: Final = SearchPolicy(candidates, name="chosen", is_chosen=True)
"""The policy chooses among a few queries made of the instruction."""


def default_search(encoder: str) -> SearchPolicy:
    """How a model of that kind searches unless something else is said: one that sees how actions
    fit can tell queries apart."""
    return CHOSEN if encoder == "matching" else SearchPolicy()


class Rollout:
    """Plays all sub-environments of a vector environment made with `autoreset="disabled"`."""

    def __init__(
        self,
        env: VectorShop,
        goals: Sequence[int],
        seed: int,
        *,
        search: SearchPolicy | None = None,
        watch: Stopwatch | None = None,
        state: Sequence[Any] | None = None,
    ) -> None:
        self._env = env
        self._goals = goals
        self._seed = seed
        self._search_policy = search or SearchPolicy()
        self._watch = watch or Stopwatch()
        count = env.num_envs
        self._episodes = [0] * count if state is None else [episode for episode, _ in state]
        self._actions: list[list[str]] = [[] for _ in range(count)]
        self._memories = [EpisodeMemory() for _ in range(count)]
        self._pages = [""] * count
        self._infos: list[dict[str, Any]] = [{} for _ in range(count)]
        self._reset([True] * count)
        if state is not None:
            self._replay([actions for _, actions in state])

    def state(self) -> list[tuple[int, list[str]]]:
        """Of every environment: the number of its episode, and the actions so far."""
        return [
            (episode, list(actions))
            for episode, actions in zip(self._episodes, self._actions, strict=True)
        ]

    def views(self) -> list[ChoiceView]:
        """What is shown in every environment."""
        views = [
            memory.view(page) for page, memory in zip(self._pages, self._memories, strict=True)
        ]
        if not self._search_policy.is_chosen:
            return views
        return [
            with_queries(view, info["instruction"])
            for view, info in zip(views, self._infos, strict=True)
        ]

    def searches(self) -> list[str | None]:
        """The search action of every environment that shows a search bar: there is no choice."""
        return [self._search(index) for index in range(self._env.num_envs)]

    def step(self, views: Sequence[ChoiceView], actions: Sequence[str]) -> list[StepResult]:
        """One action in every environment; where an episode ends, the next one begins."""
        with self._watch.on("environment"):
            pages, rewards, terminated, truncated, infos = self._env.step(actions)
        results = []
        for index, (view, action) in enumerate(zip(views, actions, strict=True)):
            self._actions[index].append(action)
            self._memories[index].record(view, action)
            is_over = bool(terminated[index] or truncated[index])
            results.append(StepResult(float(rewards[index]), is_over))
        self._observe(pages, infos, [True] * len(actions))
        over = [result.is_over for result in results]
        if any(over):
            for index, is_over in enumerate(over):
                self._episodes[index] += is_over
            self._reset(over)
        return results

    def _search(self, index: int) -> str | None:
        info = self._infos[index]
        if self._search_policy.is_chosen or not info["available_actions"]["has_search_bar"]:
            return None
        queries = self._search_policy.queries(info["instruction"])
        if not queries:
            return None
        actions = self._actions[index]
        if self._search_policy.is_sampled:
            which = self._rng(index, f"query {len(actions)}").randrange(len(queries))
        else:
            which = sum(action.startswith("search[") for action in actions) % len(queries)
        return search_action(queries[which])

    def _rng(self, index: int, purpose: str) -> random.Random:
        return random.Random(f"{self._seed} {index} {self._episodes[index]} {purpose}")

    def _reset(self, mask: Sequence[bool]) -> None:
        goals = [self._rng(index, "goal").choice(self._goals) for index in range(len(mask))]
        with self._watch.on("environment"):
            pages, infos = self._env.reset(options={"goal": goals, "reset_mask": list(mask)})
        for index, is_new in enumerate(mask):
            if is_new:
                self._actions[index] = []
                self._memories[index] = EpisodeMemory()
        self._observe(pages, infos, mask)

    def _replay(self, episodes: Sequence[Sequence[str]]) -> None:
        """Bring every environment to where these actions lead. All are stepped together, so those
        with fewer actions begin later."""
        longest = max(map(len, episodes))
        for step in range(longest):
            begins = [longest - len(actions) == step for actions in episodes]
            if step and any(begins):
                self._reset(begins)
            offsets = [step - (longest - len(actions)) for actions in episodes]
            views = self.views()
            now = [
                actions[offset] if offset >= 0 else _IDLE
                for actions, offset in zip(episodes, offsets, strict=True)
            ]
            pages, _, _, _, infos = self._env.step(now)
            for index, offset in enumerate(offsets):
                if offset >= 0:
                    self._actions[index].append(now[index])
                    self._memories[index].record(views[index], now[index])
            self._observe(pages, infos, [True] * len(now))
        fresh = [not actions for actions in episodes]
        if longest and any(fresh):
            self._reset(fresh)

    def _observe(self, pages: Sequence[str], infos: dict[str, Any], mask: Sequence[bool]) -> None:
        for index, is_new in enumerate(mask):
            if is_new:
                self._pages[index] = pages[index]
                self._infos[index] = {
                    name: infos[name][index] for name in ("instruction", "available_actions")
                }
