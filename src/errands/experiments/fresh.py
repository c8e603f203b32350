"""Fresh goals for an experiment: some to test on, and others that share nothing with them to learn.

    config = with_fresh_goals(Path("experiment"), config)

Test goals are one each for so many products of the difficulty's demo catalogue, training goals are
several each, in other words, for all others. Both are files in the experiment's folder, beside
protocols that name them, and the same in every process.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from errands.atomic import atomic_write
from errands.errors import GoalError, SettingError
from errands.experiments.config import ExperimentConfig
from errands.shop.catalog.catalog import Catalog
from errands.shop.fresh.draw import fresh_goals
from errands.shop.goals import Goal, GoalSet, ListedGoals, write_goals

__all__ = ["DEMOS", "MAX_STEPS", "with_fresh_goals", "write_test_goals"]

DEMOS: Final = {"paper": "demo", "easy": "demo-easy"}
"""The generated catalogue of each difficulty."""
_TEST_SEED: Final = 900
_TRAINING_SEEDS: Final = (0, 1, 2, 3)
"""Each asks for the same products in other words."""
_SHARES: Final = (0.8, 0.6, 0.4, 0.2)
MAX_STEPS: Final = 100


def with_fresh_goals(folder: Path, config: ExperimentConfig) -> ExperimentConfig:
    """The config with protocols of fresh goals, where it names a difficulty; written but once."""
    if not config.difficulty:
        return config
    if config.difficulty not in DEMOS:
        raise SettingError(
            f"There is no table of the difficulty {config.difficulty!r}; expected"
            f" {' or '.join(DEMOS)}."
        )
    catalog = config.catalog or DEMOS[config.difficulty]
    names = {part: folder / "goals" / f"{part}.toml" for part in ("test", "train")}
    if not all(path.exists() for path in names.values()):
        _write(folder / "goals", catalog, config)
    return msgspec.structs.replace(
        config, catalog=catalog, test=str(names["test"]), train=str(names["train"])
    )


def _write(folder: Path, catalog: str, config: ExperimentConfig) -> None:
    opened = Catalog.open(catalog)
    test = fresh_goals(opened, config.goals, seed=_TEST_SEED, difficulty=config.difficulty)
    training: list[Goal] = []
    for seed in _TRAINING_SEEDS:
        training += _others(opened, seed, config.difficulty, test)
    folder.mkdir(parents=True, exist_ok=True)
    for part, goals in (("test", test), ("train", ListedGoals("train", training, test.price))):
        _write_part(folder, part, goals, opened, catalog, config.difficulty)


def write_test_goals(
    folder: Path, catalog: str, count: int, difficulty: str, apart: Sequence[Path]
) -> Path:
    """A protocol of fresh goals to test on in another shop, which share nothing with some."""
    opened = Catalog.open(catalog)
    folder.mkdir(parents=True, exist_ok=True)
    goals = fresh_goals(opened, count, seed=_TEST_SEED, difficulty=difficulty, disjoint_from=apart)
    return _write_part(folder, "test", goals, opened, catalog, difficulty)


def _write_part(
    folder: Path, part: str, goals: GoalSet, opened: Catalog, catalog: str, difficulty: str
) -> Path:
    path = folder / f"{part}.json"
    atomic_write(path, partial(write_goals, goals=goals, products=opened))
    text = (
        f"[fresh-{difficulty}-{part}]\nversion = 1\n"
        f'title = "Fresh goals of the difficulty {difficulty}, to {part}"\n'
        f'domain = "shop"\ndata = {msgspec.json.encode(catalog).decode()}\n'
        f"goals = {msgspec.json.encode(str(path.absolute())).decode()}\n"
        f"max_steps = {MAX_STEPS}\n"
    )
    toml = folder / f"{part}.toml"
    atomic_write(toml, lambda work: work.write_text(text, encoding="utf-8"))
    return toml


def _others(catalog: Catalog, seed: int, difficulty: str, apart: GoalSet) -> Iterable[Goal]:
    """Goals for most products that are left, which share no product and no wording with some."""
    left = len(catalog) - len(apart)
    for share in _SHARES:  # Not every product can have a goal: it takes an attribute to ask for.
        count = int(share * left)
        if count < 1:
            break
        with suppress(GoalError):
            return fresh_goals(
                catalog, count, seed=seed, difficulty=difficulty, disjoint_from=[apart]
            )
    raise SettingError(
        f"{catalog.path} has too few products left to train on beside {len(apart):,} test goals;"
        " ask for fewer with --goals."
    )
