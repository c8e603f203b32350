"""What is kept of a run: its description, and every episode with all that happened in it."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
import numpy as np

from errands.agents.model_call import ModelCall

__all__ = [
    "FORMAT",
    "OBSERVATIONS",
    "Episode",
    "RunInfo",
    "Status",
    "Step",
    "Summary",
    "digest",
]

FORMAT: Final = 1
"""Raised whenever what is kept changes; a store of another format is refused by name."""

OBSERVATIONS: Final = ("full", "hash", "none")
"""How much of what the agent saw is kept: all of it, a fingerprint that a replay can be checked
against, or nothing."""

Status = Literal["done", "truncated", "error"]
"""`done`: the agent bought or submitted. `truncated`: its steps ran out. `error`: it counts for
nothing, and `error` says why."""


def digest(observation: Any) -> str:
    """A fingerprint of an observation: text, pixels, or a mapping of such."""
    if isinstance(observation, str):
        data = observation.encode("utf-8", "surrogatepass")
    elif isinstance(observation, np.ndarray):
        data = repr(observation.shape).encode() + observation.tobytes()
    elif isinstance(observation, Mapping):
        data = "\n".join(
            f"{key} {digest(observation[key])}" for key in sorted(observation)
        ).encode()
    else:
        data = repr(observation).encode()
    return hashlib.blake2b(data, digest_size=12).hexdigest()


class Step(msgspec.Struct, frozen=True, array_like=True):
    """What the agent saw, what it did, and what came of it."""

    action: str
    reward: float = 0.0
    digest: str = ""
    """Of the observation that the agent acted on; empty where none is kept."""
    observation: str | None = None
    """Its text, where kept: pixels are kept as fingerprints only."""
    thought: str = ""
    message: str = ""
    """What the environment answered, where it says anything beside the page."""
    seconds: float = 0.0
    """What the agent took to decide."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    calls: tuple[ModelCall, ...] = ()
    """What was asked of a model for it, and answered."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One episode in one row: all that a report's figures need."""

    number: int
    """Its place in the protocol, from 0."""
    key: str
    """What was played: `goal 17`, or `task name/row`."""
    status: Status
    reward: float | None
    """None for an error: it is no score."""
    success: bool | None
    """Whether the reward is 1."""
    steps: int
    seconds: float
    states: int = 0
    """Distinct pages seen."""
    items: int = 0
    """Distinct products looked at."""
    searches: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    owner: str = ""
    """Whose failure it was: agent, model, page, time, worker."""
    error: str = ""
    parts: dict[str, Any] = {}
    """`cluster`: what episodes that depend on each other share, errors too (a product's id, a
    task's name); `invalid`: how many actions were not valid; `failure`: what cost an episode below
    1 (`errands.runs.failures`). All are absent in older runs. Beside them the reward's parts.
    WebShop: `r_type`, `r_att`, `r_option`, `r_price` and the rest. TurkingBench: `task`, `row`,
    `page_chars`, and `fields`: [name, type, paper, released, submitted] each; `calls`, where a
    model was asked so many times. Both: `model`, what became of a model's answers
    (`errands.runs.answers`)."""


class Episode(msgspec.Struct, frozen=True, kw_only=True):
    """One episode, whole."""

    summary: Summary
    steps: tuple[Step, ...]
    last_digest: str = ""
    """Of the page after the last action."""
    last: str | None = None
    """That page, where kept."""


class RunInfo(
    msgspec.Struct, frozen=True, kw_only=True, rename={"domain": "half", "privileged": "insider"}
):
    """What a run was: enough to repeat it."""

    id: str
    protocol: dict[str, Any]
    """The protocol as data, its id and version among it."""
    protocol_key: str
    """Its id, version and every departure from it: runs are comparable if these are equal."""
    domain: str
    """`shop` or `turk`."""
    agent: str
    agent_settings: dict[str, Any]
    privileged: bool = False
    """Whether the agent was shown the answers."""
    observation: str = ""
    """What it was shown of pages: a format's name, or where it is defined (its version is among
    `versions`); empty in older runs, whose protocol says it: see `shown_as`."""
    episodes: int
    """How many the run is to have."""
    seed: int
    observations: str
    seconds: float | None = None
    """The time of an episode where it is not the usual one; 0: no limit."""
    checksum: str
    """Of the catalogue and its goals, or of the tasks."""
    verified: str = ""
    """How the catalogue's files were compared with it before the first episode: `full`, `quick`
    (those that changed since they were last compared) or `off`; empty for tasks and older runs."""
    remarks: tuple[str, ...] = ()
    """What a reader must know: absent tasks, a leaking split."""
    versions: dict[str, str] = {}
    started: str = ""
    """UTC, ISO 8601."""
    format: int = FORMAT

    @property
    def shown_as(self) -> str:
        """The format of the pages that the agent was shown."""
        return self.observation or str(self.protocol.get("observation") or "")
