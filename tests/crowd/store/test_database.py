"""One database for a website, be it a file or a server."""

import sqlite3
from pathlib import Path

import pytest

from errands.crowd.database import open_database
from errands.crowd.store.database import AlreadyExists, Database, StorageError, shown


def about(database: Database) -> dict[str, str]:
    rows = database.rows("SELECT name, value FROM about WHERE name <> 'version' ORDER BY name")
    return dict(rows)


def test_what_was_written_is_there_when_it_is_opened_again(place: str) -> None:
    with open_database(place) as first:
        first.run("INSERT INTO about VALUES (?, ?)", ("one", "1"))
        first.run("INSERT INTO about VALUES (?, ?)", ("two", "2"), durable=False)
        first.run_many("INSERT INTO about VALUES (?, ?)", [("three", "3"), ("four", "4")])
    with open_database(place) as again:
        assert about(again) == {"one": "1", "two": "2", "three": "3", "four": "4"}


@pytest.mark.parametrize("durable", [True, False])
def test_a_transaction_is_whole_or_not_at_all(database: Database, durable: bool) -> None:
    def fail() -> None:
        with database.writing(durable=durable) as run:
            run("INSERT INTO about VALUES ('a', '1')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert about(database) == {}
    with database.writing(durable=durable) as run:
        assert run("INSERT INTO about VALUES ('a', '1') RETURNING name") == [("a",)]
    assert about(database) == {"a": "1"}


def test_a_row_that_is_there_already(database: Database) -> None:
    database.run("INSERT INTO about VALUES ('a', '1')")
    with pytest.raises(AlreadyExists):
        database.run("INSERT INTO about VALUES ('a', '2')")

    def both() -> None:
        with database.writing() as run:
            run("INSERT INTO about VALUES ('b', '1')")
            run("INSERT INTO about VALUES ('a', '2')")

    with pytest.raises(AlreadyExists):
        both()
    with pytest.raises(AlreadyExists):
        database.run_many("INSERT INTO about VALUES (?, ?)", [("c", "1"), ("a", "2")])
    assert about(database) == {"a": "1"}
    database.run("UPDATE about SET value = '3'  WHERE name = 'a'")
    assert about(database) == {"a": "3"}


def test_texts_that_a_database_cannot_hold(database: Database) -> None:
    database.run("INSERT INTO about VALUES (?, ?)", ("nul", "a\0b"))
    database.run("INSERT INTO about VALUES (?, ?)", ("half", "a\ud800b"))
    database.run("INSERT INTO about VALUES (?, ?)", ("whole", "\U0001f600 ?%s 'x'"))
    assert about(database) == {
        "half": "a\ufffdb",
        "nul": "a\ufffdb",
        "whole": "\U0001f600 ?%s 'x'",
    }


def test_one_server_at_a_time(place: str) -> None:
    with open_database(place), pytest.raises(StorageError, match="another server"):
        open_database(place)
    open_database(place).close()


def test_a_wrong_statement_says_where(database: Database) -> None:
    with pytest.raises(StorageError, match="cannot be used"):
        database.rows("SELECT nothing FROM nowhere")
    assert about(database) == {}


def test_a_connection_that_was_lost_is_made_again(postgres_url: str) -> None:
    import psycopg

    with open_database(postgres_url) as database:
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        assert database.rows("SELECT 1") == [(1,)]


def test_places_that_do_not_do(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="mysql"):
        open_database("mysql://here")
    with pytest.raises(StorageError, match="--store"):
        open_database(str(tmp_path / "nowhere" / "site.sqlite"))
    (tmp_path / "text.sqlite").write_text("no database at all, but a long enough text" * 30)
    with pytest.raises(StorageError, match="--store"):
        open_database(str(tmp_path / "text.sqlite"))
    with sqlite3.connect(tmp_path / "other.sqlite") as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    with pytest.raises(StorageError, match="something else"):
        open_database(str(tmp_path / "other.sqlite"))
    path = tmp_path / "site.sqlite"
    open_database(str(path)).close()
    with sqlite3.connect(path) as old:
        old.execute("PRAGMA user_version = 1")
    old.close()
    with pytest.raises(StorageError, match="version 1"):
        open_database(str(path))


def test_a_place_is_shown_without_its_password() -> None:
    assert shown("postgresql://me:secret@host:5433/name") == "postgresql://me@host:5433/name"
    assert shown("site.sqlite") == "site.sqlite"


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "site.sqlite"
    open_database(str(path)).close()
    assert path.stat().st_mode & 0o077 == 0
