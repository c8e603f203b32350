"""Training environments: a protocol's goals in a vector environment."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from errands.envs.shop_vector import ShopVectorEnv
from errands.errors import DataError, GoalError, SettingError
from errands.learn.data.view import OBSERVATION
from errands.learn.rollout import VectorShop
from errands.runs.episode_source import ShopSource, open_source
from errands.runs.protocol import Protocol, find_protocol
from errands.runs.store.places import open_run
from errands.shop.fingerprints import GoalFingerprints
from errands.shop.splits import split_indices

__all__ = ["TrainingEnv", "checksum_on", "open_training_env"]


_TESTS: Final = ("test", "disjoint-test")
"""Splits that agents are tested on."""
_DESCRIBED: Final = (
    "id",
    "version",
    "goals",
    "split",
    "max_steps",
    "rules",
    "settings",
)


class TrainingEnv(NamedTuple):
    """Where a policy is trained."""

    env: VectorShop
    """Made with `autoreset="disabled"`; it shows text_rich."""
    goals: Sequence[int]
    """Those that episodes are drawn from."""
    checksum: str = ""
    """Of the catalogue."""
    protocol: Mapping[str, Any] = MappingProxyType({})
    """What of the protocol decides on episodes: a training is resumed with the same."""
    fingerprints: GoalFingerprints | None = None
    """Of the goals, for the checkpoint."""
    test_goals: int = 0
    """How many of the goals are of the split that agents are tested on, disjoint-test."""


def open_training_env(protocol: str, num_envs: int, catalog: str | None = None) -> TrainingEnv:
    """So many environments under a protocol, perhaps with another catalogue than it names."""
    found = find_protocol(protocol)
    if found.domain != "shop":
        raise SettingError(
            f"{protocol} is of the domain {found.domain!r}; models learn from the shop, as in"
            " shop-learn-train."
        )
    if found.split in _TESTS:
        raise SettingError(
            f"{protocol} has the goals of {found.split}, which agents are tested on; train on"
            " others, as in shop-learn-train."
        )
    if catalog is not None:
        found = msgspec.structs.replace(found, data=catalog)
    source = open_source(found)
    if not isinstance(source, ShopSource):
        raise SettingError(f"{protocol} is no protocol of the shop.")
    try:
        env = ShopVectorEnv(
            num_envs,
            autoreset="disabled",
            catalog=source.catalog,
            goals=source.goals,
            observation=OBSERVATION,
            rules=found.rules,
            max_steps=found.max_steps,
            **found.settings,
        )
    except TypeError as failure:
        raise SettingError(
            f"{protocol} has settings that a vector environment cannot use: {failure}."
        ) from None
    described = msgspec.json.decode(
        msgspec.json.encode(
            {**{name: getattr(found, name) for name in _DESCRIBED}, "observation": OBSERVATION}
        )
    )
    return TrainingEnv(
        env,
        source.indices,
        source.checksum,
        described,
        GoalFingerprints.of(source.wanted()),
        _count_test_goals(source),
    )


def _count_test_goals(source: ShopSource) -> int:
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
