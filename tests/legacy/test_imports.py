"""The names that people import, with gym and without."""

import importlib
import subprocess
import sys
import warnings
from typing import Any

import pytest

from errands.errors import SettingError
from errands.shop.catalog.catalog import Catalog

WITHOUT_GYM = """
import sys
sys.modules["gym"] = None
from web_agent_site.envs import WebAgentTextEnv
assert WebAgentTextEnv.__mro__[1] is object
env = WebAgentTextEnv("text", catalog=sys.argv[1])
assert env.step("search[shoes]")[2] is False
"""

WITH_GYM = """
import sys, warnings
warnings.simplefilter("ignore")
import gym
import web_agent_site.envs
env = gym.make("WebAgentTextEnv-v0", observation_mode="text", catalog=sys.argv[1], seed=5)
assert type(env) is web_agent_site.envs.WebAgentTextEnv, type(env)
assert isinstance(env, gym.Env)
observation, nothing = env.reset(session=3)
assert nothing is None and observation.split(" [SEP] ")[1] == "Instruction:"
assert len(env.step("search[shoes]")) == 4
assert set(env.get_available_actions()) == {"has_search_bar", "clickables"}
assert env.server.goals[3]["instruction_text"] in observation
assert env.render(mode="text")
env.close()
try:
    gym.make("WebAgentSiteEnv-v0")
except ValueError as error:
    assert "WebAgentTextEnv" in str(error)
else:
    raise AssertionError
"""


def run(program: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-c", program, *arguments], check=True, timeout=120)


@pytest.mark.heavy
def test_without_gym(little: Catalog) -> None:
    run(WITHOUT_GYM, str(little.path))


@pytest.mark.heavy
def test_gym_make(little: Catalog) -> None:
    pytest.importorskip("gym", reason="needs gym: pip install 'gym<0.27'", exc_type=ImportError)
    run(WITH_GYM, str(little.path))


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("web_agent_site.envs", "WebAgentTextEnv WebAgentSiteEnv"),
        ("web_agent_site.envs.web_agent_text_env", "WebAgentTextEnv SimServer SimBrowser"),
        ("web_agent_site.envs.web_agent_site_env", "WebAgentSiteEnv"),
        ("web_agent_site.engine.engine", "parse_action END_BUTTON load_products"),
        ("web_agent_site.engine.goal", "get_reward get_goals"),
        ("web_agent_site.engine.normalize", "normalize_color COLOR_SET"),
        ("web_agent_site.models", "RandomPolicy HumanPolicy"),
        ("web_agent_site.utils", "DEFAULT_FILE_PATH DEFAULT_ATTR_PATH FEAT_CONV random_idx"),
        ("webshop_minimal", "WebAgentTextEnv init_basedir init_search_engine"),
        ("webshop_minimal.utils", "DEFAULT_FILE_PATH get_file_path"),
        ("webshop_minimal.engine", "parse_action init_search_engine ACTION_TO_TEMPLATE"),
        ("webshop_minimal.goal", "get_reward get_goals"),
        ("webshop_minimal.normalize", "normalize_color"),
        ("webshop_minimal.env", "WebAgentTextEnv SimServer SimBrowser"),
        ("webshop.web_agent_site.envs", "WebAgentTextEnv"),
        ("webshop.web_agent_site.engine.goal", "get_reward"),
        ("webshop.web_agent_site.utils", "DEBUG_PROD_SIZE"),
    ],
)
def test_names(module: str, names: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = importlib.import_module(module)
    for name in names.split():
        assert hasattr(loaded, name)
        assert name in loaded.__all__


def test_one_module_under_two_names() -> None:
    from web_agent_site.envs import WebAgentTextEnv as One
    from webshop.web_agent_site.envs import WebAgentTextEnv as Other

    assert One is Other


def test_webshop_minimal_tells_the_parts_at_the_purchase(little: Catalog) -> None:
    from webshop_minimal import WebAgentTextEnv, init_basedir, utils

    before = utils.DEFAULT_FILE_PATH, utils.DEFAULT_ATTR_PATH, utils.HUMAN_ATTR_PATH
    try:
        init_basedir("full")
        assert utils.get_file_path().endswith("webshop/items_shuffle.json")
        assert utils.get_attr_path().endswith("webshop/items_ins_v2.json")
        assert utils.get_human_attr_path().endswith("webshop/items_human_ins.json")
        init_basedir()
        assert utils.get_file_path().endswith("items_shuffle_1000.json")
        with pytest.raises(SettingError, match="'small' or 'full'"):
            init_basedir("tiny")
        env = WebAgentTextEnv("text", catalog=little)
    finally:
        utils.DEFAULT_FILE_PATH, utils.DEFAULT_ATTR_PATH, utils.HUMAN_ATTR_PATH = before
    env.reset(0)
    info: Any = env.step("search[shoes]")[3]
    assert info is None
    env.step(f"click[{env.get_available_actions()['clickables'][2]}]")
    _, _, done, info = env.step("click[buy now]")
    assert done
    assert "r_type" in info


def test_a_subclass_that_holds_the_reset_back(little: Catalog) -> None:
    """RAGEN's sets `server` before the constructor, whose reset does nothing yet."""
    from webshop_minimal import WebAgentTextEnv

    class Later(WebAgentTextEnv):
        def __init__(self, **options: Any) -> None:
            self.server = None  # type: ignore[assignment]
            super().__init__("text", server=self.server, catalog=little, **options)

        def reset(self, seed: int | None = None) -> Any:  # type: ignore[override]
            return None if seed is None else super().reset(session=seed)[0]

    env = Later(session_prefix="x")
    assert env.reset(seed=4) == env.observation
    assert env.server.user_sessions["x4"]["goal"] == env.server.goals[4]
