"""What runs and the website share of their databases."""

import contextlib
import os
import sys
import threading
from pathlib import Path

import pytest

from errands.database import (
    ReadOnlyFile,
    connect_postgres,
    connect_sqlite,
    fingerprint,
    import_psycopg,
    is_url,
    one_line,
    take_lock,
    without_password,
)
from errands.errors import DataError
from errands.extras import install_command


def test_urls_and_paths() -> None:
    assert is_url("postgresql://host/db", "A run", "a directory", DataError)
    assert is_url("postgres://host/db", "A run", "a directory", DataError)
    assert not is_url("runs/one", "A run", "a directory", DataError)
    with pytest.raises(DataError) as why:
        is_url("mysql://host/db", "A run", "a directory", DataError)
    sentence = "A run cannot be kept at mysql://; expected a directory, or postgresql://..."
    assert str(why.value) == sentence


def test_passwords_are_not_shown() -> None:
    shown = without_password("postgres://me:secret@host:5433/db?password=secret#one", DataError)
    assert shown == "postgresql://me@host:5433/db"
    with pytest.raises(DataError, match=r"^The URL of the database cannot be read \("):
        without_password("postgresql://host:port/db", DataError)


def test_without_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DataError) as why:
        import_psycopg("A run", DataError)
    sentence = f"A run in PostgreSQL needs psycopg; run {install_command('postgres')}."
    assert str(why.value) == sentence


@pytest.mark.parametrize("host", ["a..b", "a" * 64, "%ff"])
def test_a_name_that_no_server_has_is_an_error_of_databases(host: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    with pytest.raises(psycopg.OperationalError, match="no such host"):
        connect_postgres(f"postgresql://{host}/x")


def test_messages_in_one_line() -> None:
    assert one_line(ValueError("not\n  there\n")) == "not there"
    assert one_line(KeyError()) == "KeyError"


@pytest.mark.parametrize("name", ["a b?c#d%20.sqlite", "\u00e4\u732b.sqlite", "\udcff.sqlite"])
def test_files_of_any_name(tmp_path: Path, name: str) -> None:
    try:
        (tmp_path / name).touch()
    except OSError:
        pytest.skip("this disk has no such names")
    with contextlib.closing(connect_sqlite(tmp_path / name)) as connection:
        connection.execute("CREATE TABLE notes (text)")
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).stat().st_size


def test_reading_leaves_no_trace_and_notices_writers(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with contextlib.closing(connect_sqlite(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE notes (text)")
        with contextlib.closing(ReadOnlyFile(path)) as file:
            # The log beside it holds what is new, and locks keep its readers safe.
            writer.execute("INSERT INTO notes VALUES ('one')")
            assert file.connection.execute("SELECT * FROM notes").fetchall() == [("one",)]
            assert not file.has_changed()
    with contextlib.closing(ReadOnlyFile(path)) as file:
        assert file.connection.execute("SELECT * FROM notes").fetchall() == [("one",)]
        assert os.listdir(tmp_path) == ["x.sqlite"]
        assert not file.has_changed()
        os.utime(path, ns=(0, 0))
        assert file.has_changed()
    assert fingerprint(tmp_path / "none") is None


def test_a_lock_whose_holder_is_leaving(postgres_url: str) -> None:
    key = (7, 8)
    holder = connect_postgres(postgres_url)
    with connect_postgres(postgres_url) as waiting:
        assert take_lock(holder, *key)
        leaving = threading.Timer(0.3, holder.close)
        leaving.start()
        assert take_lock(waiting, *key)
        leaving.join()
        with connect_postgres(postgres_url) as late:
            assert not take_lock(late, *key)
