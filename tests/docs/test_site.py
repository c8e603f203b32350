"""The site is built strictly, from every page, and loads nothing from elsewhere."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from code_blocks import ROOT

CONFIG = ROOT / "zensical.toml"


def _listed(nav: list[Any]) -> list[str]:
    pages = []
    for entry in nav:
        for target in entry.values():
            pages += _listed(target) if isinstance(target, list) else [target]
    return pages


def test_every_page_is_in_the_navigation_once() -> None:
    pages = _listed(tomllib.loads(CONFIG.read_text())["project"]["nav"])
    there = [str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(pages) == sorted(there)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical", reason="needs what requirements-dev.txt lists")
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "docs", folder / "docs")  # Whatever a build leaves lies beside it.
    text = CONFIG.read_text().replace('paths = ["src"]', f'paths = ["{ROOT / "src"}"]')
    (folder / "zensical.toml").write_text(text)
    made = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=folder, text=True, capture_output=True, check=False, timeout=300,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    return folder / "build" / "site"


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    missing = []
    for page in sorted((ROOT / "docs" / "reference" / "api").glob("[!i]*.md")):
        html = (site / "reference" / "api" / f"{page.stem}.html").read_text("utf-8")
        package = __import__(f"errands.{page.stem}", fromlist=["__all__"])
        missing += [
            f"errands.{page.stem}.{name}"
            for name in package.__all__
            # Where a module has the name of its function, the function stands below it.
            if f'id="errands.{page.stem}.{name}' not in html
        ]
    assert missing == []


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loaded = re.compile(
        r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=\"?(https?://[^\s\">]+)"
    )
    for page in site.rglob("*.html"):
        assert loaded.findall(page.read_text("utf-8")) == [], page
