"""Whether a submission comes back: every episode and every figure, claimed and replayed."""

import contextlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from errands.agents.registry import kinds
from errands.errors import ErrandsError
from errands.leaderboard.making import figures_of
from errands.leaderboard.replaying import (
    DataPlaces,
    FoundData,
    Limits,
    NotPlayable,
    opened,
    played_again,
)
from errands.leaderboard.submission import (
    SubmittedEpisode,
    SubmittedFigures,
    SubmittedRun,
    actions_digest,
)
from errands.runs.episode import Episode, Summary
from errands.runs.store.base import Store

__all__ = ["CheckedRun", "Mismatch", "check"]

_EQUAL: Final = 1e-9
"""How far apart two rewards, or two means, may be."""
_ELSEWHERE: Final = frozenset({"page", "time", "worker"})
"""Owners of failures that are this machine's and not the submission's."""
MOST_TOLD: Final = 100


class Mismatch(msgspec.Struct, frozen=True):
    """What did not come back."""

    what: str
    """`episode 17 (goal 903)`, or a figure's name."""
    claimed: str
    came: str

    def __str__(self) -> str:
        return f"{self.what}: {self.claimed} was claimed, {self.came} came"


class CheckedRun(msgspec.Struct, frozen=True, kw_only=True):
    """What came of checking one submission."""

    found: FoundData | None = None
    place: str = ""
    """Of the new play, a run."""
    figures: SubmittedFigures | None = None
    """Of the new play."""
    mismatches: tuple[Mismatch, ...] = ()
    """Up to a hundred of them."""
    mismatched: int = 0
    unchecked: str = ""
    """Why it could not be checked; empty where it was."""
    remarks: tuple[str, ...] = ()

    @property
    def verified(self) -> bool:
        return not self.mismatched and not self.unchecked


def check(
    submitted: SubmittedRun,
    file: Path,
    digest: str,
    data: DataPlaces,
    limits: Limits,
    on_episode: Callable[[Summary], None] = lambda summary: None,
) -> CheckedRun:
    """Play a submission again and compare."""
    try:
        found = opened(submitted, data)
        if wrong := [*_answers(submitted), *_keys(submitted, found)]:
            return _refused(wrong, found)
        store = played_again(submitted, file, digest, found, limits, on_episode)
    except NotPlayable as failure:
        return CheckedRun(unchecked=str(failure).rstrip("."))
    except ErrandsError as failure:
        return CheckedRun(unchecked=f"it cannot be played: {str(failure).rstrip('.')}")
    with contextlib.closing(store):
        wrong, lost = _compared(submitted, store)
        if wrong:
            return _refused(wrong, found)
        if lost:
            return CheckedRun(unchecked=lost, found=found)
        figures = figures_of(store)
    if wrong := list(_figures(submitted.figures, figures)):
        return _refused(wrong, found)
    return CheckedRun(
        found=found,
        place=store.place,
        figures=figures,
        remarks=tuple(_remarks(submitted, figures)),
    )


def _refused(wrong: list[Mismatch], found: FoundData) -> CheckedRun:
    return CheckedRun(found=found, mismatches=tuple(wrong[:MOST_TOLD]), mismatched=len(wrong))


def _answers(submitted: SubmittedRun) -> Iterator[Mismatch]:
    """Agents of ours that are shown the answers cannot be called otherwise."""
    card = submitted.agent
    kind = next((kind for kind in kinds() if kind.name == card.agent), None)
    if kind is not None and kind.privileged and not card.privileged:
        yield Mismatch(f"the agent {card.agent}", "not shown the answers", "shown the answers")


def _keys(submitted: SubmittedRun, found: FoundData) -> Iterator[Mismatch]:
    """The protocol's episodes, all of them, in its order."""
    claimed, there = len(submitted.episodes), len(found.keys)
    if claimed != there:
        yield Mismatch("the number of episodes", f"{claimed:,}", f"{there:,}")
        return
    for number, episode in enumerate(submitted.episodes):
        if episode.key != found.keys[number]:
            yield Mismatch(f"episode {number}", episode.key, found.keys[number])


def _compared(submitted: SubmittedRun, store: Store) -> tuple[list[Mismatch], str]:
    """What did not come back, and what could not be played here."""
    wrong: list[Mismatch] = []
    lost: list[Summary] = []
    episodes = store.episodes()
    for claimed, came in zip(submitted.episodes, episodes, strict=True):
        summary = came.summary
        if summary.owner in _ELSEWHERE and claimed.status != "error":
            lost.append(summary)
            continue
        told = _claimed(claimed)
        seen = _came(came, digest=submitted.kind == "reproducible")
        if not _same(claimed, came) or (told[1:] != seen[1:]):
            what = f"episode {summary.number} ({summary.key})"
            why = f" ({summary.error})" if summary.error and claimed.status != "error" else ""
            wrong.append(Mismatch(what, ", ".join(told), ", ".join(seen) + why))
    reason = ""
    if lost:
        first = lost[0]
        reason = f"{len(lost):,} episodes could not be played here, the first one: {first.error}"
    return wrong, reason.rstrip(".")


def _same(claimed: SubmittedEpisode, came: Episode) -> bool:
    reward = came.summary.reward
    if claimed.reward is None or reward is None:
        return claimed.reward is None and reward is None
    return math.isclose(claimed.reward, reward, rel_tol=0, abs_tol=_EQUAL)


def _claimed(claimed: SubmittedEpisode) -> tuple[str, ...]:
    reward = "no reward" if claimed.reward is None else f"reward {claimed.reward:.6g}"
    told = (reward, claimed.status, f"{claimed.steps} steps")
    return (*told, f"actions {claimed.actions}") if isinstance(claimed.actions, str) else told


def _came(came: Episode, *, digest: bool) -> tuple[str, ...]:
    summary = came.summary
    reward = "no reward" if summary.reward is None else f"reward {summary.reward:.6g}"
    done = f"actions {actions_digest([step.action for step in came.steps])}"
    told = (reward, summary.status, f"{summary.steps} steps")
    return (*told, done) if digest else told


def _figures(claimed: SubmittedFigures, came: SubmittedFigures) -> Iterator[Mismatch]:
    """Means and counts must follow from the rewards; intervals are always computed anew."""
    pairs: list[tuple[str, float | None, float | None]] = [
        ("the score", claimed.score.mean, came.score.mean),
        ("the success rate", claimed.success.mean, came.success.mean),
        ("the number of errors", claimed.errors, came.errors),
        ("the number of truncated episodes", claimed.truncated, came.truncated),
        ("the mean of steps", claimed.steps, came.steps),
    ]
    for name, part in came.parts.items():
        told = claimed.parts.get(name)
        pairs.append((f"the mean of {name}", told.mean if told else None, part.mean))
    for rules, scores in came.rules.items():
        for over, score in scores.items():
            told = claimed.rules.get(rules, {}).get(over)
            mean = told.mean if told else None
            pairs.append((f"the mean over {over}, {rules} rules", mean, score.mean))
    for point in came.repeats.points if came.repeats is not None else ():
        points = claimed.repeats.points if claimed.repeats is not None else ()
        same_k = next((one for one in points if one.k == point.k), None)
        pairs += [
            (f"pass@{point.k}", same_k.any.mean if same_k else None, point.any.mean),
            (f"pass^{point.k}", same_k.all.mean if same_k else None, point.all.mean),
        ]
    for what, one, other in pairs:
        same = (
            one is other
            if one is None or other is None
            else math.isclose(one, other, rel_tol=0, abs_tol=100 * _EQUAL)
        )
        if not same:
            yield Mismatch(what, _number(one), _number(other))


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"


def _remarks(submitted: SubmittedRun, figures: SubmittedFigures) -> Iterator[str]:
    if figures.errors:
        yield (
            f"{figures.errors:,} of {len(submitted.episodes):,} episodes are errors, which count"
            " as 0 here"
        )
    claimed = submitted.figures
    if any(
        (one.low, one.high) != (other.low, other.high)
        for one, other in ((claimed.score, figures.score), (claimed.success, figures.success))
    ):
        yield "its intervals were computed anew: another version of Errands made the submission's"
