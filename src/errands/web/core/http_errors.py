"""Errors that a server answers with: a status, a code for programs and a sentence for people."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from errands.errors import ErrandsError
from errands.remote.messages import Decoder, MessageError, decode, encode_json

if TYPE_CHECKING:  # What plays without a server raises these errors, too.
    from starlette.types import Send

__all__ = [
    "HttpError",
    "bad_request",
    "busy",
    "decode_request",
    "episode_over",
    "existing",
    "internal",
    "no_episode",
    "not_found",
    "respond",
    "send_error",
    "shutting_down",
    "too_large",
    "too_many_sessions",
    "unknown_session",
]


T = TypeVar("T")
Headers = Sequence[tuple[bytes, bytes]]


class HttpError(ErrandsError):
    """A call that is not carried out; nothing has changed because of it."""

    def __init__(
        self, status: int, code: str, message: str, *, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = str(self)
        self.retry_after = retry_after

    def answer(self) -> dict[str, object]:
        """The body of the answer."""
        error: dict[str, object] = {"code": self.code, "message": self.message}
        if self.retry_after is not None:
            error["retry_after"] = self.retry_after
        return {"error": error}


def bad_request(message: str) -> HttpError:
    return HttpError(400, "bad_request", message)


def not_found(message: str) -> HttpError:
    return HttpError(404, "not_found", message)


def existing(thing: T | None, message: str) -> T:
    """Something that may not be there; where it is not, that is the error."""
    if thing is None:
        raise not_found(message)
    return thing


def decode_request(decoder: Decoder, data: bytes | str) -> Any:
    """The record that a request carries; what is none is an error."""
    try:
        return decode(decoder, data)
    except MessageError as failure:
        raise HttpError(400, failure.code, str(failure)) from None


def too_large(what: str) -> HttpError:
    return HttpError(413, "too_large", what)


def unknown_session() -> HttpError:
    return HttpError(
        404,
        "unknown_session",
        "There is no such session: it was never created, was closed, or expired; create another.",
    )


def no_episode() -> HttpError:
    return HttpError(409, "no_episode", "The session has no episode yet; reset it first.")


def episode_over() -> HttpError:
    return HttpError(
        409, "episode_over", "The episode is over; reset the session to begin another."
    )


def too_many_sessions(most: int, whose: str) -> HttpError:
    return HttpError(
        429,
        "too_many_sessions",
        f"{whose} {most} sessions at once; close some, or wait until idle ones expire.",
        retry_after=5,
    )


def busy() -> HttpError:
    return HttpError(
        503, "busy", "The server has as much to do as it takes on; try again.", retry_after=1
    )


def internal() -> HttpError:
    return HttpError(500, "internal", "The server has a defect; its log says more.")


def shutting_down() -> HttpError:
    return HttpError(503, "shutting_down", "The server is shutting down.", retry_after=10)


async def respond(
    send: "Send", status: int, body: bytes, headers: Headers = (), *, kind: str = "http.response"
) -> None:
    """Send a JSON answer."""
    own = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": f"{kind}.start", "status": status, "headers": [*own, *headers]})
    await send({"type": f"{kind}.body", "body": body})


async def send_error(
    send: "Send", error: HttpError, headers: Headers = (), *, kind: str = "http.response"
) -> None:
    more = list(headers)
    if error.retry_after is not None:
        more.append((b"retry-after", str(error.retry_after).encode()))
    if error.status in (408, 413):
        # What is left of the request is not worth reading.
        more.append((b"connection", b"close"))
    await respond(send, error.status, encode_json(error.answer()), more, kind=kind)
