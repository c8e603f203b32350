"""Which goals, in which order: fixed, or verl-agent's by a switch."""

import copy
import random
from typing import Any

import pytest
from errands_legacy import SimServer, WebAgentTextEnv
from errands_legacy.engine import get_goals, load_products
from errands_legacy.goals import SHUFFLE_VARIABLE, choose_goals, in_load_order
from errands_legacy.records import GoalList

from errands.errors import GoalError, SettingError
from errands.shop.catalog.catalog import Catalog


def texts(server: SimServer) -> list[str]:
    return [goal["instruction_text"] for goal in server.goals]


def test_the_order_does_not_depend_on_the_seed(little: Catalog) -> None:
    assert texts(SimServer(catalog=little, seed=1)) == texts(SimServer(catalog=little, seed=1001))


@pytest.mark.parametrize("by", ["keyword", "variable"])
def test_verl_agents_order_by_a_switch(
    little: Catalog, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"shuffle": "seed"} if by == "keyword" else {}
    if by == "variable":
        monkeypatch.setenv(SHUFFLE_VARIABLE, "seed")
    with pytest.warns(UserWarning, match="training and validation share goals"):
        one = SimServer(catalog=little, seed=1, **options)
    with pytest.warns(UserWarning, match="share goals"):
        two = SimServer(catalog=little, seed=1001, **options)
    assert texts(one) != texts(two)
    assert sorted(goal["asin"] for goal in one.goals) == sorted(goal["asin"] for goal in two.goals)
    # As verl-agent does: prices and caps drawn with the seed, then the list shuffled with it.
    expected = [goal.instruction_text for goal in _in_load_order(little, 1)]
    random.Random(1).shuffle(expected)
    assert texts(one) == expected
    weights = [goal["weight"] for goal in one.goals]
    assert one.weights == weights
    assert one.cum_weights[-1] == pytest.approx(sum(weights))


def _in_load_order(catalog: Catalog, seed: int) -> Any:
    goals = in_load_order(catalog.goals("synthetic", seed))
    return [goals[index] for index in range(len(goals))]


def test_load_order_is_that_of_the_products(little: Catalog) -> None:
    place = {product.asin: row for row, product in enumerate(little)}
    rows = [place[goal.asin] for goal in _in_load_order(little, little.manifest.seed)]
    assert rows == sorted(rows)


def test_goals_are_filtered_by_their_dictionaries_then_limited(little: Catalog) -> None:
    def cheap(index: int, goal: Any) -> bool:
        return bool(goal["price_upper"] <= 50 and index % 2 == 0)

    everything = SimServer(catalog=little).goals
    wanted = [goal for index, goal in enumerate(everything) if cheap(index, goal)]
    assert list(SimServer(catalog=little, filter_goals=cheap).goals) == wanted
    limited = list(SimServer(catalog=little, filter_goals=cheap, limit_goals=5).goals)
    assert len(limited) == 5
    assert all(goal in wanted for goal in limited)
    with pytest.raises(GoalError, match="no goals"):
        SimServer(catalog=little, filter_goals=lambda index, goal: False)


def test_a_list_of_goals_is_a_list(little: Catalog) -> None:
    goals = SimServer(catalog=little).goals
    assert isinstance(goals, GoalList)
    assert len(goals[3:6]) == 3
    assert goals[-1] == goals[len(goals) - 1]
    with pytest.raises(IndexError):
        goals[len(goals)]
    other = GoalList(little.goals())
    assert goals == other == list(goals)
    before = list(goals)
    random.Random(5).shuffle(other)  # type: ignore[arg-type]
    assert other != goals
    assert list(goals) == before
    assert sorted(map(str, other)) == sorted(map(str, before))
    assert repr(goals) == f"<{len(goals)} goals>"
    with pytest.raises(TypeError):
        hash(goals)
    assert goals != 3


def test_goals_can_be_replaced(little: Catalog) -> None:
    server = SimServer(catalog=little)
    server.goals = [dict(server.goals[9])]
    assert server.open("x", 0) is not None
    assert server.user_sessions["x"]["goal"] is server.goals[0]


@pytest.mark.parametrize("human", [0, 1])
def test_get_goals_gives_them_unshuffled(
    little: Catalog, human: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRANDS_LEGACY_CATALOG", str(little.path))
    products, by_asin, prices, asins = load_products("ignored.json", human_goals=human)
    goals = get_goals(products, prices, human)
    served = SimServer(catalog=little, human_goals=human).goals
    assert list(goals) != list(served)
    assert sorted(map(str, goals)) == sorted(map(str, served))
    attribute = products[0]["Attributes"][0]
    assert products[0]["asin"] in asins[attribute]
    assert len(products) == len(by_asin) == len(prices) == 300
    with pytest.raises(SettingError, match="needs the products of load_products"):
        get_goals([{"asin": "B0"}], prices, human)


def test_a_copied_server_has_prices_and_goals_of_its_own(little: Catalog) -> None:
    server = SimServer(catalog=little)
    prices: Any = server.product_prices
    goals: Any = server.goals
    asin = little.product_at(0).asin
    before, first = prices[asin], goals[0]
    goals[0] = {**first, "instruction_text": "Buy hats"}
    twin = copy.deepcopy(server)
    twin_prices: Any = twin.product_prices
    twin_prices[asin] = before + 1
    assert (prices[asin], twin_prices[asin]) == (before, before + 1)
    assert twin.goals[0] == goals[0]
    assert twin.goals[0] is not goals[0]
    assert twin.catalog is server.catalog
    with pytest.raises(KeyError):
        prices["nothing"] = 1.0


def test_a_session_asks_for_what_its_goal_says(little: Catalog) -> None:
    env = WebAgentTextEnv("text", catalog=little, num_prev_obs=1)
    env.reset(0)
    env.server.user_sessions[env.session]["goal"]["instruction_text"] = "Buy hats"
    env.browser.get(f"{env.base_url}/{env.session}", session_id=env.session)
    env.prev_obs, env.prev_actions = [env.observation], []
    before = env.observation
    assert "Buy hats" in before
    assert env.step("search[hat]")[0].startswith(f"{before} [SEP] Instruction:")
    assert "Buy hats" not in env.server.goals[0]["instruction_text"]


def test_views_are_of_the_catalogue(little: Catalog) -> None:
    server = SimServer(catalog=little)
    first = server.all_products[0]
    assert next(iter(server.product_item_dict)) == first["asin"]
    assert server.product_item_dict[first["asin"]] == first
    assert first["asin"] in server.product_item_dict
    assert "nothing" not in server.product_item_dict
    assert server.product_item_dict.get("nothing") is None
    assert server.product_prices[first["asin"]] == little.product_at(0).price
    assert "nothing" not in server.product_prices
    assert list(server.product_prices)[:2] == [p["asin"] for p in server.all_products[:2]]
    for key in (
        "asin Title Description BulletPoints Price pricing options option_to_image Attributes"
        " MainImage Reviews Rating name query category product_category customization_options"
    ).split():
        assert key in first
    assert [p["Title"] for p in server.all_products] == [p.title for p in little]


def test_a_mistaken_switch(little: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHUFFLE_VARIABLE, "yes")
    with pytest.raises(SettingError, match="ERRANDS_LEGACY_SHUFFLE"):
        choose_goals(little, "synthetic")


def test_a_switch_does_not_touch_a_goal_file(little: Catalog) -> None:
    frozen = little.goals("human")
    assert choose_goals(little, frozen, shuffle="seed", seed=9) is frozen
