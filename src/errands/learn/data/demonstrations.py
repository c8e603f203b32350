"""Demonstrations: what somebody did on which page, from runs and from the original's files.

A run with whole `text_rich` observations is a set of demonstrations, whoever played it: people
(`errands crowd export demonstrations`), or the scripted shopper (`errands train demonstrations`).
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from errands.errors import DataError
from errands.learn.data.view import OBSERVATION, ChoiceView, EpisodeMemory, instruction_on
from errands.runs.episode import Episode, RunInfo
from errands.runs.store.places import open_run
from errands.shop.fingerprints import GoalFingerprints

__all__ = [
    "DemonstratedChoice",
    "DemonstratedQuery",
    "Demonstrations",
    "read_choices_file",
    "read_demonstrations",
]


class DemonstratedChoice(NamedTuple):
    """A page, and which of its actions was taken."""

    view: ChoiceView
    taken: int


class DemonstratedQuery(NamedTuple):
    """An instruction without its price, and what was searched for."""

    instruction: str
    query: str


class Demonstrations(msgspec.Struct, frozen=True):
    """What a model learns from."""

    choices: tuple[DemonstratedChoice, ...]
    queries: tuple[DemonstratedQuery, ...]
    """The first of each episode, then the later ones."""
    episodes: int
    left_out: int
    """Episodes whose reward was too low, or that ended in an error."""
    checksum: str
    """Of the catalogue and goals they were given on; empty where nobody knows."""
    goals: GoalFingerprints
    """Of what was wanted in them."""


def read_demonstrations(
    place: str, *, least: float = 0.99, checksum: str | None = None
) -> Demonstrations:
    """The episodes of a run with a reward of at least `least`, as choices and queries.

    `checksum` is that of the catalogue that a model is to be trained for; another one is refused.
    """
    choices: list[DemonstratedChoice] = []
    queries: list[DemonstratedQuery] = []
    wanted: list[tuple[str, str]] = []
    episodes = left_out = 0
    with closing(open_run(place)) as store:
        info = store.info
        _check(info, place, checksum)
        for episode in store.episodes():
            if episode.summary.reward is None or episode.summary.reward < least:
                left_out += 1
                continue
            episodes += 1
            wanted.append(_wanted(episode))
            for decision in decisions(episode, place):
                if isinstance(decision, DemonstratedChoice):
                    choices.append(decision)
                else:
                    queries.append(decision)
    if not episodes:
        raise DataError(
            f"{place} has no episode with a reward of {least:g} or more; there is nothing to learn"
            " from."
        )
    goals = GoalFingerprints.of(wanted)
    return Demonstrations(tuple(choices), tuple(queries), episodes, left_out, info.checksum, goals)


def _wanted(episode: Episode) -> tuple[str, str]:
    """The product and the instruction of an episode; older runs do not say the product."""
    first = episode.steps[0].observation if episode.steps else None
    return str(episode.summary.parts.get("cluster", "")), instruction_on(first or "")


def decisions(
    episode: Episode, place: str = "the run"
) -> Iterator[DemonstratedChoice | DemonstratedQuery]:
    """What was decided in an episode, step by step."""
    memory = EpisodeMemory()
    for step in episode.steps:
        if step.observation is None:
            raise DataError(
                f"{place} has no observations to learn from; play it with --observations full."
            )
        view = memory.view(step.observation)
        if step.action.startswith("search["):
            query = step.action[len("search[") : -1]
            yield DemonstratedQuery(view.instruction.partition(" $")[0], query)
        else:
            name = step.action.removeprefix("click[").removesuffix("]")
            if name in view.names:
                yield DemonstratedChoice(view, view.names.index(name))
        memory.record(view, step.action)


def _check(info: RunInfo, place: str, checksum: str | None) -> None:
    if info.domain != "shop":
        raise DataError(f"{place} is a run of form pages; expected one of the shop.")
    if info.shown_as != OBSERVATION:
        raise DataError(
            f"{place} shows pages as {info.shown_as}; models learn from observation={OBSERVATION}."
        )
    if checksum is not None and info.checksum != checksum:
        raise DataError(
            f"{place} was played on another catalogue ({info.checksum[:12]}, not {checksum[:12]});"
            " name demonstrations of this one."
        )


def read_choices_file(path: str) -> Demonstrations:
    """The original's choice data: a line for each trajectory, with `states`, `available_actions`
    and `action_idxs` (-1 for a search)."""
    choices: list[DemonstratedChoice] = []
    wanted: list[tuple[str, str]] = []
    episodes = 0
    for number, record in enumerate(_records(path), 1):
        try:
            rows = zip(
                record["states"], record["available_actions"], record["action_idxs"], strict=True
            )
            memory = EpisodeMemory()
            wanted += [("", instruction_on(state)) for state in record["states"][:1]]
            for state, actions, taken in rows:
                view = _original_view(memory.view(state), actions)
                if taken >= 0:
                    choices.append(DemonstratedChoice(view, taken))
                    memory.record(view, f"click[{view.names[taken]}]")
            episodes += 1
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as failure:
            raise DataError(
                f"{path}, line {number}, is no trajectory of the original's choice data"
                f" ({type(failure).__name__}: {failure}); expected states, available_actions and"
                " action_idxs of one length."
            ) from None
    return Demonstrations(tuple(choices), (), episodes, 0, "", GoalFingerprints.of(wanted))


def _original_view(view: ChoiceView, actions: Iterable[str]) -> ChoiceView:
    names = tuple(action.removeprefix("click[").removesuffix("]") for action in actions)
    return ChoiceView(view.instruction, view.past, view.page, names, names, view.product)


def _records(path: str) -> Iterator[Any]:
    try:
        with Path(path).open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    try:
                        yield json.loads(line)
                    except (ValueError, RecursionError):
                        raise DataError(f"{path}, line {number}, is no JSON.") from None
    except OSError as failure:
        raise DataError(f"{path} cannot be read ({failure.strerror}).") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text; expected lines of JSON.") from None
