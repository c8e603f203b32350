"""Environments that a server plays: the clients, the environments over it, the wire's messages.

Nothing here imports a server; `errands.web` reads the same messages.
"""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = [
    "AsyncConnection",
    "Connection",
    "RemoteError",
    "RemoteShopEnv",
    "RemoteShopVectorEnv",
    "RemoteTurkEnv",
]

if TYPE_CHECKING:
    from errands.remote.async_client import AsyncConnection
    from errands.remote.client import Connection, RemoteError
    from errands.remote.environments import RemoteShopEnv, RemoteShopVectorEnv, RemoteTurkEnv
else:
    __getattr__ = lazy_exports(__name__)
