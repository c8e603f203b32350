"""The 1,000 real products as the shop of an experiment: few goals, many options, 15 steps.

    config = with_real_goals(Path("experiment"), real_config(config))

People wrote 13 instructions for these products, so the goals are synthetic ones, of products that
are on one side of the split only. One product has hundreds of them, which say nearly the same: what
is learnt from takes a few of each product, and what is tested on weighs products alike, as
`webshop-1k` does.
"""

from pathlib import Path
from typing import Final

import msgspec

from errands.atomic import atomic_write
from errands.errors import SettingError
from errands.experiments.config import PAPER_RNN, ExperimentConfig
from errands.runs.identity import is_meant_catalog
from errands.runs.protocol import find_protocol
from errands.shop.catalog.catalog import Catalog

__all__ = ["is_real", "real_config", "real_notes", "with_real_goals"]

_TEST: Final = "webshop-1k"
_TRAIN: Final = "webshop-1k-train"
_PER_PRODUCT: Final = 10
_LOOKS: Final = 4
"""Products that a teacher opens: an episode has 15 steps, and each takes two."""
_STEPS: Final = 300
_PLAYED: Final = 65_536
_RNN_PLAYED: Final = 8_000


def is_real(catalog: Catalog) -> bool:
    """Whether these are the 1,000 products that the protocols of `webshop-1k` mean."""
    identity = find_protocol(_TEST).identity
    assert identity is not None
    if abs(len(catalog) - identity.products) > identity.products // 100:
        return False
    return is_meant_catalog(identity, catalog, catalog.goals("synthetic"))


def real_config(config: ExperimentConfig) -> ExperimentConfig:
    """An experiment on the real products; there are few, so trainings are shorter."""
    if config.difficulty:
        raise SettingError(
            "--difficulty asks for goals as a generated shop has them; leave it out for the real"
            " products, whose goals are those of webshop-1k."
        )
    replace = msgspec.structs.replace
    return replace(
        config,
        real=True,
        test=_TEST,
        train=_TRAIN,
        dagger=replace(config.dagger, looks=_LOOKS, num_steps=min(_STEPS, config.dagger.num_steps)),
        further=replace(
            config.further, total_timesteps=min(_PLAYED, config.further.total_timesteps)
        ),
        scratch=replace(
            config.scratch, total_timesteps=min(_PLAYED, config.scratch.total_timesteps)
        ),
        rnn=config.rnn
        if config.rnn == PAPER_RNN
        else replace(config.rnn, total_timesteps=min(_RNN_PLAYED, config.rnn.total_timesteps)),
    )


def with_real_goals(folder: Path, config: ExperimentConfig) -> ExperimentConfig:
    """The config with the protocol of the goals to learn from, written into the folder but once."""
    if not config.real:
        return config
    path = folder / "goals" / "train.toml"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        base = find_protocol(_TRAIN)
        text = (
            f"[{_TRAIN}-few]\nversion = 1\n"
            f'title = "{base.title}; up to {_PER_PRODUCT} of each product"\n'
            f'domain = "shop"\ndata = {msgspec.json.encode(config.catalog).decode()}\n'
            f'goals = "{base.goals}"\nsplit = "{base.split}"\nper_product = {_PER_PRODUCT}\n'
            f"max_steps = {base.max_steps}\n"
        )
        atomic_write(path, lambda work: work.write_text(text, encoding="utf-8"))
    return msgspec.structs.replace(config, train=str(path))


def real_notes(config: ExperimentConfig) -> list[str]:
    """What the paper's figures are of, and these are not."""
    if not config.real:
        return []
    return [
        "Of the 1,000 real products: synthetic goals of disjoint-test, up to 5 a product, products"
        f" weighted alike, 15 steps; learnt from up to {_PER_PRODUCT} goals of each product of"
        " disjoint-train. The paper's figures are of 1,181,436 products, goals that people wrote"
        " and 100 steps: a search among 1,000 products nearly always finds the right one, and a"
        " synthetic goal says its attributes and options in the catalogue's own words. So the"
        " columns are beside each other to be told apart, not compared.",
    ]
