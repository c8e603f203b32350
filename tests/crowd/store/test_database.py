"""One database for a website, be it a file or a server."""

import sqlite3
from pathlib import Path

import pytest

from errands.crowd.accounts.accounts import Accounts
from errands.crowd.database import open_database
from errands.crowd.hits.assignments import Assignments
from errands.crowd.hits.projects import Projects
from errands.crowd.instructions.assignments import WritingAssignments
from errands.crowd.store.database import (
    AlreadyExists,
    Database,
    StorageError,
    open_read_only,
    open_store,
    shown,
)


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
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match="--store"):
        open_database(str(tmp_path / "folder"))
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]
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


OLD_TABLES = Path(__file__).with_name("schema_2.sql")
OLD_ROWS = """
INSERT INTO people (name, role, token, secret, is_active, made)
  VALUES ('Rita', 'requester', 'r', '', 1, 0), ('Ann', 'worker', 'a', '', 1, 0);
INSERT INTO projects (owner, name, about, template, columns, wanted, pay, minutes, hosts, task,
  is_open, made) VALUES (1, 'Old', '', '<input name=a>', '["n"]', 2, 0.5, 60, '[]', '', 1, 0),
  (1, 'Free', '', '<input name=a>', '["n"]', 1, 0, 60, '[]', '', 1, 0);
INSERT INTO items VALUES (1, 0, '{"n": "1"}'), (1, 1, '{"n": "2"}'), (2, 0, '{"n": "3"}');
INSERT INTO assignments (key, mark, project, item, person, worker, status, accepted, until,
  submitted, answers, pay) VALUES
  ('k1', 'M1', 1, 0, 2, 'W2', 'submitted', 1, 2, 2, '{"a": "kept"}', 0.5),
  ('k2', 'M2', 1, 1, 2, 'W2', 'accepted', 1, 1e12, NULL, '{}', 0.5);
INSERT INTO writings (person, asin, shown, status, is_trial, instruction, attributes, options,
  comment, taken, note, pay) VALUES (2, 'B1', '{"title": "t", "image": "", "category": "",
  "attributes": [], "options": {}}', 'taken', 1, '', '[]', '{}', '', 1, '', 0);
INSERT INTO collecting VALUES ('pay', '0.25')
"""


def old_store(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database as version 2 made it."""
    schema = f"{OLD_TABLES.read_text()}\n{OLD_ROWS}"
    with monkeypatch.context() as patch:
        for module in ("database", "sqlite", "postgres"):
            patch.setattr(f"errands.crowd.store.{module}.VERSION", 2)
        open_store(place, schema).close()


def columns_of(database: Database, table: str) -> set[str]:
    if "://" in database.place:
        rows = database.rows(
            "SELECT column_name FROM information_schema.columns"
            " WHERE table_schema = 'errands_site' AND table_name = ?",
            (table,),
        )
    else:
        rows = database.rows("SELECT name FROM pragma_table_info(?)", (table,))
    return {name for (name,) in rows}


def indexes_of(database: Database) -> set[str]:
    asked = "SELECT name FROM sqlite_schema WHERE type = 'index'"
    if "://" in database.place:
        asked = "SELECT indexname FROM pg_indexes WHERE schemaname = 'errands_site'"
    return {name for (name,) in database.rows(asked)}


TABLES = [
    *("people", "projects", "project_workers", "join_links", "items", "assignments", "writings"),
]


def test_an_older_store_is_brought_up_to_date(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_store(place, monkeypatch)
    with pytest.raises(StorageError, match="errands serve --store"):
        open_read_only(place)
    with open_database(place) as database:
        paid, free = Projects(database).all()
        assert (paid.budget, paid.committed, paid.is_offered) == (1.0, 1.0, False)
        assert free.is_offered
        assert (paid.items, free.items) == (2, 1)
        taken = database.rows("SELECT project, number, taken FROM items ORDER BY project, number")
        assert taken == [(1, 0, 1), (1, 1, 1), (2, 0, 0)]
        work = Assignments(database)
        [done] = work.done(paid.id)
        assert (done.answers, done.verdict, done.draft) == ({"a": "kept"}, "", {})
        assert work.submit("k2", {"a": "later"}).pay == 0.5, "what was promised is paid"
        assert work.accept(free, 2).status == "accepted"
        ann = Accounts(database).person(2)
        assert ann is not None
        assert not ann.is_guest
        writings = WritingAssignments(database)
        assert (writings.is_offered, writings.settings.budget) == (False, 0.25)
        begun = writings.open_one(2)
        assert begun is not None
        assert begun.pay == 0.25
        upgraded = {table: columns_of(database, table) for table in TABLES}
        indexes = indexes_of(database)
    with open_database(place) as database:
        assert len(Assignments(database).done(paid.id)) == 2, "opened again as it is"
    with open_read_only(place) as reader:
        assert reader.rows("SELECT count(*) FROM assignments") == [(3,)]
    with open_database(str(tmp_path / "new.sqlite")) as new:
        assert upgraded == {table: columns_of(new, table) for table in TABLES}
        if "://" not in place:
            assert indexes == indexes_of(new)


def test_a_store_of_a_later_version_is_refused(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        for module in ("database", "sqlite", "postgres"):
            patch.setattr(f"errands.crowd.store.{module}.VERSION", 99)
        open_database(place).close()
    for opening in (open_database, open_read_only):
        with pytest.raises(StorageError, match=r"this program writes 4|this version"):
            opening(place)
