"""The code of reference and explanation runs, and of the packages beside this one."""

from pathlib import Path

import pytest
from code_blocks import ROOT, follow

PAGES = sorted(
    [
        *(ROOT / "docs" / "reference").rglob("*.md"),
        *(ROOT / "docs" / "explanation").rglob("*.md"),
        *(ROOT / "packages").glob("*/README.md"),
        ROOT / "CONTRIBUTING.md",
    ]
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_the_code_runs(page: Path, tmp_path: Path) -> None:
    follow(page, tmp_path)
