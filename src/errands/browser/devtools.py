"""A Chromium of one's own, asked over a pipe: one call at a time, and nothing in between.

Playwright's process would read and write every picture once more, and cannot ask for frames one by
one, which is what makes pictures cheap (`errands.browser.warm_tab`).
"""

import fcntl
import os
import select
import shutil
import signal
import tempfile
import time
import weakref
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from errands.browser import chromium
from errands.browser.chromium import BrowserError
from errands.browser.network_policy import PageResponse, refusal

__all__ = ["DevTools", "DevToolsLost", "Refused"]

_SECONDS: Final = 60.0
"""How long an answer may take; the machine may be a busy one."""
_CHUNK: Final = 1 << 20


class DevToolsLost(BrowserError):
    """The browser is gone, or hangs; another may do better."""


class Refused(BrowserError):
    """The browser cannot do what it was asked."""


class DevTools:
    """Chromium's DevTools protocol; whatever a page wants from elsewhere is refused."""

    def __init__(
        self,
        executable: str | os.PathLike[str] | None = None,
        *more: str,
        seconds: float = _SECONDS,
    ) -> None:
        """`more` are further words of the command."""
        program = chromium.program(executable)
        profile = tempfile.mkdtemp(prefix="errands-chromium-")
        self._seconds = seconds
        self._owner = os.getpid()
        self._calls = 0
        self._unread = bytearray()
        try:
            started = _spawned(chromium.command(program, profile, *more))
        except BaseException:
            os.rmdir(profile)
            raise
        self.process, self._to, self._from = started
        self._end = weakref.finalize(self, _ended, self._owner, *started, profile)
        self._reading = select.poll()
        self._reading.register(self._from, select.POLLIN | select.POLLHUP)

    def send(
        self, method: str, params: Mapping[str, Any] | None = None, session: str = ""
    ) -> dict[str, Any]:
        """What the browser, or one of its pages, answers to a command."""
        number = self._post(method, params or {}, session)
        until = time.monotonic() + self._seconds
        while True:
            message = self._message(method, until)
            if message.get("method") == "Fetch.requestPaused":
                self._refuse(message["params"], message["sessionId"])
            if message.get("id") != number:
                continue
            if "error" in message:
                raise Refused(f"Chromium refused {method}: {message['error'].get('message')}")
            answer: dict[str, Any] = message["result"]
            return answer

    def _refuse(self, request: Mapping[str, Any], session: str) -> None:
        number = request["requestId"]
        stays = request["resourceType"] == "Document"  # "No content" leaves a page where it is.
        self._post(*(PageResponse(204).command(number) if stays else refusal(number)), session)

    def _post(self, method: str, params: Mapping[str, Any], session: str) -> int:
        self._calls += 1
        message = {"id": self._calls, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        rest = memoryview(msgspec.json.encode(message) + b"\0")
        try:
            while rest:
                rest = rest[os.write(self._to, rest) :]
        except OSError as error:
            raise DevToolsLost(f"Chromium ended before {method}") from error
        return self._calls

    def _message(self, method: str, until: float) -> dict[str, Any]:
        """The next message, which ends with a zero."""
        looked = 0
        while (end := self._unread.find(0, looked)) < 0:
            looked = len(self._unread)
            if not self._reading.poll(max(0, 1000 * (until - time.monotonic()))):
                raise DevToolsLost(f"Chromium did not answer {method} in {self._seconds:g} s")
            read = os.read(self._from, _CHUNK)
            if not read:
                raise DevToolsLost(f"Chromium ended during {method}")
            self._unread += read
        message: dict[str, Any] = msgspec.json.decode(self._unread[:end])
        del self._unread[: end + 1]
        return message

    @property
    def usable(self) -> bool:
        """Whether this process started it: one that was forked off has to start its own."""
        return self._owner == os.getpid()

    def close(self) -> None:
        """End the browser."""
        self._end()


def _ended(owner: int, process: int, to: int, source: int, profile: str) -> None:
    """End a browser and its processes; one that was forked off leaves it to who owns it."""
    os.close(to)
    os.close(source)
    if owner != os.getpid():
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(process, 0)
    shutil.rmtree(profile, ignore_errors=True)


def _spawned(words: list[str]) -> tuple[int, int, int]:
    """The process, where it reads and where it writes. It expects its ends of the pipes as files 3
    and 4, and gets a group of its own, so that Ctrl-C is for us alone."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # There is a limit for a user's pipes together.
            fcntl.fcntl(ours_in, fcntl.F_SETPIPE_SZ, _CHUNK)
    # Out of the way of 3 and 4, which are about to be replaced.
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (theirs_in, theirs_out)]
    nowhere = [(os.POSIX_SPAWN_OPEN, file, os.devnull, os.O_RDWR, 0) for file in range(3)]
    ends = [(os.POSIX_SPAWN_DUP2, end, file) for end, file in zip(high, (3, 4), strict=True)]
    try:
        process = os.posix_spawn(
            words[0], words, os.environ, file_actions=[*nowhere, *ends], setpgroup=0
        )
    except OSError as error:
        os.close(ours_out)
        os.close(ours_in)
        raise BrowserError(f"Chromium ({words[0]}) did not start: {error.strerror}") from error
    finally:
        for end in (theirs_in, theirs_out, *high):
            os.close(end)
    return process, ours_out, ours_in
