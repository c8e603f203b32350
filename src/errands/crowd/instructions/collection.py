"""How instructions are collected: the pay, how many for each product, trials, review."""

import json
from typing import Annotated, Any, Final

import msgspec

from errands.crowd.store.database import Database, Reading
from errands.errors import SettingError

__all__ = ["TABLES", "Collecting", "collecting_of", "read_collecting", "write_collecting"]

TABLES: Final = "CREATE TABLE collecting (name TEXT PRIMARY KEY, value TEXT NOT NULL);"


class Collecting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings; the pay is what WebShop's writers got."""

    pay: Annotated[float, msgspec.Meta(ge=0, le=1000)] = 0.15
    """Dollars for an instruction."""
    wanted: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    """Instructions for each product."""
    trials: Annotated[int, msgspec.Meta(ge=2, le=5)] = 3
    """Examples that somebody writes before they are qualified."""
    review: bool = False
    """Whether what qualified people write waits for a review, too."""
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**62)] = 0
    """Of the generator that draws products."""


def read_collecting(source: Reading) -> Collecting:
    """The settings as they are."""
    held = {
        name: json.loads(value)
        for name, value in source.rows("SELECT name, value FROM collecting")
        if name in Collecting.__struct_fields__
    }
    return collecting_of(held)


def write_collecting(database: Database, settings: Collecting) -> None:
    """Set all of them; what was handed in keeps the pay it had."""
    pairs = [
        (name, json.dumps(value))
        for name, value in msgspec.to_builtins(collecting_of(settings)).items()
    ]
    database.run_many(
        "INSERT INTO collecting VALUES (?, ?) ON CONFLICT (name) DO"
        " UPDATE SET value = excluded.value",
        pairs,
    )


def collecting_of(given: "dict[str, Any] | Collecting") -> Collecting:
    """Settings that are possible, or a sentence why they are not."""
    try:
        return msgspec.convert(msgspec.to_builtins(given), Collecting)
    except msgspec.ValidationError as failure:
        raise SettingError(f"The settings are not possible: {failure}.") from None
