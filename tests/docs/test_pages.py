"""What the documentation says is what there is."""

import functools
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from code_blocks import ROOT, blocks

from errands.cli.reference import command_paths
from errands.integrations.frameworks import IntegrationError

PACKAGES = [path.name for path in (ROOT / "src" / "errands").iterdir() if path.is_dir()]
GROUPS = {
    f"errands.{what}" for what in ("drivers", "observations", "rules", "sites", "turk_observations")
}
"""Groups of entry points, which are no modules; `errands.agents` is one, too."""
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("packages/*/README.md"), *(ROOT / "docs").rglob("*.md")]
)
IDS = [str(page.relative_to(ROOT)) for page in PAGES]
SOURCES = [
    path
    for folder in ("src", "tests", "examples", "packages", "results", "Makefile", "pyproject.toml")
    for path in ([ROOT / folder] if (ROOT / folder).is_file() else (ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".toml", ".md") or path.name == "Makefile"
]
OLD_WORDS = {
    "by chance": "sampled", "hangs on": "depends on", "hang on": "depend on",
    "the room": "the module", "paperwork": "form pages", "front desk": "crowd work",
}  # fmt: skip
"""Words that are no longer used, and what is said instead."""


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


def anchors(page: Path) -> set[str]:
    """Of a page's headings, as the site makes them."""
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text("utf-8"))
    found = set()
    for heading in re.findall(r"(?m)^#+ (.+)$", text):
        plain = re.sub(r"[^\w\s-]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading))
        found.add(re.sub(r"[-\s]+", "-", plain.strip().lower()))
    return found


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text("utf-8"))
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", text):
        place = page.parent / target if target else page
        assert place.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(place), f"{page.name} links to {target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_block_has_a_language_and_reasons_name_what_there_is(page: Path) -> None:
    for block in blocks(page):
        assert block.language, f"{page}:{block.line} has no language; text, if it is no code"
        for path in re.findall(r"\b(?:tests|examples)/[\w/.-]*\w", block.reason):
            assert (ROOT / path).exists(), f"{page}:{block.line} names {path}"


def test_pages_that_sources_name_exist() -> None:
    """A page is named by its path in messages, help and docstrings."""
    assert len(SOURCES) > 500
    for path in SOURCES:
        for name in re.findall(r"\bdocs/[\w/-]+\.md", path.read_text("utf-8")):
            assert (ROOT / name).is_file(), f"{path.relative_to(ROOT)} names {name}"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_the_words_are_the_field_s(page: Path) -> None:
    if page.name != "CHANGELOG.md":
        text = page.read_text("utf-8").lower()
        assert {old: new for old, new in OLD_WORDS.items() if old in text} == {}


@functools.cache
def command_groups() -> dict[str, set[str]]:
    """Groups of commands, and the words that may follow them."""
    groups: dict[str, set[str]] = {}
    for group, *inner in command_paths():
        for word in inner[:1]:
            groups.setdefault(group, set()).add(word)
    return groups


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_that_are_told_of_exist(page: Path) -> None:
    groups = command_groups()
    assert {"bench", "catalog"} <= groups.keys()
    for group, word in re.findall(r"(?:`|\$ )errands ([a-z]+) ([a-z][a-z-]*)", page.read_text()):
        assert word in groups.get(group, {word}), f"{page.name}: errands {group} {word}"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_names_that_are_told_of_exist(page: Path) -> None:
    """`errands.package.module.Name`, and the same in tables that leave out `errands.`."""
    if page.name == "limits.md":
        return  # It names arguments, too, and has a test of its own.
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
