"""The kit for adapters: bare tools pass it, and every kind of wrong adapter is found out."""

import contextlib

import pytest
from kits import failures

from errands.agents.llm.tools import ToolError, call_tool
from errands.integrations.episodes import open_episodes
from errands.testing.adapter import AdapterConformance, ScriptedModel


class Bare(AdapterConformance):
    """No framework at all."""

    count = 3

    def play(self, script: ScriptedModel) -> list[float]:
        rewards = []
        for one in script.played:
            tools, _ = script.episodes.begin(one.number)
            for call in one.calls:
                with contextlib.suppress(ToolError):
                    call_tool(tools, call.name, call.arguments)
            rewards.append(tools.reward)
        return rewards


class Rounded(Bare):
    def play(self, script: ScriptedModel) -> list[float]:
        return [round(reward, 3) for reward in super().play(script)]


class EndsAtAnError(Bare):
    def play(self, script: ScriptedModel) -> list[float]:
        rewards = []
        for one in script.played:
            tools, _ = script.episodes.begin(one.number)
            with contextlib.suppress(ToolError):
                for call in one.calls:
                    call_tool(tools, call.name, call.arguments)
            rewards.append(tools.reward)
        return rewards


class PlaysInItsOwnOrder(Bare):
    def play(self, script: ScriptedModel) -> list[float]:
        ordered = sorted(script.played, key=lambda one: one.number)
        return super().play(ScriptedModel(script.episodes, played=ordered))


class ForgetsTheLimit(Bare):
    def play(self, script: ScriptedModel) -> list[float]:
        protocol = script.episodes.protocol
        unlimited = open_episodes(protocol.id, episodes=protocol.episodes)
        return super().play(ScriptedModel(unlimited, played=script.played))


class PaysForTrying(Bare):
    def play(self, script: ScriptedModel) -> list[float]:
        return [max(reward, 0.1) for reward in super().play(script)]


class DropsImpossibleCalls(Bare):
    """It checks calls itself, and hands on only those that can be done."""

    def play(self, script: ScriptedModel) -> list[float]:
        possible = [
            one._replace(
                calls=tuple(
                    call
                    for call in one.calls
                    if call.arguments.get("name") != "nothing of that name"
                )
            )
            for one in script.played
        ]
        return super().play(ScriptedModel(script.episodes, played=possible))


class TestBare(Bare):
    """It passes."""


@pytest.mark.parametrize(
    ("kit", "failed"),
    [
        (Rounded, "scripted_episodes_are_worth_what_the_environment_says"),
        (EndsAtAnError, "impossible_calls_cost_a_step_and_do_not_end_it"),
        (PlaysInItsOwnOrder, "the_order_of_episodes_does_not_matter"),
        (ForgetsTheLimit, "the_last_step_ends_it"),
        (DropsImpossibleCalls, "impossible_calls_use_up_the_steps"),
        (PaysForTrying, "an_episode_without_an_end_is_worth_nothing"),
        (AdapterConformance, "scripted_episodes_are_worth_what_the_environment_says"),
    ],
)
def test_a_wrong_adapter_is_found_out(kit: type[AdapterConformance], failed: str) -> None:
    assert failed in failures(kit())
