"""What models take, by name: defaults that current models work with, for anybody to change."""

import hashlib
from typing import Any

import pytest

from errands.agents.llm import prompts
from errands.agents.llm.factory import make
from errands.agents.llm.presets import known_presets, preset_of
from errands.agents.llm.settings import ClientSettings, ShopSettings, TurkSettings, read
from errands.agents.llm.turk.conditions import usual_settings, with_condition
from errands.envs.shop import ShopEnv
from errands.errors import SettingError


@pytest.mark.parametrize(
    ("model", "preset"),
    {
        "gpt-5-mini": "openai-reasoning",
        "gpt-5": "openai-reasoning",
        "gpt-5.4-2026-03-05": "openai-reasoning",
        "openai/o3": "openai-reasoning",
        "o4-mini": "openai-reasoning",
        "gpt-5-chat-latest": "openai-chat",
        "gpt-5.3-chat-latest": "openai-chat",
        "gpt-4o-mini": "openai-chat",
        "gpt-4.1": "openai-chat",
        "gpt-4": "other",
        "gpt-3.5-turbo": "other",
        "gpt-oss-120b": "open-reasoning",
        "claude-opus-4-7": "claude-without-sampling",
        "anthropic/claude-4.8-opus": "claude-without-sampling",
        "claude-sonnet-5": "claude-without-sampling",
        "claude-3-5-sonnet-20241022": "claude",
        "claude-sonnet-4-20250514": "claude",
        "claude-opus-4-6": "claude",
        "google/gemini-3-pro": "gemini",
        "grok-4-fast": "grok-reasoning",
        "kimi-k2.5": "kimi-thinking",
        "kimi-k2-0905": "large-window",
        "deepseek-reasoner": "open-reasoning",
        "deepseek-v3.2": "large-window",
        "Qwen/Qwen3-8B": "open-reasoning",
        "Qwen/Qwen3-30B-A3B-Instruct-2507": "other",
        "Qwen2.5-7B-Instruct": "other",
        "HuggingFaceTB/SmolLM2-135M-Instruct": "other",
        "modelo3": "other",
        "m": "other",
    }.items(),
)
def test_a_models_name_says_what_it_takes(model: str, preset: str) -> None:
    assert preset_of(model).name == preset


def test_every_preset_has_settings_that_exist() -> None:
    for preset in known_presets().models:
        for play in (ShopSettings, TurkSettings):
            known = {*ClientSettings.__struct_fields__, *play.__struct_fields__}
            given = {name: value for name, value in preset.defaults().items() if name in known}
            read({"model": "m", **given}, play)
        assert preset.defaults().keys() <= {
            *ClientSettings.__struct_fields__,
            *ShopSettings.__struct_fields__,
            *TurkSettings.__struct_fields__,
        }
    assert known_presets().models[-1].pattern == "", "the last one fits every model"


def test_a_reasoning_model_is_sent_nothing_that_it_refuses() -> None:
    client, play = read({"model": "gpt-5-mini"}, ShopSettings)
    assert (client.temperature, client.stop, client.limit_name) == (
        None,
        "none",
        "max_completion_tokens",
    )
    assert (client.max_tokens or 0) >= 8192
    assert play.window == 100_000
    assert read({"model": "gpt-5-mini"}, TurkSettings)[1].budget == 64_000


def test_others_are_asked_as_before() -> None:
    client, play = read({"model": "m"}, ShopSettings)
    assert client == ClientSettings(model="m")
    assert (client.temperature, client.max_tokens, client.limit_name, client.stop) == (
        0.0,
        512,
        "max_tokens",
        "send",
    )
    assert play == ShopSettings()


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"temperature": "0.7"}, "temperature", 0.7),
        ({"temperature": "none"}, "temperature", None),
        ({"temperature": "auto"}, "temperature", None),
        ({"stop": "send"}, "stop", "send"),
        ({"max_tokens": "none"}, "max_tokens", None),
        ({"max_completion_tokens": "99"}, "max_tokens", 99),
        ({"limit_name": "max_tokens"}, "limit_name", "max_tokens"),
        ({"max_empty": "0.2"}, "max_empty", 0.2),
    ],
)
def test_what_a_user_sets_goes_before_it(given: dict[str, Any], name: str, value: Any) -> None:
    client, _ = read({"model": "o3", **given}, ShopSettings)
    assert getattr(client, name) == value
    if "max_completion_tokens" in given:
        assert client.limit_name == "max_completion_tokens"


def test_a_user_can_do_without_stop_with_any_model() -> None:
    assert read({"model": "m", "stop": "none"}, ShopSettings)[0].stop == "none"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"max_completion_tokens": 5, "max_tokens": 5}, "max_completion_tokens and max_tokens"),
        ({"max_completion_tokens": 5, "limit_name": "max_tokens"}, "give one of the two"),
        ({"stop": "perhaps"}, "stop='perhaps': expected 'send' or 'none'"),
        ({"max_empty": 2}, "max_empty=2: expected a share, 0 to 1"),
        ({"style": "react-2022", "calls": "tools"}, "was published without tools"),
        ({"style": "act-2022", "thoughts": 3}, "every thought is a step"),
    ],
)
def test_mistakes_are_one_sentence(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(SettingError, match=problem):
        read({"model": "m", **given}, ShopSettings)


def test_a_published_style_has_its_own_defaults() -> None:
    client, play = read({"model": "m", "style": "react-2022"}, ShopSettings)
    assert (play.top, play.window, play.repairs, client.max_tokens) == (3, 6400, 0, 100)
    client, play = read({"model": "gpt-5", "style": "react-2022"}, ShopSettings)
    assert (play.top, play.window) == (3, 6400)
    assert client.max_tokens == 16_384, "100 tokens leave no room to reason"
    _, play = read({"model": "m", "style": "act-2022", "top": "0"}, ShopSettings)
    assert play.top == 0


def test_what_was_decided_is_kept_with_the_run() -> None:
    made = make("shop", ShopEnv(), {"model": "gpt-5-mini", "base_url": "http://x/v1"})
    kept = made.settings
    made.close()
    assert kept["preset"] == f"openai-reasoning@{known_presets().version}"
    assert (kept["temperature"], kept["stop"]) == (None, "none")
    assert (kept["limit_name"], kept["window"]) == ("max_completion_tokens", 100_000)
    assert (kept["prompt_version"], kept["max_empty"]) == (1, 0.5)


def test_what_is_usual_need_not_be_told() -> None:
    usual = usual_settings("shop", {"model": "gpt-5-mini"})
    assert (usual["temperature"], usual["stop"], usual["window"]) == (None, "none", 100_000)
    usual = usual_settings("shop", {"model": "m", "style": "react-2022"})
    assert (usual["top"], usual["max_tokens"]) == (3, 100)


def test_a_condition_asks_a_reasoning_model_as_that_can_be_asked() -> None:
    settings = with_condition({"model": "gpt-5", "condition": "gpt4-relevant"})
    client, play = read(settings, TurkSettings)
    assert (client.temperature, client.top_p, client.max_tokens) == (None, None, 16_384)
    assert (play.demos, play.budget) == (7, 16_000)
    client, _ = read(with_condition({"model": "m", "condition": "gpt4-relevant"}), TurkSettings)
    assert (client.temperature, client.max_tokens) == (1.0, 256)


VERSIONS = {
    "shop-act-2022": (1, "cbb974aae767"),
    "shop-act-tools": (1, "f17bdd496345"),
    "shop-act": (1, "34de232da630"),
    "shop-react-2022": (1, "722729c5ff81"),
    "shop-react-tools": (1, "669f2e00cc8d"),
    "shop-react": (1, "a1df3fe81bb4"),
    "turk-conversation": (1, "5ccf0fd0ec00"),
    "turk-field-tools": (1, "0419bd8d192e"),
    "turk-field": (1, "700b5f4fdf75"),
    "turk-whole-tools": (1, "7d611568fa96"),
    "turk-whole": (1, "626689d6ce94"),
}


def test_a_prompt_that_changes_gets_another_version() -> None:
    """Scores depend on every word: when this fails, raise the version in the file, and here."""
    found = {}
    for name in prompts.names():
        source = prompts.source(name)
        kind = "shop" if name.startswith("shop") else name.removesuffix("-tools")
        kind = "shop-published" if name.endswith("-2022") else kind
        version = prompts.load(name, kind).version
        found[name] = (version, hashlib.sha256(source.encode()).hexdigest()[:12])
    assert found == VERSIONS
