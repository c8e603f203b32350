"""A scripted shopper, and what Errands' own environment shows and gives it.

Every trial plays these actions through another project's code and compares with this.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from errands.envs import ShopEnv

__all__ = ["CATALOG", "Episode", "check", "report", "shop"]

CATALOG = os.environ.get("ERRANDS_LEGACY_CATALOG", "demo")


class Episode(NamedTuple):
    """What happened to one goal."""

    goal: int
    instruction: str
    actions: list[str]
    observations: list[str]
    """After the reset and after each action but the purchase."""
    reward: float


def shop(goal: int, goals: str = "synthetic") -> Episode:
    """Search for the instruction, open the first product, choose what is named, and buy."""
    env = ShopEnv(catalog=CATALOG, goals=goals)
    seen, info = env.reset(options={"goal": goal})
    instruction = info["instruction"]
    actions, observations = [], [seen]

    def act(action: str) -> float:
        nonlocal info
        seen, reward, done, _, info = env.step(action)
        actions.append(action)
        if not done:
            observations.append(seen)
        return float(reward)

    words = instruction.partition(", and price lower than")[0]
    act(f"search[{words}]")
    act(f"click[{info['available_actions']['clickables'][2]}]")
    for value in info["available_actions"]["clickables"][6:]:
        if value in words.lower():
            act(f"click[{value}]")
    return Episode(goal, instruction, actions, observations, act("click[buy now]"))


def check(what: str, found: object, expected: object) -> None:
    """Stop with both where they differ."""
    if found != expected:
        raise SystemExit(f"{what} differs:\n  found    {found!r}\n  expected {expected!r}")


def report(trial: Callable[[Path], str]) -> None:
    """Run a trial on the folder of checkouts that the command line names."""
    print(f"trial: {trial(Path(sys.argv[1]))}", flush=True)
