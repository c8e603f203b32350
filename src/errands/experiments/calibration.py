"""Whether a generated shop is as hard as the paper's: catalogues of several seeds, beside it.

For each seed a catalogue is generated, some of its human goals are drawn, and counted are what the
rule and the choice oracle score on them, the latter with each of the paper's four sources of
queries (table 5), beside everything that `goal_study` counts. What a seed gave is kept in the
folder, so a study that was stopped goes on; a catalogue is removed once it is counted, unless it
is to be kept. Difficulties were set by other seeds than those that are reported.
"""

import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

import msgspec

from errands.agents.oracles.query_source import QUERIES
from errands.atomic import atomic_write
from errands.errors import DataError, SettingError
from errands.experiments.goal_study import (
    Statistics,
    beside_the_real,
    goal_statistics,
    real_figure,
    sampled_goals,
    search_statistics,
)
from errands.progress import Progress, silent
from errands.shop.build.builder import generate_catalog
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal, instruction_key
from errands.shop.synthetic.difficulty import difficulty as named_difficulty
from errands.shop.synthetic.queries import Searches, search_queries

__all__ = ["FULL_SIZE", "SeedFigures", "calibrate", "to_markdown"]

FULL_SIZE: Final = 1_181_436
_TITLES: Final = {
    "rule": "rule",
    "choice_oracle": "choice oracle, the instruction",
    "predicted": "choice oracle, a model's query",
    "human-first": "choice oracle, people's first query",
    "human-last": "choice oracle, people's last query",
}


class SeedFigures(msgspec.Struct, frozen=True):
    """What one generated catalogue gave."""

    difficulty: str
    products: int
    seed: int
    """Of the generator."""
    sample: int
    """How many goals were drawn."""
    figures: Statistics


def calibrate(
    folder: Path,
    *,
    difficulty: str = "paper",
    products: int = FULL_SIZE,
    seeds: Sequence[int] = (101, 102, 103),
    sample: int = 3000,
    workers: int | None = None,
    keep: bool = False,
    progress: Progress = silent,
) -> list[SeedFigures]:
    """Generate and count a catalogue for each seed; what the folder has is not done again."""
    named_difficulty(difficulty)
    if products < 1 or sample < 1 or not seeds:
        raise SettingError("A calibration needs at least one product, one goal and one seed.")
    return [
        _counted(folder, difficulty, products, seed, sample, workers, keep, progress)
        for seed in dict.fromkeys(seeds)
    ]


def _counted(
    folder: Path,
    difficulty: str,
    products: int,
    seed: int,
    sample: int,
    workers: int | None,
    keep: bool,
    progress: Progress,
) -> SeedFigures:
    name = f"{difficulty}-{products}-{seed}"
    place, kept = folder / name, folder / f"{name}-{sample}.json"
    if kept.exists():
        try:
            return msgspec.json.decode(kept.read_bytes(), type=SeedFigures)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, OSError) as failure:
            raise DataError(f"{kept} is damaged ({failure}); remove it.") from None
    if not place.exists():
        generate_catalog(
            place,
            products=products,
            seed=seed,
            difficulty=difficulty,
            workers=workers,
            progress=progress,
        )
    counted = _figures(Catalog.open(place), sample, progress)
    made = SeedFigures(difficulty, products, seed, sample, counted)
    content = msgspec.json.format(msgspec.json.encode(made), indent=1)
    try:
        atomic_write(kept, lambda work: work.write_bytes(content))
    except OSError as failure:
        raise DataError(f"{kept} cannot be written ({failure.strerror}).") from None
    if not keep:
        shutil.rmtree(place)
    return made


def _figures(catalog: Catalog, sample: int, progress: Progress) -> Statistics:
    """All of `goal_statistics`, and the choice oracle with the queries of people and a model."""
    counted = goal_statistics(catalog, "human", sample=sample, progress=progress)
    made = catalog.manifest.made
    knobs = named_difficulty(catalog.manifest.difficulty or "easy")
    searches = {
        instruction_key(one.instruction): one
        for one in search_queries(int(made["seed"]), len(catalog), knobs)
    }
    held = catalog.goals("human")
    goals = sampled_goals(held, sample, random.Random(0))
    for source in QUERIES[1:]:
        queries = [_query(searches, goal, source) for goal in goals]
        found = search_statistics(catalog, goals, held, queries, progress)
        counted |= {
            f"{source}_score": found["choice_oracle_score"],
            f"{source}_success": found["choice_oracle_success"],
        }
    return counted


def _query(searches: dict[str, Searches], goal: Goal, source: str) -> str:
    found = searches[instruction_key(goal.instruction_text)]
    if source == "predicted":
        return found.predicted[0]
    return found.people[0 if source == "human-first" else -1]


def to_markdown(rows: Sequence[SeedFigures]) -> str:
    """Scores and statistics of seeds of one difficulty and size, beside the paper's."""
    first = rows[0]
    seeds = [f"seed {row.seed}" for row in rows]
    lines = [
        f"`{first.difficulty}`, {first.products:,} products,"
        f" {first.figures['goals_counted']:,.0f} goals of each seed; score / success in %.",
        "",
        f"| agent | paper | {' | '.join(seeds)} | mean | mean less paper |",
        f"|---|---:|{'---:|' * (len(rows) + 2)}",
    ]
    for name, title in _TITLES.items():
        real = real_figure(f"{name}_score"), real_figure(f"{name}_success")
        here = [(row.figures[f"{name}_score"], row.figures[f"{name}_success"]) for row in rows]
        mean = fmean(score for score, _ in here), fmean(success for _, success in here)
        less = (mean[0] - real[0]) * 100, (mean[1] - real[1]) * 100
        cells = [*map(_pair, (real, *here, mean)), f"{less[0]:+.1f} / {less[1]:+.1f}"]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    lines += [
        "",
        f"| statistic | real | {' | '.join(seeds)} | real: counted on |",
        f"|---|---:|{'---:|' * len(rows)}---|",
    ]
    scores = {f"{name}_{part}" for name in _TITLES for part in ("score", "success")}
    compared = [beside_the_real(row.figures, "human") for row in rows]
    for name, statistics in zip(first.figures, zip(*compared, strict=True), strict=True):
        real_value = statistics[0].real
        if name not in scores and real_value is not None:
            values = " | ".join(_short(one.here) for one in statistics)
            told = f"{_short(real_value)} | {values} | {statistics[0].of}"
            lines.append(f"| {statistics[0].name} | {told} |")
    return "\n".join(lines)


def _pair(figures: tuple[float, float]) -> str:
    return f"{figures[0]:.1%} / {figures[1]:.1%}".replace("%", "")


def _short(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,}" if float(value).is_integer() else f"{value:.4g}"
