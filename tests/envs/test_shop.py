"""The Gymnasium environment: its contract, its switches, and that nothing hidden leaks."""

import copy
import pickle
import random
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import msgspec
import numpy as np
import pytest
from effort import effort
from gymnasium.utils.env_checker import check_env
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from errands.browser.chromium import BrowserError
from errands.envs.config import ShopConfig
from errands.envs.shop import ShopEnv
from errands.errors import ErrandsError, GoalError
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal, ListedGoals

MODES = ("text", "text_rich", "html", "url")


def made(catalog: Catalog, **arguments: Any) -> gymnasium.Env[str, str]:
    return gymnasium.make("errands/Shop-v0", catalog=catalog, **arguments)


@pytest.mark.parametrize("mode", MODES)
def test_check_env_has_nothing_to_say(little: Catalog, mode: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(made(little, observation=mode).unwrapped)
        check_env(made(little, observation=mode, render_mode="ansi").unwrapped)


def test_without_a_browser_there_are_no_pictures_to_check(
    little: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("errands.envs.shop.is_installed", lambda: False)
    monkeypatch.setenv("ERRANDS_CHROMIUM", "/no/browser")
    env = made(little)
    assert env.unwrapped.metadata["render_modes"] == ["ansi", "html"]
    check_env(env.unwrapped)
    with pytest.raises(BrowserError, match="/no/browser"):
        check_env(made(little, render_mode="rgb_array").unwrapped)


def open_something(env: gymnasium.Env[str, str], query: str = "with") -> None:
    """Go to the item page of the first product found."""
    title = env.unwrapped.context.catalog.product_at(len(query)).title  # type: ignore[attr-defined]
    _, _, _, _, info = env.step(f"search[{title.replace('[', ' ').replace(']', ' ')}]")
    env.step(f"click[{info['available_actions']['clickables'][2]}]")


def test_info_and_spaces(little: Catalog) -> None:
    env = made(little, goals="human")
    observation, info = env.reset(options={"goal": 3})
    names = {"goal", "instruction", "available_actions", "valid_action", "page_changed"}
    assert set(info) == names
    assert info["goal"] == 3
    assert info["instruction"] == little.goals("human")[3].instruction_text
    assert info["available_actions"] == {"has_search_bar": True, "clickables": ["search"]}
    assert observation in env.observation_space
    assert env.action_space.sample() in env.action_space
    assert "日本語 😀" in env.observation_space


def test_a_purchase_ends_the_episode_for_good(little: Catalog) -> None:
    env = made(little)
    env.reset(options={"goal": 0})
    open_something(env)
    bought, reward, terminated, truncated, info = env.step("click[buy now]")
    assert terminated
    assert not truncated
    assert 0 <= reward <= 1
    parts = info["reward_parts"]
    assert set(parts) >= {"r_type", "r_att", "w_att", "query_match", "category_match",
                          "title_score", "r_price", "w_price"}  # fmt: skip
    for action in ("search[lamp]", "click[back to search]", "click[buy now]"):
        seen, reward, terminated, _, later = env.step(action)
        assert (seen, reward, terminated) == (bought, 0.0, True)
        assert later == {**info, "valid_action": False, "page_changed": False}


def test_after_purchase_open_lets_one_buy_again(little: Catalog) -> None:
    env = made(little, after_purchase="open")
    env.reset(options={"goal": 0})

    def buy(query: str) -> tuple[str, float, bool]:
        open_something(env, query)
        seen, reward, terminated, _, _ = env.step("click[buy now]")
        return seen, float(reward), terminated

    assert buy("lamp")[2]
    assert buy("shirt")[2]
    assert buy("lamp")[0] != buy("shirt")[0]


def test_who_goes_on_after_a_purchase_and_is_truncated_stays_as_he_was(little: Catalog) -> None:
    env = made(little, after_purchase="open", max_steps=5)
    env.reset(options={"goal": 0})
    open_something(env)
    assert env.step("click[buy now]")[2:4] == (True, False)
    env.step("search[lamp]")
    last = env.step("search[lamp]")
    assert last[2:4] == (False, True)
    later = env.step("search[lamp]")
    assert later[:4] == last[:4]
    assert later[4] == {**last[4], "valid_action": False, "page_changed": False}


def test_max_steps_truncates_and_nothing_else_does(little: Catalog) -> None:
    env = made(little, max_steps=3)
    env.reset(seed=1)
    flags = [env.step("search[lamp]")[2:4] for _ in range(4)]
    assert flags == [(False, False), (False, False), (False, True), (False, True)]
    env.reset()
    assert env.step("search[lamp]")[3] is False
    endless = made(little)
    endless.reset(seed=1)
    assert not any(endless.step("wait")[3] for _ in range(500))


def test_a_purchase_on_the_last_step_is_no_truncation(little: Catalog) -> None:
    env = made(little, max_steps=3)
    env.reset(options={"goal": 0})
    open_something(env)
    assert env.step("click[buy now]")[2:4] == (True, False)


def test_goals_by_index(little: Catalog) -> None:
    env = made(little)
    count = len(little.goals("synthetic"))
    for index in (0, np.int64(5), count - 1):
        assert env.reset(options={"goal": index})[1]["goal"] == index
    assert env.reset(options={"goal": -1})[1]["goal"] == count - 1
    for wrong in (count, -count - 1):
        with pytest.raises(GoalError, match=f"There is no goal {wrong}; expected 0 to"):
            env.reset(options={"goal": wrong})
    with pytest.raises(GoalError, match="is not an index"):
        env.reset(options={"goal": "three"})
    with pytest.raises(ErrandsError, match="no option 'gaol'"):
        env.reset(options={"gaol": 3})


def test_seeds_repeat_and_differ(little: Catalog) -> None:
    def drawn(seed: int) -> list[int]:
        env = made(little)
        first = env.reset(seed=seed)[1]["goal"]
        return [first, *(env.reset()[1]["goal"] for _ in range(20))]

    assert drawn(1) == drawn(1) != drawn(2)


def many(env: gymnasium.Env[str, str], count: int) -> list[int]:
    env.reset(seed=0)
    return [env.reset()[1]["goal"] for _ in range(count)]


def test_goal_draws(little: Catalog) -> None:
    base = little.goals("human")[0]
    held = [msgspec.structs.replace(base, weight=w) for w in (1.0, 1.0, 2.0, 4.0)]
    goals = ListedGoals("four", held, lambda product: product.price)

    def shares(draw: str) -> list[float]:
        indices = many(made(little, goals=goals, goal_draw=draw), 4000)
        return [indices.count(i) / 4000 for i in range(4)]

    assert shares("released") == pytest.approx([0, 1 / 8, 1 / 8, 6 / 8], abs=0.03)
    assert shares("weighted") == pytest.approx([1 / 8, 1 / 8, 2 / 8, 4 / 8], abs=0.03)
    assert shares("uniform") == pytest.approx([1 / 4] * 4, abs=0.03)


def test_splits(little: Catalog) -> None:
    count = len(little.goals("synthetic"))
    for draw in ("released", "weighted"):
        indices = many(made(little, split="test", goal_draw=draw), 300)
        assert set(indices) <= set(range(min(500, count)))
        assert len(set(indices)) > 50
    env = made(little, split="test")
    assert env.reset(options={"goal": count - 1})[1]["goal"] == count - 1
    with pytest.raises(GoalError, match="no split 'dev'"):
        made(little, split="dev")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"observation": "pixels"}, "format 'pixels'; expected text, text_rich, html, url"),
        ({"rules": "mine"}, "no reward rule 'mine'"),
        ({"goals": "none"}, "no goal set 'none'"),
        ({"max_steps": 0}, "max_steps=0"),
        ({"num_prev_obs": -1}, "num_prev_obs"),
        ({"goal_draw": "any"}, "goal_draw='any'"),
        ({"marks": "any"}, "marks='any'"),
        ({"after_purchase": "any"}, "after_purchase='any'"),
    ],
)
def test_wrong_arguments_are_one_sentence(
    little: Catalog, arguments: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ErrandsError, match=complaint):
        ShopEnv(little, **arguments)


def test_an_unknown_argument_is_told_with_the_nearest(little: Catalog) -> None:
    for env in (ShopEnv, partial(ShopEnv, config=ShopConfig(little))):
        with pytest.raises(
            ErrandsError, match="no option 'observtion'; did you mean 'observation'"
        ):
            env(observtion="text")


def test_too_many_arguments_and_one_given_twice_are_one_sentence(little: Catalog) -> None:
    with pytest.raises(ErrandsError, match=r"10 options were given by their order; .* at most 9"):
        ShopEnv(little, *[None] * 9)
    with pytest.raises(TypeError, match="'catalog' was given twice"):
        ShopEnv(little, catalog=little)


def test_no_catalogue_and_no_reset(tmp_path: Path, little: Catalog) -> None:
    with pytest.raises(ErrandsError, match="There is no catalogue"):
        ShopEnv(tmp_path / "nowhere")
    with pytest.raises(ErrandsError, match="call reset"):
        ShopEnv(little).step("search[x]")
    with pytest.raises(ErrandsError, match="render_mode"):
        ShopEnv(little, render_mode="human")


def test_history(little: Catalog) -> None:
    def seen(obs: int, actions: int) -> list[str]:
        env = made(little, observation="url", num_prev_obs=obs, num_prev_actions=actions)
        first = env.reset(options={"goal": 0})[0]
        return [first, *(env.step(action)[0] for action in ("a", "b", "c"))]

    url = "http://127.0.0.1:3000/0"
    assert seen(0, 0) == [url] * 4
    assert seen(1, 0) == [url, *[f"{url} [SEP] {url}"] * 3]
    assert seen(0, 2) == [url, f"a [SEP] {url}", f"a [SEP] b [SEP] {url}", f"b [SEP] c [SEP] {url}"]
    assert seen(1, 3)[3] == f"a [SEP] b [SEP] {url} [SEP] c [SEP] {url}"
    assert seen(2, 1)[2] == f"{url} [SEP] {url} [SEP] b [SEP] {url}"


def test_rendering(little: Catalog) -> None:
    env = made(little, render_mode="ansi")
    env.reset(options={"goal": 0})
    assert str(env.render()).startswith("WebShop\n")
    pages = made(little, render_mode="html")
    pages.reset(options={"goal": 0})
    assert str(pages.render()).startswith("<!DOCTYPE html>")
    assert ShopEnv(little).render() is None


def test_environments_share_the_catalogue_and_survive_copying(little: Catalog) -> None:
    one, other = made(little), made(little.path)  # type: ignore[arg-type]
    assert one.unwrapped.context.catalog is other.unwrapped.context.catalog  # type: ignore[attr-defined]
    assert copy.deepcopy(little) is little
    assert pickle.loads(pickle.dumps(little)) is little
    env = ShopEnv(little.path)
    env.reset(options={"goal": 2})
    env.step("search[lamp]")


def test_the_session_can_be_named(little: Catalog) -> None:
    env = made(little, observation="url")
    assert env.reset(options={"goal": 4})[0].endswith("/4")
    assert env.reset(options={"goal": 4, "session": "mine"})[0].endswith("/mine")


def test_special_queries_are_off_unless_asked_for(little: Catalog) -> None:
    category = little.product_at(0).category

    def found(**arguments: Any) -> str:
        env = made(little, **arguments)
        env.reset(options={"goal": 0})
        return env.step(f"search[<c> {category}]")[0]

    count = sum(product.category == category for product in little)
    assert f"(Total results: {count})" in found(special_queries=True)
    assert f"(Total results: {count})" not in found()


# -- Nothing a shopper can do breaks the shop, or shows what is hidden. ----------------------


def wild_action(rng: random.Random, info: dict[str, Any], garbage: list[Any]) -> Any:
    """Mostly sensible, sometimes not."""
    clickables = info["available_actions"]["clickables"]
    dice = rng.random()
    if dice < 0.6 and clickables:
        return f"click[{rng.choice(clickables)}]"
    if dice < 0.75:
        return f"search[{rng.choice(['red lamp', 'shirt', 'x', 'organic snack bars', '日本'])}]"
    if garbage and dice < 0.97:
        bit = rng.choice(garbage)
        return rng.choice(
            [bit, f"search[{bit}]", f"click[{bit}]", f"{bit}[{bit}]", f"search[{bit}"]
        )
    return rng.choice(
        [
            "",
            "click[]",
            "search[ ]",
            "buy now",
            "think[hmm]",
            None,
            7,
            b"click[search]",
            "[[]]",
            "\n",
        ]
    )


@given(
    seed=st.integers(0, 2**32),
    garbage=st.lists(st.text(max_size=60) | st.binary(max_size=9), max_size=6),
)
@settings(max_examples=effort(25, 250), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_million_wild_actions_never_raise(little: Catalog, seed: int, garbage: list[Any]) -> None:
    """Examples of 4,000 actions each: a million in `make test-slow`, a fifth of it here."""
    rng = random.Random(seed)
    env = ShopEnv(
        little,
        goals=rng.choice(["human", "synthetic"]),
        observation=rng.choice(["text", "text", "text", "text_rich", "url"]),
        search_anywhere=rng.random() < 0.7,
        show_attrs=rng.random() < 0.2,
        special_queries=rng.random() < 0.05,
        after_purchase=rng.choice(["locked", "open"]),
        rules=rng.choice(["released", "paper"]),
    )
    _, info = env.reset(seed=seed)
    for _ in range(4000):
        _, reward, terminated, truncated, info = env.step(wild_action(rng, info, garbage))
        assert 0.0 <= reward <= 1.0
        assert not truncated
        if terminated:
            _, info = env.reset()


@given(seed=st.integers(0, 2**32), garbage=st.lists(st.text(max_size=40), max_size=4))
@settings(max_examples=effort(10, 60), deadline=None, suppress_health_check=list(HealthCheck))
def test_goals_with_one_instruction_look_alike_until_the_purchase(
    little: Catalog, seed: int, garbage: list[str]
) -> None:
    rng = random.Random(seed)
    stored = little.goals("synthetic")
    picked = [stored[rng.randrange(len(stored))] for _ in range(2)]
    alike = [
        msgspec.structs.replace(goal, instruction_text="buy something nice") for goal in picked
    ]
    goals = ListedGoals("alike", alike, lambda product: product.price)
    mode = rng.choice(["text", "text_rich", "html", "url"])
    twins = [ShopEnv(little, goals=goals, observation=mode) for _ in range(2)]
    starts = [
        env.reset(seed=1, options={"goal": index, "session": "s"})
        for index, env in enumerate(twins)
    ]
    assert blind(starts[0]) == blind(starts[1])
    info = starts[0][1]
    for _ in range(60):
        action = wild_action(rng, info, garbage)
        steps = [env.step(action) for env in twins]
        if steps[0][2]:
            break
        assert blind(steps[0]) == blind(steps[1])
        info = steps[0][-1]


def blind(step: tuple[Any, ...]) -> list[Any]:
    """A step without the goal's index, the only thing in which twins may differ."""
    info = {name: value for name, value in step[-1].items() if name != "goal"}
    return [*step[:-1], info]


def test_html_does_not_tell_which_goal_is_played(little: Catalog) -> None:
    stored = little.goals("human")
    alike = [msgspec.structs.replace(stored[i], instruction_text="the same") for i in range(2)]
    goals = ListedGoals("alike", alike, lambda product: product.price)
    pages = [
        ShopEnv(little, goals=goals, observation="html").reset(options={"goal": i})[0]
        for i in range(2)
    ]
    assert pages[0] == pages[1]


def test_hidden_goal_is_there_for_oracles(little: Catalog) -> None:
    env = ShopEnv(little)
    env.reset(options={"goal": 1})
    assert isinstance(env.goal, Goal)
    assert env.goal == little.goals("synthetic")[1]


def test_environments_can_be_copied_and_sent(little: Catalog) -> None:
    for goals in ("human", little.goals("synthetic")):
        env = ShopEnv(little, goals=goals)
        env.reset(seed=3)
        env.step("search[black]")
        for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
            assert twin.context.catalog is little
            assert twin.step("click[next >]") == copy.deepcopy(env).step("click[next >]")
            assert twin.reset()[1]["goal"] == copy.deepcopy(env).reset()[1]["goal"]


def test_history_too_stands_still_after_the_end(little: Catalog) -> None:
    env = made(little, num_prev_actions=2, num_prev_obs=1, max_steps=2)
    env.reset(seed=0)
    env.step("a")
    last = env.step("b")[0]
    assert [env.step(action)[0] for action in ("c", "d")] == [last, last]


def test_an_option_called_attributes_does_not_open_the_hidden_page(little: Catalog) -> None:
    from errands.shop.navigation import ITEM, Shop, State

    product = msgspec.structs.replace(little.product(0), options={"color": ("attributes",)})
    shop = Shop(little)
    page = shop.turn(shop.look(State(ITEM, "q", 1, (), 0), product), "click[attributes]")
    assert page.state.page == ITEM
    assert page.options == {"color": "attributes"}
