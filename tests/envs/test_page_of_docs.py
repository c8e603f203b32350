"""The code of docs/guides/environments.md runs, from top to bottom."""

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "environments.md"


def test_the_code_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) >= 6
    names: dict[str, Any] = {}
    for block in blocks:
        # The test split is long; its first goals show as much.
        exec(re.sub(r"(?m)^for goal in (.*):$", r"for goal in \1[:5]:", block), names)
    assert names["taken"].startswith('{"of": "Shop catalog:')
