"""Imports go one way, sub-packages included: see docs/explanation/design.md."""

import ast
import functools
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "errands"

BASE = {
    *(
        "errors",
        "home",
        "lazy",
        "plugins",
        "atomic",
        "database",
        "markup",
        "nesting",
        "currencies",
        "prices",
        "progress",
        "child_process",
    ),
    *("extras", "native", "notebook", "stemming"),
}
"""Modules below all packages; anybody may use them."""

MAY_USE: dict[str, set[str]] = {
    "native": set(),
    "shop": set(),
    "browser": set(),
    "turk": {"browser"},
    "data": set(),
    "mining": {"shop"},
    "envs": {"shop", "turk", "browser"},
    "agents": {"shop", "turk", "browser", "envs"},
    "runs": {"shop", "turk", "browser", "data", "envs", "agents"},
    "reports": {"shop", "turk", "envs", "agents", "runs"},
    "leaderboard": {"shop", "turk", "envs", "agents", "runs", "reports"},
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
    "integrations": {
        *("shop", "turk", "browser", "envs", "agents", "runs", "reports", "remote", "web"),
    },
    "testing": {"shop", "turk", "browser", "envs", "agents", "runs", "transfer", "integrations"},
    "bench": {
        *("shop", "turk", "browser", "envs", "agents", "runs", "reports", "crowd", "web"),
        "remote",
    },
}
"""Which packages a package may use; `cli` may use all, and nobody uses it."""

INSIDE: dict[str, str] = {
    "web": """
        core
        < env_api runs shop
        < crowd
        < review server
    """,
    "learn": """
        data timing tracker
        < models rollout teacher
        < checkpoint critic environments explaining_teacher
        < trainer
        < imitation search
        < policy
        < evaluation
        < source
        < a2c dagger ppo
    """,
    "shop": """
        damage fingerprints product records
        < goals search synthetic
        < catalog rewards splits
        < build navigation
        < fresh urls
        < page_addresses render
    """,
    "turk": """
        actions
        < pages
        < dom tasks
        < browser proofs scoring
        < drivers
        < oracle
        < effects
    """,
    "crowd": """
        errors budget store
        < accounts
        < hits instructions shopping
        < database
    """,
    "reports": """
        statistics
        < content formatting
        < tables
        < html markdown paper_figures
        < writing
    """,
    "leaderboard": """
        submission
        < making published
        < replaying results_page
        < checking
        < board
        < site
    """,
    "transfer": """
        sites
        < fetch goals
        < live_catalog
        < environment
        < journal
        < play scores tables
    """,
}
"""The order inside a package, lowest first, of its sub-packages and the modules beside them: each
may use those on lower levels, never one on its own. Packages not listed have no order yet."""

LATE: dict[str, set[str]] = {
    "agents.registry": {"learn.explaining_teacher", "learn.policy"},
    "envs": {"remote.environments", "transfer.environment"},
    "shop.catalog.library": {"shop.build.builder"},
}
"""What may import above itself, while it runs and not when it is imported: registries that name
modules (`module:attribute`), and parts that are made when first asked for."""

NOT_YET: set[tuple[str, str]] = set()
"""Debts: a module and the package it should not use. Only ever to be shortened."""


NAMED = re.compile(r"errands\.([a-z_.0-9]+)(?::[A-Za-z_.]+)?")


def module_of(path: Path) -> str:
    """A file's dotted name below `errands`; of an `__init__.py` its folder's."""
    name = str(path.relative_to(SOURCE).with_suffix("")).replace("/", ".")
    return name.removesuffix(".__init__")


def exists(name: str) -> bool:
    path = SOURCE / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@functools.cache
def imported(path: Path) -> set[str]:
    """Modules below `errands` that a module uses: by imports, at the top or inside a function, and
    by name, in a text such as `errands.agents.rule:make`."""
    names: list[str] = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = NAMED.fullmatch(node.value)
            names += [f"errands.{named[1]}"] if named and exists(named[1]) else []
    used = {name.removeprefix("errands.") for name in names if name.startswith("errands.")}
    # `from errands.shop.product import Product` uses the module `shop.product`.
    return {name if exists(name) else name.rpartition(".")[0] or name for name in used}


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    here = module_of(path)
    own = here.split(".")[0]
    used = {name.split(".")[0] for name in imported(path) - LATE.get(here, set())}
    if own != "cli":
        debts = {package for module, package in NOT_YET if module == here}
        assert used - BASE - {own, "__version__"} <= MAY_USE[own] | debts


@pytest.mark.parametrize("package", INSIDE)
def test_imports_go_one_way_inside_a_package(package: str) -> None:
    level = {
        name: place
        for place, names in enumerate(INSIDE[package].split("<"))
        for name in names.split()
    }
    wrong = []
    for path in (SOURCE / package).rglob("*.py"):
        here = module_of(path)
        if here == package:
            continue
        own = here.split(".")[1]
        assert own in level, f"INSIDE has no level for {package}.{own}"
        for name in imported(path) - LATE.get(here, set()):
            used = name.split(".")[1] if name.startswith(f"{package}.") else own
            if used != own and level[used] >= level[own]:
                wrong.append(f"{here} uses {name}")
    assert not wrong


def test_what_is_imported_late_is_there() -> None:
    for module, named in LATE.items():
        file = SOURCE / module.replace(".", "/")
        path = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
        assert named <= imported(path), f"{module} does not name all of {sorted(named)}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_modules_say_what_they_are_for(path: Path) -> None:
    if path.read_text().strip():
        assert ast.get_docstring(parsed(path)), "a module says what it is for"


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in MODULES}), ids=lambda path: path.name
)
def test_folders_are_small(folder: Path) -> None:
    assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= 17
