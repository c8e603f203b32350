"""Agents: one readable file each. An agent sees what an environment shows and names an action.

`errands.agents.agent` has the contracts (Agent, AgentFactory, PrivilegedAgent, SightedAgent),
`errands.agents.registry` the table of names, `errands.agents.llm` agents that ask a chat model.
"""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = [
    "Agent",
    "AgentError",
    "AgentFactory",
    "AgentKind",
    "CarefulShopper",
    "EndOfRun",
    "Mode",
    "ModelError",
    "Move",
    "PrivilegedAgent",
    "SightedAgent",
    "SimpleFactory",
    "Usage",
    "find_kind",
    "kinds",
    "make_factory",
]

if TYPE_CHECKING:
    from errands.agents.agent import (
        Agent,
        AgentError,
        AgentFactory,
        EndOfRun,
        Mode,
        ModelError,
        Move,
        PrivilegedAgent,
        SightedAgent,
        Usage,
    )
    from errands.agents.careful import CarefulShopper
    from errands.agents.factory import SimpleFactory
    from errands.agents.registry import AgentKind, find_kind, kinds, make_factory
else:
    __getattr__ = lazy_exports(__name__)
