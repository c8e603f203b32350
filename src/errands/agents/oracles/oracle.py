"""`oracle`: fills in a form as people did, the ceiling of TurkingBench.

It is shown the labels and the page, does what `oracle_plan` says, one call a step, and
submits when nothing is left to do. `pointer-oracle` also clicks, drags and presses keys, where
fields alone are not enough: it tries that out on a page of its own, and does it again.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from errands.agents.agent import AgentError, AgentFactory
from errands.agents.factory import SimpleFactory, turk_of
from errands.envs.turk import TurkEnv
from errands.turk.actions.action import Action
from errands.turk.actions.grammar import format_action
from errands.turk.oracle.field_oracle import Plan, oracle_plan
from errands.turk.oracle.pointer_oracle import play_pointer

__all__ = ["Oracle", "PointerOracle", "make", "make_pointer"]


class Oracle:
    """Knows every answer."""

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._started = False

    def look(self, env: Any) -> None:
        turk = turk_of(env)
        if turk.instance is None:
            raise AgentError("The oracle was shown an environment without an episode.")
        self._plan = self._plan_for(turk)
        self._started = False

    def _plan_for(self, env: TurkEnv) -> Plan:
        assert env.instance is not None
        return oracle_plan(env.page, env.instance, set())

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


class PointerOracle(Oracle):
    """Knows every answer, and how to give it with pointer and keys."""

    def _plan_for(self, env: TurkEnv) -> Plan:
        assert env.instance is not None
        page = env.pages.open(env.tasks.task(env.instance.task), env.instance)
        try:
            actions = play_pointer(page, env.instance)
        finally:
            page.close()
        return _replayed(actions)


def _replayed(actions: Iterable[Action]) -> Plan:
    # Not `yield from`: a list cannot be sent the answers.
    for action in actions:  # noqa: UP028
        yield action


def make(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    return SimpleFactory("oracle", lambda seed: Oracle())


def make_pointer(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    return SimpleFactory("pointer-oracle", lambda seed: PointerOracle())
