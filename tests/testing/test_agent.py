"""Our shop agents pass the kit, and agents with one defect each do not."""

import random
from collections.abc import Mapping
from typing import Any

import gymnasium
import pytest
from kits import failures

from errands.agents.agent import Agent
from errands.agents.registry import make_factory
from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.shop.catalog.catalog import Catalog
from errands.testing import AgentConformance


class ShopAgentKit(AgentConformance):
    name = ""
    observation = "text_rich"

    @pytest.fixture(autouse=True)
    def _catalog(self, little: Catalog) -> None:
        self.catalog = little

    def environment(self) -> gymnasium.Env[Any, Any]:
        return ShopEnv(self.catalog, observation=self.observation, max_steps=20)

    def agent(self, env: gymnasium.Env[Any, Any], seed: int) -> Agent:
        return make_factory(self.name, "shop", env, {}).agent(seed)


class TestRule(ShopAgentKit):
    name = "rule"


class TestCareful(ShopAgentKit):
    name = "careful"
    observation = "text"


class TestShopper(ShopAgentKit):
    name = "shopper"


class TestRandom(ShopAgentKit):
    name = "random"


class FormAgentKit(AgentConformance):
    name = ""

    def environment(self) -> gymnasium.Env[Any, Any]:
        return TurkEnv("demo", driver="dom", max_steps=20)

    def agent(self, env: gymnasium.Env[Any, Any], seed: int) -> Agent:
        return make_factory(self.name, "turk", env, {}).agent(seed)


class TestRandomForms(FormAgentKit):
    name = "random"


class TestDoNothing(FormAgentKit):
    name = "do-nothing"


class Toy:
    """Searches, opens the first thing and buys it."""

    def __init__(self, env: Any, seed: int) -> None:
        self.env = env
        self.rng = random.Random(seed)

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        self.words = info["instruction"].split()[:3]

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        clickables = info["available_actions"]["clickables"]
        if info["available_actions"]["has_search_bar"]:
            return self.search()
        return "click[buy now]" if "buy now" in clickables else self.pick(clickables)

    def search(self) -> str:
        return f"search[{' '.join(self.words) or 'things'}]"

    def pick(self, clickables: list[str]) -> str:
        return f"click[{self.rng.choice(clickables[2:] or ['back to search'])}]"


class GivesNothing(Toy):
    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        return None


class Idle(Toy):
    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        return "wait"


class GlobalRandom(Toy):
    def pick(self, clickables: list[str]) -> str:
        return f"click[{random.choice(clickables[2:] or ['back to search'])}]"


class Peeks(Toy):
    def search(self) -> str:
        return f"search[{self.env.unwrapped.goal.name}]"


class PeeksDeeper(Toy):
    def search(self) -> str:
        return f"search[{self.env.unwrapped.context.goals[0].name}]"


class Scribbles(Toy):
    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        action = super().act(observation, info)
        info["available_actions"]["clickables"].clear()
        return action


class Fragile(Toy):
    def pick(self, clickables: list[str]) -> str:
        return f"click[{clickables[2]}]"


class Remembers(Toy):
    found: dict[str, str] = {}  # noqa: RUF012

    def search(self) -> str:
        self.found.setdefault("words", " ".join(self.words))
        return f"search[{self.found['words']}]"

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        super().begin(observation, info)
        self.found["words"] = " ".join(self.words)


class ToyKit(ShopAgentKit):
    def __init__(self, kind: type[Toy], catalog: Catalog) -> None:
        self.kind = kind
        self.catalog = catalog

    def agent(self, env: gymnasium.Env[Any, Any], seed: int) -> Agent:
        return self.kind(env, seed)


def test_a_sound_toy_passes(little: Catalog) -> None:
    assert failures(ToyKit(Toy, little)) == set()


@pytest.mark.parametrize(
    ("kind", "failure"),
    [
        (GivesNothing, "it_plays_episodes_to_their_end"),
        (Idle, "its_actions_do_something"),
        (GlobalRandom, "a_seed_decides_everything"),
        (Peeks, "it_reads_only_what_it_is_shown"),
        (PeeksDeeper, "it_reads_only_what_it_is_shown"),
        (Scribbles, "it_leaves_what_it_is_shown_alone"),
        (Fragile, "odd_pages_do_not_bring_it_down"),
        (Remembers, "agents_do_not_share_episodes"),
    ],
)
def test_a_broken_toy_fails(kind: type[Toy], failure: str, little: Catalog) -> None:
    assert failure in failures(ToyKit(kind, little))
