"""Imports go one way: see docs/design.md."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "errands"

MAY_USE: dict[str, set[str]] = {
    "errors": set(),
    "home": set(),
    "shop": {"errors", "home"},
    "turk": {"errors", "home"},
    "data": {"errors", "home"},
    "mine": {"errors", "home", "shop"},
    "envs": {"errors", "shop", "turk"},
    "agents": {"errors", "home", "shop", "turk", "envs"},
    "runs": {"errors", "home", "shop", "turk", "envs", "agents"},
    "reports": {"errors", "shop", "turk", "envs", "agents", "runs"},
    "learn": {"errors", "home", "shop", "turk", "envs", "agents", "runs", "reports"},
    "experiments": {"errors", "shop", "agents", "runs", "reports", "learn"},
    "verify": {"errors", "shop", "envs", "agents", "runs", "reports"},
    "bridges": {"errors", "home", "shop", "envs", "agents", "runs", "reports", "learn"},
    "crowd": {"errors", "shop", "turk", "envs", "runs", "reports"},
    "web": {"errors", "shop", "turk", "envs", "runs", "reports", "crowd", "verify", "mine"},
    "bench": {"errors", "shop", "turk", "envs", "agents", "runs", "reports", "crowd", "web"},
    "cli": {
        *("errors", "home", "shop", "turk", "data", "envs", "agents", "runs", "reports", "bench"),
        *("learn", "experiments", "crowd", "web", "verify", "mine", "bridges"),
    },
}


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def used_rooms(path: Path) -> set[str]:
    """The parts of errands that a module imports, at the top or inside a function."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    parts = [name.split(".") for name in names if name.split(".")[0] == "errands"]
    return {part[1] for part in parts if len(part) > 1 and part[1] != "__version__"}


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    own = room(path)
    assert used_rooms(path) <= MAY_USE[own] | {own}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_rooms_are_small_and_say_what_they_are_for(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 500
    if text.strip():
        assert ast.get_docstring(ast.parse(text)), "a module says what it is for"
