"""`oracle`: fills in a form as people did, the ceiling of the paperwork.

It is shown the labels and the page. It goes in rounds, because an answer may bring further
fields into sight or to life, and submits when a round changes nothing any more.
"""

from collections.abc import Generator, Mapping
from typing import Any

from errands.agents import AgentError, Maker
from errands.agents.maker import SimpleMaker, turk_of
from errands.turk.action import Action
from errands.turk.driver import OpenPage
from errands.turk.grammar import MOST_ACTIONS, format_action
from errands.turk.oracle import oracle_actions
from errands.turk.task import Instance

__all__ = ["Oracle", "make"]

Plan = Generator[list[Action], bool, None]
"""Yields what to do together, is sent whether all of it succeeded."""


class Oracle:
    """Knows every answer. `at_once` puts a whole round into one answer."""

    def __init__(self, *, at_once: bool = False) -> None:
        self._at_once = at_once
        self._plan: Plan | None = None

    def look(self, env: Any) -> None:
        desk = turk_of(env)
        if desk.instance is None:
            raise AgentError("The oracle was shown an environment without an episode.")
        self._plan = _plan(desk.page, desk.instance, MOST_ACTIONS if self._at_once else 1)
        self._started = False

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        if self._plan is None:
            raise AgentError("The oracle plays only where it is shown the environment.")

    def act(self, observation: Any, info: Mapping[str, Any]) -> str:
        assert self._plan is not None
        try:
            actions = self._plan.send(not info["message"]) if self._started else next(self._plan)
        except StopIteration:
            return "submit()"
        self._started = True
        return "\n".join(map(format_action, actions))


def _plan(page: OpenPage, instance: Instance, together: int) -> Plan:
    """What `errands.turk.verify.play_oracle` does, with somebody else performing the actions."""
    solved: set[str] = set()
    progress = True
    while progress:
        progress = False
        fields = [f for f in page.fields(list(instance.labels)) if f.visible]
        fresh = {field.name: field for field in fields if field.name not in solved}
        if together > 1:
            actions = _actions(page, instance, fresh)
            batches = [actions[at : at + together] for at in range(0, len(actions), together)]
            failed = False
            for batch in batches:
                failed = not (yield batch) or failed
            progress = bool(actions)
            if not failed:
                solved |= fresh.keys()
                continue
            # A failure ends an answer half done: from here on singly, from what is there now.
            together = 1
        for action in _actions(page, instance, fresh):
            if (yield [action]):
                progress = True
            else:
                # Perhaps another answer enables it: tried again in the next round.
                del fresh[str(action.arguments["name"])]
        solved |= fresh.keys()


def _actions(page: OpenPage, instance: Instance, fresh: Mapping[str, Any]) -> list[Action]:
    held = {name: page.values(name) for name in fresh}
    return oracle_actions(list(fresh.values()), instance.labels, held)


def make(half: str, env: Any, settings: Mapping[str, Any]) -> Maker:
    at_once = settings["at_once"]
    return SimpleMaker("oracle", lambda seed: Oracle(at_once=at_once), {"at_once": at_once})
