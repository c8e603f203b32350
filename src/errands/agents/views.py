"""How an agent sees pages: what is played belongs to the protocol, how it is seen to the agent.

Agents declare the observations that they read, the preferred one first: ours in the table of
agents, others by an attribute `observations` of the agent's class, of its factory or of the
function that makes the factory:

    class Reader:
        observations = ("text_rich", "text")

It is a tuple of names or of functions (`errands.envs.observations`), or such tuples by domain.
Whoever declares nothing reads anything.
"""

from collections.abc import Mapping
from typing import Any, Final

from errands.agents.registry import AgentKind, find_agent
from errands.envs.observations import (
    DEFAULT_OBSERVATIONS,
    SHOP_FORMATS,
    TURK_FORMATS,
    Observation,
)
from errands.errors import SettingError
from errands.plugins import Registry, path_of

__all__ = ["chosen_observation", "declared_observations"]

_FORMATS: Final[Mapping[str, Registry]] = {"shop": SHOP_FORMATS, "turk": TURK_FORMATS}


def declared_observations(agent: Any, domain: str) -> tuple[Observation, ...]:
    """What an agent reads in a domain, the preferred one first; empty: anything.

    `agent` is what `errands.run` takes: a name, `module:attribute`, or the thing itself.
    """
    if isinstance(agent, str):
        name, agent = agent, find_agent(agent)
        if isinstance(agent, AgentKind):
            return agent.observations.get(domain, ())
    else:
        name = str(getattr(agent, "name", None) or path_of(agent))
    if not isinstance(agent, type) and callable(getattr(agent, "act", None)):
        agent = type(agent)  # What one agent has under that name may be what it saw.
    return _read(name, getattr(agent, "observations", ()), domain)


def chosen_observation(
    agent: Any, domain: str, asked: Observation | None, usual: str = ""
) -> Observation:
    """What an agent is shown: what is asked for, else what it reads; `usual` where it may be."""
    declared = declared_observations(agent, domain)
    if asked is None:
        if usual and (not declared or usual in declared):
            return usual
        return declared[0] if declared else DEFAULT_OBSERVATIONS[domain]
    if declared and asked not in declared:
        name = agent if isinstance(agent, str) else getattr(agent, "name", None) or path_of(agent)
        reads = " or ".join(_name(one) for one in declared)
        raise SettingError(
            f"The agent {name!r} reads {reads}, and observation={_name(asked)} was asked for; leave"
            " it out."
        )
    return asked


def _read(name: str, given: Any, domain: str) -> tuple[Observation, ...]:
    if isinstance(given, property) or callable(given):
        return ()  # Something else of the same name.
    if isinstance(given, Mapping):
        given = given.get(domain, ())
    listed: tuple[Any, ...] | None = None
    if isinstance(given, str):
        listed = (given,)
    elif isinstance(given, tuple | list):
        listed = tuple(given)
    if listed is None or not all(isinstance(one, str) or callable(one) for one in listed):
        raise SettingError(
            f"{name} has observations={given!r}; expected a tuple of formats that it reads, as"
            " ('text',)."
        )
    formats = _FORMATS[domain].names()
    shown = tuple(one for one in listed if not isinstance(one, str) or one in formats or ":" in one)
    if listed and not shown:
        raise SettingError(
            f"{name} reads {', '.join(map(_name, listed))}, which no page of {domain!r} is shown"
            f" as; expected {', '.join(formats)}, or module:attribute."
        )
    return shown


def _name(observation: Observation) -> str:
    return repr(observation) if isinstance(observation, str) else path_of(observation)
