"""A submission made of a run that was kept."""

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any, Final

import msgspec

from errands.agents.registry import AgentKind, kinds
from errands.atomic import atomic_write
from errands.leaderboard.submission import (
    SUFFIX,
    AgentCard,
    Kind,
    SubmissionError,
    SubmittedEpisode,
    SubmittedFigures,
    SubmittedRun,
    actions_digest,
    pack,
)
from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.estimate import Estimate
from errands.reports.statistics.figures import run_figures
from errands.reports.statistics.turk_figures import agent_name, estimate_of
from errands.runs.answers import answer_figures
from errands.runs.episode import Episode
from errands.runs.protocol import named_protocols
from errands.runs.store.base import Store
from errands.runs.store.places import open_run

__all__ = ["figures_of", "is_reproducible", "submission_of", "submit", "usual_name"]

_FILES: Final = frozenset({"actions", "checkpoint", "queries", "search"})
"""Settings that name a file: an agent that has one is not the same on another machine."""
_PRIVATE: Final = frozenset({"base_url", "api_key", "cache"})
"""Settings that say where a submitter works, and nothing about the agent."""


def submit(
    run: str | Path,
    out: str | Path | None = None,
    *,
    name: str = "",
    authors: str = "",
    url: str = "",
    note: str = "",
    kind: Kind = "actions",
    replace: bool = False,
) -> Path:
    """Write the submission of a run: `out`, or AGENT@PROTOCOL.errands.json.gz in this folder.

    `name`, `authors`, `url` and `note` are what the leaderboard says of the agent. A run that is
    not finished is refused; episodes that failed are sent along, and count as 0.
    """
    with contextlib.closing(open_run(run)) as store:
        made = submission_of(store, name=name, authors=authors, url=url, note=note, kind=kind)
    path = Path(out) if out is not None else Path(usual_name(made))
    if not path.name.endswith(SUFFIX):
        raise SubmissionError(f"{path} must end in {SUFFIX}, by which a leaderboard finds it.")
    if path.exists() and not replace:
        raise SubmissionError(f"{path} is there already; --force overwrites it.")
    data = pack(made)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, lambda work: work.write_bytes(data))
    except OSError as failure:
        raise SubmissionError(f"{path} cannot be written ({failure.strerror}).") from None
    return path


def usual_name(run: SubmittedRun) -> str:
    """What a submission's file is called if nobody says otherwise."""
    words = run.agent.name, f"{run.protocol['id']}@{run.protocol['version']}"
    return "@".join("".join(c if c.isalnum() or c in "-._@" else "-" for c in w) for w in words) + (
        SUFFIX
    )


def submission_of(
    store: Store,
    *,
    name: str = "",
    authors: str = "",
    url: str = "",
    note: str = "",
    kind: Kind = "actions",
) -> SubmittedRun:
    """A run as a submission."""
    info = store.info
    if kind == "reproducible" and not is_reproducible(info.agent, info.agent_settings):
        raise SubmissionError(
            f"A run of {info.agent!r} cannot be sent as reproducible: only agents that ship with"
            " Errands and use no model and no file can be played again; send its actions."
        )
    numbers = store.numbers()
    if numbers != set(range(info.episodes)):
        raise SubmissionError(
            f"The run {info.id} is not finished: it has {len(numbers):,} of {info.episodes:,}"
            " episodes, and a choice of episodes is no result. `errands run ... --resume` plays"
            " the others."
        )
    answers = answer_figures((parts for _, parts in store.parts()), info.agent_settings)
    if answers is not None and answers.failed:
        raise SubmissionError(f"The run {info.id} has failed and has no score: {answers.failed}.")
    episodes = tuple(_submitted(store, kind))
    return SubmittedRun(
        kind=kind,
        protocol=_without_paths(info.protocol),
        protocol_key=info.protocol_key,
        checksum=info.checksum,
        seed=info.seed,
        versions=dict(info.versions),
        started=info.started,
        agent=AgentCard(
            name=name or agent_name(info)[:100],
            agent=info.agent,
            settings={
                setting: _last(value) if setting in _FILES else value
                for setting, value in info.agent_settings.items()
                if setting not in _PRIVATE
            },
            observation=info.shown_as,
            privileged=info.privileged,
            authors=authors,
            url=url,
            note=note,
            tokens_in=sum(episode.tokens_in for episode in episodes),
            tokens_out=sum(episode.tokens_out for episode in episodes),
            cost=math.fsum(episode.cost for episode in episodes),
        ),
        remarks=info.remarks,
        figures=figures_of(store),
        episodes=episodes,
    )


def is_reproducible(agent: str, settings: dict[str, Any]) -> bool:
    """Whether a run of this agent can be played once more from its name, settings and seed."""
    found: AgentKind | None = next((each for each in kinds() if each.name == agent), None)
    return (
        found is not None
        and found.mode == "compute"
        and not found.own_settings
        and found.factory.startswith("errands.")
        and not any(settings.get(setting) for setting in _FILES)
    )


def _submitted(store: Store, kind: Kind) -> Iterator[SubmittedEpisode]:
    for episode in store.episodes():
        summary = episode.summary
        actions: tuple[str, ...] = tuple(step.action for step in episode.steps)
        yield SubmittedEpisode(
            summary.key,
            summary.status,
            summary.reward,
            summary.steps,
            actions if kind == "actions" else actions_digest(actions),
            _reason(episode, kind),
            summary.tokens_in,
            summary.tokens_out,
            summary.cost,
        )


def _reason(episode: Episode, kind: Kind) -> str:
    return episode.summary.error if kind == "actions" else ""


def _without_paths(protocol: dict[str, Any]) -> dict[str, Any]:
    """The protocol without the folders of whoever played: other data has another checksum, which
    is how data is known."""
    told = dict(msgspec.to_builtins(protocol))
    named = named_protocols().get(str(told.get("id", "")))
    told["data"] = named.data if named is not None else _last(told.get("data"))
    told["goals"] = _last(told.get("goals"))
    return told


def _last(path: Any) -> str:
    return PurePath(os.fspath(path or "")).name or str(path or "")


def figures_of(store: Store) -> SubmittedFigures:
    """The figures that a leaderboard shows of a run, errors counted as 0."""
    columns = read_columns(store)
    figures = run_figures(store, columns)
    rules: dict[str, dict[str, Estimate]] = {}
    if figures.turk is not None:
        rules = {
            name: {"tasks": estimate_of(scores.macro), "fields": estimate_of(scores.micro)}
            for name, scores in figures.turk.rules.items()
        }
    return SubmittedFigures(
        score=figures.score_at_least,
        success=figures.success_at_least,
        errors=figures.errors,
        truncated=figures.truncated,
        steps=float(columns.steps.mean()) if len(columns.steps) else 0.0,
        parts={part.name: part.mean for part in figures.parts},
        rules=rules,
        repeats=figures.repeats,
    )
