"""The office put together: its people, its secret, its desks."""

import secrets
from typing import Final

from errands.crowd.accounts.people import People
from errands.crowd.store.database import Database
from errands.envs.episode import ShopContext
from errands.turk.tasks.loader import load_tasks
from errands.web.core.application import Part
from errands.web.crowd.accounts import front_desk
from errands.web.crowd.auth import Reception
from errands.web.crowd.hits.projects import requester_desk
from errands.web.crowd.hits.projects_api import requester_api
from errands.web.crowd.hits.task_frame import task_frames
from errands.web.crowd.hits.tasks import crowd_desk
from errands.web.crowd.instructions.review import instructions_desk
from errands.web.crowd.shopping.assignments import shopping_desk
from errands.web.crowd.shopping.demonstrations import demonstrations_desk
from errands.web.crowd.site import Office, Seat, office_part
from errands.web.shop.visitors import Shoppers

__all__ = ["DESKS", "open_office"]

DESKS: Final[tuple[Seat, ...]] = (
    front_desk,
    crowd_desk,
    requester_desk,
    requester_api,
    task_frames,
    instructions_desk,
    shopping_desk,
    demonstrations_desk,
)


def open_office(
    database: Database,
    tasks: str | None = None,
    password: str | None = None,
    shopping: ShopContext | None = None,
    shoppers: Shoppers | None = None,
    *,
    reset_password: bool = False,
) -> tuple[Part, str | None]:
    """The office, and the admin's password if one had to be made up."""
    people = People(database)
    made_up = None
    if reset_password or not people.has_admin():
        made_up = secrets.token_urlsafe(12) if password is None else None
        people.set_password(password or made_up or "")
    office = Office(
        database=database,
        people=people,
        reception=Reception(people),
        shopping=shopping,
        shoppers=shoppers,
        tasks=None if tasks is None else load_tasks(tasks),
        secret=_secret(database),
    )
    return office_part(office, DESKS), made_up


def _secret(database: Database) -> bytes:
    """Made once for each database, so that addresses stay good when the server is restarted."""
    database.run(
        "INSERT INTO about VALUES ('secret', ?) ON CONFLICT (name) DO NOTHING",
        (secrets.token_hex(32),),
    )
    [(value,)] = database.rows("SELECT value FROM about WHERE name = 'secret'")
    return bytes.fromhex(value)
