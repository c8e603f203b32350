"""Where things are kept."""

from pathlib import Path

import pytest

from errands.home import catalogs_dir, data_dir, home


def test_errands_home_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ERRANDS_HOME", str(tmp_path / "here"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert home() == tmp_path / "here"
    assert data_dir("webshop") == tmp_path / "here" / "data" / "webshop"
    assert catalogs_dir() == tmp_path / "here" / "catalogs"
    assert not (tmp_path / "here").exists()


def test_then_the_cache_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ERRANDS_HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert home() == tmp_path / "cache" / "errands"


@pytest.mark.parametrize("cache", ["", "relative/path"])
def test_then_the_home_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: str
) -> None:
    monkeypatch.delenv("ERRANDS_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home() == tmp_path / ".cache" / "errands"


def test_a_relative_home_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ERRANDS_HOME", "near")
    assert home() == tmp_path / "near"
