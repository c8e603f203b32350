"""How far workers agree, field by field.

A unit is what the workers of one instance answered in one field. For choices: the share of pairs
of answers that are equal, Fleiss' kappa, Krippendorff's alpha for nominal data. For texts: the
share of equal pairs, and their mean ROUGE-L. A figure that the answers do not define is None,
never 0 or 1: nobody disagreed where only one thing was ever said, but nothing was shown either.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, groupby
from operator import itemgetter
from typing import Final

import msgspec

from errands.turk.pages.field import CHOICES
from errands.turk.scoring.rouge import rouge_l

__all__ = ["FieldAgreement", "agreements", "fleiss_kappa", "krippendorff_alpha", "pair_agreement"]

Units = Sequence[Sequence[str]]
_MOST_PAIRS: Final = 50_000
"""Of texts that are compared word by word."""
_MOST_WORK: Final = 10**11
"""Pairs of characters in them: about a second. Two workers could send a million each."""
_SCALES: Final = frozenset({"range", "number", "hidden"})


class FieldAgreement(msgspec.Struct, frozen=True):
    """What the answers of one field say about agreement."""

    field: str
    type: str
    """As in the template; empty where only a script puts the field there."""
    units: int
    """Instances with two answers or more."""
    answers: int
    """In those."""
    same: float | None
    kappa: float | None
    alpha: float | None
    rouge: float | None


def agreements(
    given: Iterable[tuple[int, Mapping[str, str]]],
    fields: Sequence[str],
    types: Mapping[str, str],
) -> list[FieldAgreement]:
    """The agreement in each field; what was `given` comes instance by instance."""
    # Where one worker was asked, there is nobody to agree with, and nothing is kept.
    shared = [
        forms
        for _, some in groupby(given, key=itemgetter(0))
        if len(forms := [answers for _, answers in some]) > 1
    ]
    figures = []
    for name in fields:
        type = types.get(name, "")
        # A box that is not ticked is an answer; a text that was not written is none.
        answered = [
            [
                answers.get(name, "")
                for answers in forms
                if type == "checkbox" or answers.get(name, "")
            ]
            for forms in shared
        ]
        units = [unit for unit in answered if len(unit) > 1]
        is_text = bool(type) and type not in CHOICES and type not in _SCALES
        figures.append(
            FieldAgreement(
                name,
                type,
                len(units),
                sum(map(len, units)),
                pair_agreement(units),
                None if is_text else fleiss_kappa(units),
                None if is_text else krippendorff_alpha(units),
                _likeness(units) if is_text else None,
            )
        )
    return figures


def pair_agreement(units: Units) -> float | None:
    """The mean over units of the share of pairs of answers that are equal.

    >>> pair_agreement([["a", "a"], ["a", "b"]])
    0.5
    """
    shares = [
        sum(count * (count - 1) for count in Counter(unit).values()) / (len(unit) * (len(unit) - 1))
        for unit in units
        if len(unit) > 1
    ]
    return sum(shares) / len(shares) if shares else None


def fleiss_kappa(units: Units) -> float | None:
    """Fleiss' kappa; it is defined for equally many answers to each unit."""
    sizes = {len(unit) for unit in units}
    observed = pair_agreement(units)
    if len(sizes) != 1 or observed is None:
        return None
    totals = Counter(answer for unit in units for answer in unit)
    count = totals.total()
    if len(totals) < 2:
        return None
    chance = sum((times / count) ** 2 for times in totals.values())
    return (observed - chance) / (1 - chance)


def krippendorff_alpha(units: Units) -> float | None:
    """Krippendorff's alpha for nominal data, any number of answers to each unit."""
    paired = [unit for unit in units if len(unit) > 1]
    totals = Counter(answer for unit in paired for answer in unit)
    count = totals.total()
    if len(totals) < 2:
        return None
    observed = sum(
        (len(unit) ** 2 - sum(times**2 for times in Counter(unit).values())) / (len(unit) - 1)
        for unit in paired
    )
    expected = (count**2 - sum(times**2 for times in totals.values())) / (count - 1)
    return 1 - observed / expected


def _likeness(units: Units) -> float | None:
    """The mean over units of the mean ROUGE-L of their pairs; None where it is too much work."""
    pairs = sum(len(unit) * (len(unit) - 1) // 2 for unit in units)
    if not 0 < pairs <= _MOST_PAIRS or sum(map(_work, units)) > _MOST_WORK:
        return None
    means = []
    for unit in units:
        scores = [rouge_l(one, other) for one, other in combinations(unit, 2)]
        means.append(sum(scores) / len(scores))
    return sum(means) / len(means)


def _work(unit: Sequence[str]) -> int:
    """Over all pairs of texts, the product of their lengths."""
    sizes = [len(text) for text in unit]
    return (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
