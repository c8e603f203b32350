"""`replay`: does what a file says, whatever it sees.

The file has lines of JSON, each with the `actions` of one episode and what it is: `key` (as runs
name it: `goal 17` or `task/row`), or `goal`, or `task` and `row`. Any other file is a list of
actions, one a line, for every episode. An episode that goes on when its actions are used up is
an error, and so is one that the file does not know.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from errands.agents.agent import AgentError, AgentFactory
from errands.agents.factory import SimpleFactory, checked_file
from errands.errors import DataError, SettingError

__all__ = ["Replay", "Script", "episode_key", "make", "read_script"]


class Script(msgspec.Struct, frozen=True):
    """Actions by episode; or the same for all of them."""

    place: str
    by_key: Mapping[str, Sequence[str]]
    for_all: Sequence[str] | None = None

    def actions(self, key: str) -> Sequence[str]:
        found = self.by_key.get(key) if self.for_all is None else self.for_all
        if found is None:
            raise AgentError(f"{self.place} has no actions for {key}.")
        return found


class Replay:
    """Says its lines."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        self._actions = self._script.actions(episode_key(info))
        self._done = 0

    def act(self, observation: Any, info: Mapping[str, Any]) -> str:
        if self._done == len(self._actions):
            raise AgentError(
                f"The {self._done} actions of {self._script.place} for {episode_key(info)} are used"
                " up, and the episode is not over."
            )
        self._done += 1
        return self._actions[self._done - 1]


def episode_key(info: Mapping[str, Any]) -> str:
    """What an episode is called in a run."""
    return f"goal {info['goal']}" if "goal" in info else f"{info['task']}/{info['row']}"


class _ScriptLine(msgspec.Struct):
    actions: str | list[str | dict[str, Any]]
    key: str | None = None
    goal: int | None = None
    task: str | None = None
    row: int | None = None

    def name(self) -> str | None:
        if self.key is not None:
            return self.key
        if self.goal is not None:
            return f"goal {self.goal}"
        return None if self.task is None or self.row is None else f"{self.task}/{self.row}"

    def texts(self) -> list[str]:
        actions = [self.actions] if isinstance(self.actions, str) else self.actions
        return [held if isinstance(held, str) else json.dumps(held) for held in actions]


def read_script(data: bytes, place: str) -> Script:
    """A file's actions, in either form."""
    try:
        lines = [line for line in data.decode("utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise DataError(f"{place} is not UTF-8 text; expected actions.") from None
    if not lines:
        raise DataError(f"{place} is empty; expected actions.")
    if not _is_record(lines[0]):
        return Script(place, {}, lines)
    by_key: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        try:
            read = msgspec.json.decode(line.encode(), type=_ScriptLine)
        except (msgspec.DecodeError, RecursionError) as failure:
            raise DataError(
                f"Line {number} of {place} has no actions ({failure}); expected"
                ' {"key": "goal 17", "actions": [...]}.'
            ) from None
        name = read.name()
        if name is None:
            raise DataError(
                f"Line {number} of {place} does not say what was played; expected `key`, or"
                " `goal`, or `task` and `row`."
            )
        if name in by_key:
            raise DataError(f"Line {number} of {place} is the second one for {name}.")
        by_key[name] = read.texts()
    return Script(place, by_key)


def _is_record(line: str) -> bool:
    """Whether a line is a record: a tool call, which is an action, is an object too."""
    try:
        held = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(held, dict) and "actions" in held


def make(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    path = settings["actions"]
    if not path:
        raise SettingError("The agent 'replay' needs a file of actions: set actions=PATH.")
    data, checksum = checked_file(path, settings["checksum"])
    script = read_script(data, path)
    return SimpleFactory("replay", lambda seed: Replay(script), {**settings, "checksum": checksum})
