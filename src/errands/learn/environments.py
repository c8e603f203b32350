"""The training floor: a protocol's goals in a vector environment, for reinforcement."""

from collections.abc import Sequence
from contextlib import closing
from typing import Any, Final, NamedTuple

import msgspec

from errands.envs.shop_vector import ShopVectorEnv
from errands.errors import DataError, GoalError, SettingError
from errands.runs.episode_source import ShopSource, open_source
from errands.runs.protocol import Protocol, find_protocol
from errands.runs.store.places import open_run
from errands.shop.splits import split_indices

__all__ = ["Floor", "checksum_on", "open_floor"]


_TESTS: Final = ("test", "disjoint-test")
"""Splits that agents are judged on."""
_TOLD: Final = ("id", "version", "goals", "split", "observation", "max_steps", "rules", "settings")


class Floor(NamedTuple):
    """Where shoppers are trained."""

    env: ShopVectorEnv
    goals: Sequence[int]
    checksum: str
    protocol: dict[str, Any]
    """What of the protocol makes the source: a training is resumed with the same."""
    judged: int
    """How many of the goals are of the split that agents are judged on, disjoint-test."""


def open_floor(protocol: str, environments: int, catalog: str | None = None) -> Floor:
    """So many shops under a protocol, perhaps with another catalogue than it names."""
    found = find_protocol(protocol)
    if found.domain != "shop" or found.observation != "text_rich":
        raise SettingError(
            f"{protocol} shows {found.observation} of {found.domain!r}; models learn from the shop"
            " with observation='text_rich', as in shop-learn-train."
        )
    if found.split in _TESTS:
        raise SettingError(
            f"{protocol} has the goals of {found.split}, which agents are judged on; train on"
            " others, as in shop-learn-train."
        )
    if catalog is not None:
        found = msgspec.structs.replace(found, data=catalog)
    source = open_source(found)
    if not isinstance(source, ShopSource):
        raise SettingError(f"{protocol} is no protocol of the shop.")
    try:
        env = ShopVectorEnv(
            environments,
            autoreset="disabled",
            catalog=source.catalog,
            goals=source.goals,
            observation=found.observation,
            rules=found.rules,
            max_steps=found.max_steps,
            **found.settings,
        )
    except TypeError as failure:
        raise SettingError(
            f"{protocol} has settings that many shops at once cannot use: {failure}."
        ) from None
    told = msgspec.json.decode(msgspec.json.encode({name: getattr(found, name) for name in _TOLD}))
    return Floor(env, source.indices, source.checksum, told, _judged(source))


def _judged(source: ShopSource) -> int:
    try:
        tests = split_indices("disjoint-test", source.goals)
    except GoalError:
        return 0
    return len(set(tests).intersection(source.indices))


def checksum_on(place: str, catalog: str) -> str:
    """The checksum that a run would have, had it been played on that catalogue."""
    with closing(open_run(place)) as store:
        data = {**store.info.protocol, "data": catalog, "checksum": ""}
    try:
        protocol = msgspec.convert(data, Protocol)
    except msgspec.ValidationError as failure:
        raise DataError(f"{place} has a protocol that cannot be read ({failure}).") from None
    with closing(open_source(protocol)) as source:
        return source.checksum
