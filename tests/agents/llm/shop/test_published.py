"""The layout of the runs published with ReAct and Act, character for character where we know it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from errands.agents.llm.shop.page import look_published
from errands.envs.shop import ShopEnv
from errands.shop.catalog.catalog import Catalog


def moves(factory: Any, endpoint: Any, env: ShopEnv, answers: list[str], **settings: Any) -> Any:
    """The moves of an episode in which the model says these things, and the environment's infos."""
    endpoint.script = lambda request, number: answers[min(number, len(answers) - 1)]
    agent = factory("shop", env, **{"style": "react-2022", **settings}).agent(0)

    async def play() -> list[Any]:
        observation, info = env.reset(seed=1)
        await agent.begin(observation, info)
        made = []
        for _ in answers:
            move = await agent.act(observation, info)
            observation, _, terminated, truncated, info = env.step(move.action)
            made.append((move, info))
            if terminated or truncated:
                break
        return made

    return asyncio.run(play())


def last_prompt(endpoint: Any) -> str:
    [message] = endpoint.requests[-1]["messages"]
    assert message["role"] == "user"
    text: str = message["content"]
    return text


@pytest.fixture(scope="module")
def shoes() -> tuple[str, str, list[str]]:
    """What a search for red shoes finds first: the product, its first option, that one's values."""
    catalog = Catalog.open("demo")
    product = catalog[catalog.search("red shoes", k=1)[0].asin]
    name, values = next(iter(product.options.items()))
    return product.asin.lower(), name, list(values)


@pytest.mark.parametrize("observation", ["text", "text_rich"])
def test_pages_are_laid_out_as_published(
    observation: str, shoes: tuple[str, str, list[str]]
) -> None:
    env = ShopEnv(split="test", observation=observation)
    seen, info = env.reset(seed=1)
    instruction = info["instruction"]
    front = look_published(seen, info)
    assert front.text == f"\nWebShop \nInstruction:  \n{instruction} \n[Search] "
    seen, *_, info = env.step("search[red shoes]")
    results = look_published(seen, info, top=3)
    lines = results.text.split(" \n")
    assert lines[0] == "\n[Back to Search]"
    assert lines[1].startswith("Page 1 (Total results: ")
    assert lines[2] == "[Next >]", "it is shown, though it does not work"
    assert "next >" not in results.clickables
    assert len(lines) == 3 + 3 * 3, "three products of three lines each"
    product = lines[3].strip("[]")
    seen, *_, info = env.step(f"click[{product}]")
    found, option, [first, second, *_] = shoes
    assert product.lower() == found
    item = look_published(seen, info, chosen=[first])
    assert instruction not in item.text
    assert f"\n{option} [[{first}]][{second}]" in item.text
    assert item.text.endswith("\n[Buy Now] ")


def test_the_prompt_is_one_message_of_a_worked_errand_and_ones_own(
    endpoint: Any, factory: Any, shoes: tuple[str, str, list[str]]
) -> None:
    env = ShopEnv(split="test", max_steps=15)
    product, _, [first, second, *_] = shoes
    said = ["think[shoes it is]", "search[red shoes]", "click[next >]", f"click[{product}]"]
    made = moves(factory, endpoint, env, [*said, f"click[{first}]", f"click[{second}]"])
    text = last_prompt(endpoint)
    assert endpoint.requests[0]["stop"] == ["\n"]
    assert endpoint.requests[0]["max_tokens"] == 100
    assert "tools" not in endpoint.requests[0]
    assert text.startswith("WebShop \nInstruction:  \ni want a cotton apron")
    own = text.rpartition("Action: click[Buy Now]")[2]
    assert own.startswith(f"\n\nWebShop \nInstruction:  \n{made[0][1]['instruction']} \n[Search] ")
    assert "\n\nAction: think[shoes it is]\nObservation: OK.\n\nAction: search[red shoes]\n" in own
    assert "Action: search[red shoes]\nObservation: \n[Back to Search] \nPage 1" in own
    assert "Action: click[next >]\nObservation: Invalid action!\n\n" in own
    clicked = f"Action: click[{first}]\nObservation: You have clicked {first}.\n\nAction:"
    assert clicked in own
    assert own.endswith("Action:")
    # A thought is a step of the environment, and no invalid action.
    assert made[0][0].action == "think[shoes it is]"
    assert made[0][0].calls[-1].outcome == "thought"
    assert [info["valid_action"] for _, info in made] == [False, True, False, True, True, True]


def test_it_may_search_only_where_there_is_a_search_bar(endpoint: Any, factory: Any) -> None:
    env = ShopEnv(split="test", max_steps=15, search_anywhere=True)
    made = moves(factory, endpoint, env, ["search[red shoes]", "search[blue shoes]"])
    assert made[1][0].action.startswith("invalid[")


def test_only_the_first_line_is_an_answer(endpoint: Any, factory: Any) -> None:
    env = ShopEnv(split="test", max_steps=15)
    made = moves(factory, endpoint, env, ["\n search[red mug]\nObservation: x\nAction: click[y]"])
    assert made[0][0].action == "search[red mug]"
    made = moves(factory, endpoint, env, ["I would say\nsearch[red mug]"])
    assert made[0][0].action.startswith("invalid["), "as published: no second try"
    assert len(endpoint.requests) == 2


def test_the_window_loses_its_oldest_text_first(endpoint: Any, factory: Any) -> None:
    env = ShopEnv(split="test", max_steps=15)
    moves(factory, endpoint, env, ["search[red shoes]", *["click[back to search]"] * 9])
    moves(factory, endpoint, env, ["search[red shoes]", *["think[" + "hm " * 300 + "]"] * 9])
    text = last_prompt(endpoint)
    assert len(text) == 6400
    assert text.startswith("WebShop \nInstruction:  \ni want a cotton apron"), "it stays"
    assert "red shoes" not in text
    assert "left out" not in text


def test_a_published_prompt_can_be_given_as_a_file(
    endpoint: Any, factory: Any, tmp_path: Path
) -> None:
    mine = tmp_path / "published.md"
    mine.write_text(
        "## example\nWebShop \nMINE\n\nAction: click[Buy Now]\n\n## repair\n{{problem}}\n"
    )
    env = ShopEnv(split="test", max_steps=15)
    moves(factory, endpoint, env, ["search[red shoes]"], prompt=str(mine))
    assert last_prompt(endpoint).startswith("WebShop \nMINE\n\nAction: click[Buy Now]\n\nWebShop ")


def test_act_is_the_same_without_thoughts(endpoint: Any, factory: Any) -> None:
    env = ShopEnv(split="test", max_steps=15)
    moves(factory, endpoint, env, ["search[red shoes]"], style="act-2022")
    assert "think[" not in last_prompt(endpoint)
    assert "Action: click[olive]\nObservation: You have clicked olive." in last_prompt(endpoint)
