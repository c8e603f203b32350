"""A real shop as our environment: pages, limits, what is held, and what leaves."""

import time
from typing import Any

import gymnasium
import pytest
from made_up_shops import GOODS, MadeUpShop

import errands  # noqa: F401
from errands.errors import GoalError, SettingError
from errands.shop.goals import Goal
from errands.shop.rewards.nouns import tagger
from errands.transfer.environment import LiveShopEnv
from errands.transfer.fetch.fetcher import FetchedPage, FetchError, PageRequest, RequestPolicy
from errands.transfer.goals import TransferGoal, instruction_goal
from errands.transfer.live_catalog import LiveCatalog
from errands.transfer.sites.amazon import Amazon
from errands.transfer.sites.record import SiteCard, SiteResults
from errands.transfer.sites.site import site_named

SEARCH = "https://shop.example/search?q={query}&page={page}"
SITES = ("amazon", "ebay", "schema.org")


def _env(name: str, shop: Any = None, **settings: Any) -> LiveShopEnv:
    site = site_named(name, search=SEARCH if name == "schema.org" else "")
    return LiveShopEnv(["a red shoe"], site, shop or MadeUpShop(name), **settings)


def _goal(**changes: Any) -> TransferGoal:
    held = {
        "asin": "", "category": "", "query": "(any)", "name": "Red Trail Runner",
        "product_category": "Clothing › Shoes", "instruction_text": "a red shoe, size 9",
        "attributes": ("non slip",), "price_upper": 50.0, "goal_options": ("9", "red"),
        "weight": 1.0, "nouns": ("trail", "runner"), **changes,
    }  # fmt: skip
    goal = Goal(**held)
    return TransferGoal(goal.instruction_text, goal, by_hand=False)


@pytest.mark.parametrize("name", SITES)
def test_an_episode_step_by_step(name: str) -> None:
    shop = MadeUpShop(name)
    env = _env(name, shop)
    seen, info = env.reset()
    assert seen == "WebShop\nInstruction: \na red shoe\n[button] Search [button_]\n"
    assert info["available_actions"] == {"has_search_bar": True, "clickables": ["search"]}
    assert shop.asked == []

    seen, reward, terminated, truncated, info = env.step("search[red shoe]")
    key = "number" if name == "ebay" else "id"
    shown = [each[key] for each in GOODS[:10]]
    assert info["available_actions"]["clickables"] == [
        "back to search", "next >", *(id.lower() for id in shown),
    ]  # fmt: skip
    assert "Page 1 (Total results: 12)" in seen
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["site_url"] == shop.asked[0].url

    # Ten are shown of twelve; for the second page of ours the site's second is needed.
    seen, *_, info = env.step("click[next >]")
    assert [request.kind for request in shop.asked] == ["search", "search"]
    assert shop.asked[0].url != shop.asked[1].url
    assert "Page 2 (Total results: 24)" in seen
    assert GOODS[19][key] in seen
    # There and back again, nothing more is asked for.
    env.step("click[< prev]")
    env.step("click[next >]")
    env.step("click[next >]")
    seen, *_ = env.step("click[next >]")
    assert "Page 4 (Total results: 24)" in seen, "beyond the end there is an empty page"
    assert len(shop.asked) == 2

    env.step("search[red shoe]")
    assert len(shop.asked) == 2, "a query is asked for once"
    seen, *_, info = env.step(f"click[{GOODS[3][key].lower()}]")
    assert [request.kind for request in shop.asked] == ["search", "search", "item"]
    assert info["site_url"] == shop.asked[2].url
    assert f"Price: ${GOODS[3]['price']}" in seen
    assert {"8", "9", "10", "buy now"} <= set(info["available_actions"]["clickables"])
    seen, *_ = env.step("click[9]")
    assert seen.startswith("You have clicked 9.")
    seen, *_ = env.step("click[features]")
    assert "ubber" in seen
    env.step("click[< prev]")
    seen, reward, terminated, _, info = env.step("click[buy now]")
    assert terminated
    assert len(shop.asked) == 3, "options and buying stay inside"
    assert info["requests"] == {"search": 2, "item": 1}
    assert (reward, info["reward_parts"]) == (0.0, {"pending": True})
    assert list(info["purchase"]["options"].values()) == ["9"]
    assert info["purchase"]["product"]["title"] == GOODS[3]["title"]
    assert "\nNone\nReward Details" in seen, "no score is shown that nobody gave"
    again, *_ = env.step("search[more]")
    assert again == seen
    assert len(shop.asked) == 3

    env.reset()
    env.step("search[red shoe]")
    assert len(shop.asked) == 4, "the next customer comes to a shop it has not seen"
    assert env.episode.info()["requests"] == {"search": 1, "item": 0}


@pytest.mark.parametrize("mode", ["text", "html", "url"])
def test_other_observations(mode: str) -> None:
    env = _env("amazon", observation=mode)
    env.reset()
    seen, *_ = env.step("search[red shoe]")
    expected = {
        "text": "Back to Search [SEP] Page 1 (Total results: 12) [SEP] Next > [SEP] B0SHOE0000",
        "html": '<a class="product-link" id="link-1"',
        "url": "/search_results/0/red+shoe/1",
    }[mode]
    assert expected in seen
    seen, *_ = env.step("click[b0shoe0001]")
    assert "B0SHOE0001" in seen if mode != "text" else "Blue Trail Runner" in seen
    if mode == "html":
        assert "&lt;b&gt;mesh" in env.step("click[features]")[0]
        assert "<b>mesh" not in env.step("click[features]")[0]


def test_it_is_a_gymnasium_environment() -> None:
    env = gymnasium.make(
        "errands/RealShop-v0", goals=["a shoe"], site="amazon", fetch=MadeUpShop("amazon")
    )
    seen, info = env.reset(seed=1)
    assert info["instruction"] == "a shoe"
    assert env.observation_space.contains(seen)
    assert env.action_space.contains("search[x]")
    env.close()


def test_a_goal_is_scored_by_the_rules() -> None:
    site = site_named("amazon")
    env = LiveShopEnv([_goal(), _goal(price_upper=10.0)], site, MadeUpShop("amazon"))
    totals = []
    for number in range(2):
        env.reset(options={"goal": number})
        for action in ("search[x]", "click[b0shoe0000]", "click[9]", "click[red]"):
            env.step(action)
        _, reward, *_, info = env.step("click[buy now]")
        totals.append(reward)
        assert info["reward_parts"]["r_att"] == 1.0
        assert info["reward_parts"]["r_option"] == 1.0
        assert info["reward_parts"]["category_match"]
    assert totals == [1.0, 0.75]


def test_what_has_no_price_or_another_currency_is_never_within_a_cap() -> None:
    page = MadeUpShop("schema.org")(
        PageRequest("item", f"https://shop.example/{GOODS[0]['id']}")
    ).body

    def in_euro(request: PageRequest) -> FetchedPage:
        answer = MadeUpShop("schema.org")(request)
        return FetchedPage(answer.url, 200, answer.body.replace("USD", "EUR"))

    assert "USD" in page
    env = LiveShopEnv([_goal()], site_named("schema.org", search=SEARCH), in_euro)
    env.reset()
    seen, *_ = env.step("search[x]")
    assert "EUR 20.0" in seen
    env.step("click[b0shoe0000]")
    *_, info = env.step("click[buy now]")
    assert info["reward_parts"]["r_price"] is False


def test_parts_on_pages_of_their_own_are_asked_for_if_told_so() -> None:
    plain, whole = MadeUpShop("ebay"), MadeUpShop("ebay")
    for shop, details in ((plain, False), (whole, True)):
        env = _env("ebay", shop, details=details)
        env.reset()
        env.step("search[x]")
        env.step(f"click[{GOODS[0]['number']}]")
        seen, *_ = env.step("click[description]")
        assert ("Sold by us" in seen) is details
    assert [request.kind for request in plain.asked] == ["search", "item"]
    assert [request.kind for request in whole.asked] == ["search", "item", "item"]


def test_brackets_in_values_can_be_clicked_all_the_same() -> None:
    shop = MadeUpShop("amazon")

    def bracketed(request: PageRequest) -> FetchedPage:
        answer = shop(request)
        return FetchedPage(answer.url, 200, answer.body.replace("<p>9</p>", "<p>9 [wide]</p>"))

    env = _env("amazon", bracketed)
    env.reset()
    env.step("search[x]")
    env.step("click[b0shoe0000]")
    env.step("click[9 (wide)]")
    assert env.episode.page.options == {"size": "9 (wide)"}


def test_a_page_that_cannot_be_had_is_an_error_and_no_empty_page() -> None:
    def refuses(request: PageRequest) -> FetchedPage:
        raise FetchError("closed on Sundays")

    env = _env("amazon", refuses)
    env.reset()
    with pytest.raises(FetchError, match="closed on Sundays"):
        env.step("search[x]")
    assert env.live.policy.log[0].error == "closed on Sundays"
    env.reset()
    seen, *_ = env.step("search[ ]")
    assert "Total results: 0" in seen, "nothing to search for asks nobody"


def test_an_empty_page_is_noted() -> None:
    env = _env("amazon", lambda request: FetchedPage(request.url, 200, "<p>hello</p>"))
    env.reset()
    seen, *_ = env.step("search[x]")
    assert "Total results: 0" in seen
    assert env.live.live_catalog.notes == ["results page 1: no results"]


def test_settings_that_make_no_sense() -> None:
    for settings in (
        {"observation": "smell"}, {"max_steps": 0}, {"render_mode": "3d"}, {"rules": "none"},
    ):  # fmt: skip
        with pytest.raises(SettingError):
            _env("amazon", **settings)
    for text in ("", "  \n", "x" * 5000):
        with pytest.raises(GoalError):
            instruction_goal(text)
    with pytest.raises(GoalError):
        LiveShopEnv([], "amazon", MadeUpShop("amazon"))
    with pytest.raises(SettingError):
        RequestPolicy(MadeUpShop("amazon"), site_named("amazon"), per_run=0)


def test_many_results_do_not_cost_hours() -> None:
    """Each is looked up once, however many were found before."""
    pages = [
        tuple(SiteCard(id=f"B{at:09d}", url="u") for at in range(first, first + 30_000))
        for first in (0, 20_000)
    ]

    class Endless(Amazon):
        def read_results(self, html: str, url: str = "") -> SiteResults:
            return SiteResults(cards=pages[int(html)], has_next=html == "0")

    asked: list[PageRequest] = []

    def fetch(request: PageRequest) -> FetchedPage:
        asked.append(request)
        return FetchedPage(request.url, 200, str(len(asked) - 1))

    begun = time.process_time()
    hits = LiveCatalog(Endless(), fetch, tagger("lexicon")).hits("a shoe", 100_000)
    assert time.process_time() - begun < 2
    assert hits == tuple(range(50_000)), "each once, in order"
    assert len(asked) == 2


def test_a_query_that_is_no_text_is_sought_all_the_same() -> None:
    env = LiveShopEnv(["a shoe"], "amazon", MadeUpShop("amazon"))
    env.reset()
    *_, info = env.step("search[a \ud800 shoe]")
    assert info["requests"]["search"] == 1
