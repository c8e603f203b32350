"""The database of crowd work, with the tables that each of its modules declares.

    with open_database("site.sqlite") as database:
        accounts = Accounts(database)

Tables are written once for both databases: `{id}` stands for a number that the database gives by
itself.
"""

from typing import Final

from errands.crowd.accounts import accounts
from errands.crowd.hits import assignments, projects
from errands.crowd.instructions import assignments as writing
from errands.crowd.shopping import assignments as shopping
from errands.crowd.shopping import steps
from errands.crowd.store.database import Database, open_store

__all__ = ["SCHEMA", "open_database"]

SCHEMA: Final = "\n".join(
    [
        "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);",
        accounts.TABLES,
        steps.TABLES,
        projects.TABLES,
        assignments.TABLES,
        shopping.TABLES,
        writing.TABLES,
    ]
)


def open_database(place: str) -> Database:
    """A database; what is not there yet is made."""
    return open_store(place, SCHEMA)
