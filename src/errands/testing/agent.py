"""Is an agent right? What a runner expects of one, as tests for anybody's agent.

It answers every page with an action, its randomness comes from its seed, it reads nothing but what
it is shown, it keeps nothing between episodes, and odd pages do not bring it down.
"""

import asyncio
import contextlib
import copy
import functools
import inspect
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final
from unittest import mock

import gymnasium

from errands.agents.agent import Agent, AgentError, Move
from errands.testing.environment import check_own_randomness, in_turns

__all__ = ["AgentConformance"]

ODD_PAGES: Final = (
    "", " ", "\n" * 50, "\x00", "\ud800", "<html><script>", "[SEP]" * 200, "{}", "Price: $$$",
    "[button] Buy Now [button_]", "Instruction: \n[clicked button] [clicked button_]", "é" * 30_000,
)  # fmt: skip


class AgentConformance:
    """To test your own agent, subclass this and say how one is made:

    class TestMine(AgentConformance):
        def agent(self, env: gymnasium.Env, seed: int) -> Agent:
            return MyAgent(seed)

    It plays `environment`, the demo shop; override that for other observations or domains.
    """

    episodes: int = 3
    longest: int = 30
    hidden: Sequence[str] = tuple("goal episode _episode context instance scored tasks".split())
    """Attributes of an environment that tell what is wanted: no business of an agent's."""

    def agent(self, env: gymnasium.Env[Any, Any], seed: int) -> Agent:
        """An agent for one episode; all its randomness comes from the seed."""
        raise NotImplementedError("Override `agent(self, env, seed)`: it makes the agent to test.")

    def environment(self) -> gymnasium.Env[Any, Any]:
        """Where it plays: episodes that end within `longest` steps."""
        from errands.envs.shop import ShopEnv

        return ShopEnv("demo", observation="text_rich", max_steps=20)

    # What it answers

    def test_it_plays_episodes_to_their_end(self) -> None:
        with closing(self.environment()) as env:
            for number in range(self.episodes):
                actions, ended = self._play(env, number)
                assert ended, f"episode {number} did not end; see `longest`"
                assert actions, f"episode {number} had no action"

    def test_its_actions_do_something(self) -> None:
        with closing(self.environment()) as env:
            for number in range(self.episodes):
                observation, info = env.reset(seed=number)
                first = repr(observation)
                agent = self._begun(env, number, observation, info)
                for _ in range(self.longest):
                    result = env.step(self._act(agent, observation, info))
                    observation, info = result[0], result[-1]
                    if result[2] or info.get("page_changed", repr(observation) != first):
                        return
                    if result[3]:
                        break
        raise AssertionError("no action of any episode changed the page")

    # Randomness

    def test_a_seed_decides_everything(self) -> None:
        with closing(self.environment()) as env:
            for number in range(self.episodes):
                check_own_randomness(functools.partial(self._play, env, number))

    def test_agents_do_not_share_episodes(self) -> None:
        """Two in turns play what each plays alone."""
        with closing(self.environment()) as one, closing(self.environment()) as other:
            alone = [self._play(one, 0)[0], self._play(one, 1)[0]]
            played = in_turns(self._turns(one, 0), self._turns(other, 1))
            assert played == alone, "two agents played in turns interfere"

    # What it sees

    def test_it_reads_only_what_it_is_shown(self) -> None:
        """Neither the environment's goal nor its episode is touched while it plays."""
        with closing(self.environment()) as env:
            observation, info = env.reset(seed=0)
            agent = self.agent(env, 0)
            with _out_of_reach(env, self.hidden):
                self._begin(agent, observation, info)
            for _ in range(self.longest):
                with _out_of_reach(env, self.hidden):
                    action = self._act(agent, observation, info)
                observation, _, terminated, truncated, info = env.step(action)
                if terminated or truncated:
                    return

    def test_it_leaves_what_it_is_shown_alone(self) -> None:
        with closing(self.environment()) as env:
            observation, info = env.reset(seed=0)
            agent = self._begun(env, 0, observation, info)
            for _ in range(self.longest):
                kept = copy.deepcopy((observation, info))
                action = self._act(agent, observation, info)
                assert repr((observation, info)) == repr(kept), "it changed the page it was shown"
                observation, _, terminated, truncated, info = env.step(action)
                if terminated or truncated:
                    return

    def test_odd_pages_do_not_bring_it_down(self) -> None:
        """It answers with an action, or says with an `AgentError` why it cannot go on."""
        with closing(self.environment()) as env:
            observation, info = env.reset(seed=0)
            for page in ODD_PAGES if isinstance(observation, str) else ():
                for odd_info in _odd_infos(info):
                    with contextlib.suppress(AgentError):
                        agent = self._begun(env, 0, page, copy.deepcopy(odd_info))
                        for _ in range(3):
                            self._act(agent, page, copy.deepcopy(odd_info))

    # Playing

    def _play(self, env: gymnasium.Env[Any, Any], seed: int) -> tuple[list[str], bool]:
        """The actions of an episode, and whether it ended."""
        actions = list(self._turns(env, seed))
        return actions, len(actions) <= self.longest

    def _turns(self, env: gymnasium.Env[Any, Any], seed: int) -> Iterator[str]:
        """The actions of an episode that has begun, one after the other."""
        observation, info = env.reset(seed=seed)
        return self._acts(env, self._begun(env, seed, observation, info), observation, info)

    def _acts(
        self, env: gymnasium.Env[Any, Any], agent: Agent, observation: Any, info: dict[str, Any]
    ) -> Iterator[str]:
        for _ in range(self.longest + 1):
            action = self._act(agent, observation, info)
            yield action
            observation, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                return

    def _begun(
        self, env: gymnasium.Env[Any, Any], seed: int, observation: Any, info: Mapping[str, Any]
    ) -> Agent:
        agent = self.agent(env, seed)
        self._begin(agent, observation, info)
        return agent

    def _begin(self, agent: Agent, observation: Any, info: Mapping[str, Any]) -> None:
        assert _awaited(agent.begin(observation, info)) is None, "begin gives nothing back"

    def _act(self, agent: Agent, observation: Any, info: Mapping[str, Any]) -> str:
        move = _awaited(agent.act(observation, info))
        assert isinstance(move, str | Move), f"act gave a {type(move).__name__}"
        action = move.action if isinstance(move, Move) else move
        assert isinstance(action, str), f"the action is a {type(action).__name__}; expected text"
        assert action, "the action is empty"
        return action


def _awaited(value: Any) -> Any:
    if not inspect.isawaitable(value):
        return value

    async def wait(value: Awaitable[Any]) -> Any:
        return await value

    return asyncio.run(wait(value))


def _odd_infos(info: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The info of a page, and the same with less and other things to do there."""
    yield dict(info)
    if "available_actions" in info:
        for bar in (False, True):
            for names in ([], ["back to search", "next >"], ["buy now"], ["", "]", "\ud800"]):
                yield {
                    **info,
                    "available_actions": {"has_search_bar": bar, "clickables": list(names)},
                }
    if "instruction" in info:
        for text in ("", "[", "\n", "\ud800", "x" * 20_000):
            yield {**info, "instruction": text}


@contextlib.contextmanager
def _out_of_reach(env: gymnasium.Env[Any, Any], names: Sequence[str]) -> Iterator[None]:
    """No attribute of these names can be read off the environment, or the test fails."""

    def fail(name: str) -> property:
        def read(self: Any) -> Any:
            raise AssertionError(f"the agent read {name!r} of the environment")

        return property(read)

    properties: dict[str, Any] = {name: fail(name) for name in names}
    with mock.patch.multiple(type(env.unwrapped), create=True, **properties):
        yield
