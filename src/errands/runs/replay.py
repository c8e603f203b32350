"""Replaying an episode: the same actions once more, and proof that the same pages come back."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from errands.envs.shop import ShopEnv
from errands.errors import ErrandsError
from errands.runs.episode import Episode, RunInfo, digest
from errands.runs.episode_source import EpisodeSource, open_source
from errands.runs.protocol import Protocol
from errands.runs.store.base import StoreError

__all__ = ["ReplayResult", "ReplayedPage", "prove", "reopen_source", "replay", "watch"]


class ReplayedPage(msgspec.Struct, frozen=True):
    """One page of an episode, as it is shown again."""

    text: str
    """The observation, where it is a text."""
    html: str
    """The page as a person sees it."""
    same: bool | None
    """Whether it is what the agent saw; None where no fingerprint was kept."""
    action: str = ""
    """What the agent did next; empty on the last page."""
    reward: float = 0.0
    """What that brought."""


class ReplayResult(msgspec.Struct, frozen=True):
    """What a replay found."""

    number: int
    key: str
    pages: int
    compared: int
    """Pages of which a fingerprint was kept."""
    differences: tuple[str, ...]
    reward: float | None

    @property
    def same(self) -> bool:
        return not self.differences


def reopen_source(info: RunInfo) -> EpisodeSource:
    """The source a run was played in; data that has changed since is an error."""
    protocol = msgspec.convert(info.protocol, Protocol)
    source = open_source(protocol, observation=info.shown_as or None)
    if source.checksum != info.checksum:
        source.close()
        raise StoreError(
            f"The run {info.id} was played on data with the checksum {info.checksum[:12]}, and"
            f" {info.protocol['data']!r} has {source.checksum[:12]} now: its pages cannot be shown"
            " again."
        )
    return source


def watch(source: EpisodeSource, episode: Episode) -> Iterator[ReplayedPage]:
    """Every page of an episode, by doing its actions again."""
    return _pages(source, episode, html=True)


def replay(source: EpisodeSource, episode: Episode) -> ReplayResult:
    """Do an episode's actions again and compare every page, every reward and the end."""
    return prove(episode, _pages(source, episode, html=False))


def prove(episode: Episode, again: Iterable[ReplayedPage]) -> ReplayResult:
    """Compare every page, every reward and the end with those of a new play."""
    differences: list[str] = []
    pages = compared = 0
    reward: float | None = None
    for place, seen in enumerate(again):
        pages += 1
        compared += seen.same is not None
        if seen.same is False:
            differences.append(f"page {place} is another")
        if place < len(episode.steps):
            kept = episode.steps[place].reward
            reward = seen.reward
            if reward != kept:
                differences.append(f"step {place + 1} gave {reward:g}, not {kept:g}")
    summary = episode.summary
    if summary.status != "error" and reward != summary.reward:
        differences.append(f"the reward is {reward}, not {summary.reward}")
    return ReplayResult(summary.number, summary.key, pages, compared, tuple(differences), reward)


def _pages(source: EpisodeSource, episode: Episode, *, html: bool) -> Iterator[ReplayedPage]:
    env: Any = source.env()
    try:
        observation, _ = env.reset(options=source.options(episode.summary.number))
        for step in episode.steps:
            shown = observation
            page = _html(env) if html else ""
            observation, reward, _, _, _ = env.step(step.action)
            yield _seen(shown, page, step.digest, step.action, float(reward))
        yield _seen(observation, _html(env) if html else "", episode.last_digest)
    except ErrandsError as failure:
        raise StoreError(
            f"Episode {episode.summary.number} cannot be replayed: {failure}"
        ) from None
    finally:
        if source.waits:
            env.close()


def _seen(
    observation: Any, html: str, kept: str, action: str = "", reward: float = 0.0
) -> ReplayedPage:
    text = observation.get("html", "") if isinstance(observation, dict) else observation
    return ReplayedPage(
        text if isinstance(text, str) else "",
        html,
        digest(observation) == kept if kept else None,
        action,
        reward,
    )


def _html(env: Any) -> str:
    if isinstance(env, ShopEnv):
        return env.episode.html()
    page: str = env.page.html()
    return page
