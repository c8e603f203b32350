"""One errand as named tools: what trainers elsewhere get."""

import contextlib
import inspect
import json
import random
import re
from collections import Counter
from typing import Any

import msgspec
import pytest

from errands.agents.llm.shop.agent import TOOLS, offered_tools
from errands.agents.llm.shop.tools import ShopTools, ThinkingShopTools, opening_messages
from errands.agents.llm.tools import ToolError
from errands.agents.llm.transport.messages import called, tool
from errands.agents.oracles.choice_oracle import best_plan
from errands.envs.episode import ShopContext, ShopEpisode
from errands.envs.shop import ShopEnv
from errands.errors import ErrandsError, GoalError
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import parse_action

ARGUMENTS = {"search": "query", "click": "name"}


@pytest.fixture
def shop(little: Catalog) -> ShopContext:
    return ShopEnv(little, "human", "disjoint-train", max_steps=15).context


def do(errand: ShopTools, action: str) -> str:
    """Call the tool that an action of the text environment is."""
    name, words = parse_action(action)
    page: str = getattr(errand, name)(**{ARGUMENTS[name]: words})
    return page


def plan(shop: ShopContext, goal: int) -> tuple[str, ...]:
    episode = ShopEpisode(shop, goal, "")
    found = best_plan(episode, episode.goal.instruction_text)
    assert found is not None
    return found.actions


def test_the_best_purchase_is_made_with_tools_and_worth_what_the_environment_says(
    shop: ShopContext,
) -> None:
    errand = ShopTools(shop)
    rewards = []
    for goal in shop.indices[:20]:
        env = ShopEnv(shop.catalog, "human", "disjoint-train", max_steps=15)
        env.reset(options={"goal": goal})
        errand.reset(goal=goal, prompt=[], other=1)
        for action in plan(shop, goal):
            assert not errand.over
            assert errand.reward == 0
            said = do(errand, action)
            _, reward, terminated, _, _ = env.step(action)
        assert errand.over
        assert errand.bought
        assert terminated
        assert errand.reward == reward
        assert errand.actions == plan(shop, goal)
        assert re.fullmatch(r"You bought \w+\. The errand is over\.", said)
        rewards.append(reward)
    assert rewards.count(1.0) >= 5


def test_it_is_the_conversation_of_the_agent(
    shop: ShopContext, endpoint: Any, factory: Any, play: Any
) -> None:
    pytest.importorskip("openai", reason="needs openai: pip install 'errands[llm]'")
    goal = shop.indices[3]
    actions = [*plan(shop, goal)[:-1], "click[nothing of this name]", "click[Buy Now]"]
    conversation = opening_messages()
    errand = ShopTools(shop)
    conversation[-1]["content"] += errand.reset(goal=goal)
    for number, action in enumerate(actions):
        name, words = parse_action(action)
        arguments = {ARGUMENTS[name]: words}
        conversation.append(called(name, arguments, number))
        try:
            conversation.append(tool(do(errand, action), number))
        except ToolError as problem:
            conversation.append(tool(str(problem).split("!")[0] + "!", number))

    def script(request: dict[str, Any], number: int) -> dict[str, Any]:
        name, words = parse_action(actions[number])
        function = {"name": name, "arguments": json.dumps({ARGUMENTS[name]: words})}
        call = {"id": "x", "type": "function", "function": function}
        return {"content": None, "tool_calls": [call]}

    endpoint.script = script
    env = ShopEnv(shop.catalog, "human", max_steps=15)
    env.reset(options={"goal": goal})
    agents = factory("shop", env, calls="tools", style="act", window=0)
    played = play(agents, env, options={"goal": goal})
    assert played.reward == errand.reward
    assert endpoint.requests[-1]["messages"] == conversation[:-2]


def test_tools_are_those_of_the_agent_with_types_and_words(shop: ShopContext) -> None:
    utils = pytest.importorskip("transformers.utils", reason="needs transformers to read tools")
    errand = ShopTools(shop)
    public = [
        name
        for name, _ in inspect.getmembers(ShopTools, inspect.isfunction)
        if not name.startswith("_") and name != "reset"
    ]
    assert public == ["click", "get_reward", "search"]
    for expected in TOOLS:
        function = utils.get_json_schema(getattr(errand, expected["function"]["name"]))["function"]
        assert function.pop("return") == {"type": "string"}
        assert function == expected["function"]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("click", "no such thing", "nothing called 'no such thing'"),
        ("click", "search", "nothing called 'search'"),
        ("click", "", "needs something"),
        ("click", None, "needs 'name', a text"),
        ("click", {"a": {1}}, "needs 'name', a text"),
        ("search", "  ", "needs something"),
        ("search", "[]", "needs something"),
        ("search", "x" * 5000, "longer than 2000 characters"),
        ("search", ["a"], "needs 'query', a text"),
    ],
)
def test_wrong_use_is_one_sentence_and_a_step(
    shop: ShopContext, name: str, value: Any, why: str
) -> None:
    errand = ShopTools(shop)
    errand.reset(goal=shop.indices[0])
    with pytest.raises(ToolError, match=why) as caught:
        getattr(errand, name)(value)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, ErrandsError)
    assert str(caught.value).startswith("Invalid action! ")
    assert "\n" not in str(caught.value)
    assert len(errand.actions) == 1
    assert errand.search("lamp").startswith("[Back to Search]")


def test_brackets_in_a_query_are_searched_for_as_spaces(shop: ShopContext) -> None:
    errand, other = ShopTools(shop), ShopTools(shop)
    errand.reset(goal=shop.indices[0])
    other.reset(goal=shop.indices[0])
    assert errand.search("a [red] lamp\nwith shade") == other.search("a red lamp with shade")


def test_halves_of_characters_reach_no_tokenizer(shop: ShopContext) -> None:
    errand = ShopTools(shop)
    errand.reset(goal=shop.indices[0])
    with pytest.raises(ToolError) as caught:
        errand.click("\ud800")
    str(caught.value).encode()
    errand.search("lamp \ud800").encode()


def test_after_the_end_nothing_can_be_called(shop: ShopContext) -> None:
    errand = ShopTools(shop)
    with pytest.raises(ToolError, match="no episode yet"):
        errand.search("lamp")
    assert (errand.reward, errand.over, errand.bought) == (0, False, False)
    goal = shop.indices[0]
    errand.reset(goal=goal)
    for action in plan(shop, goal):
        do(errand, action)
    reward = errand.reward
    with pytest.raises(ToolError, match="over, something was bought"):
        errand.search("lamp")
    assert errand.reward == reward
    errand.reset(goal=goal)
    assert (errand.reward, errand.over, errand.actions) == (0, False, ())


def test_steps_run_out_also_by_wrong_use(little: Catalog) -> None:
    shop = ShopEnv(little, "human", max_steps=2).context
    errand = ShopTools(shop)
    errand.reset(goal=0)
    errand.search("lamp")
    assert errand.search("lamp").endswith("No steps are left: the errand is over.")
    with pytest.raises(ToolError, match="over, no steps are left"):
        errand.search("lamp")
    errand.reset(goal=0)
    errand.search("lamp")
    with pytest.raises(ToolError, match="No steps are left: the errand is over"):
        errand.click("nothing")
    assert errand.over
    assert not errand.bought


def test_goals_of_other_splits_are_refused(shop: ShopContext) -> None:
    errand = ShopTools(shop)
    other = next(goal for goal in range(len(shop.goals)) if goal not in shop.indices)
    with pytest.raises(GoalError, match=r"not of the split 'disjoint-train'"):
        errand.reset(goal=other)
    for wrong in (len(shop.goals), "7", None):
        with pytest.raises(GoalError):
            errand.reset(goal=wrong)  # type: ignore[arg-type]


def test_without_settings_it_is_the_demo_shop_and_its_training_goals() -> None:
    shop = ShopTools()._shop
    assert shop.config.split == "disjoint-train"
    assert shop.max_steps == 15


def test_searching_where_there_is_no_search_bar(little: Catalog) -> None:
    shop = ShopEnv(little, "human", search_anywhere=False).context
    errand = ShopTools(shop)
    errand.reset(goal=0)
    errand.search("lamp")
    with pytest.raises(ToolError, match="no search bar"):
        errand.search("chair")
    errand.click("back to search")
    assert "Page 1" in errand.search("chair")


def test_so_many_products_and_no_turning(shop: ShopContext) -> None:
    errand = ShopTools(shop, top=3)
    errand.reset(goal=shop.indices[0])
    page = errand.search("black shirt shoes lamp")
    assert len(re.findall(r"^\[B0\w+\]$", page, re.M)) == 3
    assert "[Next >]" not in page
    with pytest.raises(ToolError, match="nothing called 'Next >'"):
        errand.click("Next >")


def test_nothing_of_the_hidden_goal_is_shown(shop: ShopContext) -> None:
    """What is shown depends on the instruction and the actions alone: for another goal, the same
    actions show the same."""
    one, other = shop.indices[0], shop.indices[1]
    errand = ShopTools(shop)
    seen: list[list[str]] = []
    for goal in (one, other):
        start = errand.reset(goal=goal)
        wish = shop.goals[goal].instruction_text
        assert start == f"Instruction: {wish}\n\nWebShop\n[Search]"
        assert shop.goals[goal].asin not in start
        seen.append([do(errand, action) for action in plan(shop, one)])
    assert seen[0] == seen[1]


def test_the_same_calls_give_the_same(shop: ShopContext) -> None:
    goal = shop.indices[2]
    seen = []
    for _ in range(2):
        errand = ShopTools(shop)
        said = [errand.reset(goal=goal), *(do(errand, action) for action in plan(shop, goal))]
        seen.append((said, errand.reward))
    assert seen[0] == seen[1]


def test_pages_are_those_that_the_agent_reads(little: Catalog) -> None:
    """Without writing and reading `text_rich`, the same text, on every kind of page."""
    kinds = Counter[str]()
    for search_anywhere in (True, False):
        shop = ShopEnv(little, "human", show_attrs=True, search_anywhere=search_anywhere).context
        errand = ShopTools(shop)
        rng = random.Random(7)
        for goal in range(0, len(shop.goals), 3):
            errand.reset(goal=goal)
            episode = errand._begun
            for _ in range(12):
                if episode.over:
                    break
                assert errand._text(episode) == errand._view(episode).text
                kinds[episode.page.state.page] += 1
                names = [name for name in episode.page.clicks if name != "search"]
                with contextlib.suppress(ToolError):
                    if not names or rng.random() < 0.2:
                        errand.search(
                            " ".join(rng.sample(episode.goal.instruction_text.split(), 2))
                        )
                    else:
                        errand.click(rng.choice(names))
    assert len(kinds) >= 6
    assert min(kinds.values()) > 5


@pytest.mark.parametrize(
    "title",
    [
        "two\nlines",
        "[button] Buy Now [button_]",
        "You have clicked red.",
        "  ",
        "Instruction:",
        "a  b ",
    ],
)
def test_titles_that_look_like_something_else_are_read_as_the_agent_reads_them(
    shop: ShopContext, title: str
) -> None:
    errand = ShopTools(shop)
    errand.reset(goal=shop.indices[0])
    errand.search(shop.catalog[shop.goals[shop.indices[0]].asin].title)
    episode = errand._begun
    product = next(name for name in episode.page.clicks if name.startswith("b0"))
    errand.click(product)
    page = episode.page
    assert page.product is not None
    changed = msgspec.structs.replace(page.product, title=title, options={"size": ("a", title)})
    episode.page = page._replace(product=changed)
    assert errand._text(episode) == errand._view(episode).text


def test_thoughts_change_nothing_and_are_no_steps(shop: ShopContext) -> None:
    errand = ThinkingShopTools(shop)
    errand.reset(goal=shop.indices[0])
    page = errand.search("lamp")
    assert errand.think("The first one fits.") == "OK."
    assert (errand.steps, errand.calls) == (
        1,
        ({"name": "search", "arguments": {"query": "lamp"}},),
    )
    again = ThinkingShopTools.at(**errand.state, shop=shop)
    assert again._text(again._begun) == page
    for _ in range(4):
        assert errand.think("And another thing.") == "OK."
    with pytest.raises(ToolError, match="You have thought enough"):
        errand.think("And another thing.")
    errand.click("Back to Search")
    assert errand.think("Now again.") == "OK."


def test_thoughts_end_with_the_errand(shop: ShopContext) -> None:
    errand = ThinkingShopTools(shop)
    errand.reset(goal=shop.indices[0])
    for action in plan(shop, shop.indices[0]):
        do(errand, action)
    assert errand.done
    with pytest.raises(ToolError, match="The errand is over"):
        errand.think("What else?")


def test_tools_that_think_are_those_of_the_agent(shop: ShopContext) -> None:
    offered = [spec.function() for spec in ThinkingShopTools.specs]
    assert offered == offered_tools(thinks=True)
    described = inspect.getdoc(ThinkingShopTools.think)
    assert described is not None
    for words in ("Note down a thought.", "thought: what you think"):
        assert words in described
