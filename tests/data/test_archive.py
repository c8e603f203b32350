"""Archives, honest and hostile."""

import gzip
import io
import random
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.data.archive import ArchiveLimits, plain_name, unpack_tasks
from errands.errors import DataError

Pack = Callable[[dict[str, bytes]], Path]

GOOD = {"tasks/One/template.html": b"<p>${x}</p>", "tasks/One/batch.csv": b"x,Answer.y\n1,2\n"}


def make_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as pack:
        for name, body in files.items():
            pack.writestr(name, body)
    return path


def make_tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as pack:
        for name, body in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            pack.addfile(info, io.BytesIO(body))
    return path


@pytest.fixture(params=["zip", "tar"])
def pack(request: pytest.FixtureRequest, tmp_path: Path) -> Pack:
    if request.param == "zip":
        return lambda files: make_zip(tmp_path / "pack.zip", files)
    return lambda files: make_tar(tmp_path / "pack.tar.gz", files)


def tree(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("below", ["", "turking-bench-main/", "./", "a/b/"])
def test_tasks_are_taken_from_any_depth(pack: Pack, tmp_path: Path, below: str) -> None:
    archive = pack({below + name: body for name, body in GOOD.items()})
    assert unpack_tasks(archive, tmp_path / "out") == 2
    assert tree(tmp_path / "out") == {"One/template.html", "One/batch.csv"}
    assert (tmp_path / "out/One/batch.csv").read_bytes() == GOOD["tasks/One/batch.csv"]


def test_everything_else_stays_packed(pack: Pack, tmp_path: Path) -> None:
    others = {
        "README.md": b"",
        "tasks/One/.~lock.batch.csv#": b"",
        "tasks/One/input.csv": b"",
        "tasks/.hidden/batch.csv": b"",
        "tasks/batch.csv": b"",
        "sandbox tasks/Two/template.html": b"",
        "tasks/Deep/er/template.html": b"",
        "tasks/One/more/batch.csv/evil.py": b"",
    }
    assert unpack_tasks(pack({**others, **GOOD}), tmp_path / "out") == 2
    assert tree(tmp_path / "out") == {"One/template.html", "One/batch.csv"}


@pytest.mark.parametrize(
    "name",
    [
        "../evil.txt",
        "tasks/../../batch.csv",
        "tasks/../batch.csv",
        "x/../../tasks/One/batch.csv",
        "/tasks/One/batch.csv",
        "/etc/cron.d/evil",
        "C:/tasks/One/batch.csv",
        "tasks\\..\\..\\batch.csv",
    ],
)
def test_names_that_lead_out_are_refused(pack: Pack, tmp_path: Path, name: str) -> None:
    before = {*tree(tmp_path), "pack.zip", "pack.tar.gz"}
    with pytest.raises(DataError, match=r"refused: its member .* points out"):
        unpack_tasks(pack({name: b"evil"}), tmp_path / "in" / "out")
    assert tree(tmp_path) <= before


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        info = tarfile.TarInfo("tasks/One/batch.csv")
        info.type, info.linkname = kind, "/etc/passwd"
        tar.addfile(info)
    with pytest.raises(DataError, match="link or device"):
        unpack_tasks(tmp_path / "x.tar", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_linked_task_folder_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        link = tarfile.TarInfo("tasks/One")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "victim")
        tar.addfile(link)
        info = tarfile.TarInfo("tasks/One/batch.csv")
        info.size = 4
        tar.addfile(info, io.BytesIO(b"evil"))
    unpack_tasks(tmp_path / "x.tar", tmp_path / "out")
    assert tree(tmp_path / "victim") == set()
    assert not (tmp_path / "out/One").is_symlink()


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as pack:
        info = zipfile.ZipInfo("tasks/One/batch.csv")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        pack.writestr(info, "/etc/passwd")
    with pytest.raises(DataError, match="link or device"):
        unpack_tasks(tmp_path / "x.zip", tmp_path / "out")


def test_a_member_that_comes_twice_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        for _ in range(2):
            tar.addfile(tarfile.TarInfo("tasks/One/batch.csv"))
    with pytest.raises(DataError, match="twice"):
        unpack_tasks(tmp_path / "x.tar", tmp_path / "out")


def test_bombs_are_defused(pack: Pack, tmp_path: Path) -> None:
    archive = pack({**GOOD, "tasks/Two/batch.csv": bytes(5_000_000)})
    with pytest.raises(DataError, match="has over 1,000,000 bytes"):
        unpack_tasks(archive, tmp_path / "a", limits=ArchiveLimits(file_bytes=1_000_000))
    with pytest.raises(DataError, match="more than task folders can hold"):
        unpack_tasks(archive, tmp_path / "b", limits=ArchiveLimits(total_bytes=1_000_000))
    with pytest.raises(DataError, match="more than task folders can hold"):
        unpack_tasks(archive, tmp_path / "c", limits=ArchiveLimits(members=2))


def test_damaged_archives_are_one_sentence(pack: Pack, tmp_path: Path) -> None:
    archive = pack({"tasks/One/batch.csv": bytes(range(256)) * 400})
    whole = archive.read_bytes()
    for cut in (0, 1, 100, len(whole) // 2):
        archive.write_bytes(whole[:cut])
        with pytest.raises(DataError, match=r"damaged|unpacked"):
            unpack_tasks(archive, tmp_path / f"cut{cut}")
    middle = len(whole) // 2
    archive.write_bytes(whole[:middle] + bytes(8) + whole[middle + 8 :])
    with pytest.raises(DataError, match=r"damaged|unpacked"):
        unpack_tasks(archive, tmp_path / "flip")


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_every_compression_and_no_silent_cut(tmp_path: Path, mode: str) -> None:
    archive = tmp_path / "x.tar"
    with tarfile.open(archive, mode) as tar:  # type: ignore[call-overload]
        for number in range(3):
            info = tarfile.TarInfo(f"tasks/{number}/batch.csv")
            info.size = 512
            tar.addfile(info, io.BytesIO(random.Random(number).randbytes(512)))
    assert unpack_tasks(archive, tmp_path / "whole") == 3
    whole = archive.read_bytes()
    # In the plain tar this cuts exactly between two members, which looks like an end.
    archive.write_bytes(whole[:2048] if mode == "w" else whole[:-3])
    with pytest.raises(DataError):
        unpack_tasks(archive, tmp_path / "cut")
    if mode == "w":
        archive.write_bytes(whole[:2048] + b"x" * 512 + whole[2560:])
        with pytest.raises(DataError, match="before its end mark"):
            unpack_tasks(archive, tmp_path / "flip")


def test_an_encrypted_zip_is_one_sentence(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "x.zip", GOOD)
    raw = bytearray(archive.read_bytes())
    for magic, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := raw.find(magic, at + 1)) >= 0:
            raw[at + flags] |= 1
    archive.write_bytes(raw)
    with pytest.raises(DataError, match="encrypted"):
        unpack_tasks(archive, tmp_path / "out")


@given(st.text())
def test_a_plain_name_is_one_visible_path_part(name: str) -> None:
    if plain_name(name):
        assert Path("base", name).parent == Path("base")
        assert name not in (".", "..")
        assert "\0" not in name


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_claims_much_is_not_read(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = kind, 3 << 30
    packed = gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 21))
    (tmp_path / "x.tar.gz").write_bytes(packed)
    with pytest.raises(DataError, match="a header has more than 1,048,576 bytes"):
        unpack_tasks(tmp_path / "x.tar.gz", tmp_path / "out")


def test_long_names_are_read(tmp_path: Path) -> None:
    files = {f"{'a' * 300}/{name}": body for name, body in GOOD.items()}
    assert unpack_tasks(make_tar(tmp_path / "x.tar.gz", files), tmp_path / "out") == 2
