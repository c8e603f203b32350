"""What the documentation says is what there is."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from errands.cli.reference import command_paths
from errands.integrations.frameworks import IntegrationError

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = [path.name for path in (ROOT / "src" / "errands").iterdir() if path.is_dir()]
GROUPS = {
    f"errands.{what}" for what in ("drivers", "observations", "rules", "sites", "turk_observations")
}
"""Groups of entry points, which are no modules; `errands.agents` is one, too."""
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])


def test_the_command_line_page_is_current() -> None:
    clean = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "GITHUB_ACTIONS")}
    made = subprocess.run(
        [sys.executable, "-m", "errands.cli.reference"],
        env={**clean, "COLUMNS": "80"},
        text=True,
        capture_output=True,
        check=True,
    ).stdout
    assert (ROOT / "docs" / "reference" / "cli.md").read_text() == made, (
        "docs/reference/cli.md is stale: run `make docs`"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert f"docs/{page.name}" in readme, page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_told_of_exist(page: Path) -> None:
    groups: dict[str, set[str]] = {}
    for group, *inner in command_paths():
        for word in inner[:1]:
            groups.setdefault(group, set()).add(word)
    assert {"bench", "catalog"} <= groups.keys()
    for group, word in re.findall(r"(?:`|\$ )errands ([a-z]+) ([a-z][a-z-]*)", page.read_text()):
        assert word in groups.get(group, {word}), f"{page.name}: errands {group} {word}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_that_are_told_of_exist(page: Path) -> None:
    """`errands.package.module.Name`, and the same in tables that leave out `errands.`."""
    pattern = rf"`(?:errands\.)?((?:{'|'.join(PACKAGES)})(?:\.\w+)+|(?<=errands\.)\w+(?:\.\w+)*)"
    for name in re.findall(pattern, page.read_text()):
        known = f"errands.{name}" in GROUPS or is_there(f"errands.{name}")
        assert known, f"{page.name}: errands.{name}"


def is_there(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    module, attributes = name, list[str]()
    while module:
        try:
            found = importlib.import_module(module)
        except IntegrationError:
            return True  # It is a framework's, which is not installed here.
        except ModuleNotFoundError as failure:
            if failure.name is None or not failure.name.startswith("errands"):
                return True  # It needs a library that is not installed here.
            module, _, last = module.rpartition(".")
            attributes.insert(0, last)
            continue
        for attribute in attributes:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False
