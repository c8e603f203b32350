"""Whether trained agents travel: the main table's models in shops that they have never seen.

    experiment = travel_experiment(("webshop-1k=shop-1k", "full"))

Models that were trained on one generated catalogue play there, on a catalogue that another seed
generated, and wherever else is named: `CATALOG` for fresh goals of the difficulty in it, or
`PROTOCOL=CATALOG` for the goals of a protocol. Beside them are the scripts and the choice oracle.
"""

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from errands.errors import SettingError
from errands.experiments.config import ExperimentConfig
from errands.experiments.jobs import Advise, ExperimentJob, Improve, OtherShop, Play
from errands.experiments.paper import Experiment, RowSpec
from errands.runs.protocol import find_protocol
from errands.shop.catalog.catalog import Catalog

__all__ = ["travel_experiment"]

_OTHER_SEED: Final = 2


class _Destination(NamedTuple):
    """Where agents are tested."""

    title: str
    label: str
    """In the names of runs; empty: where the main table tests."""
    protocol: str = ""
    data: str = ""
    shop: OtherShop | None = None


def travel_experiment(places: Sequence[str]) -> Experiment:
    """The table of models that were trained in one shop, in several."""
    if len(set(places)) < len(places):
        raise SettingError("A place is named twice; name each but once.")
    found = [
        _Destination("where they learnt", ""),
        _generated("another seed", "other-seed", OtherShop("other-seed", seed=_OTHER_SEED)),
        *map(_place, places),
    ]
    return Experiment(
        "In the shop where they learnt, and in others",
        rows=lambda config: [row for place in found for row in _rows(config, place)],
        before=lambda config: _before(config, found),
        notes=lambda config: [
            "IL and IL+RL are the main table's models, of the shop in the first rows; nothing of"
            " the other shops was learnt from. Fresh goals of the difficulty in generated shops,"
            " the protocol's own elsewhere."
        ],
        needs=_check,
    )


def _place(named: str) -> _Destination:
    protocol, _, data = named.rpartition("=")
    # What a folder keeps goes by this name, whichever other places its tables are of.
    name = f"place-{hashlib.sha256(named.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    found = find_protocol(protocol) if protocol else None
    if found is not None and found.domain != "shop":
        raise SettingError(f"{protocol} is no protocol of the shop; agents travel between shops.")
    Catalog.open(data)  # What is none is refused before hours of training.
    if found is None:
        return _generated(named, name, OtherShop(name, catalog=data))
    return _Destination(f"{named}, {found.max_steps} steps", name, protocol, data)


def _generated(title: str, name: str, shop: OtherShop) -> _Destination:
    return _Destination(title, name, f"{{{name}}}", "", shop)


def _rows(config: ExperimentConfig, place: _Destination) -> list[RowSpec]:
    def plays(label: str, agent: str, model: str = "", **settings: str) -> list[Play]:
        name = f"run-{label}" if not place.label else f"run-{place.label}-{label}"
        if not model:
            return [Play(name, agent, settings, protocol=place.protocol, data=place.data)]
        return [
            Play(
                f"{name}-{seed}",
                agent,
                # As the main table has them, whose runs these are where the models learnt.
                {"checkpoint": f"{{{model}-{seed}}}", "search": ""},
                seed,
                place.protocol,
                place.data,
            )
            for seed in config.seeds
        ]

    rows = {
        "rule": plays("rule", "rule"),
        "careful": plays("careful", "careful"),
        "shopper": plays("unerring", "shopper", errors="0"),
        "IL": plays("dagger", "il", "dagger"),
        "IL+RL": plays("dagger-ppo", "rl", "dagger-ppo"),
        "choice oracle": plays("oracle", "choice-oracle"),
    }
    return [RowSpec(f"{place.title}: {name}", runs) for name, runs in rows.items()]


def _before(config: ExperimentConfig, places: Sequence[_Destination]) -> list[ExperimentJob]:
    jobs: list[ExperimentJob] = [place.shop for place in places if place.shop is not None]
    for seed in config.seeds:
        jobs += [
            Advise(f"dagger-{seed}", seed),
            Improve(f"dagger-ppo-{seed}", seed, f"dagger-{seed}"),
        ]
    return jobs


def _check(config: ExperimentConfig) -> None:
    if not config.difficulty:
        raise SettingError("Agents travel from a generated shop; add --difficulty paper or easy.")
