"""`WebAgentTextEnv` beyond what was recorded: sessions, snapshots, history, mistakes."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from errands_legacy import SimServer, WebAgentTextEnv
from errands_legacy.html_text import plain_text, rich_text
from hypothesis import given
from hypothesis import strategies as st

from errands.errors import ErrandsError, SettingError
from errands.shop.catalog.catalog import Catalog


def make(little: Catalog, mode: str = "text", **options: Any) -> WebAgentTextEnv:
    return WebAgentTextEnv(mode, catalog=little, **options)


def open_item(env: WebAgentTextEnv) -> str:
    """Go to the page of the first product found that has options."""
    env.reset(0)
    env.step("search[shoes]")
    for name in env.get_available_actions()["clickables"][2:]:
        env.step(f"click[{name}]")
        if len(env.get_available_actions()["clickables"]) > 6:
            return name
        env.step("click[< prev]")
    raise AssertionError("no product has options")


def test_a_session_is_a_live_dictionary(little: Catalog) -> None:
    env = make(little)
    env.reset(4)
    session = env.server.user_sessions["4"]
    assert session["goal"] == env.server.goals[4]
    assert (session["keywords"], session["asin"], session["asins"]) == (None, None, set())
    env.step("search[Red Shoes]")
    assert session["keywords"] == ["red", "shoes"]
    assert session["page"] == 1
    env.step("click[next >]")
    assert (session["page"], session["actions"]["search"]) == (2, 2)
    env.step("click[< prev]")
    asin = env.get_available_actions()["clickables"][2]
    env.step(f"click[{asin}]")
    assert session["asin"] == asin.upper()
    assert session["asins"] == {asin.upper()}
    env.step("click[features]")
    assert session["actions"]["Features"] == 1
    env.step("click[< prev]")
    assert session["actions"]["asin"] == 1
    assert session["done"] is False
    _, reward, done, info = env.step("click[buy now]")
    assert (done, info, session["done"], session["reward"]) == (True, None, True, reward)
    assert session["verbose_info"]["w_price"] > 0
    env.reset(4)
    assert env.server.user_sessions["4"] is session
    assert session["done"] is False
    assert "reward" not in session
    assert "verbose_info" not in session


def test_options_are_noted_and_kept_below_the_item(little: Catalog) -> None:
    env = make(little, "text_rich")
    open_item(env)
    session = env.server.user_sessions[env.session]
    value, element = next(
        (name, tag) for name, tag in env.text_to_clickable.items() if tag.get("type") == "radio"
    )
    assert (element["value"], element.get_text()) == (value, value)
    seen, *_ = env.step(f"click[{value}]")
    assert session["options"] == {element["name"]: value}
    assert session["actions"]["options"] == 1
    assert seen.startswith(f"You have clicked {value}.")
    env.step("click[description]")
    assert env.step("click[< prev]")[0] == seen
    env.step("click[< prev]")
    assert session["options"] == {}
    assert session["asin"] is None


def test_classes_of_clickables_are_the_documents(little: Catalog) -> None:
    env = make(little)
    env.reset(0)
    assert env.text_to_clickable["search"]["class"] == ["btn"]
    env.step("search[shoes]")
    kinds = [tag["class"][0] for tag in env.text_to_clickable.values()]
    assert kinds == ["btn"] * 2 + ["product-link"] * (len(kinds) - 2)


def test_a_copy_goes_its_own_way(little: Catalog) -> None:
    env = make(little)
    open_item(env)
    before = env.observation
    twin = copy.deepcopy(env)
    assert twin.server.catalog is env.server.catalog
    _, reward, done, _ = env.step("click[buy now]")
    assert done
    assert twin.observation == before
    assert twin.server.user_sessions[twin.session]["done"] is False
    assert twin.step("click[buy now]")[1:3] == (reward, True)


def test_a_session_and_an_address_put_back_are_where_they_were(little: Catalog) -> None:
    env = make(little)
    open_item(env)
    env.step("click[description]")
    kept = copy.deepcopy(env.server.user_sessions[env.session])
    url, source, seen = env.browser.current_url, env.browser.page_source, env.observation
    env.step("click[back to search]")
    env.step("search[hat]")
    env.server.user_sessions[env.session] = kept
    env.browser.page_source, env.browser.current_url = source, url
    assert env.observation == seen
    assert env.browser.page_source == source
    assert env.step("click[< prev]")[0] != seen
    assert env.get_available_actions()["clickables"][1] == "< prev"


def test_an_environment_can_be_sent(little: Catalog) -> None:
    env = make(little)
    open_item(env)
    twin = pickle.loads(pickle.dumps(env))
    assert twin.observation == env.observation
    assert twin.step("click[buy now]") == env.step("click[buy now]")


def test_servers_are_shared_and_prefixes_keep_sessions_apart(little: Catalog) -> None:
    server = make(little).server
    one = make(little, server=server, session_prefix="a-")
    two = make(little, server=server, session_prefix="b-")
    one.reset(3)
    two.reset(3)
    one.step("search[shoes]")
    assert two.get_available_actions() == {"has_search_bar": True, "clickables": ["search"]}
    assert {"a-3", "b-3"} <= set(server.user_sessions)
    assert one.browser.current_url == "http://127.0.0.1:3000/search_results/a-3/shoes/1"


@pytest.mark.parametrize("index", [np.int64(7), np.int32(7), 7])
def test_every_whole_number_is_an_index(little: Catalog, index: Any) -> None:
    env = make(little)
    env.reset(index)
    assert env.server.user_sessions["7"]["goal"] == env.server.goals[7]
    env.reset(session=-1)
    assert env.server.user_sessions["-1"]["goal"] == env.server.goals[-1]


def test_a_name_keeps_its_goal_and_random_ones_are_forgotten(little: Catalog) -> None:
    env = make(little)
    env.reset("mine")
    goal = env.server.user_sessions["mine"]["goal"]
    for _ in range(20):
        env.reset()
    assert set(env.server.user_sessions) == {"mine", env.session}
    env.reset("mine")
    assert env.server.user_sessions["mine"]["goal"] is goal
    assert set(env.server.user_sessions) == {"mine"}
    env.reset()
    env.close()
    assert set(env.server.user_sessions) == {"mine"}


def test_random_draws_differ_and_leave_the_global_generator_alone(little: Catalog) -> None:
    import random

    state = random.getstate()
    env, other = make(little), make(little)
    assert env.session == other.session, "as in the original, each server starts the generator"
    names = [e.reset() and e.session for e in (env, other) for _ in range(5)]
    assert len(set(names)) == 10
    assert random.getstate() == state


@pytest.mark.parametrize("session", [10**6, -(10**6)])
def test_an_index_out_of_range_is_said(little: Catalog, session: int) -> None:
    env = make(little)
    with pytest.raises(IndexError, match="There is no goal"):
        env.reset(session)
    env.reset(0)
    assert str(session) not in env.server.user_sessions


def test_mistakes_are_said_in_a_sentence(little: Catalog) -> None:
    with pytest.raises(ValueError, match="observation_mode='pixels': expected html"):
        make(little, "pixels")
    with pytest.raises(SettingError, match=r"session=1\.5: expected"):
        make(little).reset(1.5)
    with pytest.raises(SettingError, match="shuffle='always'"):
        make(little, shuffle="always")
    with pytest.raises(ErrandsError, match="get_image needs torch"):
        make(little, get_image=1)
    from web_agent_site.envs import WebAgentSiteEnv

    with pytest.raises(SettingError, match="use WebAgentTextEnv"):
        WebAgentSiteEnv(observation_mode="text", render=True)


def test_an_instruction_of_ones_own(little: Catalog) -> None:
    env = make(little)
    seen, _ = env.reset(0, instruction_text="Buy hats")
    assert env.instruction_text == env.state["instruction_text"] == "Buy hats"
    assert "Buy hats" not in seen
    env.server.assigned_instruction_text = "Buy socks"
    seen, _ = env.reset(0)
    assert "Buy socks" in seen
    assert env.get_instruction_text() == "Instruction: Buy socks"
    env.step("search[socks]")
    assert env.get_instruction_text() == "Instruction:Buy socks"
    assert env.server.goals[0]["instruction_text"] != "Buy socks"


def test_history_is_put_before(little: Catalog) -> None:
    env = make(little, num_prev_obs=1, num_prev_actions=2)
    first, _ = env.reset(0)
    one, *_ = env.step("search[shoes]")
    results = env.observation
    assert one == f"{first} [SEP] search[shoes] [SEP] {results}"
    two, *_ = env.step("nonsense")
    assert two == f"search[shoes] [SEP] {results} [SEP] nonsense [SEP] {results}"
    env.reset(0)
    assert env.step("x")[0] == f"{first} [SEP] x [SEP] {first}"


def test_after_a_purchase_the_shop_stays_open(little: Catalog) -> None:
    env = make(little)
    open_item(env)
    env.step("click[buy now]")
    assert env.get_available_actions() == {"has_search_bar": False, "clickables": []}
    assert env.step("click[buy now]")[1:] == (0.0, False, None)
    assert env.get_instruction_text().startswith("Instruction:")
    assert "Page 1" in env.step("search[hat]")[0]


def test_attributes_are_shown_where_asked_for(little: Catalog) -> None:
    shown, hidden = make(little, show_attrs=True), make(little)
    open_item(shown)
    open_item(hidden)
    assert "attributes" in shown.get_available_actions()["clickables"]
    assert "attributes" not in hidden.get_available_actions()["clickables"]
    shown.step("click[attributes]")
    assert "/Attributes/" in str(shown.browser.current_url)
    assert shown.server.user_sessions["0"]["actions"]["Attributes"] == 1


def test_pages_as_html_and_pictures(little: Catalog) -> None:
    env = make(little, "html")
    open_item(env)
    assert env.observation == env.browser.page_source == env.state["html"]
    assert 'id="product-image"' in env.observation
    assert np.asarray(env.get_image()).tolist() == [0.0] * 512
    assert env.render(mode="rgb_array") == env.render() != env.observation
    assert "[button] Buy Now [button_]" in env.render("human")


def test_text_of_a_pages_source_is_the_observation(little: Catalog) -> None:
    """On every page but the last, whose source has less."""
    plain, rich = make(little, show_attrs=True), make(little, "text_rich", show_attrs=True)
    for goal in range(4):
        for env in (plain, rich):
            open_item(env)
            env.step(f"click[{env.get_available_actions()['clickables'][-1]}]")
            env.step("click[< prev]")
            env.step("click[back to search]")
            env.reset(goal)
        path = f"search[{plain.server.goals[goal]['query']}]", "click[next >]", "click[< prev]"
        for action in (*path, "item", "click[description]", "click[< prev]", "click[features]",
                       "click[< prev]", "click[attributes]", "click[< prev]", "option",
                       "click[< prev]"):  # fmt: skip
            for env in (plain, rich):
                last = env.get_available_actions()["clickables"][-1]
                env.step(f"click[{last}]" if action in ("item", "option") else action)
                html = env.state["html"]
                assert env.convert_html_to_text(html, env is plain) == env.observation, action


def test_any_source_is_read() -> None:
    assert plain_text("<p>a <b>b</b><!-- no --> c</p>\n<title>no</title>x") == "a [SEP] b [SEP] c"
    assert (
        plain_text("<div>1 &lt; 2</div></p><pre>  \n </pre><div> </div>") == "1 < 2 [SEP]  [SEP] "
    )
    assert plain_text("") == ""
    assert rich_text("<label>a</label><label>b</label>", "b".__eq__, bool) == (
        "You have clicked b.\n  [button] a [button_]\n  [clicked button] b [clicked button_]\n"
    )


def test_the_server_answers_as_the_originals(little: Catalog) -> None:
    server = SimServer(catalog=little)
    base = "http://127.0.0.1:3000"
    page, url, status = server.receive("me", None, session_int=2)
    assert "search_input" in page
    assert (url, status) == (f"{base}/me", {"reward": 0.0, "done": False})
    assert server.user_sessions["me"]["goal"] == server.goals[2]
    page, url, _ = server.receive("me", url, keywords=["red", "shoes"])
    assert url == f"{base}/search_results/me/red+shoes/1"
    assert server.get_page_name(url) == "search_results"
    asin = server.search_engine.search("red shoes", 50)[0].docid
    page, url, _ = server.receive("me", url, clickable_name=asin.lower())
    assert url == f"{base}/item_page/me/{asin}/red+shoes/1/{{}}"
    page, url, status = server.receive("me", url, clickable_name="Buy Now")
    assert status["done"]
    assert server.get_page_name(url) == "done"
    assert server.get_page_name(f"{base}/me") == ""
    assert server.get_page_name(None) is None


ACTIONS = st.one_of(
    st.text(),
    st.sampled_from(
        "search[shoes] search[/] search[search_results] click[next_>] click[<_prev] click[search]"
        " click[back_to_search] click[buy_now] click[description] click[features] search[] x"
        " search[a/b/Description/] click[reviews]".split()
    ).map(lambda action: action.replace("_", " ").replace("search results", "search_results")),
    st.integers(0, 30),
)


@given(session=st.sampled_from(["0", "done", "item_page", "a/b", "search_results"]), data=st.data())
def test_any_actions_lead_where_the_state_machine_leads(
    little: Catalog, session: str, data: st.DataObject
) -> None:
    """The page that is made of session and address is the one that the shop's own state has."""
    env = make(little, "text_rich")
    env.reset(session)
    page = env.server.shop.look(env.browser.page.state)
    for action in data.draw(st.lists(ACTIONS, max_size=12)):
        if isinstance(action, int):
            names = env.get_available_actions()["clickables"]
            action = f"click[{names[action % len(names)]}]" if names else "click[x]"
        env.step(action)
        page = env.server.shop.turn(page, action)
        env.browser._page = None  # Nothing but dictionary and address is left.
        found = env.browser.page
        assert found.state.page == page.state.page
        assert (found.product, found.cards, found.clicks) == (page.product, page.cards, page.clicks)
        assert found.options == page.options
        assert set(found.state.visited) == set(page.state.visited)
