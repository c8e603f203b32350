"""Factories of agents: most are a name, settings, and a function from a seed to an agent."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from errands.agents.agent import Agent, AgentError, Mode, Teaching
from errands.envs.config import ShopConfig
from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.errors import DataError, SettingError

__all__ = [
    "SimpleFactory",
    "checked_file",
    "give_up",
    "need_observation",
    "one_of",
    "shop_of",
    "turk_of",
]


class SimpleFactory(msgspec.Struct, frozen=True):
    """A factory that holds nothing open."""

    name: str
    make: Callable[[int], Agent]
    settings: Mapping[str, Any] = {}
    mode: Mode = "compute"
    taught: tuple[Teaching, ...] = ()
    """What the agents know and where from, for those that were trained on goals."""

    def agent(self, seed: int) -> Agent:
        return self.make(seed)

    def close(self) -> None:
        """Nothing is held open."""


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """A setting that must be one of a few words."""
    if value not in allowed:
        raise SettingError(f"{name}={value}: expected {', '.join(allowed)}.")
    return value


def shop_of(env: Any) -> ShopEnv:
    """The shop under whatever wraps it."""
    bare = env.unwrapped
    if not isinstance(bare, ShopEnv):
        raise SettingError(f"A shop agent needs errands/Shop-v0, not {type(bare).__name__}.")
    return bare


def need_observation(env: Any, observation: str, reader: str) -> ShopConfig:
    """The config of a shop for agents that read single pages in one format only."""
    config = shop_of(env).config
    if config.observation != observation or config.num_prev_obs or config.num_prev_actions:
        raise SettingError(
            f"{reader} observation={observation!r} without earlier observations or actions."
        )
    return config


def turk_of(env: Any) -> TurkEnv:
    """The form pages under whatever wraps it."""
    bare = env.unwrapped
    if not isinstance(bare, TurkEnv):
        raise SettingError(f"A form agent needs errands/Turk-v0, not {type(bare).__name__}.")
    return bare


def give_up(reason: str, max_steps: int | None) -> str:
    """What an agent does that has nothing left to try: it lets the steps run out, for 0.

    Where steps never run out it must stop by itself, and `reason` is the episode's error.
    """
    if max_steps is None:
        raise AgentError(f"{reason}; the agent gives up, as this environment has no step limit.")
    return "wait"


def checked_file(path: str, checksum: str) -> tuple[bytes, str]:
    """A file that a setting names, and its checksum, which must be the given one if any is."""
    try:
        data = Path(path).read_bytes()
    except OSError as failure:
        raise DataError(f"{path} cannot be read ({failure.strerror}).") from None
    found = hashlib.sha256(data).hexdigest()
    if checksum and checksum != found:
        raise DataError(f"{path} has the checksum {found}, not {checksum}: it has changed.")
    return data, found
