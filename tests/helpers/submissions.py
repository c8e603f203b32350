"""Submissions that somebody has changed, and an agent that fails."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from errands.agents.agent import AgentError
from errands.leaderboard.submission import SubmittedRun, pack, read_submission


class Failing:
    """Buys at once, and fails on every third goal."""

    def begin(self, observation: Any, info: Any) -> None:
        self._goal = info["goal"]

    def act(self, observation: Any, info: Any) -> str:
        if self._goal % 3 == 0:
            raise AgentError("Out of ideas.")
        return "search[shoes]" if info["available_actions"]["has_search_bar"] else "click[b]"


def rewritten(path: Path, change: Callable[[SubmittedRun], SubmittedRun]) -> Path:
    """A submission that somebody has changed."""
    path.write_bytes(pack(change(read_submission(path)[0])))
    return path
