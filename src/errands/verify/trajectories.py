"""What a stored run bought: every episode played again, and the purchase at its end."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from errands.envs.shop import ShopEnv
from errands.errors import ErrandsError
from errands.runs.episode import Episode, RunInfo
from errands.runs.episode_source import EpisodeSource
from errands.runs.replay import reopen_source
from errands.runs.store.base import Store, StoreError
from errands.shop.goals import Goal
from errands.shop.rewards.rules import Purchase

__all__ = ["Trajectory", "Unbought", "read_trajectories"]

_NOISE = 1e-9


class Trajectory(NamedTuple):
    """One episode: what was wanted, what was done, what was bought."""

    number: int
    key: str
    goal: Goal
    actions: tuple[str, ...]
    purchase: Purchase | None
    """None where nothing was bought."""


class Unbought(NamedTuple):
    """Episodes without a purchase, told apart."""

    out_of_steps: int
    failed: int
    """They are no result, and are left out."""


def read_trajectories(
    store: Store, on_progress: Callable[[int, int], None] | None = None
) -> tuple[list[Trajectory], Unbought]:
    """Every episode of a shop's run that is a result, in order of number."""
    info = store.info
    if info.domain != "shop":
        raise StoreError(
            f"{store.place} is a run of TurkingBench, where nothing is bought; `errands turk score`"
            " is for those."
        )
    total = len(store.numbers())
    if not total:
        raise StoreError(f"{store.place} holds no episodes yet; there is nothing to verify.")
    trajectories: list[Trajectory] = []
    failed = 0
    with contextlib.closing(reopen_source(_as_text(info))) as source:
        env: Any = source.env()
        for done, episode in enumerate(store.episodes(), 1):
            if episode.summary.status == "error":
                failed += 1
            else:
                trajectories.append(_again(source, env, episode))
            if on_progress is not None:
                on_progress(done, total)
    if not trajectories:
        raise StoreError(f"All {total} episodes of {store.place} failed; none can be verified.")
    without = sum(one.purchase is None for one in trajectories)
    return trajectories, Unbought(without, failed)


def _as_text(info: RunInfo) -> RunInfo:
    """The same run, for which nobody needs a browser."""
    return msgspec.structs.replace(info, observation="text")


def _again(source: EpisodeSource, env: ShopEnv, episode: Episode) -> Trajectory:
    summary = episode.summary
    try:
        env.reset(options=source.options(summary.number))
        purchase: Purchase | None = None
        reward = 0.0
        for place in _bought(env, episode):
            page = env.episode.page
            assert page.product is not None
            price = env.context.goals.price(page.product)
            purchase = Purchase(page.product, page.options, price)
            reward = place
    except ErrandsError as failure:
        raise StoreError(f"Episode {summary.number} cannot be played again: {failure}") from None
    if abs(reward - (summary.reward or 0.0)) > _NOISE:
        raise StoreError(
            f"Episode {summary.number} gives {reward:g} when it is played again, and"
            f" {summary.reward} was kept: the data or the rules are no longer what they were"
            " (`errands replay` says where)."
        )
    actions = tuple(step.action for step in episode.steps)
    return Trajectory(summary.number, summary.key, env.episode.goal, actions, purchase)


def _bought(env: ShopEnv, episode: Episode) -> Iterator[float]:
    """Do all actions; the reward of each purchase while its page is open."""
    before = env.episode.result
    for step in episode.steps:
        _, reward, _, _, _ = env.step(step.action)
        result = env.episode.result
        if result is not before:
            before = result
            yield float(reward)
