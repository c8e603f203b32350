"""The code in docs/guides/original-code.md runs."""

import re
from pathlib import Path

import pytest
from errands_legacy.sources import CATALOG_VARIABLE

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = [
    block
    for page in ("docs/guides/original-code.md", "packages/errands-legacy/README.md")
    for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
]


def test_there_are_blocks() -> None:
    assert len(BLOCKS) == 3


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_runs(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CATALOG_VARIABLE, raising=False)
    names: dict[str, object] = {}
    exec(block, names)
    assert names
