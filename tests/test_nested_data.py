"""Data that others wrote may nest without end, or have numbers without: then it is a sentence."""

import ast
from pathlib import Path

import errands

_DECODING = {"DecodeError", "MsgspecError"}
_ENOUGH = {"RecursionError", "Exception", "BaseException"}


def _caught(statement: ast.Try) -> set[str]:
    return {
        name.attr if isinstance(name, ast.Attribute) else name.id
        for handler in statement.handlers
        if handler.type is not None
        for name in ast.walk(handler.type)
        if isinstance(name, ast.Attribute | ast.Name)
    }


def _handlers() -> list[tuple[str, set[str]]]:
    package = Path(errands.__file__).parent
    return [
        (f"{path.relative_to(package)}:{statement.lineno}", _caught(statement))
        for path in sorted(package.rglob("*.py"))
        for statement in ast.walk(ast.parse(path.read_text()))
        if isinstance(statement, ast.Try)
    ]


def test_who_reads_json_or_msgpack_expects_a_recursion_error() -> None:
    readers = [(place, caught) for place, caught in _handlers() if caught & _DECODING]
    assert len(readers) > 25
    assert [place for place, caught in readers if not caught & _ENOUGH] == []


def test_who_reads_toml_expects_more_than_its_own_error() -> None:
    # Numbers of 5,000 digits are a ValueError.
    assert [place for place, caught in _handlers() if "TOMLDecodeError" in caught] == []
