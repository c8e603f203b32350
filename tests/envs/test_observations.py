"""Observation formats that are not ours: as functions, as `module:attribute`, and in protocols."""

from typing import Any

import pytest

from errands import ShopEnv, TurkEnv
from errands.envs.observations import SHOP_FORMATS, observation_key
from errands.errors import SettingError
from errands.runs.episode_source import open_source
from errands.runs.protocol import Protocol
from errands.shop.catalog.catalog import Catalog


def brief(page: Any, instruction: str, score: float | None) -> str:
    return f"{page.state.page}: {instruction} ({score})"


class Versioned:
    name = "versioned"
    version = 3

    def __call__(self, page: Any, instruction: str, score: float | None) -> str:
        return instruction


def wrong(page: Any, instruction: str, score: float | None) -> int:
    return 1


def title(page: Any) -> str:
    return str(len(page.fields([])))


def test_a_function_shows_the_shop(little: Catalog) -> None:
    for observation in (brief, f"{__name__}:brief"):
        env = ShopEnv(little, observation=observation)
        seen, info = env.reset(options={"goal": 0})
        assert seen == f"search_page: {info['instruction']} (None)" or seen.startswith("search")
        assert seen.endswith(f"{info['instruction']} (None)")
        assert env.observation == f"{__name__}:brief"


def test_a_function_shows_form_pages() -> None:
    env = TurkEnv(observation=title, driver="dom")
    seen, _ = env.reset(seed=0)
    assert seen == "0"
    assert env.observation == f"{__name__}:title"
    env.close()


def test_name_and_version_are_of_the_agents_part_and_not_of_the_key(little: Catalog) -> None:
    assert observation_key(SHOP_FORMATS, "text_rich") == ""
    assert observation_key(SHOP_FORMATS, Versioned) == "observation:versioned@3"
    protocol = Protocol(
        id="t",
        version=1,
        title="t",
        domain="shop",
        data=str(little.path),
        observation=f"{__name__}:Versioned",
    )
    source = open_source(protocol)
    assert source.observation_version == "versioned@3"
    assert "observation" not in source.key, "how it is seen does not change what is played"
    seen, info = source.env().reset()
    assert seen == info["instruction"]
    source.close()


def test_wrong_formats_are_one_sentence(little: Catalog) -> None:
    with pytest.raises(SettingError, match=r"no observation format 'txt'; did you mean 'text'"):
        ShopEnv(little, observation="txt")
    with pytest.raises(SettingError, match="cannot be called"):
        ShopEnv(little, observation=7)
    with pytest.raises(SettingError, match="returned a int; expected a text"):
        ShopEnv(little, observation=wrong).reset()
