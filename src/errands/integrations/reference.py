"""Answers to an episode as tool calls, for frameworks that want a solution of each task.

`play_reference` is how a known agent plays: `careful` in the shop, which sees no more than a model
does, and the oracle on form pages. `gold_calls` earns all there is to earn: in the shop the way to
the target by its own title, on a form page what people filled in, which earns less than all where
they did not agree. Nothing of it is for a model: it is made of what an episode hides.
"""

from dataclasses import replace
from typing import Any, NamedTuple

from errands.agents.careful import CarefulShopper
from errands.agents.llm.shop.grammar import ARGUMENTS
from errands.agents.llm.shop.tools import ShopTools
from errands.agents.oracles.choice_oracle import best_plan
from errands.envs.episode import ShopEpisode
from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.errors import SettingError
from errands.integrations.episodes import ToolEpisodes
from errands.shop.navigation import parse_action
from errands.turk.oracle.field_oracle import play_oracle

__all__ = ["Reference", "ReferenceCall", "gold_calls", "play_reference"]


class ReferenceCall(NamedTuple):
    """A tool call."""

    name: str
    arguments: dict[str, Any]


class Reference(NamedTuple):
    """An episode as it was played in the environment itself."""

    calls: tuple[ReferenceCall, ...]
    reward: float


def play_reference(episodes: ToolEpisodes, number: int, env: Any = None) -> Reference:
    """Play an episode; `env` is one of the protocol's that is used again."""
    playing: Any = env or episodes.source.env()
    try:
        play = _shop if episodes.domain == "shop" else _form
        return play(playing, episodes.row(number))
    finally:
        if env is None:
            playing.close()


def gold_calls(episodes: ToolEpisodes, number: int) -> list[dict[str, Any]]:
    """The calls, as a state has them: `episodes.at({**episodes.row(number), "calls": calls})`."""
    if episodes.domain == "shop":
        calls = _purchase(episodes, episodes.row(number)["goal"])
    elif episodes.pointer:
        raise SettingError(
            f"The pages of {episodes.protocol.id!r} are worked with mouse and keyboard, for which"
            " there are no reference calls."
        )
    else:
        calls = list(play_reference(episodes, number).calls)
    return [call._asdict() for call in calls]


def _purchase(episodes: ToolEpisodes, goal: int) -> list[ReferenceCall]:
    tools = episodes.tools()
    assert isinstance(tools, ShopTools)
    episode = ShopEpisode(tools.shop, goal, str(goal))
    plan = best_plan(episode, episode.goal.name)
    return [_call(action) for action in (plan.actions if plan is not None else ())]


def _call(action: str) -> ReferenceCall:
    """An action of the shop as a tool call."""
    name, words = parse_action(action)
    return ReferenceCall(name, {ARGUMENTS[name]: words})


def _shop(env: ShopEnv, row: dict[str, Any]) -> Reference:
    if env.config.observation != "text":  # Which `careful` reads, whatever a protocol shows.
        env = ShopEnv(config=replace(env.config, observation="text"))
    agent = CarefulShopper()
    observation, info = env.reset(options=row)
    agent.begin(observation, info)
    calls = []
    ended = False
    reward = 0.0
    while not ended:
        action = agent.act(observation, info)
        calls.append(_call(action))
        observation, reward, terminated, truncated, info = env.step(action)
        ended = terminated or truncated
    return Reference(tuple(calls), reward)


def _form(env: TurkEnv, row: dict[str, Any]) -> Reference:
    env.reset(options=row)
    assert env.instance is not None
    actions = play_oracle(env.page, env.instance)
    calls = [ReferenceCall("fill", dict(action.arguments)) for action in actions]
    _, reward, _, _, _ = env.step("submit()")
    return Reference((*calls, ReferenceCall("submit", {})), reward)
