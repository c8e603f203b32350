"""A file of queries that a search model gives: instruction to queries, the best first.

It has the form of the original's goal_query_predict.json, as the choice oracle reads it.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from errands.agents.page_reading import read_instruction
from errands.errors import DataError
from errands.learn.models.search import QueryModel

__all__ = ["predict_queries", "write_queries"]


def predict_queries(
    model: QueryModel,
    instructions: Iterable[str],
    beams: int = 10,
    on_text: Callable[[], None] = lambda: None,
) -> dict[str, list[str]]:
    """Queries of every different instruction, without its price phrase."""
    found: dict[str, list[str]] = {}
    for instruction in instructions:
        text = read_instruction(instruction).text
        if text not in found:
            found[text] = model.queries(text, beams)
        on_text()
    return found


def write_queries(path: Path, found: Mapping[str, list[str]], *, replace: bool = False) -> None:
    """Write a file of queries."""
    try:
        with path.open("wb" if replace else "xb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(found), indent=1))
            file.write(b"\n")
    except FileExistsError:
        raise DataError(f"{path} is there already; add --force to replace it.") from None
    except OSError as failure:
        raise DataError(f"{path} cannot be written ({failure.strerror}).") from None
