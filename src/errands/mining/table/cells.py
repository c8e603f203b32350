"""What stands in a cell: nothing, a text, several values, or values inside values.

A cell of a CSV file may hold JSON, a list as Python prints it, or a hash as Ruby does. Values
inside values are columns of their own, by their path: `images[].src` is the `src` of each image.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

__all__ = ["flat", "is_nothing", "paths", "structured", "unwrapped", "values_at"]

Row = Mapping[str, Any]
DEEPEST: Final = 4
"""Steps of a path."""
MOST_PATHS: Final = 200
"""Paths into the values of one row, beside its columns."""
_LONGEST: Final = 200_000
"""Characters of a cell that is taken apart."""
_NOTHING: Final = frozenset({"", "nan", "none", "null", "n/a", "[]", "{}"})
_HASH_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|=>|\bnil\b')
_NAMES: Final = ("name", "title", "value", "label", "text", "url", "src")
"""What a value that is an object is called by, the likeliest first."""


def is_nothing(cell: Any) -> bool:
    if cell is None or cell == [] or cell == {} or cell != cell:
        return True
    return isinstance(cell, str) and cell.strip().lower() in _NOTHING


def flat(cell: Any) -> str:
    """A cell as one text; of an object its name, where it has one."""
    if isinstance(cell, list):
        return " ".join(map(flat, cell))
    if isinstance(cell, dict):
        name = next((cell[one] for one in _NAMES if isinstance(cell.get(one), str)), None)
        return json.dumps(cell, ensure_ascii=False) if name is None else name
    return str(cell)


def structured(cell: Any) -> Any:
    """The list or object that a text spells out; any other cell as it is.

    >>> structured('["a", "b"]'), structured("['a', 'b']"), structured('{"k"=>"v", "x"=>nil}')
    (['a', 'b'], ['a', 'b'], {'k': 'v', 'x': None})
    """
    if not isinstance(cell, str) or len(cell) > _LONGEST:
        return cell
    text = cell.strip()
    if not text or (text[0], text[-1]) not in (("[", "]"), ("{", "}")):
        return cell
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        if "=>" in text:
            return json.loads(_HASH_TOKEN.sub(_as_json, text))
        # Nothing but what JSON has: no numbers as names, none that cannot be printed.
        value = json.loads(json.dumps(ast.literal_eval(text)))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return cell
    return value if isinstance(value, list | dict) else cell


def _as_json(token: re.Match[str]) -> str:
    return {"=>": ":", "nil": "null"}.get(token[0], token[0])


def unwrapped(value: Any, depth: int = 0) -> Any:
    """A value without the wrappings of GraphQL: `{"edges": [{"node": x}]}` is `[x]`."""
    if depth > 2 * DEEPEST:
        return value
    if isinstance(value, dict):
        if set(value) == {"node"} and isinstance(value["node"], dict):
            return unwrapped(value["node"], depth + 1)
        inner = value.get("edges", value.get("nodes"))
        if isinstance(inner, list) and set(value) <= {"edges", "nodes", "pageInfo"}:
            return [unwrapped(one, depth + 1) for one in inner]
        return {name: unwrapped(one, depth + 1) for name, one in value.items()}
    if isinstance(value, list):
        return [unwrapped(one, depth + 1) for one in value]
    return value


def paths(row: Row) -> list[str]:
    """The columns of a row, each followed by those of the values inside it."""
    found: dict[str, None] = {}
    left = MOST_PATHS
    for name, value in row.items():
        inside = list(islice(_inside(name, value, 1), left + 1))
        left -= len(inside) - 1
        found.update(dict.fromkeys(inside))
    return list(found)


def _inside(path: str, value: Any, depth: int) -> Iterator[str]:
    yield path
    if depth >= DEEPEST:
        return
    if isinstance(value, list):
        value = next((one for one in value if isinstance(one, dict)), None)
        path = f"{path}[]"
    if isinstance(value, dict):
        for name, inner in value.items():
            if "." not in name and "[" not in name:
                yield from _inside(f"{path}.{name}", inner, depth + 1)


def values_at(row: Row, path: str) -> list[Any]:
    """What stands in a column, or at a path: none, one or several values."""
    if path in row:
        return [row[path]]
    held: list[Any] = [row]
    for step in path.split("."):
        each = step.endswith("[]")
        name = step[:-2] if each else step
        held = [one[name] for one in held if isinstance(one, dict) and name in one]
        if each:
            held = [inner for one in held if isinstance(one, list) for inner in one]
    return held if path else []
