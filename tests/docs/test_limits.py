"""The table of limits and time-outs has the numbers of the source."""

import ast
import re

import pytest
from code_blocks import ROOT

PAGE = ROOT / "docs" / "reference" / "limits.md"
_ROW = re.compile(r"(?m)^\| ([^|*]+) \| ([^|]+) \| [^|]*\| `errands\.([\w.]+)` \|$")
ROWS = _ROW.findall(PAGE.read_text())
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "hours": 3600}


def test_every_row_is_read() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    titles = [line for line in lines if line.startswith(("| **", "| what "))]
    assert len(ROWS) == len(lines) - len(titles) > 60


@pytest.mark.parametrize(("what", "bound", "place"), ROWS, ids=[row[2] for row in ROWS])
def test_the_number_is_the_source_s(what: str, bound: str, place: str) -> None:
    number, _, unit = bound.partition(" ")
    value = float(number.replace(",", "")) * UNITS.get(unit, 1)
    assert in_source(place) == value, what


def in_source(place: str) -> float:
    """A constant, a field's default, or that of an argument, by reading: nothing is imported."""
    *module, name = place.split(".")
    owner = module.pop() if module[-1][0].isupper() else ""
    path = ROOT / "src" / "errands" / "/".join(module)
    tree: ast.AST = ast.parse(path.with_suffix(".py").read_text("utf-8"))
    if owner:
        [tree] = [
            node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == owner
        ]
    for node in ast.walk(tree):
        match node:
            case (
                ast.AnnAssign(target=ast.Name(id=found), value=value)
                | ast.Assign(targets=[ast.Name(id=found)], value=value)
            ) if found == name and value is not None:
                return float(eval(compile(ast.Expression(value), place, "eval"), {}))
            case ast.arguments(kwonlyargs=given, kw_defaults=defaults):
                for argument, value in zip(given, defaults, strict=True):
                    if argument.arg == name and value is not None:
                        return float(ast.literal_eval(value))
    raise AssertionError(f"{place} is not in the source")
