"""Sessions: environments in use, known by ids that nobody can guess.

Plain and synchronous, with a clock that is passed in. Sessions lie in the order of their last
use, so that looking for expired ones costs nothing where there are none.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from errands.web.core.http_errors import too_many_sessions, unknown_session
from errands.web.core.limits import ServerLimits
from errands.web.env_api.workers import HostedEnv

__all__ = ["Session", "SessionEnv", "Sessions", "Turn", "new_id", "reset_answer", "step_answer"]

Turn = tuple[Any, float, bool, bool, dict[str, Any]]
"""What a step returns."""


class SessionEnv(Protocol):
    """The environment of one session."""

    is_slow: bool
    """Whether its calls take long, and so have to be made off the event loop."""

    def reset(self, seed: int | None, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]: ...

    def step(self, action: str) -> Turn: ...

    def close(self) -> None: ...


def new_id() -> str:
    """An id that nobody can guess."""
    return secrets.token_urlsafe(24)


def reset_answer(seen: tuple[Any, dict[str, Any]]) -> dict[str, Any]:
    """What a client is told of the start of an episode."""
    return {"observation": seen[0], "info": seen[1]}


def step_answer(turn: Turn) -> dict[str, Any]:
    """What a client is told of a step."""
    observation, reward, terminated, truncated, info = turn
    return {
        "observation": observation,
        "reward": reward,
        "terminated": terminated,
        "truncated": truncated,
        "info": info,
    }


class Session:
    """An environment, who opened it, and when it was last used."""

    __slots__ = ("client", "env", "id", "in_use", "is_form", "thread", "used")

    def __init__(
        self,
        id: str,
        env: SessionEnv | HostedEnv,
        client: str,
        now: float,
        thread: int = 0,
        *,
        is_form: bool = False,
    ) -> None:
        self.id = id
        self.env = env
        self.is_form = is_form
        self.client = client
        self.used = now
        self.in_use = 0
        """Calls that are being made off the event loop; meanwhile it does not expire."""
        self.thread = thread
        """Which thread makes them (modulo their number): always the same one, so that they are
        made in their order."""


class Sessions:
    """All open sessions of a server."""

    def __init__(self, limits: ServerLimits, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._by_client: dict[str, int] = {}
        self._turk_sessions = 0
        self._slow_opened = 0

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, id: str) -> bool:
        return id in self._open

    def __iter__(self) -> Iterator[str]:
        """The ids of those that are open."""
        return iter(self._open)

    def room_for(self, client: str, count: int, *, form_pages: bool = False) -> None:
        """Raise an error if a client may not open so many more (`form_pages`: of those)."""
        limits = self._limits
        mine = limits.sessions_per_client
        if mine is not None and self._by_client.get(client, 0) + count > mine:
            raise too_many_sessions(mine, "A client may have")
        if len(self._open) + count > limits.sessions:
            raise too_many_sessions(limits.sessions, "The server allows")
        if form_pages and self._turk_sessions + count > limits.turk_sessions:
            raise too_many_sessions(limits.turk_sessions, "Of form pages, the server allows")

    def open(
        self,
        env: SessionEnv | HostedEnv,
        client: str,
        id: str | None = None,
        *,
        form_pages: bool = False,
    ) -> Session:
        """A new session; `room_for` is asked first. Without an `id` nobody can guess it."""
        self.room_for(client, 1, form_pages=form_pages)
        session = Session(
            id or new_id(), env, client, self._clock(), self._slow_opened, is_form=form_pages
        )
        self._slow_opened += env.is_slow
        self._open[session.id] = session
        self._by_client[client] = self._by_client.get(client, 0) + 1
        self._turk_sessions += form_pages
        return session

    def find(self, id: str) -> Session:
        """The session of that id, which counts as a use of it."""
        session = self._open.get(id)
        if session is None:
            raise unknown_session()
        session.used = self._clock()
        self._open.move_to_end(id)
        return session

    def close(self, id: str) -> Session:
        """Forget a session; who asks closes its environment."""
        session = self._open.pop(id, None)
        if session is None:
            raise unknown_session()
        self._turk_sessions -= session.is_form
        left = self._by_client[session.client] - 1
        if left:
            self._by_client[session.client] = left
        else:
            del self._by_client[session.client]
        return session

    def expire(self) -> list[Session]:
        """Forget the sessions that were idle for too long."""
        now = self._clock()
        expired = []
        while self._open:
            session = next(iter(self._open.values()))
            if now - session.used < self._limits.idle_seconds:
                break
            if session.in_use:
                self.find(session.id)
            else:
                expired.append(self.close(session.id))
        return expired

    def close_all(self, where: Callable[[Session], bool] = lambda session: True) -> list[Session]:
        """Forget all sessions, or some."""
        return [self.close(session.id) for session in list(self._open.values()) if where(session)]
