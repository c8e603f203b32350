"""How much a server allows (every queue and every input has a bound), and the port it takes."""

import contextlib
import ctypes
import gc
import os
import resource
import socket
from typing import Final

import msgspec

from errands.errors import SettingError

__all__ = [
    "ServerLimits",
    "listen",
    "raise_open_files",
    "return_memory",
    "settle_garbage",
    "settle_memory",
]

_HEAPS: Final = -8
"""`M_ARENA_MAX`: how many heaps there may be."""
_MAPPED: Final = -3
"""`M_MMAP_THRESHOLD`: from how many bytes on a block is mapped by itself."""
_TRIMMED: Final = -1
"""`M_TRIM_THRESHOLD`: so many free bytes at the end of the heap are given back."""
_LARGE: Final = 2**18
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
    visit_seconds: float = 3600.0
    """So long after their last step visitors of the shop's website are not forgotten, however many
    there are."""
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
    head_seconds: float = 20.0
    """A request's line and headers have to arrive within."""
    body_seconds: float = 20.0
    """A request's body has to arrive within."""
    send_seconds: float = 60.0
    """After so long a client that takes nothing of its answer is given up."""
    drain_seconds: float = 10.0
    """Once it is asked to stop, the server has ended within."""
    most_connections: int | None = None
    """At once; None: what fits under the limit of open files."""

    @property
    def connections(self) -> int:
        """Connections at once: one for each session would be fine, and some more."""
        if self.most_connections is not None:
            return self.most_connections
        return max(16, min(self.sessions + 1024, _open_files() - _spare_files()))

    @property
    def connections_per_client(self) -> int:
        """Of one address: as many as a trainer might want, and room for others."""
        return self.connections - self.connections // 8

    @property
    def backlog(self) -> int:
        """Connections that are accepted at once; there are files for them until others close."""
        return min(4096, _spare_files() // 2)


def _open_files() -> int:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**20 if files == resource.RLIM_INFINITY else files


def _spare_files() -> int:
    """Files that no connection takes: for data, processes and pages."""
    return max(64, _open_files() // 8)


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


def settle_memory() -> None:
    """Have a server's memory go back to the system (glibc). Threads share one heap: with one for
    each, what a large page has taken is given back to none of the others. And a large block is
    mapped by itself, so that it is gone once it is freed, however many have been before: left to
    itself, glibc takes larger and larger ones from the heap, where whatever lies behind keeps
    them."""
    with contextlib.suppress(AttributeError, OSError):
        change = ctypes.CDLL(None).mallopt
        for name, value in ((_HEAPS, 1), (_MAPPED, _LARGE), (_TRIMMED, 4 * _LARGE)):
            change(name, value)


def return_memory() -> None:
    """Give back what is free in the midst of the heap, too (glibc): settled memory shrinks from its
    end alone, and there is always something that lies behind."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


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
    except (OSError, OverflowError, UnicodeError) as failure:
        # The last: a name with an empty part, or a long one, which no name of the internet has.
        raise SettingError(
            f"{host}:{port} cannot be listened on ({failure}); choose another port or host."
        ) from None
    return listening
