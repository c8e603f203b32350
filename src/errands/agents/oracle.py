"""`oracle`: fills in a form as people did, the ceiling of TurkingBench.

It is shown the labels and the page, does what `oracle_plan` says, one call a step, and
submits when nothing is left to do.
"""

from collections.abc import Mapping
from typing import Any

from errands.agents.agent import AgentError, AgentFactory
from errands.agents.factory import SimpleFactory, turk_of
from errands.turk.actions.grammar import format_action
from errands.turk.oracle.field_oracle import Plan, oracle_plan

__all__ = ["Oracle", "make"]


class Oracle:
    """Knows every answer."""

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._started = False

    def look(self, env: Any) -> None:
        turk = turk_of(env)
        if turk.instance is None:
            raise AgentError("The oracle was shown an environment without an episode.")
        self._plan = oracle_plan(turk.page, turk.instance, set())
        self._started = False

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        if self._plan is None:
            raise AgentError("The oracle plays only where it is shown the environment.")

    def act(self, observation: Any, info: Mapping[str, Any]) -> str:
        assert self._plan is not None
        try:
            action = self._plan.send(not info["message"]) if self._started else next(self._plan)
        except StopIteration:
            return "submit()"
        self._started = True
        return format_action(action)


def make(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    return SimpleFactory("oracle", lambda seed: Oracle())
