"""Our environments pass the kit, and environments with one defect each do not."""

import random
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import VectorEnv
from kits import failures
from made_up_shops import MadeUpShop
from served import Served

from errands.envs.shop import ShopEnv
from errands.envs.shop_vector import ShopVectorEnv
from errands.envs.spaces import AnyText
from errands.envs.turk import TurkEnv
from errands.envs.turk_vector import TurkVectorEnv
from errands.errors import ErrandsError, SettingError
from errands.remote.environments import RemoteShopEnv, RemoteShopVectorEnv
from errands.shop.catalog.catalog import Catalog
from errands.testing import EnvironmentConformance, VectorConformance
from errands.transfer.environment import LiveShopEnv


def shop_action(info: dict[str, Any], number: int) -> str:
    """One click after the other; a search where there is a bar."""
    if info["available_actions"]["has_search_bar"]:
        return f"search[{info['instruction']}]"
    clickables = info["available_actions"]["clickables"]
    return f"click[{clickables[(7 * number + 3) % len(clickables)]}]"


class ShopKit(EnvironmentConformance):
    info_keys = ("goal", "instruction", "available_actions", "valid_action", "page_changed")
    longest = 12

    def action(self, env: gymnasium.Env[Any, Any], info: dict[str, Any], number: int) -> Any:
        return shop_action(info, number)


class TestShop(ShopKit):
    observation = "text"

    @pytest.fixture(autouse=True)
    def _catalog(self, little: Catalog) -> None:
        self.catalog = little

    def make(self) -> gymnasium.Env[Any, Any]:
        return ShopEnv(self.catalog, observation=self.observation, max_steps=12)

    def secrets(self, env: gymnasium.Env[Any, Any]) -> list[str]:
        assert isinstance(env, ShopEnv)
        return [env.goal.asin]


class TestShopRichText(TestShop):
    observation = "text_rich"


class TestShopHtml(TestShop):
    observation = "html"


class TestRemoteShop(ShopKit):
    @pytest.fixture(autouse=True)
    def _server(self, server: Served) -> None:
        self.url = server.url

    def make(self) -> gymnasium.Env[Any, Any]:
        return RemoteShopEnv(self.url, max_steps=12)


class TestRealShop(ShopKit):
    info_keys = (*ShopKit.info_keys, "requests", "site_url")
    final_keys = (*ShopKit.final_keys, "purchase")

    def make(self) -> gymnasium.Env[Any, Any]:
        goals = ["a red shoe", "a blue shoe", "a green shoe"]
        return LiveShopEnv(goals, "amazon", MadeUpShop("amazon"), max_steps=12)


class TestTurk(EnvironmentConformance):
    info_keys = ("task", "row", "message", "fields", "valid_action", "page_changed")

    def make(self) -> gymnasium.Env[Any, Any]:
        return TurkEnv("demo", driver="dom", max_steps=4)


class TestShopVector(VectorConformance):
    @pytest.fixture(autouse=True)
    def _catalog(self, little: Catalog) -> None:
        self.catalog = little

    def make(self, num_envs: int) -> VectorEnv[Any, Any, Any]:
        return ShopVectorEnv(num_envs, catalog=self.catalog)

    def make_single(self) -> gymnasium.Env[Any, Any]:
        return ShopEnv(self.catalog)

    def action(self, env: gymnasium.Env[Any, Any], info: dict[str, Any], number: int) -> Any:
        action = shop_action(info, number)
        return "click[back to search]" if action == "click[buy now]" else action


class TestTurkVector(VectorConformance):
    def make(self, num_envs: int) -> VectorEnv[Any, Any, Any]:
        return TurkVectorEnv(num_envs, driver="dom")

    def make_single(self) -> gymnasium.Env[Any, Any]:
        return TurkEnv(driver="dom")

    def action(self, env: gymnasium.Env[Any, Any], info: dict[str, Any], number: int) -> Any:
        if not info["fields"]:
            return "get_html()"  # A page whose fields a script makes.
        field = info["fields"][number % len(info["fields"])]
        return f"modify_{field['type']}({field['name']!r}, {(field['options'] or ['7'])[0]!r})"


class TestRemoteShopVector(TestShopVector):
    @pytest.fixture(autouse=True)
    def _server(self, server: Served) -> None:
        self.url = server.url

    def make(self, num_envs: int) -> VectorEnv[Any, Any, Any]:
        return RemoteShopVectorEnv(num_envs, self.url)


class Toy(gymnasium.Env[str, str]):
    """Three steps, and the secret word for a reward; right in every respect."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012
    observation_space = AnyText()
    action_space = AnyText()

    def __init__(self) -> None:
        self.left: int | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        if options:
            raise SettingError("reset has no options.")
        self.word = f"secret{self.draw()}"
        self.left = 3
        self.buttons = ["a", "b"]
        return self.seen(), self.info()

    def draw(self) -> int:
        return int(self.np_random.integers(1000))

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self.left is None:
            raise ErrandsError("call reset() first.")
        if self.left == 0:
            return self.seen(), 0.0, True, False, self.info()
        self.left -= 1
        return self.seen(), float(self.left == 0), self.left == 0, False, self.info()

    def seen(self) -> str:
        return f"{self.left} left {self.number_shown()}"

    def number_shown(self) -> int:
        return len(self.word)

    def info(self) -> dict[str, Any]:
        return {"buttons": list(self.buttons)}


class GlobalRandom(Toy):
    def draw(self) -> int:
        return random.randrange(1000)

    def number_shown(self) -> int:
        return hash(self.word)


class Unseeded(Toy):
    def draw(self) -> int:
        return int(np.random.default_rng().integers(1000))

    def seen(self) -> str:
        return f"{self.left} {hash(self.word)}"


class SharedInfo(Toy):
    def info(self) -> dict[str, Any]:
        return {"buttons": self.buttons}


class Tells(Toy):
    def seen(self) -> str:
        return f"{self.left} {self.word}"


class EarlyParts(Toy):
    def info(self) -> dict[str, Any]:
        return {**super().info(), "reward_parts": {}}


class TellsByObject(Toy):
    def info(self) -> dict[str, Any]:
        return {**super().info(), "env": Toy}


class PaysTwice(Toy):
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        seen, _, ended, truncated, info = super().step(action)
        return seen, float(ended), ended, truncated, info


class GoesOn(Toy):
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.left = self.left if self.left is None else max(self.left, 2)
        return super().step(action)


class NotANumber(Toy):
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        seen, _, ended, truncated, info = super().step(action)
        return seen, float("nan"), ended, truncated, info


class TakesAnything(Toy):
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        return super().reset(seed=seed)


class StepsAnyway(Toy):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.word, self.buttons = 3, "", []


class Breaks(Toy):
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if "[" in action:
            raise ErrandsError("no brackets, please.")
        return super().step(action)


class OneForAll(Toy):
    played = 0

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        type(self).played += 1
        return super().step(action)

    def seen(self) -> str:
        return f"{self.left} {self.played % 7}"


class ToyKit(EnvironmentConformance):
    info_keys = ("buttons",)
    longest = 5

    def __init__(self, kind: type[Toy]) -> None:
        self.kind = kind

    def make(self) -> gymnasium.Env[Any, Any]:
        return self.kind()

    def secrets(self, env: gymnasium.Env[Any, Any]) -> list[str]:
        assert isinstance(env, Toy)
        return [env.word]


def test_a_sound_toy_passes() -> None:
    assert failures(ToyKit(Toy)) == set()


@pytest.mark.parametrize(
    ("kind", "failure"),
    [
        (GlobalRandom, "seeds_and_nothing_else_draw"),
        (Unseeded, "a_seed_decides_everything"),
        (SharedInfo, "what_was_shown_belongs_to_the_caller"),
        (Tells, "nothing_of_the_goal_is_shown_before_the_end"),
        (EarlyParts, "nothing_of_the_goal_is_shown_before_the_end"),
        (TellsByObject, "info_is_plain_data"),
        (PaysTwice, "nothing_happens_after_the_end"),
        (GoesOn, "an_episode_is_as_declared"),
        (NotANumber, "an_episode_is_as_declared"),
        (TakesAnything, "unknown_reset_options_are_refused"),
        (StepsAnyway, "there_is_no_step_before_reset"),
        (Breaks, "odd_actions_do_no_harm"),
        (OneForAll, "environments_do_not_share_episodes"),
    ],
)
def test_a_broken_toy_fails(kind: type[Toy], failure: str) -> None:
    assert failure in failures(ToyKit(kind))


class _Shifted(ShopVectorEnv):
    """Plays other goals than single environments would."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return super().reset(seed=None if seed is None else seed + 1, options=options)


def test_a_vector_environment_of_its_own_mind_fails(little: Catalog) -> None:
    class Kit(TestShopVector):
        catalog = little

        def make(self, num_envs: int) -> VectorEnv[Any, Any, Any]:
            return _Shifted(num_envs, catalog=little)

    assert failures(Kit()) == {"it_plays_what_single_environments_play"}
