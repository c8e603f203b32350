"""The form environment, on the demo tasks, without a browser."""

import warnings
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from errands.browser import chromium
from errands.envs.turk import TurkEnv
from errands.errors import ErrandsError, SettingError
from errands.turk.actions.action import Action
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.pages.driver import DriverError

TASK = {"task": "Teapot Reviews", "row": 0}


def made(**arguments: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make("errands/Turk-v0", driver="dom", **arguments)


@pytest.mark.parametrize("mode", ["html", "relevant", "text"])
def test_check_env_has_nothing_to_say(mode: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(made(observation=mode).unwrapped)


def test_info_and_the_end() -> None:
    env = made()
    _, info = env.reset(options=TASK)
    assert (info["task"], info["row"]) == ("Teapot Reviews", 0)
    assert {field["type"] for field in info["fields"]} == {"radio", "checkbox"}
    assert "field_scores" not in info
    _, reward, terminated, truncated, info = env.step("submit()")
    assert (terminated, truncated) == (True, False)
    assert set(info["field_scores"]) == {"paper", "released"}
    assert 0 <= reward <= 1
    assert env.step("submit()")[1:4] == (0.0, True, False)


def test_the_oracle_is_rewarded_in_full_and_idleness_is_not() -> None:
    env = TurkEnv(driver="dom")
    env.reset(options=TASK)
    play_oracle(env._page, env.instance)  # type: ignore[arg-type]
    assert env.step("submit()")[1] == 1.0
    env.reset(options=TASK)
    assert env.step("submit()")[1] < 1.0


@pytest.mark.parametrize(
    "form",
    [
        "modify_radio('{name}', '{value}')",
        '{{"name": "modify_radio", "arguments": {{"name": "{name}", "value": "{value}"}}}}',
        "I think: self.actions.modify_radio('{name}', '{value}') is right.",
    ],
)
def test_answers_in_every_form(form: str) -> None:
    env = TurkEnv(driver="dom")
    _, info = env.reset(options=TASK)
    radio = next(field for field in info["fields"] if field["type"] == "radio")
    name, value = radio["name"], radio["options"][0]
    _, reward, terminated, _, info = env.step(form.format(name=name, value=value))
    assert (reward, terminated, info["message"]) == (0.0, False, "")
    assert env._page is not None
    assert env._page.values(name) == [value]


def test_actions_as_data() -> None:
    env = TurkEnv(driver="dom")
    _, info = env.reset(options=TASK)
    radio = next(field for field in info["fields"] if field["type"] == "radio")
    arguments = {"name": radio["name"], "value": radio["options"][0]}
    assert env.step(Action("modify_radio", arguments))[4]["message"] == ""
    assert env.step({"name": "modify_radio", "arguments": arguments})[4]["message"] == ""


@pytest.mark.parametrize(
    "answer",
    [
        "", "hello", "modify_text('nowhere', 'x')", "modify_radio('x'", "import os", None, 7,
        "a" * 1_000_000, "__import__('os').system('true')", "modify_radio('rating', 'nonsense')",
        "click(0.5, 0.5)", "{", "\x00", "((((" * 5000,
    ],
)  # fmt: skip
def test_nonsense_changes_nothing_and_says_why(answer: Any) -> None:
    env = TurkEnv(driver="dom")
    seen, _ = env.reset(options=TASK)
    again, reward, terminated, truncated, info = env.step(answer)
    assert again == seen
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["message"]


def test_max_steps_takes_the_page_as_it_is() -> None:
    env = made(max_steps=2)
    env.reset(options=TASK)
    assert env.step("x")[2:4] == (False, False)
    _, _, terminated, truncated, info = env.step("x")
    assert (terminated, truncated) == (False, True)
    assert "field_scores" in info
    assert env.step("x")[1:4] == (0.0, False, True)


def test_hidden_fields_and_splits() -> None:
    env = made(fields="hidden", split="test")
    _, info = env.reset(seed=1)
    assert "fields" not in info
    names = {made(split="test").reset(seed=seed)[1]["task"] for seed in range(20)}
    assert 1 < len(names) <= 6


def test_seeds_repeat() -> None:
    drawn = [[made().reset(seed=3)[1]["task"], made().reset(seed=3)[1]["row"]] for _ in range(2)]
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"observation": "smell"}, "observation format 'smell'"),
        ({"fields": "some"}, "fields='some'"),
        ({"rules": "mine"}, "rules='mine'"),
        ({"driver": "horse"}, "driver='horse'"),
        ({"max_steps": 0}, "max_steps=0"),
        ({"render_mode": "human"}, "render_mode"),
    ],
)
def test_wrong_arguments_are_one_sentence(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SettingError, match=complaint):
        TurkEnv(**arguments)


def test_an_unknown_argument_is_told_with_the_nearest() -> None:
    with pytest.raises(SettingError, match="no option 'drivr'; did you mean 'driver'"):
        TurkEnv("demo", drivr="dom")
    with pytest.raises(TypeError, match="no option 'zzz'; expected tasks, split"):
        TurkEnv("demo", zzz=1)
    with pytest.raises(SettingError, match=r"8 options were given by their order; .* at most 7"):
        TurkEnv("demo", *[None] * 7)


def test_wrong_options_are_one_sentence() -> None:
    env = TurkEnv(driver="dom")
    with pytest.raises(ErrandsError, match="no episode yet"):
        env.step("submit()")
    with pytest.raises(SettingError, match="no option 'tusk'"):
        env.reset(options={"tusk": 1})
    with pytest.raises(ErrandsError, match="no task 'Nothing'"):
        env.reset(options={"task": "Nothing"})
    for row in (99, -99, "one"):
        with pytest.raises(SettingError, match="has no row"):
            env.reset(options={"task": "Teapot Reviews", "row": row})


def test_rendering() -> None:
    env = made(render_mode="ansi")
    env.reset(options=TASK)
    assert "litre" in str(env.render())


def test_pixels_need_the_browser() -> None:
    env = TurkEnv(driver="browser", observation="html+screenshot")
    try:
        seen, info = env.reset(options=TASK)
    except DriverError as failure:
        if str(failure) not in (chromium.MISSING_BROWSER, chromium.MISSING_PACKAGE):
            raise
        pytest.skip(str(failure))
    try:
        assert seen in env.observation_space
        assert 0 < seen["screenshot"].mean() < 255
        radio = next(field for field in info["fields"] if field["type"] == "radio")
        call = f"modify_radio({radio['name']!r}, {radio['options'][0]!r})"
        after, _, _, _, info = env.step(call)
        assert info["message"] == ""
        assert (after["screenshot"] != seen["screenshot"]).any()
        assert env.step("click(0.5, 0.1)")[4]["message"] == ""
    finally:
        env.close()


def test_pages_that_need_scripts_are_solved_in_the_browser() -> None:
    env = TurkEnv(driver="browser")
    try:
        env.reset(options={"task": "Quiz From a List", "row": 0})
    except DriverError as failure:
        if str(failure) not in (chromium.MISSING_BROWSER, chromium.MISSING_PACKAGE):
            raise
        pytest.skip(str(failure))
    try:
        play_oracle(env._page, env.instance)  # type: ignore[arg-type]
        assert env.step("submit()")[1] == 1.0
    finally:
        env.close()
