"""Agents: one readable file each. An agent sees what an environment shows and names an action.

Four small contracts:

- an `Agent` plays one episode; it is made anew for the next one;
- an `AgentFactory` holds what all episodes share (a model's client, a list of queries) and makes
  agents;
- a `PrivilegedAgent` is an agent that is shown the environment itself: oracles, and nobody else;
- a `SightedAgent` is an agent that may ask for pictures of the form page before it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import msgspec

from errands.agents.model_call import ModelCall
from errands.errors import ErrandsError
from errands.shop.fingerprints import GoalFingerprints

__all__ = [
    "Agent",
    "AgentError",
    "AgentFactory",
    "EndOfRun",
    "Mode",
    "ModelError",
    "Move",
    "PrivilegedAgent",
    "SightedAgent",
    "Spender",
    "Teaching",
    "Usage",
]

Mode = Literal["compute", "model", "person"]
"""What an agent mostly does: compute (played by processes), wait for a model (played many at
once in one process; `begin` and `act` may be coroutines), or ask a person (one at a time)."""


class AgentError(ErrandsError):
    """An agent cannot go on: the episode is an error with this reason, never a reward of 0."""


class ModelError(AgentError):
    """The model behind an agent failed: out of reach, out of money, or not to be understood."""


class EndOfRun(ErrandsError):
    """The run is to end here, as when a person quits or the money is spent: the episode counts as
    not played, what was played before is kept, and the run can be resumed."""

    def __str__(self) -> str:
        return super().__str__() or "the agent ended the run"


class Usage(msgspec.Struct, frozen=True):
    """What a move cost."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    """In US dollars; 0 where the model's price is not known."""
    cached: int = 0
    """How many of the calls were answered from a cache."""
    tokens_reasoning: int = 0
    """Those of `tokens_out` that went into reasoning, where the endpoint says so."""

    @classmethod
    def total(cls, parts: Sequence["Usage"]) -> "Usage":
        """What several calls cost together."""
        columns = zip(*map(msgspec.structs.astuple, parts), strict=True)
        return cls(*map(sum, columns))


class Move(msgspec.Struct, frozen=True):
    """An action, with what led to it. An agent with nothing to add returns the action's text."""

    action: str
    thought: str = ""
    """What the agent says for itself: a reason, a chain of thought, a model's whole answer."""
    usage: Usage | None = None
    calls: tuple[ModelCall, ...] = ()
    """What was asked of a model for it, and answered."""


class Agent(Protocol):
    """The player of one episode."""

    def begin(self, observation: Any, info: Mapping[str, Any]) -> Awaitable[None] | None:
        """The episode starts with this page."""
        ...

    def act(self, observation: Any, info: Mapping[str, Any]) -> str | Move | Awaitable[str | Move]:
        """The next action."""
        ...


@runtime_checkable
class PrivilegedAgent(Protocol):
    """An agent that knows the answer."""

    def look(self, env: Any) -> None:
        """Called before `begin` with the environment, its hidden goal or labels included."""
        ...


@runtime_checkable
class SightedAgent(Protocol):
    """An agent that looks at form pages, where and when it chooses; that costs no step."""

    def watch(self, picture: Callable[[str | None], bytes]) -> None:
        """Called before `begin` of a form page: `picture` gives the window as PNG, scrolled to the
        field that is named. It takes its time, and needs a page driver with a browser."""
        ...


@runtime_checkable
class Spender(Protocol):
    """A factory whose agents spend money, up to a limit for the whole run."""

    def charge(self, cost: float) -> None:
        """Count what an earlier part of the run has cost, in US dollars."""
        ...


class Teaching(NamedTuple):
    """Something that an agent's knowledge comes from: a factory may list them as `taught`."""

    place: str
    """A checkpoint, as it was named."""
    goals: GoalFingerprints | None
    """Of the goals that it was made from; None where it does not say."""


class AgentFactory(Protocol):
    """Makes the agents of a run."""

    @property
    def name(self) -> str: ...

    @property
    def mode(self) -> Mode: ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that can change what its agents do, as JSON values; kept with the run."""
        ...

    def agent(self, seed: int) -> Agent:
        """A player for one episode; all its chance comes from this seed."""
        ...

    def close(self) -> None: ...
