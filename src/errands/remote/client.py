"""A client: calls to a server over one WebSocket, packed with msgpack.

    with Connection("http://127.0.0.1:8000") as server:
        [session] = server.create("shop", {"split": "train"})
        begun = server.call("reset", session=session, seed=0)
        indices = server.indices("train")

A server that is busy is asked again a little later; every other refusal is a `RemoteError`.
"""

import threading
import time
from typing import Any, Final, Self
from urllib.parse import urlsplit

import msgspec

from errands.errors import ErrandsError, SettingError
from errands.extras import install_command
from errands.remote.messages import encode_msgpack

__all__ = [
    "PATIENCE",
    "Connection",
    "RemoteError",
    "broken",
    "busy_seconds",
    "check",
    "handshake",
    "no_connection",
    "no_websockets",
    "packed",
]

PATIENCE: Final = 20
"""How often a busy server is asked again."""


class RemoteError(ErrandsError):
    """What a server refused, with its `code`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"The server says: {message}")
        self.code = code


class Connection:
    """One WebSocket to a server; calls of several threads take turns."""

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 60.0) -> None:
        try:
            from websockets.sync.client import connect
        except ImportError:
            raise no_websockets() from None
        self._lock = threading.Lock()
        self._timeout = timeout
        self._decode = msgspec.msgpack.Decoder().decode
        options = handshake(url, token, timeout)
        try:
            connection = connect(**options)
            # Left again by `close`: newer versions give the connection only to a `with`.
            self._socket = connection.__enter__()
        except Exception as failure:
            raise no_connection(url, failure) from None

    def create(self, environment: str, settings: dict[str, Any], count: int = 1) -> list[str]:
        """Open sessions."""
        answer = self.call("create", environment=environment, settings=settings, count=count)
        sessions: list[str] = answer["sessions"]
        return sessions

    def indices(self, split: str | None = None, *, goals: str | None = None) -> list[int]:
        """The indices of the goals of a split, ascending; `goals` names a goal set of the server's
        other than its default."""
        found: list[int] = []
        while True:
            answer = self.call("goals", split=split, goals=goals, offset=len(found))
            found += answer["indices"]
            if len(found) >= answer["count"]:
                return found

    def tasks(self, split: str = "all") -> dict[str, int]:
        """The tasks of a split, and how many rows each has."""
        listed = self.call("tasks", split=split)["tasks"]
        return {task["task"]: task["rows"] for task in listed}

    def batch(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Many calls in one message; the first refusal among them is raised."""
        results: list[dict[str, Any]] = self.call("batch", calls=calls)["results"]
        for result in results:
            check(result)
        return results

    def call(self, do: str, **arguments: Any) -> dict[str, Any]:
        """One call and its answer."""
        message = packed({"do": do, **arguments})
        for _ in range(PATIENCE):
            with self._lock:
                answer = self._ask(message)
            seconds = busy_seconds(answer)
            if seconds is None:
                break
            time.sleep(seconds)
        check(answer)
        return answer

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _ask(self, message: bytes) -> dict[str, Any]:
        try:
            self._socket.send(message)
            answer: dict[str, Any] = self._decode(self._socket.recv(self._timeout, decode=False))
        except TimeoutError:
            # What comes late would be taken for the answer to the next call.
            self._socket.close()
            raise ErrandsError(
                f"The server did not answer within {self._timeout:g} seconds; connect anew."
            ) from None
        except Exception as failure:
            raise broken(failure) from None
        except BaseException:
            # Ctrl-C, or the alarm of whoever plays: the answer is still to come, as above.
            self._socket.close()
            raise
        return answer


def packed(call: dict[str, Any]) -> bytes:
    """A call as it is sent."""
    try:
        return encode_msgpack(call)
    except (TypeError, ValueError, OverflowError, RecursionError) as failure:
        raise SettingError(
            f"The call {call['do']!r} cannot be sent ({failure}); expected texts, numbers of at"
            " most 64 bits, lists and dictionaries."
        ) from None


def busy_seconds(answer: dict[str, Any]) -> float | None:
    """How long to wait before a busy server is asked again; None: it has answered."""
    error = answer.get("error")
    if error is None or error["code"] != "busy":
        return None
    return min(float(error.get("retry_after") or 1), 5.0)


def check(answer: dict[str, Any]) -> None:
    """Raise what a server refused."""
    error = answer.get("error")
    if error is not None:
        raise RemoteError(error["code"], error["message"])


def handshake(url: str, token: str | None, timeout: float) -> dict[str, Any]:
    """What the connection to a server is opened with."""
    return {
        "uri": _socket_address(url),
        "additional_headers": {"Authorization": f"Bearer {token}"} if token else None,
        "compression": None,
        "max_size": None,
        "open_timeout": timeout,
        "proxy": None,
    }


def no_websockets() -> ErrandsError:
    return ErrandsError(f"Remote environments need websockets; run {install_command('serve')}.")


def broken(failure: object) -> ErrandsError:
    return ErrandsError(
        f"The connection to the server broke ({failure}); connect anew. Its sessions live on until"
        " they expire."
    )


def _socket_address(url: str) -> str:
    parts = urlsplit(url)
    schemes = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
    if parts.scheme not in schemes or not parts.netloc:
        raise SettingError(
            f"url={url!r}: expected a server's address, as in 'http://127.0.0.1:8000'."
        )
    return f"{schemes[parts.scheme]}://{parts.netloc}{parts.path.rstrip('/')}/v1/socket"


def no_connection(url: str, failure: Exception) -> ErrandsError:
    response = getattr(failure, "response", None)
    if response is not None:
        try:
            message = msgspec.json.decode(response.body)["error"]["message"]
        except (msgspec.DecodeError, RecursionError, KeyError, TypeError):
            message = f"HTTP status {response.status_code}"
        return ErrandsError(f"{url} refused the connection: {message}")
    return ErrandsError(
        f"There is no server at {url} ({failure}); start one with `errands serve --environments`."
    )
