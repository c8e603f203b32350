"""How instructions are collected: the pay, how many for each product, trials, review."""

import json
from typing import Annotated, Any, Final

import msgspec

from errands.crowd.store.database import Database, ReadDatabase
from errands.errors import SettingError

__all__ = ["TABLES", "WritingSettings", "checked_settings", "read_settings", "write_settings"]

TABLES: Final = "CREATE TABLE collecting (name TEXT PRIMARY KEY, value TEXT NOT NULL);"


class WritingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


def read_settings(source: ReadDatabase) -> WritingSettings:
    """The settings as they are."""
    held = {
        name: json.loads(value)
        for name, value in source.rows("SELECT name, value FROM collecting")
        if name in WritingSettings.__struct_fields__
    }
    return checked_settings(held)


def write_settings(database: Database, settings: WritingSettings) -> None:
    """Set all of them; what was handed in keeps the pay it had."""
    pairs = [
        (name, json.dumps(value))
        for name, value in msgspec.to_builtins(checked_settings(settings)).items()
    ]
    database.run_many(
        "INSERT INTO collecting VALUES (?, ?) ON CONFLICT (name) DO"
        " UPDATE SET value = excluded.value",
        pairs,
    )


def checked_settings(given: "dict[str, Any] | WritingSettings") -> WritingSettings:
    """Settings that are possible, or a sentence why they are not."""
    try:
        return msgspec.convert(msgspec.to_builtins(given), WritingSettings)
    except msgspec.ValidationError as failure:
        raise SettingError(f"The settings are not possible: {failure}.") from None
