"""How an episode lies in a table: columns for what reports count, one packed body for the rest.

Both stores share these rows. Any text can be kept exactly, also what no database takes as text:
NUL and lone halves of surrogate pairs, which models and pages do produce. In text columns they
are escaped; a packed body that holds such halves is kept as bytes throughout. Parts are JSON
values: what goes in as a tuple comes out as a list.
"""

import math
import operator
import re
import zlib
from collections.abc import Iterable
from typing import Any, Final, TypeVar

import msgspec
import numpy as np

from errands.errors import ErrandsError
from errands.native import Array, Size, native
from errands.runs.episode import Episode, Status, Step, Summary
from errands.runs.store.call_packing import packed_calls, whole_calls

__all__ = [
    "COLUMNS",
    "FIGURES",
    "MOST_UNPACKED",
    "MOST_VALUES",
    "STATUSES",
    "SUMMARY",
    "Row",
    "StoreError",
    "columns_of",
    "pack",
    "pack_body",
    "summary_of",
    "summary_row",
    "unescape",
    "unpack",
    "unpack_body",
]

STATUSES: Final[tuple[Status, ...]] = ("done", "truncated", "error")
"""The place of a status in here is its code in `columns`."""

SUMMARY: Final = tuple(field.name for field in msgspec.structs.fields(Summary))
"""The columns of a summary, in order."""
COLUMNS: Final = ", ".join(SUMMARY)

FIGURES: Final = np.dtype(
    [
        ("number", np.int64),
        ("status", np.uint8),
        ("reward", np.float64),
        ("steps", np.int32),
        ("seconds", np.float64),
        ("states", np.int32),
        ("items", np.int32),
        ("searches", np.int32),
        ("tokens_in", np.int64),
        ("tokens_out", np.int64),
        ("cost", np.float64),
    ]
)
"""The columns that `columns` reads."""

_SMALL: Final = 4096
"""Bodies up to here are kept as they are: squeezing them costs more than it saves."""
MOST_UNPACKED: Final = 256 << 20
"""Bytes of one episode; more is no episode."""
MOST_VALUES: Final = 10_000_000
"""Values of one episode: one byte is enough for some that take a hundred in memory."""
_FEW: Final = 1 << 20
"""Bytes that cannot hold too many values."""
_PLAIN, _SQUEEZED, _BYTES = b"m", b"z", b"s"

_CALLS: Final = operator.attrgetter("calls")
_ODD: Final = re.compile("[\x00\x10\ud800-\udfff]")
_ESCAPED: Final = re.compile("\x10([0-9a-f]{4})")

T = TypeVar("T")
Row = tuple[Any, ...]
_Body = tuple[tuple[Step, ...], str, str | None]
_Columns = tuple[
    int, str, Status, float | None, int | None, int, float, int, int, int, int, int, float,
    str, str, bytes,
]  # fmt: skip
"""The types of `SUMMARY`: a damaged file may have any."""


class StoreError(ErrandsError):
    """A store cannot be opened, read or written; the sentence says why and what to do."""


def _plain_number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be kept in an episode")


_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=_plain_number)
_DECODERS: Final[dict[Any, msgspec.msgpack.Decoder[Any]]] = {}


_values = native("msgpack_values", Array(np.uint8), Size, Size, returns=Size)


def pack(value: Any) -> bytes:
    """A value of ours as bytes; the first one says how the others are to be read."""
    try:
        return _PLAIN + _ENCODER.encode(value)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, enc_hook=_plain_number)
        return _BYTES + _ENCODER.encode(_texts_as_bytes(plain))


def unpack(data: bytes, kind: type[T] | Any = Any) -> Any:
    """What was packed, as a value of this type; ValueError where it is damaged."""
    mark, rest = data[:1], data[1:]
    try:
        if mark == _SQUEEZED:
            return unpack(_unsqueezed(rest), kind)
        _check_size(data)
        if mark == _BYTES:
            return msgspec.convert(_bytes_as_texts(msgspec.msgpack.decode(rest)), kind)
        if mark == _PLAIN:
            decoder = _DECODERS.get(kind)
            if decoder is None:
                decoder = _DECODERS[kind] = msgspec.msgpack.Decoder(kind)
            return decoder.decode(rest)
    except (msgspec.MsgspecError, RecursionError, zlib.error) as failure:
        raise ValueError(str(failure)) from None
    raise ValueError(f"unknown packing {mark!r}")


def _check_size(packed: bytes) -> None:
    """Refuse more than an episode has, before it is made: a few kilobytes may be squeezed out of
    hundreds of millions of values."""
    if len(packed) - 1 > MOST_UNPACKED:
        raise ValueError(f"it unpacks to more than {MOST_UNPACKED >> 20} MB")
    if len(packed) > _FEW:
        values = np.frombuffer(packed, np.uint8, offset=1)
        if _values(values, len(values), MOST_VALUES) > MOST_VALUES:
            raise ValueError(f"it holds more than {MOST_VALUES:,} values")


def _unsqueezed(data: bytes) -> bytes:
    """What was squeezed, as far as the limit: a store may be somebody else's."""
    stream = zlib.decompressobj()
    body = stream.decompress(data, MOST_UNPACKED + 1)
    if len(body) > MOST_UNPACKED:
        raise ValueError(f"it unpacks to more than {MOST_UNPACKED >> 20} MB")
    if not stream.eof:
        raise ValueError("it is cut off")
    if body[:1] == _SQUEEZED:
        raise ValueError("it is squeezed twice")
    return body


def _texts_as_bytes(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, dict):
        return {_texts_as_bytes(key): _texts_as_bytes(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_texts_as_bytes(item) for item in value]
    return value


def _bytes_as_texts(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogatepass")
    if isinstance(value, dict):
        return {_bytes_as_texts(key): _bytes_as_texts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_bytes_as_texts(item) for item in value]
    return value


def pack_body(episode: Episode) -> bytes:
    """Steps and pages of an episode."""
    steps = episode.steps
    if any(map(_CALLS, steps)):
        steps = packed_calls(steps)
    body = pack((steps, episode.last_digest, episode.last))
    try:
        _check_size(body)
    except ValueError as failure:
        raise StoreError(
            f"Episode {episode.summary.number} cannot be kept ({failure}); play the run with less"
            " of its pages: --observations hash."
        ) from None
    return body if len(body) <= _SMALL else _SQUEEZED + zlib.compress(body, 1)


def unpack_body(summary: Summary, body: bytes) -> Episode:
    """The whole episode again."""
    steps, last_digest, last = unpack(body, _Body)
    if any(step.calls for step in steps):
        steps = whole_calls(steps)
    return Episode(summary=summary, steps=steps, last_digest=last_digest, last=last)


def summary_row(summary: Summary) -> Row:
    """The columns of `SUMMARY`; figures that are none (NaN, infinity) are refused here."""
    reward, seconds, cost = summary.reward, summary.seconds, summary.cost
    if not math.isfinite(seconds + cost + (reward or 0.0)):
        raise StoreError(
            f"Episode {summary.number} has the reward {reward}, {seconds} seconds and the cost"
            f" {cost}; expected numbers (and no reward at all for an error)."
        )
    success = summary.success
    return (
        summary.number,
        _escape(summary.key),
        summary.status,
        None if reward is None else float(reward),
        None if success is None else int(success),
        summary.steps,
        float(seconds),
        summary.states,
        summary.items,
        summary.searches,
        summary.tokens_in,
        summary.tokens_out,
        float(cost),
        _escape(summary.owner),
        _escape(summary.error),
        pack(summary.parts),
    )


def summary_of(row: Row) -> Summary:
    """A summary from its columns; ValueError where they are damaged."""
    try:
        row = msgspec.convert(row, _Columns)
    except msgspec.ValidationError as failure:
        raise ValueError(f"an episode has a column that makes no sense: {failure}") from None
    number, key, status, reward, success, steps, seconds, states, items, *rest = row
    searches, tokens_in, tokens_out, cost, owner, error, parts = rest
    return Summary(
        number=number,
        key=unescape(key),
        status=status,
        reward=reward,
        success=None if success is None else bool(success),
        steps=steps,
        seconds=seconds,
        states=states,
        items=items,
        searches=searches,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=cost,
        owner=unescape(owner),
        error=unescape(error),
        parts=unpack(parts, dict[str, Any]),
    )


def _escape(text: str) -> str:
    if not text or _ODD.search(text) is None:
        return text
    return _ODD.sub(lambda found: f"\x10{ord(found[0]):04x}", text)


def unescape(text: str) -> str:
    """A text as it was before it was made fit for a column."""
    if "\x10" not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def columns_of(rows: Iterable[Row]) -> dict[str, np.ndarray[Any, Any]]:
    """Rows of `FIGURES` as arrays. A missing reward comes as infinity (no database of ours can
    say NaN in a query) and leaves as NaN."""
    try:
        table = np.fromiter(rows, FIGURES)
    except (TypeError, OverflowError) as failure:
        raise ValueError(f"an episode has a column that makes no sense: {failure}") from None
    columns = {name: np.ascontiguousarray(table[name]) for name in FIGURES.names or ()}
    reward = columns["reward"]
    reward[np.isinf(reward)] = np.nan
    return columns
