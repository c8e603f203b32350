"""What code of other projects does with the original's objects, found by reading it."""

import copy
import json
import operator
import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from errands_legacy import SimServer, WebAgentTextEnv, engine
from errands_legacy.goals import restart_random
from web_agent_site import utils
from web_agent_site.envs import web_agent_text_env

from errands.errors import SettingError
from errands.shop.build.export import export_catalog
from errands.shop.catalog.catalog import Catalog


@pytest.fixture
def env(little: Catalog) -> WebAgentTextEnv:
    env = WebAgentTextEnv("text", catalog=little)
    env.reset(3)
    return env


@pytest.fixture
def files(little: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files whose names do not tell that they belong together."""
    monkeypatch.setenv("ERRANDS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ERRANDS_LEGACY_CATALOG", raising=False)
    export_catalog(
        little,
        items=tmp_path / "products.json",
        attributes=tmp_path / "mined.json",
        human=tmp_path / "said.json",
    )
    return tmp_path


def first_product(env: WebAgentTextEnv) -> str:
    env.step("search[shoes]")
    name: str = env.get_available_actions()["clickables"][2]
    env.step(f"click[{name}]")
    return name


def test_a_purchase_stays_in_the_session_until_the_next_episode(env: WebAgentTextEnv) -> None:
    first_product(env)
    _, reward, _, _ = env.step("click[buy now]")
    session = env.server.user_sessions["3"]
    parts = session["verbose_info"]
    env.step("search[hat]")
    env.step("click[back to search]")
    assert (session["done"], session["reward"]) == (True, reward)
    assert session["verbose_info"] == parts
    assert (session["asin"], session["asins"], session["options"]) == (None, set(), {})
    env.reset(3)
    assert session["done"] is False
    assert not {"reward", "verbose_info"} & set(session)


def test_an_assigned_instruction_is_read_at_every_action(env: WebAgentTextEnv) -> None:
    env.server.assigned_instruction_text = "Find me gold."
    assert env.step("nonsense")[0].startswith("WebShop")
    assert env.step("search[gold]")[0].startswith("Instruction: [SEP] Find me gold. [SEP]")
    env.server.assigned_instruction_text = "Find me silver."
    first_product(env)
    assert "Find me silver." in env.observation
    env.server.assigned_instruction_text = "Find me nothing."
    assert env.step("click[back to search]")[0].endswith("Find me nothing. [SEP] Search")
    assert env.get_instruction_text() == "Instruction: Find me nothing."


class Reversed:
    """A search engine of the user's own: the worst first."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.queries: list[str] = []

    def search(self, q: str, k: int = 10) -> list[Any]:
        self.queries.append(q)
        return [SimpleNamespace(docid=hit.docid) for hit in self.engine.search(q, k)[::-1]]

    def doc(self, docid: str) -> Any:
        return self.engine.doc(docid)


def test_a_search_engine_can_be_replaced(env: WebAgentTextEnv) -> None:
    ours, query = env.server.search_engine, "black women shoes"
    env.step(f"search[{query}]")
    found = [hit.docid.lower() for hit in ours.search(query, k=50)]
    assert len(found) > 20
    assert env.get_available_actions()["clickables"][2:] == found[:10]
    theirs = env.server.search_engine = Reversed(ours)
    env.step(f"search[{query}]")
    found.reverse()
    assert env.get_available_actions()["clickables"][2:] == found[:10]
    assert theirs.queries == [query]
    env.step("click[next >]")
    assert env.get_available_actions()["clickables"][3:] == found[10:20]
    env.step(f"click[{found[10]}]")
    assert theirs.queries == [query] * 2
    assert env.server.user_sessions["3"]["asin"] == found[10].upper()
    twin = copy.deepcopy(env)
    twin.step("click[< prev]")
    assert twin.get_available_actions()["clickables"][3:] == found[10:20]
    twin.server.search_engine = ours
    twin.step("click[< prev]")
    assert twin.get_available_actions()["clickables"][2:] == found[::-1][:10]
    _, _, done, _ = env.step("click[buy now]")
    assert done


def test_products_can_be_left_out(env: WebAgentTextEnv) -> None:
    env.step("search[shoes]")
    first, *rest = env.get_available_actions()["clickables"][2:]
    kept = {k: v for k, v in env.server.product_item_dict.items() if k != first.upper()}
    env.server.product_item_dict = kept
    env.step("search[shoes]")
    assert env.get_available_actions()["clickables"][2:11] == rest


def test_prev_obs_and_prev_actions_are_lists(env: WebAgentTextEnv) -> None:
    said = ["search[shoes]", "nonsense", "click[next >]"]
    for action in said:
        env.step(action)
    assert env.prev_actions == said
    assert env.prev_actions[-2:] == said[-2:]
    assert env.prev_obs[-1:] == [env.observation]
    json.dumps([env.prev_obs, env.prev_actions])
    env.reset(4)
    assert (env.prev_obs, env.prev_actions) == ([env.observation], [])


def test_observations_are_kept_as_many_as_are_asked_for(little: Catalog) -> None:
    env = WebAgentTextEnv("url", catalog=little, num_prev_obs=2)
    for word in ("a", "b", "c", "d"):
        env.step(f"search[{word}]")
    assert [url.split("/")[-2] for url in env.prev_obs] == ["c", "d"]


class OwnReset(WebAgentTextEnv):
    """Does all that the original's `reset` does by itself, as forks do."""

    def reset(self, session: Any = None, instruction_text: str | None = None) -> tuple[str, None]:
        self.session = "mine" if session is None else str(session)
        self.browser.get(f"{self.base_url}/{self.session}", self.session, session)
        self.text_to_clickable = None  # type: ignore[assignment]
        self.instruction_text = self.get_instruction_text()
        self.prev_obs = [self.observation]
        self.prev_actions = []
        return self.prev_obs[0], None


def test_a_subclass_may_reset_by_itself(little: Catalog) -> None:
    env = OwnReset("text", catalog=little)
    assert env.reset(2)[0] == WebAgentTextEnv("text", catalog=little).reset(2)[0]
    assert list(env.text_to_clickable) == ["search"]
    env.step("search[shoes]")
    assert list(env.text_to_clickable)[:2] == ["back to search", "next >"]


def test_parse_html_is_beautiful_soups(
    env: WebAgentTextEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    class BeautifulSoup:
        def __init__(self, html: str, parser: str) -> None:
            self.read = html, parser

    monkeypatch.setitem(sys.modules, "bs4", SimpleNamespace(BeautifulSoup=BeautifulSoup))  # type: ignore[arg-type]
    assert env._parse_html().read == (env.browser.page_source, "html.parser")
    assert env._parse_html("<p>").read == ("<p>", "html.parser")
    monkeypatch.setitem(sys.modules, "bs4", None)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="beautifulsoup4"):
        env._parse_html()


def test_a_page_is_that_of_the_browser(env: WebAgentTextEnv) -> None:
    seen = env.observation
    env.reset(5)
    env.session = "3"
    assert env.observation != seen
    env.browser.session_id = "3"
    assert env.observation == seen


def test_an_unknown_mode_set_later_is_a_mistake(env: WebAgentTextEnv) -> None:
    env.observation_mode = "pixels"
    with pytest.raises(SettingError, match="pixels"):
        _ = env.observation


def test_a_reset_that_fails_changes_nothing(env: WebAgentTextEnv) -> None:
    seen = env.step("search[shoes]")[0]
    for wrong in (10**6, 3.5, (1, 2)):
        with pytest.raises(ValueError, match=r"expected"):
            env.reset(wrong)
    assert env.session == env.browser.session_id == "3"
    assert env.observation == seen
    env.reset()
    name = env.session
    with pytest.raises(IndexError):
        env.reset(10**6)
    assert env.step("search[shoes]")[0].startswith("Instruction")
    assert name in env.server.user_sessions


def test_random_sessions_of_a_shared_server_never_meet(little: Catalog) -> None:
    server = SimServer(catalog=little)
    envs = [WebAgentTextEnv("text", server=server)]
    for _ in range(3):
        # As the next server that is made does.
        restart_random(len(server.goals))
        envs.append(WebAgentTextEnv("text", server=server))
    assert len({env.session for env in envs}) == 4
    for env in envs:
        env.reset()
    assert len(server.user_sessions) == 4


def test_goals_can_be_added_to(env: WebAgentTextEnv) -> None:
    goals = env.server.goals
    own = {**goals[0], "instruction_text": "Buy it."}
    more = operator.add(goals, [own])
    assert more == [*goals, own]
    assert operator.add([own], goals) == [own, *goals]
    env.server.goals = more
    assert env.reset(len(more) - 1)[0].endswith("Buy it. [SEP] Search")


def test_prices_are_drawn_by_pythons_generator() -> None:
    products = [
        {"asin": "A", "pricing": [5.0]},
        {"asin": "B", "pricing": [1.0, 2.0]},
        {"asin": "C", "pricing": []},
    ]
    random.seed(7)
    prices = engine.generate_product_prices(products)
    assert prices == {"A": 5.0, "B": random.Random(7).uniform(1.0, 2.0), "C": 100.0}


def test_load_products_takes_numbers_in_either_place(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items, attributes = files / "products.json", files / "mined.json"
    ours = engine.load_products(items, attributes, 100, False)
    assert len(ours[0]) == 100
    monkeypatch.setattr(utils, "DEFAULT_ATTR_PATH", str(attributes))
    theirs = engine.load_products(items, 100, True)
    assert list(theirs[1]) == list(ours[1])


def test_paths_can_be_written_into_utils(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utils, "DEFAULT_FILE_PATH", str(files / "products.json"))
    monkeypatch.setattr(utils, "DEFAULT_ATTR_PATH", str(files / "mined.json"))
    monkeypatch.setattr(utils, "HUMAN_ATTR_PATH", str(files / "said.json"))
    synthetic = WebAgentTextEnv("text")
    assert len(synthetic.server.all_products) == 300
    assert len(WebAgentTextEnv("text", human_goals=True).server.goals) > 0
    given = WebAgentTextEnv("text", file_path=files / "products.json", num_products=np.int64(50))
    assert len(given.server.all_products) == 50


def test_names_that_other_modules_import() -> None:
    from web_agent_site.engine import goal
    from web_agent_site.models import models

    visible = web_agent_text_env.tag_visible
    comment = type("Comment", (str,), {})("x")
    for element in (comment, type("Text", (str,), {})("x")):
        element.parent = SimpleNamespace(name="p")
        assert visible(element) is (element is not comment)
    element.parent.name = "script"
    assert not visible(element)
    assert web_agent_text_env.get_reward is goal.get_reward
    assert web_agent_text_env.END_BUTTON == "Buy Now"
    assert issubclass(models.RandomPolicy, models.BasePolicy)
    assert utils.DEFAULT_REVIEW_PATH.endswith("reviews.json")
    assert (len(goal.PRICE_RANGE), goal.PRICE_RANGE[0], goal.PRICE_RANGE[-1]) == (99, 10.0, 990.0)
    assert engine.TOP_K_ATTR == 10


def test_colours_and_sizes_are_put_into_kinds() -> None:
    from web_agent_site.engine.normalize import normalize_color_size

    sizes = {
        "3 meter": "(.*)meter",
        "XX-Large": "xx-large",
        "9.5": "numeric_size",
        "9.5.1": "not_matched",
        "40cm": r"(\d+)cm$",
        '28"': r'(\d+)"$',
        "5 w by 3 l": "(.*)w by (.*)l",
        "9 women | 7 men": r"(.*) women \| (.*) men",
        "random": "not_matched",
    }
    colors = {"Black forest": "black", "webshopsteel": "steel", "webshop": "not_matched"}
    pairs = [("x", color, "1") for color in colors] + [("x", "webshop", size) for size in sizes]
    found = normalize_color_size(dict.fromkeys(pairs, 1.0))
    other = {"N.A.": "not_matched"}
    assert found[0] == other | {color.lower(): kind for color, kind in colors.items()}
    assert found[1] == other | {"1": "numeric_size"} | {k.lower(): v for k, v in sizes.items()}


def test_a_filter_leaves_the_random_sessions_as_they_are(little: Catalog) -> None:
    names = [
        WebAgentTextEnv("text", catalog=little, filter_goals=accepts).session
        for accepts in (None, lambda index, goal: index % 3 == 0)
    ]
    assert names[0] == names[1]


@pytest.mark.parametrize(
    ("option", "value"),
    [("filter_goals", True), ("limit_goals", "5"), ("limit_goals", None), ("num_prev_obs", "2")],
)
def test_options_of_a_wrong_type_are_named(little: Catalog, option: str, value: Any) -> None:
    with pytest.raises(SettingError, match=f"{option}={value!r}: expected"):
        WebAgentTextEnv("text", catalog=little, **{option: value})


def test_a_server_can_be_asked_for_a_page_of_results(env: WebAgentTextEnv) -> None:
    words = ["black", "women", "shoes"]
    found = [hit.docid for hit in env.server.search_engine.search(" ".join(words), k=50)]
    html, url, status = env.server.receive("3", None, keywords=words, page=2)
    assert url.endswith("/search_results/3/black+women+shoes/2")
    assert status == {"reward": 0.0, "done": False}
    assert all(asin in html for asin in found[10:20])
    assert found[0] not in html
    assert env.server.user_sessions["3"]["page"] == 2


def test_a_session_can_be_prepared(env: WebAgentTextEnv) -> None:
    goal = {**env.server.goals[9], "instruction_text": "Buy it."}
    env.server.user_sessions["mine"] = {"goal": goal, "done": False}
    assert env.reset(session="mine")[0].endswith("Buy it. [SEP] Search")
    assert env.server.user_sessions["mine"]["goal"] is goal


def test_a_product_that_is_not_there_is_a_key_error(env: WebAgentTextEnv) -> None:
    first_product(env)
    env.server.user_sessions["3"]["asin"] = "B000000000"
    with pytest.raises(KeyError, match="B000000000"):
        env.step("click[description]")
