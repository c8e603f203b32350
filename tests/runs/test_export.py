"""Exports: what is in the store is in the file, and a failure leaves nothing behind."""

import contextlib
import os
import re
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from errands.agents.model_call import ModelCall
from errands.extras import install_command
from errands.runs.episode import Episode, RunInfo, Step, Summary
from errands.runs.export import export
from errands.runs.store.base import StoreError
from errands.runs.store.sqlite import SqliteStore

INFO = RunInfo(
    id="r7",
    protocol={"id": "demo"},
    protocol_key="demo@1",
    domain="shop",
    agent="rule",
    agent_settings={"path": "\udcff"},
    episodes=3,
    seed=0,
    observations="full",
    checksum="",
)
ODD = "half \ud83d a pair, NUL \x00, whole \U0001f600"
MENDED = "half \ufffd a pair, NUL \x00, whole \U0001f600"


def episode(number: int, text: str = "page") -> Episode:
    failed = number == 1
    summary = Summary(
        number=number,
        key=f"goal {number}",
        status="error" if failed else "done",
        reward=None if failed else number / 4,
        success=None if failed else number == 4,
        steps=number,
        seconds=0.5,
        tokens_in=2**40,
        error=text if failed else "",
        parts={"r_type": 1.0, "names": ["a", text]},
    )
    call = ModelCall(messages=({"role": "user", "content": text},), answer=text, outcome="empty")
    step = Step(
        f"search[{text}]", 0.25, "d", text, thought=text, tokens_in=3, cost=0.5, calls=(call,)
    )
    return Episode(summary=summary, steps=(step,) * number, last_digest="z", last=text)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with contextlib.closing(SqliteStore.create(tmp_path / "run.sqlite", INFO)) as made:
        for number in (3, 0, 1):
            made.add(episode(number))
        made.add(episode(4, ODD))
        yield made


def test_jsonl(store: SqliteStore, tmp_path: Path) -> None:
    told: list[int] = []
    out = tmp_path / "run.jsonl"
    assert export(store, out, "jsonl", progress=told.append) == 4
    assert told == [1, 2, 3, 4]
    lines = [msgspec.json.decode(line) for line in out.read_bytes().splitlines()]
    assert [line["number"] for line in lines] == [0, 1, 3, 4]
    for line, text in zip(lines, ["page"] * 3 + [MENDED], strict=True):
        kept = episode(line["number"], text)
        assert (line.pop("run"), line.pop("protocol"), line.pop("agent")) == (
            "r7",
            "demo@1",
            "rule",
        )
        for step, its in zip(line.pop("steps"), kept.steps, strict=True):
            calls = msgspec.convert(step.pop("calls"), tuple[ModelCall, ...])
            assert Step(**step, calls=calls) == its
        assert (line.pop("last"), line.pop("last_digest")) == (text, "z")
        line["steps"] = line.pop("length")
        assert Summary(**line) == kept.summary


def test_parquet(store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: errands[export]")
    monkeypatch.setattr("errands.runs.export._BATCH", 3)
    out = tmp_path / "run.parquet"
    assert export(store, out, "parquet") == 4
    table = parquet.read_table(out)
    about = msgspec.json.decode(table.schema.metadata[b"errands.run"])
    assert about["agent_settings"] == {"path": "\ufffd"}
    rows = table.to_pylist()
    for row, text in zip(rows, ["page"] * 3 + [MENDED], strict=True):
        kept = episode(row["number"], text)
        for step, its in zip(row.pop("steps"), kept.steps, strict=True):
            calls = msgspec.json.decode(step.pop("calls"), type=tuple[ModelCall, ...])
            assert Step(**step, calls=calls) == its
        assert (row.pop("run"), row.pop("protocol"), row.pop("agent")) == ("r7", "demo@1", "rule")
        assert (row.pop("last"), row.pop("last_digest")) == (text, "z")
        row["steps"] = row.pop("length")
        row["parts"] = msgspec.json.decode(row["parts"])
        assert Summary(**row) == kept.summary


def test_parquet_of_an_empty_run(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: errands[export]")
    with contextlib.closing(SqliteStore.create(tmp_path / "run.sqlite", INFO)) as store:
        assert export(store, tmp_path / "run.parquet", "parquet") == 0
    assert parquet.read_table(tmp_path / "run.parquet").num_rows == 0


def test_atif_as_a_folder_and_as_lines(store: SqliteStore, tmp_path: Path) -> None:
    assert export(store, tmp_path / "atif", "atif") == 4
    assert export(store, tmp_path / "atif.jsonl", "atif") == 4
    files = sorted((tmp_path / "atif").iterdir())
    assert [file.name for file in files] == [f"episode-{n:06}.json" for n in (0, 1, 3, 4)]
    assert b"".join(file.read_bytes() for file in files) == (tmp_path / "atif.jsonl").read_bytes()
    last = msgspec.json.decode(files[-1].read_bytes())
    assert last["session_id"] == "r7-4"
    assert last["steps"][0]["message"] == MENDED


@pytest.mark.parametrize("format", ["jsonl", "parquet", "atif"])
def test_what_is_there_is_not_lost(store: SqliteStore, tmp_path: Path, format: str) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow", reason="needs pyarrow: errands[export]")
    out = tmp_path / "mine.jsonl"
    out.write_text("precious")
    with pytest.raises(StoreError, match=r"mine\.jsonl exists already"):
        export(store, out, format)
    assert out.read_text() == "precious"
    assert export(store, out, format, replace=True) == 4
    assert out.stat().st_size > 100
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(StoreError, match="folder exists already"):
        export(store, folder, format, replace=True)


def test_bad_input(store: SqliteStore, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no format 'jsnol'; did you mean 'jsonl'"):
        export(store, tmp_path / "x", "jsnol")
    with pytest.raises(StoreError, match="no format 'csv!'; expected jsonl, parquet, atif"):
        export(store, tmp_path / "x", "csv!")
    with pytest.raises(StoreError, match=r"cannot be written \(No such file or directory\)"):
        export(store, tmp_path / "absent" / "x.jsonl", "jsonl")


def test_parquet_without_pyarrow(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(StoreError, match=re.escape(install_command("export"))):
        export(store, tmp_path / "x.parquet", "parquet")
    assert not (tmp_path / "x.parquet").exists()


@pytest.mark.parametrize("format", ["jsonl", "parquet", "atif"])
def test_a_full_disk_leaves_nothing(store: SqliteStore, tmp_path: Path, format: str) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow", reason="needs pyarrow: errands[export]")
    store.add(episode(9, os.urandom(400_000).hex()))
    before = sorted(os.listdir(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(StoreError, match=r"cannot be written \(.*nothing is left of it"):
            export(store, tmp_path / "out", format)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert sorted(set(os.listdir(tmp_path)) - {"run.sqlite-shm", "run.sqlite-wal"}) == sorted(
        set(before) - {"run.sqlite-shm", "run.sqlite-wal"}
    )
    assert len(list(store.episodes())) == 5
