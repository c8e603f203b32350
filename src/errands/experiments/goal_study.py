"""How hard a catalogue's goals are, beside real ones: the facts that a generated shop is judged by.

Counted are how people's wording relates to what a shop lists, how special wants are, where search
finds the target, and how often another product would do. Much of that depends on how many products
there are, and the real ones at hand are 1,000. So what search finds is counted twice: as it is
played, beside the paper's scores, and among 1,000 products drawn from the catalogue, beside the
same count on the real 1,000. The real figures are kept in `real_goals.toml`, as numbers; a test
counts them again where the data is. `errands catalog info --against paper` prints all this.
"""

import os
import random
import statistics
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from errands.agents.oracles.best_purchase import PurchaseOption, best_purchase
from errands.errors import SettingError
from errands.progress import Progress, silent
from errands.shop.build.chunk import indexed_text
from errands.shop.build.statistics import spoken_words
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import NO_CAP, Goal, GoalSet, price_phrase, weighted_index
from errands.shop.navigation import RESULT_LIMIT
from errands.shop.product import UNMINED, Product
from errands.shop.rewards.noun_lexicon import load_lexicon
from errands.shop.rewards.nouns import title_score
from errands.shop.rewards.rules import Purchase, released
from errands.shop.search.analyzer import analyze
from errands.shop.search.index import Index, IndexWriter
from errands.shop.search.terms import collect_terms

__all__ = [
    "Comparison",
    "Statistics",
    "beside_the_real",
    "default_goals",
    "goal_statistics",
    "real_figure",
    "sampled_goals",
    "search_statistics",
    "text_statistics",
]

FEW: Final = 1000
"""Products of the real catalogue that is at hand."""
MANY: Final = 20_000
"""Products that are drawn to compare titles of one query."""
PAIRS: Final = 20_000
"""Pairs of titles that are compared."""
TEXTS: Final = 500
"""Instructions whose different words are counted."""
PERFECT: Final = 1.0

Statistics = dict[str, float]
"""Statistic to figure; shares are between 0 and 1, scores too."""


class Comparison(msgspec.Struct, frozen=True):
    """One statistic of a catalogue's goals beside the real one."""

    name: str
    here: float | None
    real: float | None
    """None where nobody knows."""
    of: str
    """What the real figure was counted on."""


def default_goals(catalog: Catalog) -> str:
    """The goals to compare unless told: people's, where there are any."""
    return "human" if catalog.manifest.goals.get("human") else "synthetic"


def beside_the_real(counted: Statistics, kind: str) -> list[Comparison]:
    """Each statistic with the real figure for goals of this kind."""
    sources = ["paper", "products"]
    sources += ["synthetic"] if kind == "synthetic" else ["texts", "full", "human"]
    real = _real_figures()
    rows = []
    for name, here in counted.items():
        found = next((real[source] for source in sources if name in real[source]), None)
        figure, of = (found[name], found["of"]) if found else (None, "")
        rows.append(Comparison(name.replace("_", " "), here, figure, of))
    return rows


def real_figure(name: str) -> float:
    """A figure of the paper's."""
    figure: float = _real_figures()["paper"][name]
    return figure


@cache
def _real_figures() -> dict[str, dict[str, Any]]:
    text = files("errands.experiments").joinpath("real_goals.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def goal_statistics(
    catalog: Catalog,
    goals: str | os.PathLike[str] | GoalSet = "human",
    *,
    sample: int = 500,
    seed: int = 0,
    progress: Progress = silent,
) -> Statistics:
    """Count some of a catalogue's goals, drawn by weight as a reset draws them, and products."""
    if sample < 1:
        raise SettingError(f"A sample of {sample} goals was asked for; expected 1 or more.")
    rng = random.Random(seed)
    held = catalog.goals(goals)
    drawn = sampled_goals(held, sample, rng)
    targets = [catalog[goal.asin] for goal in drawn]
    few = _some(catalog, FEW, rng)
    counted: Statistics = {
        "products": len(catalog),
        **{f"{kind}_goals": count for kind, count in catalog.manifest.goals.items()},
        "goals_counted": len(drawn),
    }
    counted |= text_statistics([_said(goal) for goal in drawn])
    counted |= _wants(drawn, targets, few, held)
    counted |= _products(_some(catalog, MANY, rng), few, rng)

    among = found = search_statistics(catalog, drawn, held, progress=progress)
    if len(catalog) > FEW:
        with tempfile.TemporaryDirectory(prefix="errands-") as folder:
            some = _sampled_finder(Path(folder), few, targets)
            among = _found(
                drawn,
                [_instruction(goal) for goal in drawn],
                some,
                held,
                lambda done: progress(f"searching {FEW:,}", done, len(drawn)),
            )
    return counted | found | {f"{name}_among_{FEW}": figure for name, figure in among.items()}


def search_statistics(
    catalog: Catalog,
    goals: Sequence[Goal],
    held: GoalSet,
    queries: Sequence[str] | None = None,
    progress: Progress = silent,
) -> Statistics:
    """What a query for each goal leads to in all of a catalogue: the instruction unless told."""
    whole = _Finder(lambda query, _: catalog.find(query), catalog.product, catalog.number)
    asked = list(map(_instruction, goals)) if queries is None else queries
    return _found(
        goals, asked, whole, held, lambda done: progress("searching all", done, len(goals))
    )


def _instruction(goal: Goal) -> str:
    return goal.instruction_text


def _some(catalog: Catalog, count: int, rng: random.Random) -> list[Product]:
    """So many of a catalogue's products, or all."""
    numbers = rng.sample(range(len(catalog)), min(count, len(catalog)))
    return list(map(catalog.product, numbers))


def sampled_goals(goals: GoalSet, count: int, rng: random.Random) -> list[Goal]:
    """Different goals, drawn by weight; all of them where they are no more."""
    if count >= len(goals):
        return [goals[index] for index in range(len(goals))]
    numbers: dict[int, None] = {}
    # Where few goals have nearly all the weight, others are drawn too rarely to wait for.
    for _ in range(50 * count):
        numbers[weighted_index(goals.cumulative, rng.uniform)] = None
        if len(numbers) == count:
            break
    return [goals[index] for index in numbers]


def _said(goal: Goal) -> str:
    return goal.instruction_text.removesuffix(price_phrase(goal.price_upper))


def text_statistics(instructions: Sequence[str]) -> Statistics:
    """What can be counted of instructions, without their price, alone."""
    spoken = [spoken_words(text) for text in instructions]
    lengths = sorted(map(len, spoken))
    known = load_lexicon()
    letters = [word for words in spoken for word in words if word.isalpha()]
    counted = {
        "words_per_instruction": statistics.fmean(lengths),
        "words_10th_percentile": lengths[len(lengths) // 10],
        "words_median": lengths[len(lengths) // 2],
        "words_90th_percentile": lengths[len(lengths) * 9 // 10],
        "instructions_with_a_digit": _mean(any(map(str.isdigit, text)) for text in instructions),
        "words_in_no_dictionary": _mean(word not in known for word in letters),
    }
    if len(spoken) >= TEXTS:
        first = {word for words in spoken[:TEXTS] for word in words}
        counted[f"different_words_in_{TEXTS}"] = len(first)
    return counted


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def _wants(
    goals: Sequence[Goal], targets: Sequence[Product], few: Sequence[Product], held: GoalSet
) -> Statistics:
    """What goals ask for, how they say it, and how many products have it."""
    pairs = list(zip(goals, targets, strict=True))
    having = Counter(name for product in few for name in set(product.attributes))
    offering = Counter(
        value for product in few for value in {v for vs in product.options.values() for v in vs}
    )
    options = [
        (goal, value)
        for goal in goals
        for value in (
            goal.goal_options.values() if isinstance(goal.goal_options, dict) else goal.goal_options
        )
    ]
    attributes = [(goal, name) for goal in goals for name in goal.attributes]
    capped = [(goal, target) for goal, target in pairs if goal.price_upper != NO_CAP]
    return {
        "instruction_terms_in_title": _mean(_share(_said(g), t.title) for g, t in pairs),
        "instruction_terms_in_searched_text": _mean(
            _share(_said(g), indexed_text(t)) for g, t in pairs
        ),
        "attributes_per_goal": len(attributes) / len(goals),
        "options_per_goal": len(options) / len(goals),
        "goals_with_options": _mean(bool(goal.goal_options) for goal in goals),
        "attributes_said_word_for_word": _mean(name in _said(g).lower() for g, name in attributes),
        "options_said_word_for_word": _mean(value in _said(g).lower() for g, value in options),
        "products_with_a_wanted_attribute": _mean(
            having[name] / len(few) for _, name in attributes
        ),
        "products_with_a_wanted_option": _mean(offering[value] / len(few) for _, value in options),
        "option_names_of_target": _mean(len(target.options) for target in targets),
        "option_values_of_target": _mean(
            sum(map(len, target.options.values())) for target in targets
        ),
        "goals_with_a_price_cap": len(capped) / len(goals),
        "cap_above_price_in_dollars": _mean(g.price_upper - held.price(t) for g, t in capped),
    }


def _share(said: str, text: str) -> float:
    """The share of what is said that a text has, in search terms."""
    terms = analyze(said)
    there = set(analyze(text))
    return _mean(term in there for term in terms)


def _products(many: Sequence[Product], few: Sequence[Product], rng: random.Random) -> Statistics:
    """What products are like, and how alike those of one query are."""
    by_query: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for product in many:
        by_query[product.query].append(product.nouns)
    queries = [nouns for nouns in by_query.values() if len(nouns) > 1]
    chosen = rng.choices(queries, list(map(len, queries)), k=PAIRS) if queries else []
    alike = [title_score(*rng.sample(nouns, 2)) for nouns in chosen]
    everything = [nouns for group in by_query.values() for nouns in group]
    others = [title_score(rng.choice(everything), rng.choice(everything)) for _ in range(PAIRS)]
    mined = [product.attributes for product in few if product.attributes != UNMINED]
    return {
        "options_per_product": _mean(len(product.options) for product in few),
        "attributes_per_product": sum(map(len, mined)) / len(few),
        "nouns_per_title": _mean(map(len, everything)),
        "title_score_within_a_query": _mean(alike),
        "title_score_over_0.2_within_a_query": _mean(score > 0.2 for score in alike),
        "title_score_under_0.1_within_a_query": _mean(score < 0.1 for score in alike),
        "title_score_of_any_two": _mean(others),
        "title_score_under_0.1_of_any_two": _mean(score < 0.1 for score in others),
    }


class _Finder(NamedTuple):
    """Search, in all of a catalogue or in some of it."""

    find: Callable[[str, int], Sequence[int]]
    """The numbers of the best products for a query, for a goal whose target has this number."""
    product: Callable[[int], Product]
    number: Callable[[str], int]


def _sampled_finder(folder: Path, few: Sequence[Product], targets: Sequence[Product]) -> _Finder:
    """Search among some products, and for each goal its target."""
    products = list({product.asin: product for product in (*few, *targets)}.values())
    products.sort(key=lambda product: product.asin)
    places = {product.asin: place for place, product in enumerate(products)}
    chosen = {places[product.asin] for product in few}
    (folder / "scratch").mkdir()
    writer = IndexWriter(folder / "scratch")
    writer.add(collect_terms(map(indexed_text, products)))
    writer.finish(folder / "index", np.arange(len(products), dtype=np.uint32))
    writer.close()
    index = Index(folder / "index")

    def find(query: str, target: int) -> Sequence[int]:
        # The targets of other goals are there for them alone.
        ranked: list[int] = index.rank(query, len(products))[0].tolist()
        return [place for place in ranked if place in chosen or place == target][:RESULT_LIMIT]

    return _Finder(find, products.__getitem__, places.__getitem__)


def _found(
    goals: Sequence[Goal],
    queries: Sequence[str],
    finder: _Finder,
    held: GoalSet,
    report: Callable[[int], None],
) -> Statistics:
    """What a query for each goal leads to, by the released rules."""
    places: list[float] = []
    substitutes: list[bool] = []
    rule: list[float] = []
    oracle: list[float] = []
    for done, (goal, query) in enumerate(zip(goals, queries, strict=True), 1):
        target = finder.number(goal.asin)
        hits = list(finder.find(query, target))
        offers = [_offer(finder.product(number), held) for number in hits]
        others = [offer for number, offer in zip(hits, offers, strict=True) if number != target]
        own = [offer for number, offer in zip(hits, offers, strict=True) if number == target]
        best = best_purchase(others, goal, released)
        reward = best.reward.total if best else 0.0
        substitutes.append(reward >= PERFECT)
        if reward < PERFECT and own:
            best = best_purchase(own, goal, released)
            reward = max(reward, best.reward.total if best else 0.0)
        oracle.append(reward)
        places.append(hits.index(target) + 1 if own else np.inf)
        rule.append(
            released(Purchase(offers[0].product, {}, offers[0].price), goal).total if offers else 0
        )
        report(done)
    return {
        **{f"target_in_first_{k}": _mean(place <= k for place in places) for k in (1, 10, 50)},
        "perfect_substitute_in_first_50": _mean(substitutes),
        "rule_score": _mean(rule),
        "rule_success": _mean(reward >= PERFECT for reward in rule),
        "choice_oracle_score": _mean(oracle),
        "choice_oracle_success": _mean(reward >= PERFECT for reward in oracle),
    }


def _offer(product: Product, held: GoalSet) -> PurchaseOption:
    return PurchaseOption(product, held.price(product), product.options)
