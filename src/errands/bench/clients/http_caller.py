"""Asking a server over one connection, as a browser or a program does: requests, answers, cookies.

Small, so that a load generator has the time for hundreds of them; it reads what our server sends,
which always says how long it is.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

__all__ = ["HttpCaller", "HttpReply"]

_SECONDS: Final = 60.0
"""For an answer; who waits longer has given up."""
_COOKIE: Final = re.compile(r"([^=;\s]+)=([^;]*)")
_NO_BODY: Final = (204, 304)


class HttpReply(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


class HttpCaller:
    """A connection that stays open, and is opened anew where the server has closed it."""

    def __init__(
        self, port: int, *, source: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        """From an address of this machine's own, with headers that go along with every request."""
        self._port = port
        self._source = (source, 0) if source else None
        self._headers = {"host": "localhost", **(headers or {})}
        self.cookies: dict[str, str] = {}
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(
        self,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        method: str | None = None,
    ) -> HttpReply:
        """The answer to one request; redirects are not followed."""
        sent = {**self._headers, **(headers or {})}
        if self.cookies:
            sent["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if body is not None:
            sent["content-length"] = str(len(body))
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        method = method or ("GET" if body is None else "POST")
        async with asyncio.timeout(_SECONDS):
            reader, writer = await self._connected()
            writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + (body or b""))
            reply = await _read(reader)
        for given in reply.headers.get("set-cookie", "").splitlines():
            cookie = _COOKIE.match(given)
            if cookie:
                self.cookies[cookie[1]] = cookie[2].strip('"')
        if reply.headers.get("connection") == "close":
            self.close()
        return reply

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._reader is not None and self._reader.at_eof():
            self.close()
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(
                "127.0.0.1", self._port, local_addr=self._source
            )
        return self._reader, self._writer


async def _read(reader: asyncio.StreamReader) -> HttpReply:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")[:-2]
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.lower(), value.strip()
        headers[name] = f"{headers[name]}\n{value}" if name in headers else value
    status = int(first[9:12])
    body = b""
    if status not in _NO_BODY:
        body = await reader.readexactly(int(headers["content-length"]))
    return HttpReply(status, headers, body)
