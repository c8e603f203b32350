"""Bodies of requests that are being read: so many at once, and so much of them in memory.

An honest body arrives in a moment. So where there are too many, or too much of them, those that
have been arriving for longest are given up, and nobody who comes is kept out by them. Messages of
WebSockets are bodies, too.
"""

import asyncio
from typing import Final, Protocol

from starlette.types import Receive, Scope

from errands.web.core.http_errors import HttpError, bad_request, too_large

__all__ = [
    "BODIES", "BODY_MEMORY", "MESSAGES", "MOST_BODIES", "Arrival", "BodyReads", "read_body",
]  # fmt: skip

MOST_BODIES: Final = 1024
"""Bodies that are read at once."""
BODY_MEMORY: Final = 2**28
"""Bytes of bodies that have not arrived as a whole."""


_CROWDED: Final = "Too many requests are arriving, and this one is slow; send it again."
_STOPPING: Final = "The server is stopping, and this request had not arrived; send it again."


class Arrival(Protocol):
    """What is arriving."""

    size: int
    """Bytes that have come."""

    def give_up(self, why: str, when: float) -> None:
        """Wait for the rest until that time of the event loop's clock, and no longer."""


class _Body:
    """A body that is arriving."""

    __slots__ = ("deadline", "given_up", "loop", "size")

    def __init__(self, deadline: asyncio.Timeout) -> None:
        self.deadline = deadline
        self.loop = asyncio.get_running_loop()
        self.size = 0
        self.given_up = ""
        """Why it is."""

    def give_up(self, why: str, when: float) -> None:
        if not self.given_up:
            self.given_up = why
            self.deadline.reschedule(when)


class BodyReads:
    """The bodies that are being read now, in the order in which they began."""

    def __init__(self, most: int = MOST_BODIES, memory: int = BODY_MEMORY) -> None:
        self._most = most
        self._memory = memory
        self._arriving: dict[Arrival, None] = {}
        self.size = 0
        """Bytes of them all."""

    def __len__(self) -> int:
        return len(self._arriving)

    async def read(self, scope: Scope, receive: Receive, most: int, seconds: float) -> bytes:
        """The body of a request, if it is not too large and does not take too long to come."""
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value[:19]) > most:
                raise too_large(f"The body has {value[:19].decode()} bytes; the most is {most}.")
        chunks: list[bytes] = []
        arrival: _Body | None = None
        try:
            async with asyncio.timeout(seconds) as deadline:
                arrival = _Body(deadline)
                self.grow(arrival, 0)
                more = True
                while more:
                    event = await receive()
                    if event["type"] == "http.disconnect":
                        raise bad_request("The client left before its request ended.")
                    chunk = event.get("body", b"")
                    more = event.get("more_body", False)
                    chunks.append(chunk)
                    if arrival.size + len(chunk) > most:
                        raise too_large(f"The body is larger than {most} bytes.")
                    self.grow(arrival, len(chunk), is_whole=not more)
        except TimeoutError:
            # The error that follows remembers this place for a while.
            chunks.clear()
            if arrival is not None and arrival.given_up:
                raise HttpError(503, "busy", arrival.given_up, retry_after=1) from None
            message = f"The body did not arrive within {seconds:g} seconds."
            raise HttpError(408, "timeout", message) from None
        finally:
            if arrival is not None:
                self.leave(arrival)
        return b"".join(chunks)

    def grow(self, arrival: Arrival, size: int, *, is_whole: bool = False) -> None:
        """More has come, or it begins to; nobody makes room for the end of one."""
        self._arriving[arrival] = None
        arrival.size += size
        self.size += size
        if not is_whole:
            self._make_room(arrival)

    def leave(self, arrival: Arrival) -> None:
        """It has arrived, or never will."""
        del self._arriving[arrival]
        self.size -= arrival.size

    def _make_room(self, newest: Arrival) -> None:
        """Give up the oldest bodies until the others are within bounds; the newest stays."""
        count, size = len(self._arriving), self.size
        if count <= self._most and size <= self._memory:
            return
        now = asyncio.get_running_loop().time()
        for arrival in list(self._arriving):
            if count <= self._most and size <= self._memory:
                break
            if arrival is newest:
                continue
            count, size = count - 1, size - arrival.size
            arrival.give_up(_CROWDED, now)

    def hurry(self, until: float) -> None:
        """Give up those of this event loop that have not arrived by that time of its clock."""
        loop = asyncio.get_running_loop()
        for arrival in self._arriving:
            if isinstance(arrival, _Body) and arrival.loop is loop:
                due = arrival.deadline.when()
                if due is not None and due > until:
                    arrival.give_up(_STOPPING, max(until, loop.time()))


BODIES: Final = BodyReads()
"""All of this process: they share its memory."""
MESSAGES: Final = BodyReads(most=2**30)
"""Those of WebSockets, of which there are no more than connections."""
read_body = BODIES.read
