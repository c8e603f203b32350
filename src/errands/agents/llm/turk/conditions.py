"""Conditions: the rows of a published table as data, each with the settings that reproduce it.

What is played (tasks, instances, rules) is the protocol's; what an agent is shown is the
condition's. So all rows of a table are runs of one protocol, and stand in one report.
"""

import functools
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any, Final

import msgspec

from errands.agents.llm.presets import taken
from errands.agents.llm.settings import ClientSettings, ShopSettings, TurkSettings, defaults
from errands.errors import SettingError
from errands.plugins import nearest

__all__ = ["Condition", "PublishedTable", "published_table", "usual_settings", "with_condition"]

_FREE: Final = frozenset({"demos", "demo_list", "demo_seed"})
"""What may be set beside a condition: figure 7 is a condition with other numbers of them."""


_OF_ENDPOINT: Final = frozenset({"base_url", "price_in", "price_out"})


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the table."""

    name: str
    model: str
    """As the paper calls it."""
    agent: str = "llm"
    sampling: str = ""
    """How its model was asked: a name of the table's `sampling`."""
    settings: dict[str, Any] = {}
    """What the agent is shown, beside what all rows share."""
    input_tokens: int | None = None
    """The published length of a prompt."""
    score: float
    """The published score, in %."""
    types: dict[str, float] = {}
    """By field type, where that was published."""


class PublishedTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows that were published together."""

    protocol: str
    """The id of the protocol that all rows are runs of."""
    source: str
    shared: dict[str, Any]
    """Settings of all rows of language models."""
    sampling: dict[str, dict[str, Any]]
    rows: tuple[Condition, ...]

    def row(self, name: str) -> Condition:
        """The condition of that name, for the agent llm."""
        for row in self.rows:
            if row.name == name and row.settings:
                return row
        known = [row.name for row in self.rows if row.settings]
        raise SettingError(
            f"There is no condition {name!r};{nearest(name, known)} expected one of"
            f" {', '.join(known)} (`errands turk conditions`)."
        )

    def settings(self, row: Condition, model: object = None) -> dict[str, Any]:
        """All settings that reproduce a row, but for the model: how that is asked is left out as
        far as the given one does not take it."""
        sampling = taken(self.sampling.get(row.sampling, {}), model)
        return {**sampling, **self.shared, **row.settings}

    def condition_of(self, agent: str, settings: Mapping[str, Any]) -> Condition | None:
        """The row that an agent with these settings reproduces; of language models, the one that
        they name."""
        wanted = settings.get("condition") if agent == "llm" else agent
        return next((row for row in self.rows if (row.agent, row.name) == (agent, wanted)), None)

    def place(self, condition: Condition | None) -> int:
        """Where a row stands in the table; what is no row of it comes after all."""
        return len(self.rows) if condition is None else self.rows.index(condition)


@functools.cache
def published_table() -> PublishedTable:
    """Table 4 of the TurkingBench paper."""
    source = resources.files("errands.agents.llm.turk").joinpath("conditions.toml")
    return msgspec.convert(tomllib.loads(source.read_text("utf-8")), PublishedTable)


def with_condition(settings: Mapping[str, Any]) -> dict[str, Any]:
    """An agent's settings, with those of the condition that they name."""
    name = settings.get("condition")
    if name in (None, "null"):
        return dict(settings)
    table = published_table()
    row = table.row(str(name))
    fixed = {setting for setting in (*table.shared, *row.settings) if setting not in _FREE}
    for setting in settings:
        if setting in fixed:
            raise SettingError(
                f"The condition {row.name} sets {setting} itself: leave one of the two out."
            )
    return {**table.settings(row, settings.get("model")), **settings}


def usual_settings(domain: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a model that is run with these settings would have if no other was set: the defaults,
    also of its preset and style, and what its condition says. The model and its endpoint have no
    usual value."""
    play = TurkSettings if domain == "turk" else ShopSettings
    usual = {
        field.name: field.default_factory() if field.default is msgspec.NODEFAULT else field.default
        for record in (ClientSettings, play)
        for field in msgspec.structs.fields(record)
        if not field.required and field.name not in _OF_ENDPOINT
    }
    usual |= {name: value for name, value in defaults(settings).items() if name in usual}
    table = published_table()
    row = table.condition_of("llm", settings)
    return usual if row is None else {**usual, **table.settings(row, settings.get("model"))}
