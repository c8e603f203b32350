"""Does a framework's adapter give the environment's own score? Tests for anybody's adapter.

A `ScriptedModel` is the same model for every framework: a known agent's actions as tool calls. It
plays the agent `careful` in the shop, or the oracle on form pages, and keeps the rewards that the
environment itself gave; `next(messages)` then finds out which episode a conversation is about,
counts the calls that were made and gives the next one. What an adapter makes of these calls must be
worth the same, to the last bit: also with impossible calls among them, without an end, and in any
order.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from errands.agents.llm.shop.tools import ShopTools
from errands.agents.llm.tools import EpisodeTools, ToolError, call_tool
from errands.integrations.episodes import ToolEpisodes, open_episodes
from errands.integrations.reference import play_reference

__all__ = ["AdapterConformance", "PlayedCalls", "ScriptedCall", "ScriptedModel"]


class ScriptedCall(NamedTuple):
    """A tool call."""

    name: str
    arguments: dict[str, Any]


class PlayedCalls(NamedTuple):
    """An episode as the known agent played it in the environment itself."""

    calls: tuple[ScriptedCall, ...]
    reward: float
    text: str
    """By which a conversation about it is recognised."""
    number: int = 0
    """Which episode of the protocol it is."""


class ScriptedModel:
    """What a model says in every episode of a protocol, or in the first few."""

    def __init__(
        self,
        episodes: ToolEpisodes,
        count: int | None = None,
        *,
        played: Iterable[PlayedCalls] | None = None,
    ) -> None:
        """`played` stands in place of the known agent's episodes."""
        self.episodes = episodes
        if played is None:
            env = episodes.source.env()
            played = [_known(episodes, env, number) for number in range(len(episodes))[:count]]
            env.close()
        self.played = list(played)

    def __len__(self) -> int:
        return len(self.played)

    @property
    def rewards(self) -> list[float]:
        return [one.reward for one in self.played]

    def next(self, messages: Sequence[Mapping[str, Any]]) -> ScriptedCall | None:
        """The next call in a conversation (OpenAI's messages); None when all are made."""
        made = sum(len(message.get("tool_calls") or ()) for message in messages)
        return self.after("\n".join(map(_words, messages)), made)

    def after(self, text: str, made: int) -> ScriptedCall | None:
        """The call after so many, in a conversation that holds this text."""
        known = [one for one in self.played if one.text in text]
        assert known, f"a conversation about none of {len(self)} episodes: {text[:500]}"
        calls = max(known, key=lambda one: len(one.text)).calls
        return calls[made] if made < len(calls) else None


def _words(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content)


def _known(episodes: ToolEpisodes, env: Any, number: int) -> PlayedCalls:
    calls, reward = play_reference(episodes, number, env)
    tools, text = episodes.begin(number)
    if isinstance(tools, ShopTools):
        text = f"Instruction: {tools.instruction}"
    return PlayedCalls(tuple(ScriptedCall(*call) for call in calls), reward, text, number)


class AdapterConformance:
    """To test your own adapter, subclass this and say how it plays a script:

    class TestMine(AdapterConformance):
        def play(self, script: ScriptedModel) -> list[float]:
            return [reward of each of script.played, its calls made through the framework]

    Calls that the tools refuse are shown to the model by the framework, and the episode goes on;
    a script may have more calls than an episode has steps, as a model would go on, too.
    """

    shop = "shop-demo"
    forms = "turk-demo"
    count = 6
    """Episodes of each."""
    calls_are_steps = True
    """Whether an impossible call is one of `max_steps`, as the tools have it; False where an agent
    clicks for itself, and nothing is there to be clicked."""

    def play(self, script: ScriptedModel) -> list[float]:
        """The reward of each episode of the script, its calls made through the framework."""
        raise NotImplementedError("Override `play(self, script)`: it plays through your adapter.")

    def episodes(self) -> list[ToolEpisodes]:
        """What is played: both domains, unless the framework has only one."""
        return [open_episodes(name, episodes=self.count) for name in (self.shop, self.forms)]

    def test_scripted_episodes_are_worth_what_the_environment_says(self) -> None:
        for episodes in self.episodes():
            script = ScriptedModel(episodes)
            assert self.play(script) == script.rewards
            assert any(script.rewards)

    def test_impossible_calls_cost_a_step_and_do_not_end_it(self) -> None:
        for episodes in self.episodes():
            wrong = _impossible(episodes)
            self._compare(
                ScriptedModel(episodes),
                lambda calls, wrong=wrong: (wrong, *calls[:-1], wrong, calls[-1]),
            )

    def test_impossible_calls_use_up_the_steps(self) -> None:
        if not self.calls_are_steps:
            return
        for episodes in self.episodes():
            wrong = _impossible(episodes)
            one = max(ScriptedModel(episodes).played, key=lambda played: played.reward)
            limit = len(one.calls)
            short = open_episodes(
                episodes.protocol.id, episodes=episodes.protocol.episodes, max_steps=limit
            )
            script = self._compare(
                ScriptedModel(short, played=[one]),
                lambda calls, wrong=wrong: (*(wrong for _ in calls), *calls),
            )
            assert script.rewards[0] < one.reward

    def test_an_episode_without_an_end_is_worth_nothing(self) -> None:
        for episodes in self.episodes():
            script = self._compare(ScriptedModel(episodes), lambda calls: calls[:-1])
            assert not any(script.rewards)

    def test_the_last_step_ends_it(self) -> None:
        for name in (one.protocol.id for one in self.episodes()):
            episodes = open_episodes(name, episodes=2, max_steps=2)
            known = ScriptedModel(open_episodes(name, episodes=2))
            self._compare(ScriptedModel(episodes, played=known.played), lambda calls: calls[:2])

    def test_the_order_of_episodes_does_not_matter(self) -> None:
        for episodes in self.episodes():
            script = ScriptedModel(episodes)
            turned = ScriptedModel(episodes, played=[*reversed(script.played)])
            assert self.play(turned) == script.rewards[::-1]

    def _compare(self, known: ScriptedModel, change: Any) -> ScriptedModel:
        """Play changed calls through the adapter and through the tools themselves."""
        played = []
        for one in known.played:
            calls = tuple(change(one.calls))
            reward = _played(known.episodes, one.number, calls).reward
            played.append(one._replace(calls=calls, reward=reward))
        script = ScriptedModel(known.episodes, played=played)
        assert self.play(script) == script.rewards
        return script


def _impossible(episodes: ToolEpisodes) -> ScriptedCall:
    if episodes.domain == "shop":
        return ScriptedCall("click", {"name": "nothing of that name"})
    return ScriptedCall("fill", {"name": "nothing of that name", "value": "x"})


def _played(episodes: ToolEpisodes, number: int, calls: Sequence[ScriptedCall]) -> EpisodeTools:
    """An episode through the tools alone."""
    tools, _ = episodes.begin(number)
    for call in calls:
        try:
            call_tool(tools, call.name, call.arguments)
        except ToolError:
            continue
    return tools
