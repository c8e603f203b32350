"""The teacher buys the best of what it considers, and says only what the pages have shown."""

import re
from typing import Any

import pytest

from errands.agents.agent import AgentError, Move
from errands.agents.oracles.choice_oracle import best_plan
from errands.agents.page_reading import offers, read_instruction
from errands.agents.registry import make_factory
from errands.envs.shop import ShopEnv
from errands.errors import SettingError
from errands.learn.data.view import instruction_on
from errands.shop.catalog.catalog import Catalog

TOP = 3


@pytest.fixture(scope="module")
def env(little: Catalog) -> ShopEnv:
    return ShopEnv(
        little, goals="human", split="disjoint-train", observation="text_rich", max_steps=20
    )


class Played:
    """An episode as it went."""

    def __init__(self, env: ShopEnv, goal: int, top: int = TOP) -> None:
        agent: Any = make_factory("teacher", "shop", env, {"top": top}).agent(0)
        observation, info = env.reset(options={"goal": goal})
        agent.look(env)
        agent.begin(observation, info)
        self.actions: list[str] = []
        self.thoughts: list[str] = []
        self.pages = [observation]
        self.seen: list[str] = []
        """What every page has shown by the time of each thought."""
        self.reward, over = 0.0, False
        while not over:
            move = agent.act(observation, info)
            move = move if isinstance(move, Move) else Move(move)
            self.actions.append(move.action)
            self.thoughts.append(move.thought)
            self.seen.append("\n".join(self.pages).lower())
            observation, self.reward, terminated, truncated, info = env.step(move.action)
            self.pages.append(observation)
            over = terminated or truncated


@pytest.fixture(scope="module")
def episodes(env: ShopEnv) -> list[Played]:
    return [Played(env, goal) for goal in list(env.context.indices)[:40]]


def test_it_buys_and_earns_more_than_the_first_result(env: ShopEnv, episodes: list[Played]) -> None:
    assert all(one.actions[-1] == "click[buy now]" for one in episodes)
    alone = [Played(env, goal, top=1) for goal in list(env.context.indices)[:40]]
    mean = sum(one.reward for one in episodes) / 40
    assert mean > sum(one.reward for one in alone) / 40
    assert mean > 0.7


def test_it_never_earns_more_than_the_choice_oracle(env: ShopEnv, episodes: list[Played]) -> None:
    for goal, played in zip(env.context.indices, episodes, strict=False):
        env.reset(options={"goal": goal})
        plan = best_plan(env.episode, played.actions[0][len("search[") : -1])
        assert plan is not None
        assert played.reward <= plan.best.reward.total + 1e-9


def test_it_opens_only_what_it_considers_in_the_order_of_the_results(
    episodes: list[Played],
) -> None:
    for played in episodes:
        results = next(page for page in played.pages if "Next >" in page)
        names = re.findall(r"\[button\] (b0\w+) \[", results.lower())[:TOP]
        shown = offers(results, [name.lower() for name in names])
        cap = read_instruction(instruction_on(played.pages[0])).cap
        opened = [action[6:-1] for action in played.actions if action[6:-1] in names]
        payable = [one.name for one in shown[:TOP] if one.price <= cap]
        assert opened == (payable or names[:1])[: len(opened)]


def test_every_figure_and_word_of_a_thought_was_on_a_page(episodes: list[Played]) -> None:
    own = set(
        "i look for at most the first second third is seen costs within more than open it has"
        " nothing of not next choose and then buy".split()
    )
    for played in episodes:
        for thought, seen in zip(played.thoughts, played.seen, strict=True):
            shown = set(re.findall(r"[a-z0-9]+", seen))
            figures = {float(one) for one in re.findall(r"\d+(?:\.\d+)?", seen)}
            for figure in re.findall(r"\$(\d+(?:\.\d+)?)", thought):
                assert float(figure) in figures
            words = re.findall(r"[a-z]+", re.sub(r"\$[\d.]+", "", thought.lower()))
            letters = " ".join(shown)
            assert all(word in own or word in letters for word in words), (thought, seen)


def test_what_leads_on_is_said_before_it_is_done(episodes: list[Played]) -> None:
    for played in episodes:
        assert played.thoughts[0].startswith("I look for ")
        for action, thought in zip(played.actions, played.thoughts, strict=True):
            if action.startswith("click[b0"):
                assert thought.endswith("I open it.")
            if action == "click[< prev]":
                assert thought.endswith("I look at the next.")
        chosen = next(one for one in played.thoughts if "buy" in one)
        for action in played.actions[played.thoughts.index(chosen) : -1]:
            assert action[6:-1] in chosen.lower()


def test_goals_for_testing_are_refused(little: Catalog) -> None:
    env = ShopEnv(little, goals="human", split="disjoint-test", observation="text_rich")
    goal = env.context.indices[0]
    with pytest.raises(
        AgentError, match="not one for training; play the protocol shop-learn-train"
    ):
        Played(env, goal)


def test_it_must_be_shown_the_environment(env: ShopEnv) -> None:
    agent: Any = make_factory("teacher", "shop", env, {}).agent(0)
    with pytest.raises(AgentError, match="only where it is shown"):
        agent.begin("", {})


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"top": 0}, "top=0: expected 1 to 10"), ({"top": 11}, "top=11"), ({"looks": 3}, "looks")],
)
def test_mistakes_are_one_sentence(env: ShopEnv, settings: Any, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        make_factory("teacher", "shop", env, settings)


def test_it_reads_rich_pages(little: Catalog) -> None:
    with pytest.raises(SettingError, match="'teacher' reads observation='text_rich'"):
        make_factory("teacher", "shop", ShopEnv(little), {})


def test_where_nothing_is_found_the_steps_run_out(env: ShopEnv) -> None:
    agent: Any = make_factory("teacher", "shop", env, {}).agent(0)
    observation, info = env.reset(options={"goal": env.context.indices[0]})
    agent.look(env)
    agent.begin(observation, info)
    observation, *_, info = env.step("search[zzzz qqqq]")
    assert not env.episode.page.state.hits
    assert agent.act(observation, info) == "wait"
