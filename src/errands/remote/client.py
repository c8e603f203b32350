"""A client: calls to a server over one WebSocket, packed with msgpack.

    with Connection("http://127.0.0.1:8000") as server:
        [session] = server.create("shop", {"split": "train"})
        begun = server.call("reset", session=session, seed=0)

A server that is busy is asked again a little later; every other refusal is a `RemoteError`.
"""

import threading
import time
from typing import Any, Final, Self
from urllib.parse import urlsplit

import msgspec

from errands.errors import ErrandsError, SettingError
from errands.remote.messages import encode_msgpack

__all__ = ["Connection", "RemoteError"]

_PATIENCE: Final = 20
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
            raise ErrandsError(
                'Remote environments need websockets; run pip install "errands[serve]".'
            ) from None
        self._lock = threading.Lock()
        self._timeout = timeout
        self._decode = msgspec.msgpack.Decoder().decode
        address = _socket_address(url)
        headers = {"Authorization": f"Bearer {token}"} if token else None
        try:
            connection = connect(
                address,
                additional_headers=headers,
                compression=None,
                max_size=None,
                open_timeout=timeout,
                proxy=None,
            )
            # Left again by `close`: newer versions give the connection only to a `with`.
            self._socket = connection.__enter__()
        except Exception as failure:
            raise ErrandsError(_no_connection(url, failure)) from None

    def create(self, environment: str, settings: dict[str, Any], count: int = 1) -> list[str]:
        """Open sessions."""
        answer = self.call("create", environment=environment, settings=settings, count=count)
        sessions: list[str] = answer["sessions"]
        return sessions

    def batch(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Many calls in one message; the first refusal among them is raised."""
        results: list[dict[str, Any]] = self.call("batch", calls=calls)["results"]
        for result in results:
            _check(result)
        return results

    def call(self, do: str, **arguments: Any) -> dict[str, Any]:
        """One call and its answer."""
        message = encode_msgpack({"do": do, **arguments})
        for _ in range(_PATIENCE):
            with self._lock:
                answer = self._ask(message)
            error = answer.get("error")
            if error is None or error["code"] != "busy":
                break
            time.sleep(min(float(error.get("retry_after") or 1), 5.0))
        _check(answer)
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
            raise ErrandsError(
                f"The connection to the server broke ({failure}); connect anew. Its sessions live"
                " on until they expire."
            ) from None
        except BaseException:
            # Ctrl-C, or the alarm of whoever plays: the answer is still to come, as above.
            self._socket.close()
            raise
        return answer


def _check(answer: dict[str, Any]) -> None:
    error = answer.get("error")
    if error is not None:
        raise RemoteError(error["code"], error["message"])


def _socket_address(url: str) -> str:
    parts = urlsplit(url)
    schemes = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
    if parts.scheme not in schemes or not parts.netloc:
        raise SettingError(
            f"url={url!r}: expected a server's address, as in 'http://127.0.0.1:8000'."
        )
    return f"{schemes[parts.scheme]}://{parts.netloc}{parts.path.rstrip('/')}/v1/socket"


def _no_connection(url: str, failure: Exception) -> str:
    response = getattr(failure, "response", None)
    if response is not None:
        try:
            message = msgspec.json.decode(response.body)["error"]["message"]
        except (msgspec.DecodeError, KeyError, TypeError):
            message = f"HTTP status {response.status_code}"
        return f"{url} refused the connection: {message}"
    return (
        f"There is no server at {url} ({failure}); start one with `errands serve --environments`."
    )
