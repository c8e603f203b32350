"""Episodes as plain data: what `snapshot()` of an environment gives and `restore()` takes.

A snapshot is a dictionary that JSON can hold. It names the goal by its place and says where the
episode is, how often it was acted in, and what the next resets will draw; nothing of the goal's
answer is in it. `of` says which data and options it belongs to: elsewhere it is refused.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import msgspec
import numpy as np

from errands.envs.config import ShopConfig
from errands.errors import ErrandsError
from errands.plugins import path_of
from errands.shop.navigation import DETAILS, DONE, ITEM, RESULTS, SEARCH

if TYPE_CHECKING:
    from errands.envs.turk_config import TurkConfig

__all__ = [
    "Purchased",
    "ShopSnapshot",
    "Snapshot",
    "SnapshotError",
    "TurkSnapshot",
    "changed_options",
    "plain_snapshot",
    "read_snapshot",
    "rng_from",
    "rng_text",
    "short_hash",
    "unfit",
]

Snapshot = dict[str, Any]
"""Plain data, for JSON."""

Options = tuple[tuple[str, str], ...]
_Count = Annotated[int, msgspec.Meta(ge=0)]
_PAGES: Final = (SEARCH, RESULTS, ITEM, DONE, *DETAILS)


class SnapshotError(ErrandsError, ValueError):
    """A snapshot cannot be taken, or is none of this environment."""


class _Saved(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What snapshots of both domains have."""

    of: str
    """The data and the options."""
    rng: str
    """The state of the generator that draws the next episodes."""
    steps: _Count
    over: bool
    truncated: bool
    valid_action: bool
    page_changed: bool


class Purchased(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was bought last."""

    product: int
    options: Options


class ShopSnapshot(_Saved, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a customer is."""

    goal: int
    session: str
    page: Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(_PAGES)})$")]
    query: str
    number: _Count
    product: int
    options: Options
    visited: tuple[str, ...]
    purchased: Purchased | None
    seen: tuple[str, ...]
    """The latest observations, where earlier ones are shown, too."""
    actions: tuple[str, ...]


class TurkSnapshot(_Saved, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was done on a form page."""

    task: str
    row: int
    data: str
    """Of the task, and who shows it."""
    actions: tuple[str, ...]
    """All that were carried out, as calls."""
    message: str


Saved = TypeVar("Saved", ShopSnapshot, TurkSnapshot)


def plain_snapshot(saved: _Saved) -> Snapshot:
    """A snapshot as JSON gives it back."""
    plain: Snapshot = _plain(msgspec.to_builtins(saved))
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def unfit(what: str) -> SnapshotError:
    """A snapshot of the right data that no environment has written."""
    return SnapshotError(f"The snapshot was changed: it has {what}.")


def read_snapshot(kind: type[Saved], snapshot: Any, fingerprint: str) -> Saved:
    """A snapshot, checked: it must be of the data and options of this fingerprint."""
    of = snapshot.get("of") if isinstance(snapshot, Mapping) else None
    if not isinstance(of, str):
        raise SnapshotError(
            f"This is no snapshot but a {type(snapshot).__name__}; expected what snapshot() gave."
        )
    if of != fingerprint:
        raise SnapshotError(
            f"The snapshot is of {of[:300]!r}, and this environment is {fingerprint!r}: restore it"
            " where data and options are the same."
        )
    try:
        return msgspec.convert(snapshot, kind)
    except (msgspec.ValidationError, UnicodeError) as failure:
        raise SnapshotError(
            f"The snapshot was changed ({failure}); expected what snapshot() gave."
        ) from None


def changed_options(config: "ShopConfig | TurkConfig", but: Collection[str]) -> str:
    """The options that are not as usual, in one line."""
    told = []
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name not in but and value != field.default:
            plain = value if isinstance(value, str | int | None) else path_of(value)
            told.append(f"{field.name}:{plain}")
    return " ".join(told)


def short_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def rng_text(rng: np.random.Generator) -> str:
    """The state of a generator; its numbers are too large for the JSON of some languages.

    >>> rng_text(np.random.Generator(np.random.PCG64(7)))[:12]
    'PCG64 7b44c3'
    """
    state: Any = rng.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise SnapshotError(
            f"The environment draws by {state['bit_generator']}; a snapshot can hold the state of"
            " Gymnasium's own generator only, PCG64."
        )
    inner = state["state"]
    return (
        f"PCG64 {inner['state']:x} {inner['inc']:x} {state['has_uint32']:x} {state['uinteger']:x}"
    )


def rng_from(text: str) -> np.random.Generator:
    """The generator with that state."""
    name, *numbers = text.split(" ")
    try:
        state, inc, has_uint32, uinteger = (int(number, 16) for number in numbers)
        bits = np.random.PCG64(0)
        bits.state = {
            "bit_generator": name,
            "state": {"state": state, "inc": inc},
            "has_uint32": has_uint32,
            "uinteger": uinteger,
        }
    except (ValueError, OverflowError, TypeError):
        raise unfit(f"the generator state {text[:60]!r}") from None
    return np.random.Generator(bits)
