"""The public API: names that packages export, and that docs and examples import nothing else."""

import ast
import importlib
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from errands.integrations.frameworks import FRAMEWORKS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "errands"

HEAVY = {
    "torch",
    "starlette",
    "playwright",
    "jinja2",
    "lxml",
    "rapidfuzz",
    "psycopg",
    "ray",
}
"""What `import errands` must not import."""

NOT_YET: set[str] = {
    "errands.shop.synthetic.generator",
}
"""Debts: what docs import from modules instead of packages. Only ever to be shortened."""

PACKAGES = sorted(
    ".".join(["errands", *path.parent.relative_to(SOURCE).parts])
    for path in SOURCE.rglob("__init__.py")
    if "__all__" in path.read_text()
)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there(package: str) -> None:
    module = importlib.import_module(package)
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    assert not missing
    assert sorted(module.__all__) == sorted(set(module.__all__))


def test_the_package_gives_what_most_need() -> None:
    import errands

    assert {"Agent", "Catalog", "ErrandsError", "ShopEnv", "TurkEnv", "report", "run"} < set(
        errands.__all__
    )
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        errands.nothing_of_the_kind  # noqa: B018


def test_importing_is_light() -> None:
    code = "import errands, sys; print(*sys.modules)"
    listed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    modules = listed.stdout.split()
    assert not HEAVY & {name.partition(".")[0] for name in modules}
    ours = {name for name in modules if name.startswith("errands.")}
    assert ours == {"errands.envs", "errands.errors", "errands.lazy"}


def _blocks(path: Path) -> list[str]:
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        return [text]
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


ADAPTERS = {f"errands.integrations.{name.replace('-', '_')}" for name in FRAMEWORKS}
"""Modules of their own, as each needs its framework; their own tests import them."""
DOCUMENTS = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", *ROOT.glob("examples/**/*.py")]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_docs_and_examples_import_what_packages_export(path: Path) -> None:
    imports = [
        (module, name.strip().partition(" as ")[0])
        for block in _blocks(path)
        for module, names in re.findall(
            r"^\s*(?:>>> )?from (errands(?:\.[\w.]+)?) import (\([^)]*\)|.+)", block, re.MULTILINE
        )
        for name in names.strip("()").split(",")
        if name.strip()
    ]
    for module, name in imports:
        if module not in NOT_YET and not ADAPTERS & {module, f"{module}.{name}"}:
            assert module in PACKAGES, f"{module} is not a package that exports names"
            assert name in importlib.import_module(module).__all__


def test_a_class_name_is_used_once() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(SOURCE)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
