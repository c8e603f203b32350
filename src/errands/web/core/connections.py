"""The connections of a server: how many there are, whose, and which of them wait for a request.

Opening a connection costs a client nothing, so there is a bound on all of them, and a lower one on
those of one client, so that another finds room. Where a bound is reached, a connection that waits
is closed for the new one: first one on which no whole request has come yet, then one that is idle
between two; of either, the one that has waited longest.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

__all__ = ["Connections", "WaitingConnection"]

_HEADS: Final = 2**26
"""Bytes of request heads that have not arrived as a whole."""


class WaitingConnection(Protocol):
    """What the table needs of a connection."""

    group: str
    """Whose it is: `errands.web.core.clients.client_group`."""
    since: float
    """When it began to wait, or last took some of its answer."""
    head_size: int
    """Bytes of a head that has not ended."""

    def unsent(self) -> int:
        """Bytes that it has not taken yet."""

    def give_up(self) -> None:
        """Close it; whatever it has not taken is lost."""


class _Waiting:
    """Connections that wait, each kind with the one that has waited longest first."""

    __slots__ = ("count", "heads", "idle")

    def __init__(self) -> None:
        self.count = 0
        """Of all connections, also those that do not wait."""
        self.heads: dict[WaitingConnection, None] = {}
        """No whole head of a request has arrived."""
        self.idle: dict[WaitingConnection, None] = {}
        """Between two requests."""

    def oldest(self) -> WaitingConnection | None:
        return next(iter(self.heads or self.idle), None)


class Connections:
    """All connections of a server that are open."""

    def __init__(self, most: int, per_client: int, clock: Callable[[], float]) -> None:
        self._most = most
        self._per_client = per_client
        self._clock = clock
        self._all = _Waiting()
        self._by_client: dict[str, _Waiting] = {}
        self._head_bytes = 0
        self._stuck: dict[WaitingConnection, int] = {}
        """Those that do not take their answers, and how much they had not taken when last seen."""

    def __len__(self) -> int:
        return self._all.count

    def enter(self, one: WaitingConnection, *, is_proxy: bool = False) -> bool:
        """Count a new connection; False where there is no room for it. A proxy's are those of many
        clients."""
        own = self._by_client.setdefault(one.group, _Waiting())
        has_room = (is_proxy or self._room(own, self._per_client)) and self._room(
            self._all, self._most
        )
        # It is counted until it is closed, admitted or not.
        self._all.count += 1
        own.count += 1
        if has_room:
            self.await_head(one)
        return has_room

    def _room(self, some: _Waiting, most: int) -> bool:
        if some.count < most:
            return True
        oldest = some.oldest()
        if oldest is None:
            return False
        self.busy(oldest)
        oldest.give_up()
        return True

    def leave(self, group: str) -> None:
        """A connection of that group is gone."""
        self._all.count -= 1
        own = self._by_client[group]
        own.count -= 1
        if not own.count:
            del self._by_client[group]

    def await_head(self, one: WaitingConnection) -> None:
        """From now on a whole head is to arrive."""
        self.busy(one)
        one.since = self._clock()
        self._all.heads[one] = self._by_client[one.group].heads[one] = None

    def grow_head(self, one: WaitingConnection, size: int) -> None:
        """More of a head has come, and its end has not."""
        self._head_bytes += size
        one.head_size += size
        while self._head_bytes > _HEADS:
            oldest = next(iter(self._all.heads))
            self.busy(oldest)
            oldest.give_up()

    def idle(self, one: WaitingConnection) -> None:
        """It has had its answer, and may ask again."""
        self.busy(one)
        self._all.idle[one] = self._by_client[one.group].idle[one] = None

    def busy(self, one: WaitingConnection) -> None:
        """It does not wait, or no longer."""
        own = self._by_client.get(one.group, self._all)
        for some in (self._all, own):
            some.heads.pop(one, None)
            some.idle.pop(one, None)
        self._head_bytes -= one.head_size
        one.head_size = 0

    def stuck(self, one: WaitingConnection) -> None:
        """It takes its answers more slowly than they are made."""
        one.since = self._clock()
        self._stuck[one] = one.unsent()

    def flowing(self, one: WaitingConnection) -> None:
        self._stuck.pop(one, None)

    def sweep(self, head_seconds: float, send_seconds: float) -> None:
        """Close those whose head does not come, and those that take nothing."""
        now = self._clock()
        while self._all.heads:
            oldest = next(iter(self._all.heads))
            if now - oldest.since < head_seconds:
                break
            self.busy(oldest)
            oldest.give_up()
        for one, before in list(self._stuck.items()):
            unsent = one.unsent()
            if unsent < before:
                self._stuck[one] = unsent
                one.since = now
            elif now - one.since >= send_seconds:
                del self._stuck[one]
                one.give_up()

    async def keep_sweeping(self, head_seconds: float, send_seconds: float) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(min(1.0, head_seconds / 4, send_seconds / 4))
            self.sweep(head_seconds, send_seconds)
