"""Whole data sets, from a folder and from a server."""

import hashlib
import io
import random
import shutil
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest

from errands.data import Dataset, FetchReport, KnownFile, RetryPolicy, Version, fetch
from errands.errors import DataError

Server = Any

SHARED = Path(__file__).parents[3] / "shared" / "data"
QUICK = RetryPolicy(attempts=2, backoff=0.01, timeout=30)
ITEMS = b"[" + random.Random(1).randbytes(400_000) + b"]"
NOTES = b'{"a": 1}'


def sha(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


TOY = Dataset(
    "toy",
    "two files",
    files=(
        KnownFile("items.json", "--items", (Version(len(ITEMS), sha(ITEMS)), Version(7))),
        KnownFile("notes.json", "--human", about=len(NOTES)),
    ),
    elsewhere=("somewhere/else on GitHub",),
)
TASKS = Dataset("turkingbench", "", tasks=159, archives=("turkingbench.tar.gz",))


@pytest.fixture(autouse=True)
def no_server_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ERRANDS_DATA_URL", raising=False)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "items.json").write_bytes(ITEMS)
    (folder / "notes.json").write_bytes(NOTES)
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def visible(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name != ".lock"}


def how(report: FetchReport) -> list[tuple[str, str]]:
    return [(file.status, file.check) for file in report.files]


def test_from_a_folder(source: Path, out: Path) -> None:
    report = fetch(TOY, folder=source, out=out)
    assert how(report) == [("copied", "sha256"), ("copied", "unknown")]
    assert report.files[0].sha256 == sha(ITEMS)
    assert visible(out) == {"items.json", "notes.json"}
    assert (out / "items.json").read_bytes() == ITEMS
    again = fetch(TOY, out=out)
    assert again.nothing_to_do
    assert how(again) == [("present", "sha256"), ("present", "unknown")]


def test_from_the_subfolder_of_its_name(source: Path, out: Path, tmp_path: Path) -> None:
    source.rename(tmp_path / "toy")
    assert not fetch(TOY, folder=tmp_path, out=out).nothing_to_do


def test_what_a_folder_lacks_is_named(source: Path, out: Path) -> None:
    (source / "notes.json").unlink()
    with pytest.raises(DataError, match=r"source lacks notes\.json$"):
        fetch(TOY, folder=source, out=out)
    with pytest.raises(DataError, match="is not a folder"):
        fetch(TOY, folder=source / "items.json", out=out)
    assert not out.exists()


def test_a_wrong_file_keeps_nothing(source: Path, out: Path) -> None:
    wrong = ITEMS[:-2] + b"x]"
    (source / "items.json").write_bytes(wrong)
    with pytest.raises(DataError, match=f"expected .*{sha(ITEMS)}.*got .*{sha(wrong)}"):
        fetch(TOY, folder=source, out=out)
    assert visible(out) == set()
    (source / "items.json").write_bytes(b"[]")
    with pytest.raises(DataError, match="got 2 bytes"):
        fetch(TOY, folder=source, out=out)
    report = fetch(TOY, folder=source, out=out, verify=False)
    assert how(report)[0] == ("copied", "differs")


def test_a_version_without_checksum_is_known_by_size_and_form(source: Path, out: Path) -> None:
    (source / "items.json").write_bytes(b"[1,  2]")
    assert how(fetch(TOY, folder=source, out=out))[0] == ("copied", "size")
    (source / "items.json").write_bytes(b"<html/>")
    with pytest.raises(DataError, match="is not JSON"):
        fetch(TOY, folder=source, out=out, force=True)
    assert (out / "items.json").read_bytes() == b"[1,  2]"


def test_a_wrong_file_in_place_is_replaced_only_by_force(source: Path, out: Path) -> None:
    out.mkdir()
    (out / "items.json").write_bytes(b"my own")
    with pytest.raises(DataError, match="--force replaces it"):
        fetch(TOY, folder=source, out=out)
    assert (out / "items.json").read_bytes() == b"my own"
    assert how(fetch(TOY, folder=source, out=out, force=True))[0] == ("copied", "sha256")


def test_force_does_not_eat_its_own_source(source: Path) -> None:
    assert fetch(TOY, folder=source, out=source).nothing_to_do
    with pytest.raises(DataError, match="name another folder"):
        fetch(TOY, folder=source, out=source, force=True)
    assert (source / "items.json").read_bytes() == ITEMS


def test_without_a_source_everything_needed_is_said(out: Path) -> None:
    with pytest.raises(DataError) as caught:
        fetch(TOY, out=out)
    message = str(caught.value)
    for fact in (
        "items.json", f"{len(ITEMS):,} bytes", sha(ITEMS), "or 7 bytes, checksum not known",
        "about 8 bytes", "somewhere/else", "errands data toy --from FOLDER", "--url",
        "ERRANDS_DATA_URL",
    ):  # fmt: skip
        assert fact in message
    with pytest.raises(DataError, match="159 tasks"):
        fetch("turkingbench", out=out)
    assert not out.exists()


def test_one_source_only(source: Path, out: Path) -> None:
    with pytest.raises(DataError, match="one source"):
        fetch(TOY, url="http://127.0.0.1:9", folder=source, out=out)


def test_from_a_server(server: Server, out: Path) -> None:
    server.files = {"/data/toy/items.json": ITEMS, "/data/notes.json": NOTES}
    report = fetch(TOY, url=f"{server.url}/data/", out=out, retries=QUICK)
    assert how(report) == [("downloaded", "sha256"), ("downloaded", "unknown")]
    assert report.received == len(ITEMS) + len(NOTES)
    assert visible(out) == {"items.json", "notes.json"}
    server.seen.clear()
    assert fetch(TOY, url=server.url, out=out).nothing_to_do
    assert server.seen == []


def test_the_server_may_come_from_the_environment(
    server: Server, source: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRANDS_DATA_URL", server.url)
    server.files = {"/items.json": ITEMS, "/notes.json": NOTES}
    assert fetch(TOY, out=out, retries=QUICK).received
    server.seen.clear()
    fetch(TOY, folder=source, out=out, force=True)
    assert server.seen == []


def test_an_interrupted_fetch_goes_on(server: Server, out: Path) -> None:
    server.files = {"/items.json": ITEMS, "/notes.json": NOTES}
    server.faults.extend(["404", "drop:300000"])
    with pytest.raises(DataError, match="gave up"):
        fetch(TOY, url=server.url, out=out, retries=RetryPolicy(attempts=1))
    assert visible(out) == {"items.json.part", "items.json.part.json"}
    report = fetch(TOY, url=server.url, out=out, retries=QUICK)
    assert report.received == len(ITEMS) - 300_000 + len(NOTES)
    assert visible(out) == {"items.json", "notes.json"}


def test_a_wrong_checksum_from_a_server_keeps_nothing(server: Server, out: Path) -> None:
    wrong = ITEMS[:-2] + b"x]"
    server.files = {"/items.json": wrong, "/notes.json": NOTES}
    with pytest.raises(DataError, match=f"expected .*{sha(ITEMS)}.*got .*{sha(wrong)}"):
        fetch(TOY, url=server.url, out=out, retries=QUICK)
    assert visible(out) == set()
    assert how(fetch(TOY, url=server.url, out=out, verify=False))[0] == ("downloaded", "differs")


def test_a_bad_beginning_is_not_kept_for_ever(server: Server, out: Path) -> None:
    """A part that was damaged on disk: the whole file is fetched once more."""
    server.files = {"/items.json": ITEMS, "/notes.json": NOTES}
    server.faults.extend(["404", "drop:300000"])
    with pytest.raises(DataError, match="gave up"):
        fetch(TOY, url=server.url, out=out, retries=RetryPolicy(attempts=1))
    part = out / "items.json.part"
    part.write_bytes(bytes(part.stat().st_size))
    report = fetch(TOY, url=server.url, out=out, retries=QUICK)
    assert how(report)[0] == ("downloaded", "sha256")


def test_a_server_that_is_wrong_and_drops_is_not_asked_for_ever(server: Server, out: Path) -> None:
    server.files = {"/toy/items.json": ITEMS[:-2] + b"x]"}
    server.faults.extend(["drop:300000", "ok"] * 5)
    with pytest.raises(DataError, match=r"is not the items\.json that is known"):
        fetch(TOY, url=server.url, out=out, retries=QUICK)
    assert len(server.seen) == 4


def test_an_error_page_with_status_200_is_refused(server: Server, out: Path) -> None:
    server.files = {"/items.json": ITEMS, "/notes.json": b"<html>??"}
    with pytest.raises(DataError, match="not JSON"):
        fetch(TOY, url=server.url, out=out, retries=QUICK)
    assert visible(out) == {"items.json"}


def test_one_process_at_a_time(server: Server, source: Path, out: Path) -> None:
    server.files = {"/toy/items.json": ITEMS, "/toy/notes.json": NOTES}
    server.faults.append("hold:1000")
    begun = threading.Event()
    first = threading.Thread(
        target=fetch,
        args=(TOY,),
        kwargs={"url": server.url, "out": out, "progress": lambda *_: begun.set()},
    )
    first.start()
    assert begun.wait(60)
    with pytest.raises(DataError, match="another process is filling"):
        fetch(TOY, folder=source, out=out)
    server.release.set()
    first.join()
    assert visible(out) == {"items.json", "notes.json"}


def test_a_folder_that_cannot_be_written_is_one_sentence(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot bring toy into"):
        fetch(TOY, folder=source, out=tmp_path / "file" / "out")


# Task folders


def task_files(*names: str) -> dict[str, bytes]:
    return {
        f"tasks/{name}/{file}": f"{name} {file}".encode()
        for name in names
        for file in ("template.html", "batch.csv")
    }


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, body in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(body)
    return folder


def packed(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, body in files.items():
            info = tarfile.TarInfo(f"turking-bench-main/{name}")
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return buffer.getvalue()


def tree(out: Path) -> set[str]:
    return {str(path.relative_to(out)) for path in (out / "tasks").rglob("*") if path.is_file()}


@pytest.mark.parametrize("where", ["", "tasks", "up"])
def test_tasks_from_a_folder(tmp_path: Path, out: Path, where: str) -> None:
    files = task_files("A", "B (2)")
    extra = {"tasks/Half/template.html": b"", "tasks/A/.~lock.batch.csv#": b"", "README": b""}
    source = write(tmp_path / "turkingbench", {**files, **extra})
    report = fetch(TASKS, folder=tmp_path if where == "up" else source / where, out=out)
    assert tree(out) == set(files)
    assert visible(out) == {"tasks"}
    assert {file.name for file in report.files} == set(files)
    assert set(how(report)) == {("copied", "unknown")}
    assert fetch(TASKS, out=out).nothing_to_do


def test_tasks_from_an_archive_in_a_folder_or_alone(tmp_path: Path, out: Path) -> None:
    source = write(tmp_path / "s", {"turkingbench.tar.gz": packed(task_files("A", "B"))})
    fetch(TASKS, folder=source, out=out)
    assert tree(out) == set(task_files("A", "B"))
    (source / "mine.tgz").write_bytes(packed({**task_files("C"), "tasks/D/batch.csv": b""}))
    fetch(TASKS, folder=source / "mine.tgz", out=out, force=True)
    assert tree(out) == set(task_files("C"))
    assert visible(out) == {"tasks"}


@pytest.mark.parametrize("path", ["/turkingbench/turkingbench.tar.gz", "/turkingbench.tar.gz"])
def test_tasks_from_a_server(server: Server, out: Path, path: str) -> None:
    server.files = {path: packed(task_files("A"))}
    report = fetch(TASKS, url=server.url, out=out, retries=QUICK)
    assert set(how(report)) == {("downloaded", "unknown")}
    assert visible(out) == {"tasks"}
    shutil.rmtree(out)
    fetch(TASKS, url=server.url + path, out=out, retries=QUICK)
    assert tree(out) == set(task_files("A"))


def test_a_bad_archive_leaves_the_old_tasks(server: Server, tmp_path: Path, out: Path) -> None:
    fetch(TASKS, folder=write(tmp_path / "s", task_files("A")), out=out)
    for body in (packed({"../evil": b""}), b"garbage", packed({"README": b""})):
        server.files = {"/turkingbench.tar.gz": body}
        with pytest.raises(DataError):
            fetch(TASKS, url=server.url, out=out, force=True, retries=QUICK)
        assert tree(out) == set(task_files("A"))
        assert visible(out) == {"tasks"}


def test_what_a_killed_run_left_is_swept(tmp_path: Path, out: Path) -> None:
    source = write(tmp_path / "s", task_files("A"))
    write(out, {".tasks.new/Half/batch.csv": b"", ".tasks.old/B/batch.csv": b""})
    fetch(TASKS, folder=source, out=out)
    assert visible(out) == {"tasks"}
    assert tree(out) == set(task_files("A"))


def test_a_known_task_must_be_right(tmp_path: Path, out: Path) -> None:
    source = write(tmp_path / "s", task_files("ATOMIC - Event Sequences"))
    with pytest.raises(DataError, match=r"and 1 more files differ .*expected sha256 .*, got"):
        fetch(TASKS, folder=source, out=out)
    assert visible(out) == set()
    report = fetch(TASKS, folder=source, out=out, verify=False)
    assert set(how(report)) == {("copied", "differs")}
    with pytest.raises(DataError, match="--force replaces them"):
        fetch(TASKS, out=out)


def test_force_does_not_eat_its_own_tasks(tmp_path: Path) -> None:
    out = write(tmp_path / "s", task_files("A"))
    for source in (out, out / "tasks"):
        with pytest.raises(DataError, match="name another folder"):
            fetch(TASKS, folder=source, out=out, force=True)
    assert tree(out) == set(task_files("A"))
    with pytest.raises(DataError, match="does not exist"):
        fetch(TASKS, folder=tmp_path / "nowhere", out=out, force=True)


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared")
def test_the_real_small_shop(out: Path, server: Server) -> None:
    report = fetch("webshop-1k", folder=SHARED, out=out)
    assert how(report) == [("copied", "sha256")] * 3
    shutil.rmtree(out)
    for path in (SHARED / "webshop-1k").glob("*.json"):
        server.files[f"/webshop-1k/{path.name}"] = path.read_bytes()
    server.faults.append("drop:1000000")
    report = fetch("webshop-1k", url=server.url, out=out, retries=QUICK)
    assert how(report) == [("downloaded", "sha256")] * 3
    assert report.received == sum(file.bytes for file in report.files)


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared")
def test_the_real_tasks(out: Path) -> None:
    report = fetch("turkingbench", folder=SHARED, out=out)
    assert len(report.files) == 216
    assert set(how(report)) == {("copied", "sha256")}
