"""Shoppers at work: the episodes that are under way in a vector environment, as views.

Of several queries the best is searched for, with each further search of an episode the next best,
or any by chance. Which goal comes next for whom, and which query by chance, follow from the seed
and from how far a shopper is, so the state of all of them is a few numbers and the actions of
their current episodes: `kept` gives it, and `Shoppers(kept=...)` goes on from there.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from errands.agents.page_reading import read_instruction
from errands.agents.rule import search_action
from errands.learn.data.view import Memory, View
from errands.learn.timing import Stopwatch

__all__ = ["Finished", "Queries", "Shoppers", "VectorShop", "own_words"]

Queries = Callable[[str], Sequence[str]]
"""A fixed source of queries: an instruction to what can be searched for, best first."""
_IDLE: Final = "click[]"


class VectorShop(Protocol):
    """What is needed of a vector environment whose caller begins its episodes."""

    num_envs: int

    def reset(self, *, options: Any = None) -> tuple[Sequence[str], dict[str, Any]]: ...
    def step(self, actions: Sequence[str]) -> tuple[Sequence[str], Any, Any, Any, Any]: ...


class Finished(NamedTuple):
    """What one step gave one shopper."""

    reward: float
    is_over: bool


def own_words(instruction: str) -> list[str]:
    """The words of an instruction that say something, as the only query."""
    asked = read_instruction(instruction)
    return [" ".join(asked.words) or asked.text]


class Shoppers:
    """One for each sub-environment; made with `autoreset="disabled"`."""

    def __init__(
        self,
        env: VectorShop,
        goals: Sequence[int],
        seed: int,
        *,
        queries: Queries = own_words,
        is_sampling: bool = False,
        watch: Stopwatch | None = None,
        kept: Sequence[Any] | None = None,
    ) -> None:
        self._env = env
        self._goals = goals
        self._seed = seed
        self._queries = queries
        self._is_sampling = is_sampling
        self._watch = watch or Stopwatch()
        count = env.num_envs
        self._episodes = [0] * count
        self._actions: list[list[str]] = [[] for _ in range(count)]
        self._memories = [Memory() for _ in range(count)]
        self._pages = [""] * count
        self._infos: list[dict[str, Any]] = [{} for _ in range(count)]
        if kept is not None:
            self._episodes = [episode for episode, _ in kept]
        self._begin([True] * count)
        if kept is not None:
            self._replay([actions for _, actions in kept])

    def kept(self) -> list[tuple[int, list[str]]]:
        """How far everyone is: the number of the episode, and its actions so far."""
        return [
            (episode, list(actions))
            for episode, actions in zip(self._episodes, self._actions, strict=True)
        ]

    def views(self) -> list[View]:
        """What everyone sees."""
        return [memory.look(page) for page, memory in zip(self._pages, self._memories, strict=True)]

    def searches(self) -> list[str | None]:
        """The search of everyone who stands before a search bar: nothing to choose there."""
        return [self._search(place) for place in range(self._env.num_envs)]

    def act(self, views: Sequence[View], actions: Sequence[str]) -> list[Finished]:
        """Everyone does something; who has finished begins the next episode."""
        with self._watch.on("environment"):
            pages, rewards, bought, stopped, infos = self._env.step(actions)
        done = []
        for place, (view, action) in enumerate(zip(views, actions, strict=True)):
            self._actions[place].append(action)
            self._memories[place].note(view, action)
            done.append(Finished(float(rewards[place]), bool(bought[place] or stopped[place])))
        self._note(pages, infos, [True] * len(actions))
        over = [finished.is_over for finished in done]
        if any(over):
            for place, is_over in enumerate(over):
                self._episodes[place] += is_over
            self._begin(over)
        return done

    def _search(self, place: int) -> str | None:
        info = self._infos[place]
        if not info["available_actions"]["has_search_bar"]:
            return None
        found = self._queries(info["instruction"])
        if not found:
            return None
        done = self._actions[place]
        if self._is_sampling:
            which = self._dice(place, f"query {len(done)}").randrange(len(found))
        else:
            which = sum(action.startswith("search[") for action in done) % len(found)
        return search_action(found[which])

    def _dice(self, place: int, what: str) -> random.Random:
        return random.Random(f"{self._seed} {place} {self._episodes[place]} {what}")

    def _begin(self, mask: Sequence[bool]) -> None:
        goals = [self._dice(place, "goal").choice(self._goals) for place in range(len(mask))]
        with self._watch.on("environment"):
            pages, infos = self._env.reset(options={"goal": goals, "reset_mask": list(mask)})
        for place, is_new in enumerate(mask):
            if is_new:
                self._actions[place] = []
                self._memories[place] = Memory()
        self._note(pages, infos, mask)

    def _replay(self, done: Sequence[Sequence[str]]) -> None:
        """Bring everyone to where these actions lead. All are stepped together, so whoever has
        done less begins later."""
        longest = max(map(len, done))
        for step in range(longest):
            late = [longest - len(actions) == step for actions in done]
            if step and any(late):
                self._begin(late)
            here = [step - (longest - len(actions)) for actions in done]
            views = self.views()
            now = [
                actions[at] if at >= 0 else _IDLE for actions, at in zip(done, here, strict=True)
            ]
            pages, _, _, _, infos = self._env.step(now)
            for place, at in enumerate(here):
                if at >= 0:
                    self._actions[place].append(now[place])
                    self._memories[place].note(views[place], now[place])
            self._note(pages, infos, [True] * len(now))
        fresh = [not actions for actions in done]
        if longest and any(fresh):
            self._begin(fresh)

    def _note(self, pages: Sequence[str], infos: dict[str, Any], mask: Sequence[bool]) -> None:
        for place, is_told in enumerate(mask):
            if is_told:
                self._pages[place] = pages[place]
                self._infos[place] = {
                    name: infos[name][place] for name in ("instruction", "available_actions")
                }
