"""Imports go one way, sub-packages included: see docs/design.md."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "errands"

BASE = {"errors", "home", "lazy", "plugins", "atomic", "markup"}
"""Modules below all packages; anybody may use them."""

MAY_USE: dict[str, set[str]] = {
    "shop": set(),
    "browser": set(),
    "turk": {"browser"},
    "data": set(),
    "mining": {"shop"},
    "envs": {"shop", "turk", "browser"},
    "agents": {"shop", "turk", "browser", "envs"},
    "runs": {"shop", "turk", "browser", "envs", "agents"},
    "reports": {"shop", "turk", "envs", "agents", "runs"},
    "verify": {"shop", "envs", "agents", "runs", "reports"},
    "remote": {"shop", "envs"},
    "crowd": {"shop", "turk", "browser", "envs", "runs", "reports"},
    "learn": {"shop", "turk", "browser", "envs", "agents", "runs", "reports"},
    "transfer": {"shop", "envs", "agents", "runs", "reports", "learn"},
    "experiments": {"shop", "agents", "runs", "reports", "learn", "transfer"},
    "web": {
        *("shop", "turk", "browser", "envs", "runs", "reports", "crowd", "verify", "mining"),
        "remote",
    },
    "integrations": {"shop", "turk", "envs", "agents", "runs", "reports", "remote"},
    "testing": {"shop", "turk", "browser", "envs", "agents", "runs", "transfer"},
    "bench": {
        *("shop", "turk", "browser", "envs", "agents", "runs", "reports", "crowd", "web"),
        "remote",
    },
}
"""Which packages a package may use; `cli` may use all, and nobody uses it."""

LATE: dict[str, set[str]] = {}
"""Modules that import above themselves by name (registries, entry points), and what they name."""

NOT_YET: set[tuple[str, str]] = {
    ("remote.messages", "web"),
}
"""Debts: a module and the package it should not use. Only ever to be shortened."""


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Dotted names below `errands` that a module imports, at the top or inside a function."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return {name.removeprefix("errands.") for name in names if name.startswith("errands.")}


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    own = package_of(path)
    used = {name.split(".")[0] for name in imported(path)} - BASE - {own, "__version__"}
    if own != "cli":
        here = str(path.relative_to(SOURCE).with_suffix("")).replace("/", ".")
        debts = {package for module, package in NOT_YET if module == here}
        assert used <= MAY_USE[own] | debts


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_modules_say_what_they_are_for(path: Path) -> None:
    text = path.read_text()
    if text.strip():
        assert ast.get_docstring(ast.parse(text)), "a module says what it is for"


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in MODULES}), ids=lambda path: path.name
)
def test_folders_are_small(folder: Path) -> None:
    assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= 17
