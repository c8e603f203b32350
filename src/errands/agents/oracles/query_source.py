"""Where the choice oracle's queries come from: the four sources of the paper's table 5.

A file of queries is a JSON object from an instruction to a list of queries, as the original's
goal_query_map.json (what people searched for, in order) and goal_query_predict.json (a model's
beams, best first). Instructions are compared without price phrase, quotes and full stops, so
that both ways of writing them are found.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from errands.agents.agent import AgentError
from errands.agents.factory import checked_file, one_of
from errands.errors import DataError, SettingError
from errands.shop.goals import instruction_key

__all__ = ["QUERIES", "QuerySource", "query_source"]

QUERIES: Final = ("instruction", "human-first", "human-last", "predicted")


class QuerySource(msgspec.Struct, frozen=True):
    """Gives each instruction its query."""

    kind: str
    held: Mapping[str, Sequence[str]]
    skip: bool
    """Whether an instruction without a query is left out."""

    def knows_any(self, instructions: Iterable[str]) -> bool:
        """Whether it has a query for any of these instructions."""
        return any(self.held.get(instruction_key(one)) for one in instructions)

    def query(self, instruction: str) -> str:
        if self.kind == "instruction":
            return instruction
        found = self.held.get(instruction_key(instruction))
        if found:
            return found[-1 if self.kind == "human-last" else 0]
        if self.skip:
            whose = "predicted" if self.kind == "predicted" else "human"
            raise AgentError(f"There is no {whose} query for this instruction.")
        return instruction


def query_source(kind: str, path: str, missing: str, checksum: str) -> tuple[QuerySource, str]:
    """A source by its settings, and the checksum of its file."""
    one_of("query", kind, QUERIES)
    skip = one_of("missing", missing, ("instruction", "skip")) == "skip"
    if kind == "instruction":
        if path:
            raise SettingError(f"queries={path} is not used by query=instruction; set another one.")
        return QuerySource(kind, {}, skip), ""
    if not path:
        name = "goal_query_predict.json" if kind == "predicted" else "goal_query_map.json"
        raise SettingError(f"query={kind} needs a file of queries: set queries=PATH, as of {name}.")
    checksum = checked_file(path, checksum)[1]
    return QuerySource(kind, _read(path, checksum), skip), checksum


@functools.lru_cache(4)
def _read(path: str, checksum: str) -> dict[str, list[str]]:
    data, _ = checked_file(path, checksum)
    try:
        lists = msgspec.json.decode(data, type=dict[str, list[str]])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as failure:
        raise DataError(
            f"{path} is not a file of queries ({failure}); expected a JSON object from an"
            " instruction to a list of queries."
        ) from None
    held: dict[str, list[str]] = {}
    for instruction, queries in lists.items():
        usable = [query for query in queries if query.strip()]
        held.setdefault(instruction_key(instruction), usable)
    return held
