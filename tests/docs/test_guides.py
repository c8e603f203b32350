"""The code of the how-to guides runs; of other frameworks, as far as it needs none."""

from pathlib import Path

import pytest
from code_blocks import ROOT, blocks, follow
from effort import SLOW

PAGES = sorted((ROOT / "docs" / "guides").rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_runs(page: Path, tmp_path: Path) -> None:
    left_out = ("not run",) if SLOW else ("not run", "slow")
    wanted = sum(block.kind not in left_out for block in blocks(page))
    assert follow(page, tmp_path) == wanted
