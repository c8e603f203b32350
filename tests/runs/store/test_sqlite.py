"""What can go wrong with a file: one sentence each, and nothing lost that was kept before."""

import contextlib
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.runs.episode import FORMAT, Episode, RunInfo, Step, Summary
from errands.runs.store.base import StoreError
from errands.runs.store.lock import RunLock
from errands.runs.store.places import create_run, open_run, run_lock
from errands.runs.store.sqlite import SqliteStore
from errands.runs.store.sqlite_view import SqliteView

INFO = RunInfo(
    id="run",
    protocol={},
    protocol_key="demo@1",
    domain="shop",
    agent="random",
    agent_settings={},
    episodes=10,
    seed=0,
    observations="none",
    checksum="",
)


def episode(number: int, page: str = "") -> Episode:
    summary = Summary(
        number=number, key="goal", status="done", reward=1.0, success=True, steps=1, seconds=0.1
    )
    return Episode(summary=summary, steps=(Step("search[x]", observation=page),))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with contextlib.closing(SqliteStore.create(tmp_path / "run.sqlite", INFO)) as made:
        yield made


def noise(length: int) -> str:
    """A page that cannot be squeezed."""
    return os.urandom(length).hex()


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r)"
COLUMNS = (
    "key, status, reward, success, steps, seconds, states, items, searches, tokens_in, tokens_out,"
    " cost, owner, error, parts"
)
HUGE = "zeroblob(900000000)"


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE episodes RENAME TO old;"
        f"CREATE VIEW episodes AS {ENDLESS} SELECT n AS number, {COLUMNS} FROM r, old",
        "ALTER TABLE trajectories RENAME TO old;"
        f"CREATE VIEW trajectories AS SELECT number, {HUGE} AS body FROM old",
        f"DROP TABLE run; CREATE VIEW run AS SELECT {HUGE} AS info",
        f"DROP TABLE run; CREATE TABLE run (x, info BLOB AS ({HUGE})); INSERT INTO run VALUES (1)",
        "DROP TABLE trajectories;"
        f"CREATE TABLE trajectories (number INTEGER PRIMARY KEY, body BLOB AS ({HUGE}) STORED)",
        "CREATE TRIGGER t AFTER INSERT ON episodes BEGIN DELETE FROM run; END",
        "CREATE VIRTUAL TABLE search USING fts5(a)",
    ],
)
def test_what_is_worked_out_is_no_run(store: SqliteStore, change: str) -> None:
    """Sixteen kilobytes of somebody's run took gigabytes, or for ever."""
    store.add(episode(0))
    store.close()
    with contextlib.closing(sqlite3.connect(store.path)) as opened:
        opened.executescript(change)
    for use in (SqliteStore.open, SqliteView):
        with pytest.raises(StoreError, match=r"is damaged \((it holds|a column)"):
            use(store.path)


def test_a_full_disk(store: SqliteStore) -> None:
    assert store.add(episode(0))
    [[pages]] = store._connection.execute("PRAGMA page_count").fetchall()
    store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreError, match=r"the disk is full; what was kept before is safe"):
        store.add(episode(1, noise(50_000)))
    assert list(store.episodes()) == [episode(0)]
    store._connection.execute("PRAGMA max_page_count = 100000")
    assert store.add(episode(1, "now there is room"))
    assert store.numbers() == {0, 1}


def test_a_file_that_may_not_grow(store: SqliteStore) -> None:
    """The kernel itself refuses here, in the middle of a transaction."""
    store.add(episode(0))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with pytest.raises(StoreError, match=r"run\.sqlite cannot "):
            store.add(episode(1, noise(500_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store.add(episode(2))
    assert store.numbers() == {0, 2}


def test_a_directory_that_goes_away(store: SqliteStore, tmp_path: Path) -> None:
    store.add(episode(0))
    away = tmp_path.with_name("elsewhere")
    tmp_path.rename(away)
    with pytest.raises(StoreError, match="was removed or replaced while the run was being written"):
        store.add(episode(1))
    away.rename(tmp_path)
    assert store.add(episode(1))
    shutil.rmtree(tmp_path)
    with pytest.raises(StoreError, match="was removed or replaced"):
        store.add(episode(2))
    with pytest.raises(StoreError, match=r"cannot be opened \(unable to open database file\)"):
        store.numbers()


def test_a_file_that_was_replaced(store: SqliteStore) -> None:
    content = store.path.read_bytes()
    store.path.unlink()
    store.path.write_bytes(content)
    with pytest.raises(StoreError, match="removed or replaced"):
        store.add(episode(0))


@pytest.mark.parametrize(
    "content", [b"", b"no database at all" * 100, b"SQLite format 3\x00" * 300]
)
def test_a_file_that_is_no_store(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="no run of Errands"):
        open_run(tmp_path)
    assert path.read_bytes() == content


def test_a_database_of_somebody_else(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE episodes (number)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is a database, but no run of Errands"):
        open_run(path)
    assert path.read_bytes() == before


def test_another_format(store: SqliteStore) -> None:
    store.close()
    with contextlib.closing(sqlite3.connect(store.path)) as other:
        other.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match=rf"\(format 99\); this one reads format {FORMAT}"):
        open_run(store.path)


def test_a_damaged_file(store: SqliteStore) -> None:
    for number in range(200):
        store.add(episode(number, noise(100)))
    store.close()
    whole = store.path.read_bytes()
    middle = len(whole) // 2
    store.path.write_bytes(whole[:middle] + b"\xff" * 8192 + whole[middle + 8192 :])
    with (
        contextlib.closing(SqliteStore.open(store.path)) as again,
        pytest.raises(StoreError, match=r"is damaged \(.*restore it from a copy"),
    ):
        list(again.episodes())


def test_a_damaged_body(store: SqliteStore) -> None:
    store.add(episode(0))
    store.add(episode(1))
    for body in (b"", b"?", b"m\xc1", b"zz", b"s\xc1"):
        store._connection.execute("UPDATE trajectories SET body = ? WHERE number = 0", (body,))
        with pytest.raises(StoreError, match=r"is damaged \("):
            store.episode(0)
    assert store.episode(1) == episode(1)


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="Not a directory"):
        create_run(tmp_path / "file" / "below", INFO)
    with pytest.raises(StoreError, match=r"cannot be locked for a run \(Not a directory\)"):
        run_lock(tmp_path / "file" / "below" / "further")
    with pytest.raises(StoreError, match="No such file or directory"):
        SqliteStore.create(tmp_path / "absent" / "run.sqlite", INFO)
    assert os.listdir(tmp_path) == ["file"]


READER = """
import os, sys
from pathlib import Path
from errands.runs.store.places import create_run, open_run
from errands.runs.store.base import StoreError
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
store = open_run(sys.argv[1])
assert store.numbers() == {0}
for deed in (lambda: store.drop([0]), lambda: create_run(Path(sys.argv[1]) / "new", store.info)):
    try:
        deed()
    except StoreError as sentence:
        print(sentence)
"""


def test_a_run_that_may_only_be_read() -> None:
    """Read by somebody who may not write: where the tests are root's, a child that becomes another
    user once it has imported everything, because that user may not read Python's home."""
    if not os.stat(tempfile.gettempdir()).st_mode & 0o001:
        pytest.skip(f"no other user may look into {tempfile.gettempdir()}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with contextlib.closing(SqliteStore.create(folder / "run.sqlite", INFO)) as store:
            store.add(episode(0))
        (folder / "run.sqlite.lock").unlink()
        store.path.chmod(0o444)
        folder.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", READER, name], capture_output=True, text=True, check=False
        )
        left = os.listdir(folder)
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.endswith("attempt to write a readonly database); check its permissions.")
    assert second.endswith("new cannot be made for a run (Permission denied).")
    assert left == ["run.sqlite"]


def test_fsync_asks_sqlite_for_it(tmp_path: Path) -> None:
    for fsync, wanted in ((False, 0), (True, 2)):
        path = tmp_path / f"{fsync}.sqlite"
        with contextlib.closing(SqliteStore.create(path, INFO, fsync=fsync)) as store:
            assert store._connection.execute("PRAGMA synchronous").fetchone() == (wanted,)
            assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            store.add(episode(0))
        with contextlib.closing(SqliteStore.open(path, fsync=fsync)) as store:
            assert store._connection.execute("PRAGMA synchronous").fetchone() == (wanted,)
            assert store.numbers() == {0}


def test_creating_leaves_no_litter(store: SqliteStore, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="already"):
        SqliteStore.create(store.path, INFO)
    store.close()
    assert sorted(os.listdir(tmp_path)) == ["run.sqlite", "run.sqlite.lock"]


HOLDER = """
import os, sys, time
from errands.runs.store.lock import RunLock
lock = RunLock(sys.argv[1])
if os.fork() == 0:
    time.sleep(60)
print(os.getpid(), flush=True)
sys.stdin.readline()
"""


def test_workers_hold_the_lock_of_a_dead_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("errands.runs.store.lock._ORPHANS", 0.2)
    source = Path(__file__).resolve().parents[3] / "src"
    runner = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(source)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert runner.stdout is not None
    told = runner.stdout.readline().strip()
    with pytest.raises(StoreError, match=rf"another runner \(process {told}\) is at work in"):
        RunLock(tmp_path)
    runner.kill()
    runner.wait()
    with pytest.raises(StoreError, match="is at work in"):
        RunLock(tmp_path)
    os.killpg(runner.pid, 9)
    for stream in (runner.stdin, runner.stdout):
        assert stream is not None
        if stream is runner.stdout:
            stream.read()  # Ends with the last process that could write to it.
        stream.close()
    RunLock(tmp_path).release()


def test_a_lock_is_handed_on_and_cleans_up(tmp_path: Path) -> None:
    lock = RunLock(tmp_path / "new")
    [descriptor] = lock.descriptors
    handed = subprocess.Popen(["sleep", "60"], pass_fds=[descriptor])
    stranger = subprocess.Popen(["sleep", "60"])
    (tmp_path / "new" / "run.sqlite").touch()
    lock.release()
    lock.release()
    assert lock.descriptors == ()
    with pytest.raises(StoreError, match="is at work"):
        RunLock(tmp_path / "new")
    handed.kill()
    handed.wait()
    with RunLock(tmp_path / "new"), RunLock(tmp_path / "other"):
        assert (tmp_path / "other" / "runner.lock").is_file()
    stranger.kill()
    stranger.wait()
    assert not (tmp_path / "other").exists(), "nothing came into it"
    assert sorted(os.listdir(tmp_path / "new")) == ["run.sqlite", "runner.lock"]


FORKS = """
import os, sys
from errands.runs.store.places import open_run
store = open_run(sys.argv[1])
[episode] = store.episodes()
import msgspec
def numbered(number):
    summary = msgspec.structs.replace(episode.summary, number=number)
    return msgspec.structs.replace(episode, summary=summary)
import fcntl
fcntl.flock(store._guard, fcntl.LOCK_EX)  # As if another thread were writing.
children = []
for child in range(1, 4):
    pid = os.fork()
    if pid == 0:
        if child == 1:
            store.close()
            os._exit(0)
        os._exit(0 if store.add(numbered(child)) else 1)
    children.append(pid)
os.kill(os.getpid(), 9)
"""


def test_children_do_not_keep_the_lock_of_a_killed_parent(store: SqliteStore) -> None:
    store.add(episode(0))
    source = Path(__file__).resolve().parents[3] / "src"
    parent = subprocess.Popen(
        [sys.executable, "-c", FORKS, str(store.path)],
        env={**os.environ, "PYTHONPATH": str(source)},
        stdout=subprocess.PIPE,
    )
    parent.communicate(timeout=30)  # Until the last child has closed its end.
    assert store.numbers() == {0, 2, 3}
    assert store.add(episode(4))
