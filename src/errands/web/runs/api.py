"""Runs for programs: the same that the pages show, as JSON, and its OpenAPI description."""

import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from errands.reports.statistics.estimate import Estimate
from errands.runs.episode import Summary
from errands.runs.store.view import ORDERS
from errands.web.core.openapi import Json, operation, paths
from errands.web.runs.document import protocol_of
from errands.web.runs.library import RunEntry, RunStatus, UnreadableRun
from errands.web.runs.query import MOST_ROWS, PAGE, Rows

__all__ = [
    *("EpisodeDetail", "EpisodeList", "RunDetail", "as_json", "progress", "run_row"),
    *("runs_answer", "runs_paths"),
]


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run, and its status."""

    id: str
    """Its name in addresses."""
    name: str
    run: str
    """The id that it was given when it was played."""
    protocol: str
    protocol_key: str
    half: str
    agent: str
    insider: bool
    started: str
    episodes: int
    """How many it is to have."""
    kept: int
    errors: int
    truncated: int
    score: Estimate
    success: Estimate
    writing: bool
    """Whether it is being played."""
    failed: str
    """Why it has no score; empty where it has one."""


class RunList(msgspec.Struct, frozen=True):
    """Some runs, the newest first."""

    runs: list[RunRow]
    total: int
    offset: int
    limit: int
    unreadable: list[UnreadableRun]


class RunDetail(msgspec.Struct, frozen=True):
    """One run, with all that is known of it."""

    run: RunRow
    info: dict[str, Any]


class EpisodeList(msgspec.Struct, frozen=True):
    """Some episodes of a run."""

    episodes: list[Summary]
    total: int
    offset: int
    limit: int


class EpisodeDetail(msgspec.Struct, frozen=True):
    """One episode with all its steps."""

    summary: Summary
    steps: list[dict[str, Any]]
    last_digest: str
    last: str | None
    before: int | None
    """The number of the episode before it."""
    after: int | None


def run_row(run: RunEntry, status: RunStatus) -> RunRow:
    info, totals = run.info, status.totals
    return RunRow(
        id=run.id,
        name=run.name,
        run=info.id,
        protocol=protocol_of(info),
        protocol_key=info.protocol_key,
        half=info.domain,
        agent=info.agent,
        insider=info.privileged,
        started=info.started,
        episodes=info.episodes,
        kept=totals.kept,
        errors=totals.errors,
        truncated=totals.truncated,
        score=status.score,
        success=status.success,
        writing=status.writing,
        failed=status.failed,
    )


def runs_answer(
    statuses: Sequence[tuple[RunEntry, RunStatus | str]],
    unreadable: Sequence[UnreadableRun],
    rows: Rows,
) -> RunList:
    """Some runs; those whose status cannot be had are listed with the others."""
    reasons = list(unreadable)
    runs = []
    for run, status in statuses:
        if isinstance(status, str):
            reasons.append(UnreadableRun(run.name, status))
        else:
            runs.append(run_row(run, status))
    return RunList(runs, *rows, reasons)


def progress(run: RunEntry, status: RunStatus) -> Json:
    """How far a run is, for those who follow it."""
    mean = status.score.mean
    return {
        "kept": status.totals.kept,
        "episodes": run.info.episodes,
        "errors": status.totals.errors,
        "mean_reward": None if mean is None else mean / 100,
        "writing": status.writing,
    }


def as_json(value: Any) -> bytes:
    """JSON in plain ASCII: texts of models may hold what no other encoding can."""
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=True, allow_nan=False).encode()


_ERRORS: Final = {
    "400": "The request makes no sense",
    "401": "The token is missing or wrong",
    "403": "The request comes from a page elsewhere",
    "404": "There is no such run, or no such episode",
    "503": "The server is busy, or the run cannot be read now",
}


def runs_paths() -> Json:
    """The paths and schemas for the OpenAPI description."""
    integer: Json = {"type": "integer", "minimum": 0, "maximum": 2**53}
    text: Json = {"type": "string", "maxLength": 200}
    reward: Json = {"type": "number", "minimum": 0, "maximum": 1}
    rows = {
        "offset": {**integer, "default": 0},
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST_ROWS, "default": PAGE},
    }
    episodes = {
        "status": {"enum": ["", "done", "truncated", "error"]},
        "least": reward,
        "most": reward,
        "order": {"enum": list(ORDERS)},
        "way": {"enum": ["", "down"]},
    }

    def get(summary: str, answer: type, query: Json | None = None) -> Json:
        return {"get": operation(summary, answer=answer, query=query, errors=_ERRORS, token=True)}

    return paths(
        {
            "/v1/runs": get(
                "Runs, the newest first", RunList, {"protocol": text, "agent": text, **rows}
            ),
            "/v1/runs/{id}": get("One run", RunDetail),
            "/v1/runs/{id}/episodes": get("Episodes of a run", EpisodeList, {**episodes, **rows}),
            "/v1/runs/{id}/episodes/{number}": get("One episode", EpisodeDetail),
        },
        (RunList, RunDetail, EpisodeList, EpisodeDetail),
        parameters={"number": integer},
    )
