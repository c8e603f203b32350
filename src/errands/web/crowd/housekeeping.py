"""The part of an application that nobody sees: the store is tidied up while it is served.

Moving what was written to its place may wait for the disk, so it is done in a thread beside.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Final

from errands.crowd.store.database import Database, StorageError
from errands.web.core.application import AppPart

__all__ = ["housekeeping"]

_SECONDS: Final = 2.0
_log = logging.getLogger(__name__)


def housekeeping(database: Database) -> AppPart:
    """Keeps one store tidy, however many parts write it."""

    async def tidy() -> None:
        while True:
            await asyncio.sleep(_SECONDS)
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

    return AppPart(
        routes=(),
        paths=lambda: {"schemas": {}, "paths": {}},
        lifespan=lifespan,
        metrics=lambda: "",
        ready=lambda: True,
        drain=lambda: None,
        busy=lambda: False,
    )
