"""The database of crowd work, with the tables that each of its modules declares.

    with open_database("site.sqlite") as database:
        accounts = Accounts(database)

Tables are written once for both databases: `{id}` stands for a number that the database gives by
itself.
"""

from typing import Final

from errands.crowd.accounts import accounts
from errands.crowd.hits import assignments, project_workers, projects
from errands.crowd.instructions import assignments as writing
from errands.crowd.shopping import assignments as shopping
from errands.crowd.shopping import steps
from errands.crowd.store.database import Database, open_store

__all__ = ["MIGRATIONS", "SCHEMA", "open_database"]

SCHEMA: Final = "\n".join(
    [
        "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);",
        accounts.TABLES,
        steps.TABLES,
        projects.TABLES,
        project_workers.TABLES,
        assignments.TABLES,
        shopping.TABLES,
        writing.TABLES,
    ]
)
MIGRATIONS: Final = {
    # What was promised before there were budgets is paid; nothing more is, until an administrator
    # has opened it.
    2: "\n".join(
        [
            accounts.TO_VERSION_3,
            assignments.TO_VERSION_3,
            projects.TO_VERSION_3,
            project_workers.TABLES,
            writing.TO_VERSION_3,
        ]
    ),
    # What work is left, and what is promised, is counted as it changes.
    3: projects.TO_VERSION_4 + assignments.TO_VERSION_4,
}
"""By the version that they lead away from."""


def open_database(place: str) -> Database:
    """A database; what is not there yet is made."""
    return open_store(place, SCHEMA, MIGRATIONS)
