"""What is known of models by their names, and of published prompting styles: defaults of settings.

`presets.toml` says which request fields a model takes, how long its answers may have to be and how
much it can read. Only defaults come from here, and a run keeps what was decided, so a model that
nobody knew when it was written needs a few settings and no new version.
"""

import functools
import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any, Final

import msgspec

__all__ = ["PUBLISHED_STYLES", "Preset", "Presets", "known_presets", "preset_of", "taken"]

_LONGEST: Final = 200
"""Characters of a model's name that are looked at."""
PUBLISHED_STYLES: Final[Mapping[str, Mapping[str, Any]]] = {
    name: {
        "top": 3,
        "window": 6400,
        "shots": 1,
        "thoughts": 0,
        "repairs": 0,
        "max_tokens": 100,
    }
    for name in ("act-2022", "react-2022")
}
"""How models were prompted in the ReAct paper's runs on WebShop: docs/guides/language-models.md."""

_SAMPLING: Final = frozenset({"temperature", "top_p", "extra"})


class Preset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of some models."""

    name: str
    pattern: str
    temperature: bool = True
    """Whether they take temperature and other settings of sampling."""
    reasoning: bool = False
    """Whether they reason before they answer, which counts against the limit of tokens."""
    settings: dict[str, Any] = {}

    def defaults(self) -> dict[str, Any]:
        """The settings that such a model gets if nobody says otherwise."""
        return {**self.settings, **({} if self.temperature else {"temperature": None})}


class Presets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that is known, the first that fits counts."""

    version: int
    date: str
    models: tuple[Preset, ...]


@functools.cache
def known_presets() -> Presets:
    """The presets that come with Errands."""
    source = resources.files("errands.agents.llm").joinpath("presets.toml")
    return msgspec.convert(tomllib.loads(source.read_text("utf-8")), Presets)


def preset_of(model: object) -> Preset:
    """What is known of a model of this name."""
    return next(
        preset
        for preset in known_presets().models
        if re.search(preset.pattern, str(model)[:_LONGEST], re.IGNORECASE)
    )


def taken(settings: Mapping[str, Any], model: object) -> dict[str, Any]:
    """Published settings of how a model was asked, without those that this one does not take, or
    that leave it no room to reason."""
    preset = preset_of(model)
    left_out = set() if preset.temperature else set(_SAMPLING)
    left_out |= {"max_tokens"} if preset.reasoning else set()
    return {name: value for name, value in settings.items() if name not in left_out}
