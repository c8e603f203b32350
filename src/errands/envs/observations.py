"""Observation formats: ours, those of installed packages, and functions of yours.

Wherever a format is asked for (`ShopEnv(observation=...)`, `errands.run`, `--observation`, a
protocol's `observation`) it can be given as a name, as `module:attribute`, or as the function
itself. In the shop it is called with the page, the instruction and the score (None before the
purchase), on form pages with the open page; it returns a text. Packages offer formats by entry
points of the groups `errands.observations` and `errands.turk_observations`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from errands.envs.screenshots import PICTURED
from errands.errors import SettingError
from errands.plugins import Registry, path_of, reference_of

__all__ = [
    "DEFAULT_OBSERVATIONS",
    "SHOP_FORMATS",
    "TURK_FORMATS",
    "ForeignFormat",
    "Observation",
    "foreign_format",
    "observation_key",
    "observation_reference",
]

Observation = str | Callable[..., str]

DEFAULT_OBSERVATIONS: Final[Mapping[str, str]] = {"shop": "text", "turk": "html"}
"""What is shown where nobody says anything, by domain."""

SHOP_FORMATS: Final = Registry(
    "observation format",
    "errands.observations",
    {
        **{
            name: f"errands.envs.episode:ShopEpisode.{name}"
            for name in ("text", "text_rich", "html", "url")
        },
        **dict.fromkeys(PICTURED, "errands.envs.episode:ShopEpisode.html"),
    },
)
TURK_FORMATS: Final = Registry(
    "observation format",
    "errands.turk_observations",
    dict.fromkeys(("html", "relevant", "text", *PICTURED), "errands.envs.turk:TurkEnv"),
)


class ForeignFormat:
    """A format that is not ours: what it is called in results, and a check of what it returns.

    `name` and `version` are attributes of the function; without them it is called by where it is
    defined, and its version is 0. Raise the version whenever an observation can change.
    """

    def __init__(self, function: Callable[..., str]) -> None:
        self.function = function
        self.name = str(getattr(function, "name", None) or path_of(function))
        self.version = str(getattr(function, "version", "0"))

    def __call__(self, *shown: Any) -> str:
        text: Any = self.function(*shown)
        if not isinstance(text, str):
            raise SettingError(
                f"The observation format {self.name!r} returned a {type(text).__name__}; expected"
                " a text."
            )
        return text


def foreign_format(registry: Registry, observation: Observation) -> ForeignFormat | None:
    """The format, where it is not one of ours; a class is called without arguments."""
    if isinstance(observation, str) and observation in registry.own:
        return None
    found: Any = registry.find(observation) if isinstance(observation, str) else observation
    if isinstance(found, type):
        found = found()
    if not callable(found):
        raise SettingError(
            f"The observation format {observation!r} cannot be called; expected a function that"
            " returns a text."
        )
    return found if isinstance(found, ForeignFormat) else ForeignFormat(found)


def observation_key(registry: Registry, observation: Observation) -> str:
    """What a format adds to the key of a result; nothing for ours."""
    foreign = foreign_format(registry, observation)
    return "" if foreign is None else f"observation:{foreign.name}@{foreign.version}"


def observation_reference(observation: Observation) -> str:
    """The text by which other processes find a format; empty where they cannot."""
    if isinstance(observation, str):
        return observation
    if isinstance(observation, ForeignFormat):
        return reference_of(observation.function)
    return reference_of(observation)
