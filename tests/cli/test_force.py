"""No command replaces a file by mistake: it says so before it works, and `--force` replaces it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from errands.cli import app
from errands.errors import ErrandsError
from errands.shop.catalog.catalog import Catalog


def run(*words: str) -> BaseException | None:
    return CliRunner().invoke(app, words).exception


@pytest.mark.parametrize(
    "words",
    [
        ("catalog", "picture", "{asin}", "--data", "{shop}", "--out"),
        ("turk", "info", "demo", "--plot"),
        ("turk", "verify", "demo", "--driver", "dom", "--task", "Ordering Mugs", "--out"),
        ("turk", "oracle-actions", "demo", "--driver", "dom", "--limit", "1", "--out"),
        ("bench", "install", "--out"),
        ("experiment", "people", "runs/people", "--out"),
    ],
)
def test_a_file_that_is_there_is_kept(
    words: tuple[str, ...], little: Catalog, tmp_path: Path
) -> None:
    here = {"{asin}": little.product(0).asin, "{shop}": str(little.path)}
    words = tuple(here.get(word, word) for word in words)
    out = tmp_path / "mine"
    out.write_text("mine")
    failure = run(*words, str(out))
    assert isinstance(failure, ErrandsError), failure
    assert "--force" in str(failure)
    assert out.read_text() == "mine"
    if words[0] in ("bench", "experiment"):
        return  # It measures for a minute, or needs runs.
    if "verify" not in words:
        assert run(*words, str(out), "--force") is None
        assert out.read_text() != "mine"
