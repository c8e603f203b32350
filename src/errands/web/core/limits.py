"""How much a server allows (every queue and every input has a bound), and the port it takes."""

import gc
import os
import resource
import socket
from typing import Final

import msgspec

from errands.errors import SettingError

__all__ = ["ServerLimits", "listen", "raise_open_files", "settle_garbage"]

_YOUNG: Final = 20_000
"""Objects that may be made before some are looked at: an answer is made of hundreds, hardly any of
which are in cycles."""


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of a server; beyond one, a caller gets an error that names it."""

    sessions: int = 10_000
    """Open at once."""
    sessions_per_client: int | None = None
    """Open at once from one address; None: as many as there may be."""
    turk_sessions: int = 256
    """Sessions of form pages among them: each holds a whole page."""
    visitors: int = 100_000
    """Unfinished sessions of visitors (not of workers) of the shop's website."""
    idle_seconds: float = 900.0
    """After so long without a call a session is closed."""
    body_bytes: int = 2**20
    """Of one request or one WebSocket message."""
    batch: int = 1024
    """Calls in one batch, sessions in one create."""
    action_length: int = 4096
    """Characters of an action."""
    history: int = 16
    """Earlier observations or actions that an environment may be asked to repeat."""
    in_flight: int = 512
    """Requests being read or answered."""
    slow_calls: int = 64
    """Slow calls (of form pages) waiting for their thread."""
    form_threads: int = min(4, os.cpu_count() or 1)
    """Threads that make them; those of one session are made by one thread."""
    form_processes: int = 0
    """Processes that make them instead; 0: threads do."""
    shop_processes: int = 0
    """Processes that play the shop; 0: the one that serves does."""
    body_seconds: float = 20.0
    """A request's body has to arrive within."""
    drain_seconds: float = 10.0
    """How long calls in flight may take to finish once the server is asked to stop."""

    @property
    def connections(self) -> int:
        """Connections at once: one for each session would be fine, and some more."""
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        wanted = self.sessions + 1024
        return wanted if files == resource.RLIM_INFINITY else max(64, min(wanted, files - 64))


def raise_open_files() -> int:
    """Allow this process as many open files (and so connections) as the system lets it have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):
            return soft
    return hard if hard != resource.RLIM_INFINITY else os.sysconf("SC_OPEN_MAX")


def settle_garbage() -> None:
    """Spare the garbage collector what costs a server time: what there is now stays and is not
    looked at again, and the rest less often."""
    gc.freeze()
    gc.set_threshold(_YOUNG)


def listen(host: str, port: int) -> socket.socket:
    """Take the port at once, so that a port in use is one sentence."""
    try:
        [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
        except OSError:
            listening.close()
            raise
    except (OSError, OverflowError) as failure:
        raise SettingError(
            f"{host}:{port} cannot be listened on ({failure}); choose another port or host."
        ) from None
    return listening
