"""An instance read by way of an index is the one that reading the whole table gives."""

import fcntl
import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.errors import TaskError
from errands.home import home
from errands.turk.tasks import loader, table_index
from errands.turk.tasks.instances import TableInstances, form_instances
from errands.turk.tasks.loader import load_tasks
from errands.turk.tasks.table import infer, meaning, read_cells, read_table
from errands.turk.tasks.table_index import (
    ColumnRoles,
    FileState,
    IndexedInstances,
    IndexFile,
    make_index,
)
from errands.turk.tasks.task import Instance, Task

TASKS = Path(__file__).resolve().parents[4] / "shared" / "data" / "turkingbench" / "tasks"
TEMPLATE = '<p>${text}</p><input name="q">'
ROWS = [f'T,text {row // 2},"said ""{row}"",\nand 0{row}",{row}' for row in range(40)]
BATCH = "Title,text,Answer.q,Answer.n\n" + "\n".join(ROWS) + "\n"

CELLS = ["", "NA", "1", "1.0", " 7 ", "-0.0", "2.50", "x", "é, ü", 'a "b"', "a\nb", "c\r\nd",
         "e\rf",
         "true", "FALSE", "9223372036854775808", "15.7683775939708819", "inf", '"', ",", "\u2028",
         "12345678901234567"]  # fmt: skip


@pytest.fixture(autouse=True)
def small_tables_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tables of a test are small, and were written just now."""
    monkeypatch.setattr(table_index, "_SMALLEST", 0)
    monkeypatch.setattr(table_index, "_REST", -1e9)
    monkeypatch.setenv("ERRANDS_HOME", str(tmp_path / "home"))


def make(folder: Path, template: str = TEMPLATE, batch: str = BATCH) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "template.html").write_bytes(template.encode())
    (folder / "batch.csv").write_bytes(batch.encode())
    return folder


def load(folder: Path) -> Task:
    return load_tasks(folder).task(folder.name)


def exactly(instance: Instance) -> str:
    """With the types of labels: 1 and 1.0 and True are not the same."""
    return repr((instance.row, dict(instance.inputs), dict(instance.labels)))


def index_files() -> list[Path]:
    return sorted((home() / "turk" / "tables").glob("*"))


def test_the_second_reading_takes_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path / "tasks" / "t")
    first = load(folder)
    assert isinstance(first.instances, TableInstances)
    monkeypatch.setattr(loader, "read_table", lambda content: pytest.fail("read again"))
    second = load(folder)
    assert isinstance(second.instances, IndexedInstances)
    assert second == first
    assert list(map(exactly, second.instances)) == list(map(exactly, first.instances))
    assert exactly(second.instances[-1]) == exactly(first.instances[19])
    assert second.checksum == first.checksum
    assert sorted(os.listdir(folder)) == ["batch.csv", "template.html"]


def test_an_instance_reads_its_own_rows_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path / "tasks" / "t")
    load(folder)
    task = load(folder)
    spans: list[bytes] = []
    pread = os.pread

    def noted(file: int, size: int, place: int) -> bytes:
        spans.append(pread(file, size, place))
        return spans[-1]

    monkeypatch.setattr(os, "pread", noted)
    assert task.instances[7].labels["n"] == (14, 15)
    # Two workers' rows, one after the other.
    assert spans == [f"{ROWS[14]}\n{ROWS[15]}".encode()]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[str]], str, str]:
    rows, width = draw(st.integers(1, 7)), draw(st.integers(2, 4))
    some = draw(st.lists(st.sampled_from(CELLS), min_size=1, max_size=3))
    names = [draw(st.sampled_from(["", "Answer."])) + f"c{place}" for place in range(width)]
    cells = st.lists(st.sampled_from(some), min_size=width, max_size=width)
    table = [names, *draw(st.lists(cells, min_size=rows, max_size=rows))]
    return (
        table,
        draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\n \n", "\r\r\n"])),
        draw(st.sampled_from(["", "\n", "\r\n", "\r"])),
    )


@settings(max_examples=effort(100, 2000))
@given(tables(), st.booleans(), st.booleans())
def test_any_table(drawn: tuple[list[list[str]], str, str], marked: bool, all_quoted: bool) -> None:
    table, newline, last = drawn

    def quoted(cell: str) -> str:
        plain = not all_quoted and cell and not set(cell) & set('",\r\n')
        return cell if plain else '"' + cell.replace('"', '""') + '"'

    text = newline.join(",".join(map(quoted, row)) for row in table) + last
    content = ("\ufeff" * marked + text).encode()
    read = read_table(content)
    roles = ColumnRoles(
        {name: name for name in read.columns if not name.startswith("Answer.")},
        {name[7:]: name for name in read.columns if name.startswith("Answer.")},
    )
    columns = ({name: read.columns[column] for name, column in some.items()} for some in roles)
    instances = form_instances("t", len(read), *columns)
    state = FileState(b"/t", 1, len(content), 2, 3)
    index = make_index(state, content, read, roles, instances)
    if newline in ("\n", "\r\n") and last != "\r":
        assert index is not None
    if index is None:
        return
    assert index.whole
    assert index.roles == roles
    indexed = InMemory("t", index, content)
    assert list(map(exactly, indexed)) == list(map(exactly, instances))


class InMemory(IndexedInstances):
    """As if the table were a file."""

    def __init__(self, task: str, index: table_index.TableIndex, content: bytes) -> None:
        super().__init__(task, index)
        self.content = content

    def _open(self) -> int:
        file = os.memfd_create("table")
        os.write(file, self.content)
        return file

    def _check(self, file: int) -> None:
        """It cannot change."""


@settings(max_examples=effort(50, 1000))
@given(st.lists(st.sampled_from([*CELLS, "0012", "+3", "1e5", "nan", "TRUE"]), min_size=1))
def test_a_cell_alone_is_what_it_is_in_its_column(cells: list[str]) -> None:
    column = meaning(cells).type
    assert repr([*read_cells(cells, column)]) == repr(infer(cells))
    assert repr([read_cells([cell], column)[0] for cell in cells]) == repr(infer(cells))


def flip(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content))
    return (
        content[:place] + bytes([content[place] ^ (1 << rng.randrange(8))]) + content[place + 1 :]
    )


DAMAGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "empty": lambda content, rng: b"",
    "cut short": lambda content, rng: content[: rng.randrange(len(content))],
    "a bit": flip,
    "noise": lambda content, rng: rng.randbytes(len(content)),
    "begins otherwise": lambda content, rng: b"other" + content,
    "something behind": lambda content, rng: content + b"torn",
    "another version": lambda content, rng: content.replace(b"table 1", b"table 0"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_made_again(tmp_path: Path, damage: str) -> None:
    folder = make(tmp_path / "tasks" / "t")
    expected = list(map(exactly, load(folder).instances))
    rng = random.Random(damage)
    for _ in range(effort(10, 100)):
        load(folder)
        (file,) = index_files()
        file.write_bytes(DAMAGES[damage](file.read_bytes(), rng))
        for _ in range(2):
            assert list(map(exactly, load(folder).instances)) == expected
        assert isinstance(load(folder).instances, IndexedInstances)


def test_an_index_whose_parts_do_not_fit_is_not_used(tmp_path: Path) -> None:
    folder = make(tmp_path / "tasks" / "t")
    load(folder)
    index = IndexFile(folder.parent).find(folder / "batch.csv")
    assert index is not None
    for change in ({"bounds": b""}, {"starts": b"1"}, {"answers": (("q", 9, "text"),)}):
        IndexFile(folder.parent).add(msgspec.structs.replace(index, **change))
        assert IndexFile(folder.parent).find(folder / "batch.csv") is None
    assert isinstance(load(folder).instances, TableInstances)
    assert isinstance(load(folder).instances, IndexedInstances)


def test_a_changed_table_is_read_anew(tmp_path: Path) -> None:
    folder = make(tmp_path / "tasks" / "t")
    task = load(folder)
    task = load(folder)
    path = folder / "batch.csv"
    before = path.stat()
    # As many bytes, and the time of the last change set back.
    path.write_bytes(BATCH.replace("said", "told").encode())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(TaskError, match=r"table of the task 't' was changed .* load them again"):
        task.instances[0]
    assert str(load(folder).instances[0].labels["q"][0]).startswith("told")
    path.unlink()
    with pytest.raises(TaskError, match="'t' was changed or removed"):
        list(task.instances)


def test_rows_that_are_apart_are_read_one_by_one(tmp_path: Path) -> None:
    rows = [f"T,text {number % 3},{'x' * number},{number}" for number in range(12)]
    folder = make(
        tmp_path / "tasks" / "t", batch="\r\n".join(["Title,text,Answer.q,Answer.n", *rows])
    )
    first, second = load(folder), load(folder)
    assert isinstance(second.instances, IndexedInstances)
    assert list(map(exactly, second.instances)) == list(map(exactly, first.instances))
    assert second.instances[1].labels["n"] == (1, 4, 7, 10)


def test_a_table_that_changes_while_it_is_gone_through(tmp_path: Path) -> None:
    folder = make(tmp_path / "tasks" / "t")
    load(folder)
    instances = iter(load(folder).instances)
    next(instances)
    (folder / "batch.csv").write_bytes(BATCH.replace("said", "told").encode())
    with pytest.raises(TaskError, match="load them again"):
        next(instances)


def test_a_table_put_in_place_of_another_is_read_anew(tmp_path: Path) -> None:
    folder, other = make(tmp_path / "tasks" / "t"), tmp_path / "other.csv"
    load(folder)
    other.write_bytes(BATCH.replace("said", "told").encode())
    other.replace(folder / "batch.csv")
    assert str(load(folder).instances[0].labels["q"][0]).startswith("told")


def test_a_table_is_not_indexed_before_it_is_at_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_index, "_REST", 3600)
    folder = make(tmp_path / "tasks" / "t")
    load(folder)
    assert index_files() == []


def test_a_template_can_make_a_column_an_input(tmp_path: Path) -> None:
    batch = "text,HITId,Answer.q\n" + "\n".join(f"x,{number},a" for number in range(9))
    folder = make(tmp_path / "tasks" / "t", batch=batch)
    assert len(load(folder).instances) == len(load(folder).instances) == 1
    make(folder, "${text} ${HITId}<input name=q>", batch)
    for _ in range(2):
        assert len(load(folder).instances) == 9


@pytest.mark.parametrize("place", ["file", "absent"])
def test_a_home_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "file").write_text("no directory")
    named = {"file": tmp_path / "file", "absent": Path("/proc/nowhere")}[place]
    monkeypatch.setenv("ERRANDS_HOME", str(named))
    folder = make(tmp_path / "tasks" / "t")
    assert load(folder) == load(folder)
    assert isinstance(load(folder).instances, TableInstances)


def test_irregular_tables_are_read_whole(tmp_path: Path) -> None:
    for number, batch in enumerate(["text,Answer.q\nx\n", 'text,Answer.q\na"b,c\n', "text\nx\n"]):
        folder = make(tmp_path / "tasks" / f"t{number}", batch=batch)
        assert load(folder) == load(folder)
    assert index_files() == []


def test_several_tables_and_several_writers(tmp_path: Path) -> None:
    folders = [make(tmp_path / "tasks" / f"t{number}") for number in range(5)]
    sets = [load_tasks(tmp_path / "tasks") for _ in range(3)]
    for tasks in sets:
        tasks.keep = 1
    for number, folder in enumerate(folders):
        sets[number % 3].task(folder.name)
    for tasks in sets:
        for folder in folders:
            assert isinstance(tasks.task(folder.name).instances, IndexedInstances)
    assert len(index_files()) == 1


def test_while_others_add_nothing_is_added_and_nothing_is_lost(tmp_path: Path) -> None:
    folders = [make(tmp_path / "tasks" / f"t{number}") for number in range(2)]
    load(folders[0])
    (file,) = index_files()
    before = file.read_bytes()
    with file.open("rb+") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        # Half of what another process is writing.
        other.seek(0, os.SEEK_END)
        other.write(before[:30])
        other.flush()
        load(folders[1])
        assert file.read_bytes() == before + before[:30]
        assert isinstance(load(folders[0]).instances, IndexedInstances)
    load(folders[1])
    assert isinstance(load(folders[1]).instances, IndexedInstances)


def test_an_index_that_is_too_large_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_index, "_LARGEST", 100)
    folder = make(tmp_path / "tasks" / "t")
    assert load(folder) == load(folder)
    assert index_files() == []


def test_it_is_pickled(tmp_path: Path) -> None:
    folder = make(tmp_path / "tasks" / "t")
    load(folder)
    tasks = load_tasks(folder)
    task = tasks.task("t")
    copy = pickle.loads(pickle.dumps(tasks)).task("t")
    assert isinstance(copy.instances, IndexedInstances)
    assert copy == task


def test_the_indices_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_index, "_MOST_FILES", 3)
    monkeypatch.setattr(table_index, "_LARGEST", 4000)
    for number in range(6):
        load(make(tmp_path / f"tasks{number}" / "t"))
    assert len(index_files()) == 3
    folder = make(tmp_path / "tasks" / "t")
    for number in range(9):
        make(folder, batch=BATCH + f"T,more,{number},1\n")
        load(folder)
        assert isinstance(load(folder).instances, IndexedInstances)
        assert all(file.stat().st_size <= 4000 for file in index_files())


@pytest.mark.shared
@pytest.mark.skipif(not TASKS.is_dir(), reason=f"the tasks are not in {TASKS}")
def test_every_real_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {task.name: task for task in load_tasks(TASKS)}
    step = effort(20, 1)
    indexed = {task.name: task for task in load_tasks(TASKS)}
    assert len(indexed) == len(whole) >= 108
    for name, task in indexed.items():
        assert isinstance(task.instances, IndexedInstances), name
        rows = range(0, len(task.instances), step)
        assert len(task.instances) == len(whole[name].instances)
        for row in rows:
            assert exactly(task.instances[row]) == exactly(whole[name].instances[row]), (name, row)
