"""The tables of the website's database, each with the room that uses it.

Written once for both databases: `{id}` stands for a number that the database gives by itself.
"""

from typing import Final

from errands.crowd.accounts import accounts, qualifications
from errands.crowd.hits import assignments, projects
from errands.crowd.instructions import assignments as writing
from errands.crowd.instructions import collection as collecting
from errands.crowd.shopping import assignments as outings
from errands.crowd.shopping import steps

__all__ = ["SCHEMA"]

_ABOUT: Final = "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);"

SCHEMA: Final = "\n".join(
    [
        _ABOUT,
        accounts.TABLES,
        steps.TABLES,
        projects.TABLES,
        assignments.TABLES,
        outings.TABLES,
        qualifications.TABLES,
        collecting.TABLES,
        writing.TABLES,
    ]
)
