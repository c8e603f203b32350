"""The verification of a run's rewards: everything that the table, the page and the JSON show."""

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, Final, NamedTuple

import msgspec

from errands.errors import DataError, SettingError
from errands.runs.episode import RunInfo
from errands.runs.store.base import Store
from errands.shop.rewards.registry import RULES, rules_named, rules_version
from errands.shop.rewards.synonym import Credit
from errands.verify.hand_scores import HandScore
from errands.verify.judges import (
    JudgeAgreement,
    Needed,
    common_episodes,
    judge_agreement,
    judgements_needed,
)
from errands.verify.scores import Agreement, Scores, agreement, by_rules, means, reasons
from errands.verify.trajectories import Trajectory, Unbought, read_trajectories

__all__ = ["FIRST", "HAND", "Disagreement", "Material", "Verification", "sample", "verify"]

FIRST: Final = "released"
HAND: Final = "by hand"


class Material(NamedTuple):
    """A run, read once: whoever scores it, by rules or by hand, starts from this."""

    info: RunInfo
    trajectories: tuple[Trajectory, ...]
    unbought: Unbought

    @classmethod
    def read(
        cls, store: Store, on_progress: Callable[[int, int], None] | None = None
    ) -> "Material":
        trajectories, unbought = read_trajectories(store, on_progress)
        return cls(store.info, tuple(trajectories), unbought)


class Disagreement(msgspec.Struct, frozen=True):
    """A trajectory that two scorers see differently."""

    episode: int
    key: str
    instruction: str
    bought: str
    scores: dict[str, Scores]
    credits: tuple[Credit, ...]


class Verification(msgspec.Struct, frozen=True):
    """What came of it."""

    run: str
    agent: str
    protocol: str
    rules: str
    """Of the second scorer, with the version of what it depends on."""
    trajectories: int
    """Those that the figures are about."""
    bought: int
    out_of_steps: int
    """Bought nothing: 0 under every scorer."""
    failed: int
    """Left out."""
    means: dict[str, dict[str, float | None]]
    """By scorer and part, in points of 100."""
    agreements: tuple[Agreement, ...]
    counted: dict[str, int]
    """Synonyms that counted, by part."""
    examples: tuple[Disagreement, ...]
    """Where scorers differ most."""
    judges: tuple[JudgeAgreement, ...] = ()
    """Of every two people, where there are two."""
    needed: tuple[Needed, ...] = ()
    """What the interval that was wanted costs, by the first judge's scores."""

    def plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def sample(material: Material, count: int | None, seed: int) -> list[Trajectory]:
    """Purchases for a person to score, in an order that only the seed decides; None for all."""
    bought = [one for one in material.trajectories if one.purchase is not None]
    if count is not None and count < 1:
        raise SettingError(f"sample={count}: expected 1 or more.")
    wanted = len(bought) if count is None else min(count, len(bought))
    return random.Random(seed).sample(bought, wanted)


def verify(
    material: Material,
    rules: str = "synonym",
    hand: Mapping[int, HandScore] | Mapping[str, Mapping[int, HandScore]] | None = None,
    *,
    examples: int = 5,
    interval: float | None = None,
) -> Verification:
    """Score every purchase by the released rules and by others; with `hand`, only those that a
    person has scored, by three scorers. Several people are given by name: then only purchases that
    all of them have scored count. `interval` asks how many more must be judged."""
    if rules == FIRST:
        expected = " or ".join(name for name in RULES.names() if name != FIRST)
        raise SettingError(f"{FIRST!r} is the first scorer; expected {expected} as the second.")
    second = rules_named(rules)
    judges = _judges(hand)
    chosen = _chosen(material, None if judges is None else common_episodes(judges))
    scorers: dict[str, dict[int, Scores]] = {
        FIRST: {one.number: by_rules(one, rules_named(FIRST)) for one in chosen},
        rules: {one.number: by_rules(one, second) for one in chosen},
    }
    by_number = {one.number: one for one in material.trajectories}
    people = judges or {}
    if taken := next((name for name in people if name in scorers), ""):
        raise SettingError(
            f"A judge is called {taken!r}, as the rules are that scored, too; give their file"
            " another name, or their scores another one with --judge."
        )
    for name, said in people.items():
        scorers[name or HAND] = {one.number: said[one.number].scores(one) for one in chosen}
    needed: tuple[Needed, ...] = ()
    if interval is not None:
        first = next(iter(people), None)
        judged = {} if first is None else scorers[first or HAND]
        needed = judgements_needed(interval, judged, scorers[rules], by_number, rules)
    credits = {one.number: reasons(one) if rules == "synonym" else () for one in chosen}
    counted = {"type": 0, "attribute": 0, "option": 0}
    for credit in chain.from_iterable(credits.values()):
        counted[credit.part] += 1
    unbought = sum(one.purchase is None for one in chosen)
    version = rules_version(rules)
    return Verification(
        run=material.info.id,
        agent=material.info.agent,
        protocol=material.info.protocol_key,
        rules=f"{rules} ({version})" if version else rules,
        trajectories=len(chosen),
        bought=len(chosen) - unbought,
        out_of_steps=unbought,
        failed=material.unbought.failed if hand is None else 0,
        means={name: means(list(scores.values())) for name, scores in scorers.items()},
        agreements=tuple(
            agreement(a, b, scorers[a], scorers[b]) for a, b in combinations(scorers, 2)
        ),
        counted=counted if rules == "synonym" else {},
        examples=tuple(_disagreements(chosen, scorers, credits, examples)),
        judges=tuple(judge_agreement(a, b, people, by_number) for a, b in combinations(people, 2)),
        needed=needed,
    )


def _judges(
    hand: Mapping[int, HandScore] | Mapping[str, Mapping[int, HandScore]] | None,
) -> dict[str, Mapping[int, HandScore]] | None:
    """People by name; one without a name where only scores are given."""
    if hand is None:
        return None
    alone: dict[int, HandScore] = {}
    named: dict[str, Mapping[int, HandScore]] = {}
    for key, value in hand.items():
        if isinstance(key, int) and isinstance(value, HandScore):
            alone[key] = value
        elif isinstance(key, str) and isinstance(value, Mapping):
            named[key] = value
    return named or {"": alone}


def _chosen(material: Material, hand: Sequence[int] | None) -> list[Trajectory]:
    if hand is None:
        return list(material.trajectories)
    wanted = set(hand)
    chosen = [one for one in material.trajectories if one.number in wanted]
    unknown = wanted - {one.number for one in chosen}
    if unknown:
        raise DataError(
            f"There is a hand score of episode {min(unknown)}, which the run {material.info.id}"
            " does not have as a result."
        )
    if not chosen:
        raise DataError(
            "There are no hand scores yet; `errands verify-reward RUN --web` asks for some."
        )
    return chosen


def _disagreements(
    chosen: Sequence[Trajectory],
    scorers: Mapping[str, Mapping[int, Scores]],
    credits: Mapping[int, tuple[Credit, ...]],
    most: int,
) -> list[Disagreement]:
    def spread(one: Trajectory) -> float:
        scores = [by_number[one.number].overall for by_number in scorers.values()]
        return max(scores) - min(scores)

    apart = sorted((one for one in chosen if spread(one) > 1e-9), key=lambda one: -spread(one))
    return [
        Disagreement(
            episode=one.number,
            key=one.key,
            instruction=one.goal.instruction_text,
            bought=one.purchase.product.title if one.purchase else "",
            scores={name: by_number[one.number] for name, by_number in scorers.items()},
            credits=credits[one.number],
        )
        for one in apart[:most]
    ]
