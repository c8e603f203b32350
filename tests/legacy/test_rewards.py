"""The original's reward functions and helpers over dictionaries written by hand."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from errands_legacy import SimServer
from web_agent_site.engine.engine import (
    get_product_per_page,
    get_top_n_product_from_keywords,
    parse_action,
)
from web_agent_site.engine.goal import (
    get_attribute_reward,
    get_option_reward,
    get_reward,
    get_type_reward,
)
from web_agent_site.engine.normalize import normalize_color
from web_agent_site.models import HumanPolicy, RandomPolicy
from web_agent_site.utils import generate_mturk_code, random_idx, setup_logger

from errands.shop.catalog.catalog import Catalog

GOAL: dict[str, Any] = {
    "query": "Query 1",
    "product_category": "a › b › c",
    "name": "Name 1",
    "attributes": ["tea tree", "essential oils", "natural ingredients"],
    "goal_options": {"color": "grey", "size": "XL"},
    "price_upper": 40.0,
}


@pytest.mark.parametrize(
    ("categories", "match"),
    [("b›c›a", True), ("d›e›f", False), ("a›d›b", True), ("a›a›b", True), ("a›a›d", False)],
)
def test_type(categories: str, match: bool) -> None:
    bought = {"query": "Query 2", "product_category": categories, "name": "Name 1"}
    found = get_type_reward(bought, GOAL)
    assert (found["query_match"], found["category_match"]) == (False, match)
    assert get_type_reward({**bought, "query": "Query 1"}, GOAL)["query_match"] is True
    assert found["title_score"] == 1


def test_attributes() -> None:
    all_three = ["tea tree", "essential oil", "natural ingredients"]
    assert get_attribute_reward({"Attributes": all_three}, GOAL) == (1.0, 3)
    bought = {
        "Attributes": [],
        "Title": "",
        "BulletPoints": ["This shampoo has essential oils and smells like lemons"],
        "Description": "Best shampoo on the market, made with natural ingredients",
    }
    assert get_attribute_reward(bought, GOAL) == (2 / 3, 2)


@pytest.mark.parametrize(
    ("bought", "wanted", "share"),
    [
        (["pack of 12", "grey", "XL"], ["grey", "XL", "pack of 12"], (1.0, 3)),
        (["pack of 12", "blue", "XL"], ["grey", "XL", "pack of 12"], (2 / 3, 2)),
        (["pack of 12", "powder snow", "XL"], ["cool powder snow", "XL", "pack of 12"], (1.0, 3)),
        (["a", "b"], [], (None, 0)),
        ([], ["a", "b"], (0.0, 0)),
        (["xl"], {"size": "XL"}.items(), (1.0, 1)),
    ],
)
def test_options(bought: list[str], wanted: Any, share: tuple[float | None, int]) -> None:
    assert get_option_reward(bought, wanted) == share


def test_totals() -> None:
    name = "Mens D.O.N. Issue 2 Gca Basketball Sneakers Shoes Casual - Off White"
    goal = {**GOAL, "name": name}
    bought: dict[str, Any] = {
        **goal,
        "Attributes": ["tea tree", "essential oil", "natural ingredients"],
    }
    chosen = {"color": "grey", "size": "XL"}
    assert get_reward(bought, goal, 35, chosen) == 1
    # A text in place of the bullets is read letter by letter, as in the original.
    bought |= {
        "Attributes": [],
        "Title": "",
        "BulletPoints": "This shampoo has essential oils and smells like lemons",
        "Description": "Best shampoo on the market, made with natural ingredients",
    }
    total, parts = get_reward(bought, goal, 35, chosen, verbose=True)
    assert total == pytest.approx(2 / 3)
    assert parts["r_att"] == pytest.approx(1 / 3)
    three = {**goal, "goal_options": {**chosen, "amount": "pack of 12"}}
    assert get_reward(bought, three, 35, chosen) == pytest.approx(4 / 7)


def test_the_reward_of_a_servers_records_is_the_purchases(little: Catalog) -> None:
    server = SimServer(catalog=little)
    url = "http://127.0.0.1:3000/x"
    for index in range(20):
        session = f"s{index}"
        _, url, _ = server.receive(session, None, session_int=index)
        goal = server.goals[index]
        _, url, _ = server.receive(session, url, keywords=goal["query"].split())
        asin = server.search_engine.search(goal["query"], 1)[0].docid
        _, url, _ = server.receive(session, url, clickable_name=asin)
        _, url, status = server.receive(session, url, clickable_name="buy now")
        record, price = server.product_item_dict[asin], server.product_prices[asin]
        assert status["reward"] == get_reward(record, goal, price, {})
        # A goal that went through JSON has no nouns; they are tagged as the catalogue's were.
        bare = json.loads(json.dumps(goal))
        assert get_reward(json.loads(json.dumps(record)), bare, price, {}) == status["reward"]


def test_names_of_the_engine(little: Catalog) -> None:
    server = SimServer(catalog=little)
    found = get_top_n_product_from_keywords(
        ["red", "shoes"], server.search_engine, server.all_products, server.product_item_dict
    )
    assert [p["asin"] for p in found] == [hit.asin for hit in little.search("red shoes", 50)]
    assert get_product_per_page(found, 2) == found[10:20]
    document = server.search_engine.doc(found[0]["asin"])
    assert document is not None
    assert json.loads(document.raw())["id"] == found[0]["asin"]
    assert server.search_engine.doc("nothing") is None
    assert parse_action("click[x] trailing") == ("click", "x")
    assert normalize_color("light blue") == "blue"


def test_helpers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = random.getstate()
    try:
        random.seed(24)
        sums = [0]
        for _ in range(50):
            sums.append(sums[-1] + random.randint(0, 10))
        assert [random_idx(sums) for _ in range(3)] == [44, 15, 36]
    finally:
        random.setstate(state)
    assert generate_mturk_code("ABC") == "3C01BDBB26"
    logger = setup_logger("legacy-session", tmp_path)
    logger.info('{"page": 1}')
    for handler in logger.handlers:
        handler.close()
    assert (tmp_path / "legacy-session.jsonl").read_text() == '{"page": 1}\n'
    policy = RandomPolicy()
    assert policy.forward("", {"has_search_bar": True, "clickables": ["search"]}) == "search[shoes]"
    assert policy.forward("", {"has_search_bar": False, "clickables": ["a"]}) == "click[a]"
    assert policy.forward("", {"has_search_bar": False, "clickables": []}) == "click[None]"
    monkeypatch.setattr("builtins.input", lambda prompt: f"typed after {prompt}")
    assert HumanPolicy().forward("", {}) == "typed after > "
