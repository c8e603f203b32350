"""Running agents: protocols, the runner, the store of every episode, and its replay.

`store` keeps episodes (SQLite, PostgreSQL), `workers` play them (processes, Ray).
"""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = [
    "Episode",
    "Protocol",
    "RunInfo",
    "RunResult",
    "Step",
    "Summary",
    "find_protocol",
    "named_protocols",
    "open_run",
    "replay",
    "rollouts",
    "run",
]

if TYPE_CHECKING:
    from errands.runs.episode import Episode, RunInfo, Step, Summary
    from errands.runs.protocol import Protocol, find_protocol, named_protocols
    from errands.runs.replay import replay
    from errands.runs.rollouts import rollouts
    from errands.runs.runner import RunResult, run
    from errands.runs.store.places import open_run
else:
    __getattr__ = lazy_exports(__name__)
