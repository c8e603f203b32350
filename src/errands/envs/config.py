"""The options of the environments: one frozen record a domain, the only place they are spelled.
That of form pages is in `turk_config`: who shops has no use for them.

The single, the vector, the remote, the website's and the live environment take these records:
`ShopEnv(config=ShopConfig(split="test"))` is `ShopEnv(split="test")`.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from errands.envs.observations import Observation
from errands.envs.screenshots import PICTURED
from errands.errors import SettingError
from errands.plugins import nearest
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import GoalSet
from errands.shop.rewards.rules import RewardRules

if TYPE_CHECKING:
    from errands.envs.turk_config import TurkConfig

__all__ = ["OptionError", "ShopConfig", "check_choice", "check_steps", "config_from"]

_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "goal_draw": ("released", "weighted", "uniform"),
    "marks": ("released", "true"),
    "after_purchase": ("locked", "open"),
}


class OptionError(SettingError, TypeError):
    """An environment has no such option, or not so many, or was given one twice."""


@dataclass(frozen=True)
class ShopConfig:
    """How the shop is played."""

    catalog: str | os.PathLike[str] | Catalog = "demo"
    """A directory, a name, or an open catalogue."""
    goals: str | os.PathLike[str] | GoalSet = "synthetic"
    """`synthetic`, `human`, a goal file, or a goal set."""
    split: str | None = None
    """`test`, `eval`, `train` and others of docs/guides/original-data.md; None: all goals."""
    observation: Observation = "text"
    """`text`, `text_rich`, `html`, `url`; with a browser `screenshot`, `html+screenshot`; or a
    format of your own (`errands.envs.observations`)."""
    rules: str | RewardRules = "released"
    """The reward, by name, `module:attribute` or as an object: see docs/explanation/reward.md."""
    max_steps: int | None = None
    """Episodes are truncated after so many actions; None: never."""
    search_anywhere: bool = True
    """False: on the search page only, as the paper says."""
    num_prev_obs: int = 0
    """So many earlier observations stand before each observation."""
    num_prev_actions: int = 0
    _: KW_ONLY
    # Quirks of the original, each of which can be switched: see docs/explanation/compatibility.md.
    show_attrs: bool = False
    special_queries: bool = False
    goal_draw: str = "released"
    marks: str = "released"
    after_purchase: str = "locked"

    def __post_init__(self) -> None:
        check_steps(self.max_steps)
        if self.num_prev_obs < 0 or self.num_prev_actions < 0:
            raise SettingError("num_prev_obs and num_prev_actions must be 0 or more.")
        if self.observation in PICTURED and (self.num_prev_obs or self.num_prev_actions):
            raise SettingError(
                f"observation={self.observation!r} shows one page and nothing of earlier ones:"
                " num_prev_obs and num_prev_actions must be 0."
            )
        for name in ("goal_draw", "marks", "after_purchase"):
            check_choice(name, getattr(self, name), _CHOICES[name])


Config = TypeVar("Config", ShopConfig, "TurkConfig")


def config_from(
    kind: type[Config],
    config: Config | None,
    arguments: Sequence[Any],
    options: Mapping[str, Any],
) -> Config:
    """The record of an environment's arguments: options alone, or a record and what differs."""
    names = [field.name for field in fields(kind)]
    ordered = [field.name for field in fields(kind) if not field.kw_only]
    if len(arguments) > len(ordered):
        raise OptionError(
            f"{len(arguments)} options were given by their order; expected at most {len(ordered)}:"
            f" {', '.join(ordered)}. Others are given by name."
        )
    for option in ordered[: len(arguments)]:
        if option in options:
            raise OptionError(f"The option {option!r} was given twice: by its order and by name.")
    for option in options:
        if option not in names:
            raise OptionError(
                f"There is no option {option!r};{nearest(option, names)} expected"
                f" {', '.join(names)}."
            )
    if config is None:
        return kind(*arguments, **options)
    if arguments:
        raise SettingError("With a config, options are given by name.")
    return replace(config, **options)


def check_steps(max_steps: int | None) -> None:
    """Refuse what is no number of steps."""
    if max_steps is not None and (not isinstance(max_steps, int) or max_steps < 1):
        raise SettingError(f"max_steps={max_steps!r}: expected 1 or more, or None.")


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse what is not among the choices."""
    if value not in allowed:
        raise SettingError(f"{name}={value!r}: expected {', '.join(allowed)}.")
