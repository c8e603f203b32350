"""Demonstrations and models for the tests of `errands train`, made by its own commands."""

from collections.abc import Callable
from pathlib import Path

import pytest
from school import Said, call

from errands.shop.build.builder import generate_catalog
from errands.shop.catalog.catalog import Catalog


@pytest.fixture
def errands(capfd: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """A command in this process, with what it said as one line of text."""

    def run(*words: object, status: int = 0) -> Said:
        capfd.readouterr()
        found = call(*words)
        out, err = capfd.readouterr()
        said = Said(found, out, " ".join(err.split()))
        assert said.status == status, said
        assert "Traceback" not in err
        return said

    return run


@pytest.fixture(scope="session")
def demos(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("train") / "demos"
    words = ("--data", little.path, "--episodes", 40, "--workers", 1, "--json")
    assert call("train", "demonstrations", out, *words) == 0
    return out


@pytest.fixture(scope="session")
def il(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A choice model that has hardly learnt anything."""
    pytest.importorskip("torch", reason="needs torch: pip install 'errands[train]'")
    out = tmp_path_factory.mktemp("train") / "il"
    words = ("--out", out, "--epochs", 1, "--width", 16, "--threads", 1)
    assert call("train", "choice", demos, *words) == 0
    return out


@pytest.fixture(scope="session")
def search(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search model of the same kind."""
    pytest.importorskip("torch", reason="needs torch: pip install 'errands[train]'")
    out = tmp_path_factory.mktemp("train") / "search"
    assert call("train", "search", demos, "--out", out, "--epochs", 1, "--threads", 1) == 0
    return out


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another catalogue."""
    out = tmp_path_factory.mktemp("train") / "elsewhere"
    generate_catalog(out, products=200, seed=6)
    return out
