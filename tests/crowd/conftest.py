"""Every test of the crowd's data runs on both databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.crowd.database import open_database
from errands.crowd.store.database import Database


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty place for a website's data."""
    if request.param == "sqlite":
        return str(tmp_path / "site.sqlite")
    url: str = request.getfixturevalue("postgres_url")
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS errands_site CASCADE")
    return url


@pytest.fixture
def database(place: str) -> Iterator[Database]:
    with open_database(place) as opened:
        yield opened
