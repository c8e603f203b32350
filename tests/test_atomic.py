"""A directory appears whole or not at all."""

import os
import signal
import time
from pathlib import Path

import pytest

from errands.atomic import atomic_directory
from errands.errors import CatalogError


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


def test_what_appears_meanwhile_is_kept_too(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def build() -> None:
        with atomic_directory(out):
            out.mkdir()
            (out / "precious").write_text("x")

    with pytest.raises(CatalogError, match="exists already"):
        build()
    assert [path.name for path in out.iterdir()] == ["precious"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_process_forked_meanwhile_does_not_hold_it_up(tmp_path: Path) -> None:
    with atomic_directory(tmp_path / "out"):
        child = os.fork()
        if not child:
            time.sleep(30)
            os._exit(0)
    assert os.waitpid(child, os.WNOHANG) == (0, 0)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
