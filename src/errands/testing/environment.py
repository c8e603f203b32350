"""Is an environment right? The contract of Gymnasium and ours, as tests for anybody's environment.

What reset and step give, that a seed decides everything, that episodes and environments keep to
themselves, that nothing of the hidden goal is shown before the end, and that no action, however
odd, brings it down.
"""

import contextlib
import copy
import itertools
import json
import math
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import VectorEnv

from errands.errors import ErrandsError

__all__ = ["EnvironmentConformance", "VectorConformance"]

ODD_ACTIONS: Final = (
    "", " ", "\n", "\x00", "[]", "search", "search[]", "search[ ]", "search[[[", "click[",
    "click[no such thing]", "CLICK[BUY NOW] and more", "search[\ud800]", "search[" + "x" * 4_000,
    "search[<script>alert(1)</script>]", "submit(", "modify_text('no', 'such')", "__import__('os')",
)  # fmt: skip
"""Texts that no agent should send, and some do."""

Transcript = list[Any]


class EnvironmentConformance:
    """To test your own environment, subclass this and say how one is made:

    class TestMine(EnvironmentConformance):
        info_keys = ("instruction",)

        def make(self) -> gymnasium.Env:
            return MyEnv(max_steps=10)

    Every environment of `make` is made alike, begins without an episode and ends its episodes
    within `longest` steps of sampled actions.
    """

    info_keys: Sequence[str] = ()
    """What every `info` has."""
    final_keys: Sequence[str] = ("reward_parts", "field_scores", "score", "success")
    """What an `info` must not have before the episode's end."""
    longest: int = 200

    def make(self) -> gymnasium.Env[Any, Any]:
        """A new environment."""
        raise NotImplementedError("Override `make(self)`: it makes the environment to test.")

    def action(self, env: gymnasium.Env[Any, Any], info: dict[str, Any], number: int) -> Any:
        """An action worth trying in step `number`; the default samples the action space."""
        env.action_space.seed(number)
        return env.action_space.sample()

    def secrets(self, env: gymnasium.Env[Any, Any]) -> Sequence[str]:
        """Texts that only the hidden goal of the running episode has; by default none are known."""
        return ()

    # The contract

    def test_spaces_are_declared(self) -> None:
        with closing(self.make()) as env:
            assert env.action_space.contains(env.action_space.sample()), "samples are actions"
            assert env.observation_space is not None
            assert isinstance(env.metadata.get("render_modes"), list), "metadata: render_modes"

    def test_gymnasium_finds_nothing_wrong(self) -> None:
        with closing(self.make()) as env, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_env(env.unwrapped, skip_render_check=True)

    def test_an_episode_is_as_declared(self) -> None:
        with closing(self.make()) as env:
            observation, info = env.reset(seed=0)
            self._check_seen(env, observation, info)
            for number in range(self.longest):
                result = env.step(self.action(env, info, number))
                assert len(result) == 5, (
                    "step gives observation, reward, terminated, truncated, info"
                )
                observation, reward, terminated, truncated, info = result
                self._check_seen(env, observation, info)
                assert isinstance(reward, float | np.floating), f"the reward is {reward!r}"
                assert math.isfinite(reward), f"the reward is {reward!r}"
                for flag in (terminated, truncated):
                    assert isinstance(flag, bool | np.bool_), f"a flag is {flag!r}"
                if terminated or truncated:
                    return
        raise AssertionError(f"no episode ended within {self.longest} steps; see `longest`")

    def test_there_is_no_step_before_reset(self) -> None:
        with closing(self.make()) as env:
            try:
                env.step(env.action_space.sample())
            except (ErrandsError, gymnasium.error.Error):
                return
        raise AssertionError("a step before reset() must be refused with a sentence")

    def test_unknown_reset_options_are_refused(self) -> None:
        with closing(self.make()) as env:
            try:
                env.reset(seed=0, options={"no such option": 1})
            except ErrandsError as failure:
                if str(failure):
                    return
                raise AssertionError("a refusal says what was wrong") from None
        raise AssertionError("reset took an option that it does not have")

    def test_nothing_happens_after_the_end(self) -> None:
        with closing(self.make()) as env:
            self._play(env, seed=0)
            first = env.step(env.action_space.sample())
            second = env.step(env.action_space.sample())
            for result in (first, second):
                assert result[1] == 0.0, "no reward is given twice"
                assert result[2] or result[3], "an episode that is over stays over"
            assert _same(first, second), "an action after the end changed something"

    def test_it_can_be_closed_twice(self) -> None:
        env = self.make()
        env.reset(seed=0)
        env.close()
        env.close()

    # Randomness

    def test_a_seed_decides_everything(self) -> None:
        with closing(self.make()) as one, closing(self.make()) as other:
            expected = self._play(one, seed=3)
            assert _same(expected, self._play(other, seed=3)), "two environments, one seed"
            self._play(one, seed=4)
            assert _same(expected, self._play(one, seed=3)), "an earlier episode shows in a later"

    def test_seeds_and_nothing_else_draw(self) -> None:
        """The process's own generators are neither read nor moved."""
        with closing(self.make()) as env:
            check_own_randomness(lambda: self._play(env, seed=5))

    def test_episodes_without_a_seed_go_on_from_the_last_one(self) -> None:
        with closing(self.make()) as one, closing(self.make()) as other:
            for env in (one, other):
                env.reset(seed=6)
            for _ in range(3):
                assert _same(one.reset(), other.reset()), "reset() without a seed is not determined"

    # Each to itself

    def test_environments_do_not_share_episodes(self) -> None:
        with closing(self.make()) as alone:
            expected = self._play(alone, seed=7), self._play(alone, seed=8)
        with closing(self.make()) as one, closing(self.make()) as other:
            played = in_turns(self._turns(one, 7), self._turns(other, 8))
        assert _same(expected, played), "two environments played in turns interfere"

    def test_what_was_shown_belongs_to_the_caller(self) -> None:
        """Whoever ruins an info or an observation ruins only their own copy."""
        with closing(self.make()) as one, closing(self.make()) as other:
            expected = self._play(one, seed=9)
            ruined = list(self._turns(other, 9, ruin=True))
            assert _same(expected, ruined), "an info or observation is shared with the environment"

    # The goal is hidden

    def test_info_is_plain_data(self) -> None:
        """Texts, numbers, lists, dictionaries: no object through which a goal can be reached."""
        with closing(self.make()) as env:
            for seen in self._play(env, seed=10):
                json.dumps(seen[-1], default=_plain)

    def test_nothing_of_the_goal_is_shown_before_the_end(self) -> None:
        with closing(self.make()) as env:
            for seed in range(5):
                observation, info = env.reset(seed=seed)
                shown = repr((observation, info))
                for secret in self.secrets(env):
                    assert secret not in shown, f"reset shows {secret!r} of the goal"
                for number in range(self.longest):
                    early = [name for name in self.final_keys if name in info]
                    assert not early, f"info has {early[0]!r} before the end"
                    _, reward, terminated, truncated, info = env.step(
                        self.action(env, info, number)
                    )
                    if terminated or truncated:
                        break
                    assert reward == 0.0, "a reward before the end tells of the goal"

    # What agents send

    def test_odd_actions_do_no_harm(self) -> None:
        with closing(self.make()) as env:
            if not isinstance(env.action_space.sample(), str):
                return
            for action in ODD_ACTIONS:
                _, info = env.reset(seed=11)
                try:
                    observation, _, _, _, info = env.step(action)
                except ErrandsError as failure:
                    raise AssertionError(
                        f"the action {action[:40]!r} is an error: {failure}"
                    ) from None
                self._check_seen(env, observation, info)

    # Playing

    def _check_seen(self, env: gymnasium.Env[Any, Any], observation: Any, info: Any) -> None:
        assert env.observation_space.contains(observation), "not of the observation space"
        assert isinstance(info, dict), f"info is a {type(info).__name__}"
        assert all(isinstance(name, str) for name in info), "names in info are texts"
        missing = [name for name in self.info_keys if name not in info]
        assert not missing, f"info has no {missing[0]!r}"

    def _play(self, env: gymnasium.Env[Any, Any], seed: int) -> Transcript:
        return list(self._turns(env, seed))

    def _turns(
        self, env: gymnasium.Env[Any, Any], seed: int, *, ruin: bool = False
    ) -> Iterator[Any]:
        """An episode, one result after the other, as copies; `ruin` spoils what was given."""
        result: tuple[Any, ...] = env.reset(seed=seed)
        for number in range(self.longest + 1):
            kept = copy.deepcopy(result)
            yield kept
            if len(result) == 5 and (result[2] or result[3]):
                return
            action = self.action(env, copy.deepcopy(result[-1]), number)
            if ruin:
                _ruin(result[-1])
                _ruin(result[0])
            result = env.step(action)


class VectorConformance:
    """To test your own vector environment, subclass this and say how it and a single one are made:

    class TestMyVector(VectorConformance):
        def make(self, num_envs: int) -> VectorEnv:
            return MyVectorEnv(num_envs)

        def make_single(self) -> gymnasium.Env:
            return MyEnv()

    Sub-environment i of `reset(seed=s)` plays what a single one plays after `reset(seed=s + i)`.
    """

    num_envs: int = 3
    steps: int = 6

    def make(self, num_envs: int) -> VectorEnv[Any, Any, Any]:
        """A new vector environment."""
        raise NotImplementedError(
            "Override `make(self, num_envs)`: it makes the vector environment to test."
        )

    def make_single(self) -> gymnasium.Env[Any, Any]:
        """A new environment of the same options."""
        raise NotImplementedError(
            "Override `make_single(self)`: it makes one environment of the same options."
        )

    def action(self, env: gymnasium.Env[Any, Any], info: dict[str, Any], number: int) -> Any:
        """An action that does not end an episode within `steps`."""
        env.action_space.seed(number)
        return env.action_space.sample()

    def test_it_plays_what_single_environments_play(self) -> None:
        with contextlib.ExitStack() as stack:
            many = stack.enter_context(closing(self.make(self.num_envs)))
            singles = [
                stack.enter_context(closing(self.make_single())) for _ in range(self.num_envs)
            ]
            observations, _ = many.reset(seed=20)
            results: list[tuple[Any, ...]] = [
                env.reset(seed=20 + place) for place, env in enumerate(singles)
            ]
            first = [result[0] for result in results]
            assert _same(list(observations), first), "first pages differ"
            for number in range(self.steps):
                actions = [
                    self.action(env, result[-1], number)
                    for env, result in zip(singles, results, strict=True)
                ]
                results = [env.step(action) for env, action in zip(singles, actions, strict=True)]
                assert not any(result[2] or result[3] for result in results), "see `action`"
                observations, rewards, terminated, truncated, _ = many.step(actions)
                assert _same(list(observations), [result[0] for result in results]), "pages differ"
                assert _same(list(rewards), [result[1] for result in results]), "rewards differ"
                for flags in (terminated, truncated):
                    assert isinstance(flags, np.ndarray), "flags are an array"
                    assert flags.shape == (self.num_envs,), f"flags have shape {flags.shape}"

    def test_what_it_shows_is_of_its_spaces(self) -> None:
        with closing(self.make(self.num_envs)) as many:
            observations, info = many.reset(seed=21)
            assert many.num_envs == self.num_envs
            assert len(observations) == self.num_envs
            assert isinstance(info, dict)
            for observation in observations:
                assert many.single_observation_space.contains(observation)
            assert many.action_space.contains(many.action_space.sample())
            assert "autoreset_mode" in many.metadata, "metadata says how episodes begin again"

    def test_a_wrong_number_of_actions_is_refused(self) -> None:
        with closing(self.make(self.num_envs)) as many:
            many.reset(seed=22)
            with contextlib.suppress(ErrandsError):
                many.step([])
                raise AssertionError("a step without actions was taken")


def in_turns(*episodes: Iterator[Any]) -> list[list[Any]]:
    """What each of some episodes gives, played one step each in turns until all are over."""
    rounds = itertools.zip_longest(*episodes)
    return [[step for step in steps if step is not None] for steps in zip(*rounds, strict=True)]


def check_own_randomness(play: Callable[[], Any], again: Callable[[], Any] | None = None) -> None:
    """What is played twice gives the same; the process's own generators are not used for it."""
    results = []
    for seed, each in enumerate((play, again or play)):
        random.seed(seed)
        np.random.seed(seed)
        before = random.getstate(), repr(np.random.get_state())
        results.append(each())
    after = random.getstate(), repr(np.random.get_state())
    assert after == before, "the process's own generator was used"
    assert _same(*results), "the same again gives another result"


def _same(one: Any, other: Any) -> bool:
    """Whether two results are equal, arrays included."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise AssertionError(f"info holds a {type(value).__name__}; expected plain data")


def _ruin(value: Any) -> None:
    """Spoil a value from within, as a careless caller might."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            _ruin(part)
        value.clear()
    elif isinstance(value, np.ndarray) and value.flags.writeable:
        value[...] = 0
