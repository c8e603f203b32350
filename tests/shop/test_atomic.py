"""A directory appears whole or not at all."""

from pathlib import Path

import pytest

from errands.errors import CatalogError
from errands.shop.atomic import atomic_directory


def test_success_is_a_rename(tmp_path: Path) -> None:
    with atomic_directory(tmp_path / "deep" / "out") as work:
        (work / "file").write_text("x")
        assert not (tmp_path / "deep" / "out").exists()
    assert (tmp_path / "deep" / "out" / "file").read_text() == "x"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]


def test_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with atomic_directory(tmp_path / "out") as work:
            (work / "file").write_text("x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_kept_unless_it_may_be_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "precious").write_text("x")
    with pytest.raises(CatalogError, match="exists already"), atomic_directory(out):
        pass
    with pytest.raises(CatalogError, match="not a catalogue"), atomic_directory(out, replace=True):
        pass
    (out / "manifest.json").write_text("{}")
    with pytest.raises(ZeroDivisionError), atomic_directory(out, replace=True):
        raise ZeroDivisionError
    assert (out / "precious").exists()
    with atomic_directory(out, replace=True) as work:
        (work / "new").write_text("y")
    assert [path.name for path in out.iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_unwritable_place_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(CatalogError, match="cannot be written"),
        atomic_directory(tmp_path / "file" / "out"),
    ):
        pass
