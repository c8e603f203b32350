"""A search model that learns from what people searched for, beside the rules.

    pairs = read_pairs(Path("goal_query_map.json"), Path("human_goals.json"))
    study = study_queries(Path("queries"), pairs, ["webshop-1k"], config=PRESETS["small"])

The original's file has 1,506 instructions with 2,197 queries of people. Whole instructions are
held out: those of its test goals (0 to 499), as the paper does it, or a share of all. How like
people's a query is can be told for every one of these. What it finds can be told only where the
wanted product is in a catalogue at hand, and of those that people searched for hardly any is among
the 1,000. So ranks and scores are of other goals; none of their instructions is learnt from.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from errands.agents.oracles.best_purchase import PurchaseOption, best_purchase
from errands.agents.page_reading import words as split_words
from errands.errors import DataError
from errands.experiments.real_data import is_real
from errands.experiments.table import interval_text
from errands.learn.data.demonstrations import DemonstratedQuery
from errands.learn.data.queries import own_words
from errands.learn.data.query_pairs import HumanPairs
from errands.learn.models.pretrained_search import check_searcher
from errands.learn.search import SearchTrainingConfig, open_search_model, train_search
from errands.learn.trainer import TrainingOptions
from errands.progress import Progress, silent
from errands.reports.markdown import table as markdown_table
from errands.reports.statistics.estimate import Clusters, Estimate, estimate
from errands.runs.episode_source import ShopSource, open_source
from errands.runs.protocol import find_protocol
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal, GoalSet, instruction_key
from errands.shop.rewards.rules import released
from errands.shop.splits import split_indices

__all__ = [
    "FoundBy",
    "LikePeople",
    "QueryStudy",
    "study_queries",
    "to_markdown",
]

INSTRUCTION: Final = "the instruction"
OWN_WORDS: Final = "its own words"
MODEL: Final = "the model"
_MOST_GOALS: Final = 500


class LikePeople(msgspec.Struct, frozen=True, kw_only=True):
    """How like people's queries those of one source are, on instructions that are held out."""

    source: str
    exact: Estimate
    """The share that is one of the queries of people, word for word, in per cent."""
    overlap: Estimate
    """F1 of the words with the one of people's queries that is nearest, 0 to 100."""
    words: float
    """Of a query."""


class FoundBy(msgspec.Struct, frozen=True, kw_only=True):
    """What the queries of one source find on one set of goals."""

    catalog: str
    goals: str
    count: int
    source: str
    first: Estimate
    """The share of goals whose product is the first result, among 10 and among 50; in per cent."""
    ten: Estimate
    fifty: Estimate
    score: Estimate
    """Of the choice oracle with that query, 0 to 100."""
    success: Estimate
    less_own_words: Estimate | None = None
    """Its score less that with the instruction's own words, goal by goal."""


class QueryStudy(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison gave."""

    split: str
    instructions: int
    """That were learnt from."""
    queries: int
    held_out: int
    seeds: tuple[int, ...]
    model: str
    like: tuple[LikePeople, ...]
    agreement: Estimate | None
    """F1 of one person's first query with the nearest of others for the same instruction, where
    there are others."""
    found: tuple[FoundBy, ...]


def study_queries(
    folder: Path,
    pairs: HumanPairs,
    catalogs: Sequence[str] = (),
    *,
    config: SearchTrainingConfig,
    seeds: Sequence[int] = (0,),
    progress: Progress = silent,
) -> QueryStudy:
    """Train a model with each seed, and compare its queries with the rules'. Models are kept in the
    folder: the same study goes on, or does not train them again."""
    if config.model:
        check_searcher(config.model)
    shops = [(name, Catalog.open(name)) for name in catalogs]
    goals = [part for name, shop in shops for part in _parts(name, shop)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or failure
        raise DataError(f"{folder} cannot be written ({reason}).") from None
    apart = frozenset(
        instruction_key(goal.instruction_text) for some in goals for goal in some.goals
    )
    examples = pairs.examples(apart)
    sources: dict[str, list[_Source]] = {
        OWN_WORDS: [lambda text: own_words(text)[0]],
        INSTRUCTION: [lambda text: text],
        MODEL: [
            _trained(folder / f"search-{seed}", examples, config, seed, progress) for seed in seeds
        ],
    }
    asked = list(pairs.test)
    like = []
    for source, ways in sources.items():
        progress(f"{source}: likeness", 0, None)
        said = [[way(text) for text in asked] for way in ways]
        like.append(_like_people(source, said, [pairs.test[text] for text in asked]))
    return QueryStudy(
        split=pairs.source,
        instructions=len({one.instruction for one in examples}),
        queries=len(examples),
        held_out=len(asked),
        seeds=tuple(seeds),
        model=config.model or "a small transformer with a pointer, from scratch",
        like=tuple(like),
        agreement=_agreement(pairs.test),
        found=tuple(row for some in goals for row in _rows(some, sources, progress)),
    )


_Source = Callable[[str], str]
"""From an instruction to a query."""


def _trained(
    place: Path,
    examples: Sequence[DemonstratedQuery],
    config: SearchTrainingConfig,
    seed: int,
    progress: Progress,
) -> _Source:
    """A model that is trained, or was with the same settings and examples."""
    stage = f"training {place.name}"
    train_search(
        examples,
        place,
        msgspec.structs.replace(config, seed=seed),
        options=TrainingOptions(
            resume=True, on_progress=lambda told: progress(stage, told.step, told.steps)
        ),
    )
    model = open_search_model(str(place.absolute()))

    def best(text: str) -> str:
        # A model that writes nothing leaves the agent its own words.
        return next(iter(model.queries(text)), "") or own_words(text)[0]

    return best


def _like_people(
    source: str, said: Sequence[Sequence[str]], people: Sequence[Sequence[str]]
) -> LikePeople:
    """Means over the seeds of each instruction; instructions are what intervals are over."""
    exact = [
        [float(_is_one_of(query, by)) for query, by in zip(way, people, strict=True)]
        for way in said
    ]
    overlap = [
        [max(f1(query, other) for other in by) for query, by in zip(way, people, strict=True)]
        for way in said
    ]
    lengths = [len(split_words(query)) for way in said for query in way]
    return LikePeople(
        source=source,
        exact=_estimate(exact, f"{source} exact", is_rate=True),
        overlap=_estimate(overlap, f"{source} overlap"),
        words=float(np.mean(lengths)),
    )


def _is_one_of(query: str, people: Sequence[str]) -> bool:
    return split_words(query) in [split_words(other) for other in people]


def f1(query: str, other: str) -> float:
    """Of the words of two queries, counted as often as they come.

    >>> f1("red hat", "red wool hat")
    0.8
    """
    first, second = Counter(split_words(query)), Counter(split_words(other))
    shared = (first & second).total()
    return 2 * shared / (first.total() + second.total()) if shared else 0.0


def _agreement(test: Mapping[str, Sequence[str]]) -> Estimate | None:
    """How alike people's own queries for the same instruction are."""
    found = []
    for queries in test.values():
        first, *others = dict.fromkeys(queries)
        if others:
            found.append(max(f1(first, other) for other in others))
    return _estimate([found], "people") if len(found) > 1 else None


class _Goals(NamedTuple):
    """Goals of a catalogue."""

    catalog: str
    shop: Catalog
    name: str
    held: GoalSet
    goals: list[Goal]
    weights: str = "episode"
    """What counts alike: every goal, or every product (`cluster`)."""


def _parts(name: str, shop: Catalog) -> Iterator[_Goals]:
    """Goals of a catalogue to search for: of the real products those that people wrote, all of
    them, and those of webshop-1k; else people's of disjoint-test."""
    catalog = Path(name).name
    people = shop.goals("human")
    if not is_real(shop):
        chosen = split_indices("disjoint-test", people)[:_MOST_GOALS]
        some = [people[index] for index in chosen]
        yield _Goals(catalog, shop, "human, disjoint-test", people, some)
        return
    everyone = [people[index] for index in range(len(people))]
    if everyone:
        yield _Goals(catalog, shop, "human", people, everyone)
    protocol = msgspec.structs.replace(find_protocol("webshop-1k"), data=str(shop.path))
    with closing(open_source(protocol)) as source:
        assert isinstance(source, ShopSource)
        asked = [source.goals[index] for index in source.indices]
        yield _Goals(catalog, shop, protocol.id, source.goals, asked, protocol.weights)


def _rows(
    some: _Goals, sources: Mapping[str, Sequence[_Source]], progress: Progress
) -> Iterator[FoundBy]:
    """What every source's queries find."""
    labels = np.unique([goal.asin for goal in some.goals], return_inverse=True)[1]
    scores: dict[str, list[list[float]]] = {}
    for source, ways in sources.items():
        places: list[list[float]] = []
        scores[source] = []
        for way in ways:
            found = []
            for done, goal in enumerate(some.goals, 1):
                found.append(_found(some, goal, way(goal.instruction_text)))
                progress(f"{some.catalog}: {source}", done, len(some.goals))
            places.append([place for place, _ in found])
            scores[source].append([score for _, score in found])

        def within(most: int, places: list[list[float]] = places, source: str = source) -> Estimate:
            shares = [[float(place <= most) for place in way] for way in places]
            name = f"{some.catalog} {some.name} {source} {most}"
            return _estimate(shares, name, labels, some.weights, is_rate=True)

        name = f"{some.catalog} {some.name} {source}"
        won = [[float(score >= 1.0) for score in way] for way in scores[source]]
        less = None
        if source != OWN_WORDS and OWN_WORDS in scores:
            means = np.mean(scores[source], axis=0) - np.mean(scores[OWN_WORDS], axis=0)
            less = estimate(
                Clusters(means, labels, weights=some.weights), f"{name} less", span=(-1.0, 1.0)
            ).times(100)
        yield FoundBy(
            catalog=some.catalog,
            goals=some.name,
            count=len(some.goals),
            source=source,
            first=within(1),
            ten=within(10),
            fifty=within(50),
            score=_estimate(scores[source], f"{name} score", labels, some.weights),
            success=_estimate(won, f"{name} success", labels, some.weights, is_rate=True),
            less_own_words=less,
        )


def _found(some: _Goals, goal: Goal, query: str) -> tuple[float, float]:
    """The place of the wanted product among the results, and what the best of them earns."""
    hits = list(some.shop.find(query))
    target = some.shop.number(goal.asin)
    place = hits.index(target) + 1.0 if target in hits else float("inf")
    products = map(some.shop.product, hits)
    offers = [PurchaseOption(one, some.held.price(one), one.options) for one in products]
    best = best_purchase(offers, goal, released)
    return place, 0.0 if best is None else best.reward.total


def _estimate(
    of_seeds: Sequence[Sequence[float]],
    name: str,
    labels: NDArray[np.int64] | None = None,
    weights: str = "episode",
    *,
    is_rate: bool = False,
) -> Estimate:
    """The mean over seeds, in per cent; intervals are over clusters, each with all its seeds."""
    clusters = Clusters(np.mean(of_seeds, axis=0), labels, weights=weights)
    return estimate(clusters, name, is_rate=is_rate).times(100)


def to_markdown(study: QueryStudy) -> str:
    """The tables of a study."""
    seeds = ", ".join(map(str, study.seeds))
    parts = [
        "## Queries of people, of rules and of a model",
        "",
        f"{study.instructions:,} instructions with {study.queries:,} queries of people learnt from"
        f" ({study.split}), {study.held_out:,} held out. The model: {study.model}; seeds {seeds}.",
        "",
        *markdown_table(
            ["query", "word for word one of people's (95 %)", "F1 of words (95 %)", "words"],
            [
                [
                    one.source,
                    interval_text(one.exact, " %"),
                    interval_text(one.overlap),
                    f"{one.words:.1f}",
                ]
                for one in study.like
            ],
        ),
    ]
    if study.agreement is not None:
        parts += [
            f"Between queries of people for one instruction, where there are several"
            f" ({study.agreement.count:,}): F1 {interval_text(study.agreement)}.",
            "",
        ]
    if study.found:
        head = ["goals", "query", "first", "in 10", "in 50", "choice oracle", "success"]
        parts += markdown_table(
            [*head, "less own words"],
            [
                [
                    f"{one.catalog}: {one.goals} ({one.count})",
                    one.source,
                    *(interval_text(each, " %") for each in (one.first, one.ten, one.fifty)),
                    interval_text(one.score),
                    interval_text(one.success, " %"),
                    interval_text(one.less_own_words, sign="+") if one.less_own_words else "",
                ]
                for one in study.found
            ],
        )
        parts += [
            "Place of the product that is wanted among the results, and the score of the choice"
            " oracle with that query. Intervals are over products. No instruction of these goals"
            " was learnt from.",
            "",
        ]
    return "\n".join(parts)
