"""Is an observation format right? What agents see, as tests for anybody's format.

It shows every page as a text, the same page the same way, two pages in different ways; showing
changes nothing, and what it shows in one environment does not depend on another.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

import gymnasium

from errands.agents.registry import make_factory
from errands.envs.observations import (
    SHOP_FORMATS,
    TURK_FORMATS,
    Observation,
    foreign_format,
    observation_key,
)
from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.testing.environment import check_own_randomness, in_turns

__all__ = ["FormObservationConformance", "ObservationConformance"]


class _ShownPage(NamedTuple):
    """One page of an episode."""

    observation: Any
    state: str
    """What can be done there, or what has been filled in."""
    reward: float


class ObservationConformance:
    """To test your own observation format of the shop, subclass this and say which it is:

    class TestMine(ObservationConformance):
        def observation(self) -> Observation:
            return my_format

    Pages are those that a random agent comes to in `environment`, the demo shop.
    """

    episodes: int = 3
    longest: int = 20
    registry = SHOP_FORMATS
    domain: str = "shop"
    plain: str = "text"
    """A format of ours to play beside it."""

    def observation(self) -> Observation:
        """The format: a function of the page, the instruction and the score; a name will do."""
        raise NotImplementedError("Override `observation(self)`: it gives the format to test.")

    def environment(self, observation: Observation) -> gymnasium.Env[Any, Any]:
        """An environment with pages in that format."""
        return ShopEnv("demo", observation=observation, max_steps=self.longest)

    # What it is called

    def test_its_name_and_version_are_words(self) -> None:
        key = observation_key(self.registry, self.observation())
        assert len(key.split()) <= 1, f"name and version are parts of a key, so no spaces: {key!r}"
        assert not key.endswith("@"), "the version is empty"

    # What it shows

    def test_every_page_is_a_text(self) -> None:
        for seen in self._pages():
            assert isinstance(seen.observation, str), f"it gave a {type(seen.observation).__name__}"
            seen.observation.encode("utf-8")

    def test_pages_are_told_apart(self) -> None:
        shown = {seen.observation for seen in self._pages()}
        assert len(shown) > self.episodes, "the pages of an episode all look the same"

    def test_the_environment_names_it(self) -> None:
        env = self.environment(self.observation())
        foreign = foreign_format(self.registry, self.observation())
        if foreign is not None:
            assert env.get_wrapper_attr("observation") == foreign.name
        env.close()

    # That it is a function

    def test_a_page_looks_the_same_again(self) -> None:
        check_own_randomness(lambda: list(self._pages()))

    def test_showing_changes_nothing(self) -> None:
        """The episode goes as in an environment with a format of ours."""
        plain = [seen[1:] for seen in self._pages(self.plain)]
        assert [seen[1:] for seen in self._pages()] == plain, "the format changes the episode"

    def test_environments_do_not_share_pages(self) -> None:
        """Two in turns show what each shows alone: a run may give both the same format."""
        observation = self.observation()
        alone = [list(self._turns(observation, seed)) for seed in (0, 1)]
        shown = in_turns(*(self._turns(observation, seed) for seed in (0, 1)))
        assert shown == alone, "two environments with one format interfere"

    # Playing

    def _state(self, env: gymnasium.Env[Any, Any], info: dict[str, Any]) -> str:
        return repr(info["available_actions"])

    def _pages(self, observation: Observation | None = None) -> Iterator[_ShownPage]:
        chosen = self.observation() if observation is None else observation
        for seed in range(self.episodes):
            yield from self._turns(chosen, seed)

    def _turns(self, observation: Observation, seed: int) -> Iterator[_ShownPage]:
        """The pages of an episode that a random agent plays, one after the other."""
        with closing(self.environment(observation)) as env:
            agent = make_factory("random", self.domain, env, {}).agent(seed)
            seen, info = env.reset(seed=seed)
            agent.begin(seen, info)
            reward, is_over = 0.0, False
            while True:
                yield _ShownPage(seen, self._state(env, info), reward)
                if is_over:
                    return
                action = agent.act(seen, info)
                seen, earned, terminated, truncated, info = env.step(action)
                reward, is_over = float(earned), terminated or truncated


class FormObservationConformance(ObservationConformance):
    """To test your own observation format of form pages, subclass this and say which it is:

    class TestMine(FormObservationConformance):
        def observation(self) -> Observation:
            return my_format
    """

    episodes = 6
    registry = TURK_FORMATS
    domain = "turk"

    def environment(self, observation: Observation) -> gymnasium.Env[Any, Any]:
        return TurkEnv("demo", observation=observation, driver="dom", max_steps=self.longest)

    def _state(self, env: gymnasium.Env[Any, Any], info: dict[str, Any]) -> str:
        page = env.get_wrapper_attr("page")
        return repr(page.values_of([field.name for field in page.fields()]))

    def test_pages_are_told_apart(self) -> None:
        """Those of different tasks: a format need not show what has been filled in."""
        shown = {seen.observation for seen in self._pages()}
        assert len(shown) > 1, "all pages look the same"
