"""Crowd work put together: its accounts, its secret, its routes, its housekeeping."""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator
from typing import Final

from errands.crowd.accounts.accounts import Accounts
from errands.crowd.store.database import Database, StorageError
from errands.envs.episode import ShopContext
from errands.turk.tasks.loader import load_tasks
from errands.web.core.application import AppPart
from errands.web.crowd.accounts import AccountRoutes
from errands.web.crowd.auth import Auth
from errands.web.crowd.hits.joining import JoinRoutes
from errands.web.crowd.hits.projects import ProjectRoutes
from errands.web.crowd.hits.task_frame import FrameRoutes
from errands.web.crowd.hits.tasks import TaskRoutes
from errands.web.crowd.instructions.review import InstructionRoutes
from errands.web.crowd.instructions.writing import WritingRoutes
from errands.web.crowd.shopping.assignments import shopping_routes
from errands.web.crowd.shopping.demonstrations import demonstration_routes
from errands.web.crowd.site import CrowdSite, RouteFactory, crowd_part
from errands.web.shop.visitors import Visitors

__all__ = ["ROUTES", "housekeeping", "open_crowd_site"]

_TIDY_SECONDS: Final = 2.0
_log = logging.getLogger(__name__)

ROUTES: Final[tuple[RouteFactory, ...]] = (
    AccountRoutes,
    TaskRoutes,
    ProjectRoutes,
    JoinRoutes,
    FrameRoutes,
    InstructionRoutes,
    WritingRoutes,
    shopping_routes,
    demonstration_routes,
)


def open_crowd_site(
    database: Database,
    tasks: str | None = None,
    password: str | None = None,
    shopping: ShopContext | None = None,
    shoppers: Visitors | None = None,
    *,
    reset_password: bool = False,
) -> tuple[AppPart, str | None]:
    """Crowd work, and the admin's password if one had to be made up."""
    accounts = Accounts(database)
    made_up = None
    if reset_password or not accounts.has_admin():
        made_up = secrets.token_urlsafe(12) if password is None else None
        accounts.set_password(password or made_up or "")
    site = CrowdSite(
        database=database,
        accounts=accounts,
        auth=Auth(accounts),
        shopping=shopping,
        shoppers=shoppers,
        tasks=None if tasks is None else load_tasks(tasks),
        secret=_secret(database),
    )
    return crowd_part(site, ROUTES), made_up


def _secret(database: Database) -> bytes:
    """Made once for each database, so that addresses stay good when the server is restarted."""
    database.run(
        "INSERT INTO about VALUES ('secret', ?) ON CONFLICT (name) DO NOTHING",
        (secrets.token_hex(32),),
    )
    [(value,)] = database.rows("SELECT value FROM about WHERE name = 'secret'")
    return bytes.fromhex(value)


def housekeeping(database: Database) -> AppPart:
    """Keeps one database tidy while it is served, however many parts write it.

    Moving what was written to its place may wait for the disk, so it is done in another thread.
    """

    async def tidy() -> None:
        while True:
            await asyncio.sleep(_TIDY_SECONDS)
            try:
                await asyncio.to_thread(database.tidy)
            except StorageError:
                _log.exception("the site's data cannot be tidied up")

    @contextlib.asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        tidying = asyncio.create_task(tidy())
        try:
            yield
        finally:
            tidying.cancel()

    return AppPart(routes=(), lifespan=lifespan)
