"""What `info` says of an action: was it possible, did it lead elsewhere, and how did it end."""

import re
from typing import Any

import numpy as np
import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.browser import chromium
from errands.envs.shop import ShopEnv
from errands.envs.shop_vector import ShopVectorEnv
from errands.envs.turk import TurkEnv
from errands.shop.catalog.catalog import Catalog
from errands.turk.actions.action import Action
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.pages.driver import DriverError

FORM = {"task": "Teapot Reviews", "row": 0}

CLICKS = ("back to search", "next >", "< prev", "description", "features", "reviews", "attributes",
          "buy now", "search", "absent", "BUY NOW", "Next >")  # fmt: skip
ACTIONS = st.one_of(
    st.integers(0, 40),  # One of what the page offers, taken as it comes.
    st.sampled_from([f"click[{name}]" for name in CLICKS]),
    st.sampled_from(["search[with]", "search[a b]", "search[WITH]", "search[ ]", "search[]"]),
    st.sampled_from(["", "buy now", "click", "click[]", "search", "Search[a]", " click[next >]",
                     "click[next >] and more", "think[click[next >]]", None, 7]),
    st.text(max_size=12),
)  # fmt: skip


def is_possible(action: Any, info: dict[str, Any], *, anywhere: bool) -> bool:
    """What the page of this info offers, said another way than the shop says it."""
    match = re.match(r"(.+)\[(.+)\]", str(action))
    if match is None:
        return False
    offered = info["available_actions"]
    if match[1] == "search":
        return anywhere or bool(offered["has_search_bar"])
    # The search button does nothing without words: that is search[words].
    return match[1] == "click" and match[2].lower() in {*offered["clickables"]} - {"search"}


@settings(max_examples=effort(40, 150))
@given(st.lists(ACTIONS, min_size=3, max_size=14), st.booleans(), st.booleans(), st.booleans())
def test_an_action_is_valid_where_the_page_offers_it(
    little: Catalog, actions: list[Any], anywhere: bool, still_open: bool, short: bool
) -> None:
    env = ShopEnv(
        little,
        search_anywhere=anywhere,
        after_purchase="open" if still_open else "locked",
        max_steps=9 if short else None,
        show_attrs=True,
    )
    seen, info = env.reset(options={"goal": 1})
    assert (info["valid_action"], info["page_changed"]) == (True, True)
    # Searching for a title finds something, so that all kinds of pages are met.
    title = re.sub(r"[\[\]]", " ", little.product_at(5).title)
    bought = False
    for action in [f"search[{title}]", 2, *actions]:
        if isinstance(action, int):
            clickables = info["available_actions"]["clickables"]
            action = f"click[{clickables[action % len(clickables)]}]" if clickables else action
        ended = env.episode.over and (env.episode.truncated or not still_open)
        before = env.episode.url()
        possible = not ended and is_possible(action, info, anywhere=anywhere)
        again, reward, terminated, truncated, info = env.step(action)
        assert info["valid_action"] is possible
        assert info["page_changed"] is (env.episode.url() != before)
        if not info["page_changed"]:
            assert again == seen
        assert info["valid_action"] or not info["page_changed"]
        bought = bought or terminated
        assert ("score" in info) == ("success" in info) == (bought or truncated)
        if terminated and info["valid_action"]:
            assert info["score"] == reward
        if truncated and not bought:
            assert info["score"] == 0.0
        if "score" in info:
            assert type(info["score"]) is float
            assert info["success"] is (info["score"] >= 1.0)
        seen = again


def test_an_option_that_is_chosen_already_is_valid_and_changes_nothing(little: Catalog) -> None:
    product = next(p for p in little if any(len(values) > 1 for values in p.options.values()))
    env = ShopEnv(little)
    env.reset(options={"goal": 1})
    title = re.sub(r"[\[\]]", " ", product.title)
    env.step(f"search[{title}]")
    env.step(f"click[{product.asin}]")
    one, other = next(values for values in product.options.values() if len(values) > 1)[:2]
    told = []
    for value in (one, one, other, one):
        info = env.step(f"click[{value}]")[4]
        told.append((info["valid_action"], info["page_changed"]))
    assert told == [(True, True), (True, False), (True, True), (True, True)]


def test_the_best_purchase_is_a_success(little: Catalog) -> None:
    env = ShopEnv(little, goals="human")
    found = set()
    for goal in range(40):
        env.reset(options={"goal": goal})
        title = re.sub(r"[\[\]]", " ", env.goal.name)
        env.step(f"search[{title}]")
        env.step(f"click[{env.goal.asin}]")
        for value in env.goal.goal_options:
            env.step(f"click[{value}]")
        _, reward, terminated, _, info = env.step("click[buy now]")
        if terminated:
            assert info["success"] is (reward == 1.0)
            found.add(info["success"])
    assert True in found


def test_many_shops_say_the_same_in_arrays(little: Catalog) -> None:
    envs = ShopVectorEnv(3, catalog=little, max_steps=2, autoreset="disabled")
    _, infos = envs.reset(seed=1)
    assert infos["valid_action"].all()
    assert infos["page_changed"].all()
    assert "score" not in infos
    infos = envs.step(["search[with]", "nonsense", "click[search]"])[4]
    for name in ("valid_action", "page_changed"):
        assert infos[name].dtype == np.bool_
        assert infos[name].tolist() == [True, False, False]
        assert infos[f"_{name}"].all()
    infos = envs.step(["search[with]"] * 3)[4]
    assert infos["page_changed"].tolist() == [False, True, True]
    assert infos["score"].dtype == np.float64
    assert infos["score"].tolist() == [0.0] * 3
    assert infos["success"].tolist() == [False] * 3
    infos = envs.step(["search[with]"] * 3)[4]
    assert not infos["valid_action"].any()


def radio_of(info: dict[str, Any]) -> tuple[str, str, str]:
    field = next(field for field in info["fields"] if field["type"] == "radio")
    return field["name"], *field["options"][:2]


@pytest.mark.parametrize("observation", ["html", "text", "relevant"])
def test_forms_say_what_an_answer_did(observation: str) -> None:
    env = TurkEnv(driver="dom", observation=observation)
    _, info = env.reset(options=FORM)
    assert (info["valid_action"], info["page_changed"]) == (True, True)
    name, one, other = radio_of(info)
    first, second = f"modify_radio({name!r}, {one!r})", f"modify_radio({name!r}, {other!r})"
    table: list[tuple[Any, bool, bool]] = [
        ("", False, False),
        ("hello", False, False),
        (None, False, False),
        ("modify_radio('nowhere', 'x')", False, False),
        (f"modify_radio({name!r}, 'no such value')", False, False),
        (f"modify_text({name!r}, 'x')", False, False),
        ("click(0.5, 0.5)", False, False),
        (f"get_html({name!r})", True, False),
        (f"wait_for_element({name!r})", True, False),
        (first, True, True),
        (first, True, False),
        (Action("modify_radio", {"name": name, "value": other}), True, True),
        ({"name": "modify_radio", "arguments": {"name": name, "value": other}}, True, False),
        (f"{first}\n{second}\n{first}", True, True),
        (f"{second}\nmodify_radio('nowhere', 'x')", False, True),
        ("submit()", True, False),
        ("submit()", False, False),
        (first, False, False),
    ]
    for answer, valid, changed in table:
        values = env.page.values(name)
        _, _, terminated, _, info = env.step(answer)
        assert (info["valid_action"], info["page_changed"]) == (valid, changed), answer
        assert changed == (env.page.values(name) != values)
        assert ("score" in info) == ("success" in info) == terminated


def test_a_form_ends_with_its_score() -> None:
    env = TurkEnv(driver="dom", max_steps=1)
    env.reset(options=FORM)
    play_oracle(env.page, env._instance())
    _, reward, _, _, info = env.step("submit()")
    assert (reward, info["score"], info["success"]) == (1.0, 1.0, True)
    assert env.step("submit()")[4]["score"] == 1.0
    env.reset(options=FORM)
    _, reward, _, truncated, info = env.step("nonsense")
    assert truncated
    assert (info["valid_action"], info["score"], info["success"]) == (False, reward, reward >= 1)


def test_what_is_typed_changes_a_page_though_its_markup_stays() -> None:
    env = TurkEnv(driver="browser")
    try:
        _, info = env.reset(options={"task": "Notice Shortener", "row": 0})
    except DriverError as failure:
        if str(failure) not in (chromium.MISSING_BROWSER, chromium.MISSING_PACKAGE):
            raise
        pytest.skip(str(failure))
    try:
        name = next(field["name"] for field in info["fields"] if field["type"] == "textarea")
        assert env.step(f"click(selector='textarea[name=\"{name}\"]')")[4]["valid_action"]
        info = env.step("type('short')")[4]
        assert env.page.values(name) == ["short"]
        assert (info["valid_action"], info["page_changed"]) == (True, True)
        assert not env.step("press_key('Shift')")[4]["page_changed"]
    finally:
        env.close()
