"""A catalogue's files are read once, and again when they change."""

import os
import shutil
from pathlib import Path

import pytest

from errands.errors import DamageError, SettingError
from errands.home import home
from errands.shop.catalog import verification
from errands.shop.catalog.catalog import Catalog
from errands.shop.catalog.verification import verify_files


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The files that were read, in a home of their own where even new files are remembered."""
    names: list[str] = []
    checksum = verification.file_checksum

    def counted(path: Path) -> str:
        if path.name != "manifest.json":
            names.append(path.name)
        return checksum(path)

    monkeypatch.setattr(verification, "file_checksum", counted)
    monkeypatch.setattr(verification, "_SETTLED", -(10**12))
    monkeypatch.setenv("ERRANDS_HOME", str(tmp_path / "home"))
    return names


@pytest.fixture
def copy(little: Catalog, tmp_path: Path) -> Path:
    return Path(shutil.copytree(little.path, tmp_path / "copy"))


def test_files_are_read_once_a_machine(copy: Path, read: list[str]) -> None:
    everything = len(Catalog.open(copy).manifest.files)
    assert not read
    Catalog.open(copy, verify="quick")
    assert len(read) == everything
    Catalog.open(copy, verify="quick")
    assert len(read) == everything
    Catalog.open(copy, verify="full")
    assert len(read) == 2 * everything
    os.utime(copy / "cards.bin")
    Catalog.open(copy, verify="quick")
    assert read[2 * everything :] == ["cards.bin"]


def test_damage_of_the_same_size_is_noticed(copy: Path, read: list[str]) -> None:
    verify_files(copy, "quick")
    path = copy / "index" / "norms.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    Catalog(copy)
    for verify in ("quick", "full", "quick"):
        with pytest.raises(DamageError, match=r"index/norms\.npy has another checksum.*again"):
            Catalog.open(copy, verify=verify)


def test_an_open_catalogue_can_be_verified(copy: Path) -> None:
    opened = Catalog.open(copy)
    assert Catalog.open(opened, verify="full") is opened
    (copy / "cards.bin").rename(copy / "away")
    with pytest.raises(DamageError, match=r"cards\.bin is missing"):
        Catalog.open(opened, verify="quick")


def test_what_is_verified_is_what_is_open(copy: Path) -> None:
    """Whoever opened a damaged catalogue and then restored its file played on with what was mapped,
    and the run said that all was well."""
    norms = copy / "index/norms.npy"
    whole = norms.read_bytes()

    def put(data: bytes) -> None:
        (copy / "new").write_bytes(data)
        (copy / "new").replace(norms)

    put(whole[:-8] + bytes(8))
    open_before = Catalog.open(copy)
    put(whole)
    assert Catalog.open(copy) is open_before
    verified = Catalog.open(copy, verify="full")
    assert verified is not open_before
    assert bytes(verified.index._postings.arrays["norms"][-8:]) == whole[-8:]
    assert Catalog.open(copy, verify="full") is verified
    assert Catalog.open(verified, verify="full") is verified
    with pytest.raises(DamageError, match="others than when it was opened"):
        Catalog.open(open_before, verify="quick")
    assert Catalog.open(open_before) is open_before


def test_a_file_that_was_just_written_is_read_again(
    copy: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written within one tick of a disk's clock keeps its time."""
    monkeypatch.setattr(verification, "_SETTLED", 10**12)
    verify_files(copy, "quick")
    count = len(read)
    verify_files(copy, "quick")
    assert len(read) == 2 * count


def test_a_home_that_cannot_be_written_is_no_error(
    copy: Path, read: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ERRANDS_HOME", str(tmp_path / "file"))
    verify_files(copy, "quick")
    count = len(read)
    verify_files(copy, "quick")
    assert len(read) == 2 * count > 0


def test_a_memory_that_makes_no_sense_is_none(copy: Path, read: list[str]) -> None:
    verify_files(copy, "quick")
    count = len(read)
    [memory] = (home() / "verified").iterdir()
    memory.write_text("{")
    verify_files(copy, "quick")
    assert len(read) == 2 * count


def test_another_manifest_forgets_what_was_compared(copy: Path, read: list[str]) -> None:
    verify_files(copy, "quick")
    count = len(read)
    path = copy / "manifest.json"
    path.write_text(path.read_text() + "\n")
    verify_files(copy, "quick")
    assert len(read) == 2 * count


def test_a_manifest_is_sealed(copy: Path) -> None:
    path = copy / "manifest.json"
    text = path.read_text()
    assert '"seed": 5' in text.replace('"seed":5', '"seed": 5')
    path.write_text(text.replace('"dropped"', '"dropped" '))
    Catalog(copy)
    path.write_text(text.replace('"products": 300', '"products": 301'))
    with pytest.raises(DamageError, match=r"manifest\.json is damaged .*checksum"):
        Catalog(copy)


def test_other_ways_to_verify_are_refused(little: Catalog) -> None:
    with pytest.raises(SettingError, match="verify='fast': expected full, quick, off"):
        Catalog.open(little.path, verify="fast")  # type: ignore[arg-type]
