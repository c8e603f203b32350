"""What goes over the wire: calls as typed records, answers as plain dictionaries.

HTTP bodies and WebSocket text frames are JSON, binary frames msgpack; the records are the same.
A WebSocket message says what to `do` and may carry an `id`, which the answer repeats.
"""

from typing import Annotated, Any, Final, Literal

import msgspec

from errands.errors import ErrandsError

__all__ = [
    "MOST_INDICES",
    "BatchCall",
    "Call",
    "CloseCall",
    "CreateCall",
    "Decoder",
    "GoalsCall",
    "Message",
    "MessageError",
    "NumberedMessage",
    "Options",
    "ResetBody",
    "ResetCall",
    "StepBody",
    "StepCall",
    "TasksCall",
    "decode",
    "encode_json",
    "encode_msgpack",
]

_LARGEST: Final = 2**63 - 1
MOST_INDICES: Final = 100_000
"""In one answer; who wants more asks again with an `offset`."""
Whole = Annotated[int, msgspec.Meta(ge=-_LARGEST, le=_LARGEST)]
Seed = Annotated[int, msgspec.Meta(ge=0, le=_LARGEST)]
Name = Annotated[str, msgspec.Meta(max_length=200)]
Id = Annotated[str, msgspec.Meta(max_length=64)] | Whole | None
Options = dict[str, Name | Whole | None]
Settings = dict[str, Name | Whole | bool | None]


class MessageError(ErrandsError):
    """Bytes that are no message; `code` says why, for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Record(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    pass


class _CallBase(_Record, frozen=True, kw_only=True, tag_field="do"):
    id: Id = None


class NumberedMessage(msgspec.Struct, frozen=True):
    """Of a message that may be wrong, what its answer is known by."""

    id: Id = None


class CreateCall(_CallBase, frozen=True, kw_only=True, tag="create"):
    """Open sessions of one environment with the same settings."""

    environment: Literal["shop", "turk"]
    settings: Settings = {}
    count: Annotated[int, msgspec.Meta(ge=1, le=_LARGEST)] = 1


class ResetCall(_CallBase, frozen=True, kw_only=True, tag="reset"):
    """Begin an episode."""

    session: Name
    seed: Seed | None = None
    options: Options = {}


class StepCall(_CallBase, frozen=True, kw_only=True, tag="step"):
    """Act."""

    session: Name
    action: str


class CloseCall(_CallBase, frozen=True, kw_only=True, tag="close"):
    """Give a session up."""

    session: Name


class GoalsCall(_CallBase, frozen=True, kw_only=True, tag="goals"):
    """Ask for the indices of a split of the shop's goals, from one place in it on."""

    goals: Name | None = None
    split: Name | None = None
    offset: Annotated[int, msgspec.Meta(ge=0, le=_LARGEST)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_INDICES)] = MOST_INDICES


class TasksCall(_CallBase, frozen=True, kw_only=True, tag="tasks"):
    """Ask for the tasks of a split, and how many rows each has."""

    split: Name = "all"


Call = ResetCall | StepCall | CloseCall


class BatchCall(_CallBase, frozen=True, kw_only=True, tag="batch"):
    """Many calls at once, done in their order; one that fails leaves the others alone."""

    calls: list[Call]


Message = CreateCall | ResetCall | StepCall | CloseCall | BatchCall | GoalsCall | TasksCall


class ResetBody(_Record, frozen=True, kw_only=True):
    """The body of a reset over HTTP."""

    seed: Seed | None = None
    options: Options = {}


class StepBody(_Record, frozen=True, kw_only=True):
    """The body of a step over HTTP."""

    action: str


Decoder = msgspec.json.Decoder[Any] | msgspec.msgpack.Decoder[Any]


def decode(decoder: Decoder, data: bytes | str) -> Any:
    """A typed record out of bytes that may be anything."""
    try:
        return decoder.decode(data)  # type: ignore[arg-type]
    except msgspec.ValidationError as failure:
        raise MessageError("bad_request", f"The message is not as expected: {failure}.") from None
    except RecursionError:
        raise MessageError("bad_request", "The message is nested too deeply.") from None
    except ValueError as failure:
        kind = "JSON" if isinstance(decoder, msgspec.json.Decoder) else "msgpack"
        raise MessageError(
            f"bad_{kind.lower()}", f"The message is not {kind} in UTF-8: {failure}."
        ) from None


_json = msgspec.json.Encoder()
_msgpack = msgspec.msgpack.Encoder()


def encode_json(answer: Any) -> bytes:
    try:
        return _json.encode(answer)
    except UnicodeEncodeError:
        return _json.encode(_clean(msgspec.to_builtins(answer)))


def encode_msgpack(answer: Any) -> bytes:
    try:
        return _msgpack.encode(answer)
    except UnicodeEncodeError:
        return _msgpack.encode(_clean(msgspec.to_builtins(answer)))


def _clean(value: Any) -> Any:
    """The same without halves of surrogate pairs, which no encoding can carry."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_clean(key): _clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each) for each in value]
    return value
