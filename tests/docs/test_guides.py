"""The code of the how-to guides runs."""

from pathlib import Path

import pytest
from code_blocks import ROOT, follow

PAGES = sorted((ROOT / "docs" / "guides").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_runs(page: Path, tmp_path: Path) -> None:
    follow(page, tmp_path)
