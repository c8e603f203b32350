"""Beam search: the most probable sequences of a model that tells what may come next."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Hypothesis", "beam_search"]

Prefix = tuple[int, ...]


class Hypothesis(NamedTuple):
    """A sequence without its end, and the logarithm of its probability."""

    sequence: Prefix
    score: float


def beam_search(
    ahead: Callable[[Sequence[Prefix]], Tensor], *, end: int, beams: int, longest: int
) -> list[Hypothesis]:
    """Up to `beams` different sequences of 1 to `longest` members, the most probable first.

    `ahead` gives the log-probabilities of what comes next, a row for each of some prefixes of
    one length. The search ends as soon as nothing that is open can become better than what was
    found; with as many beams as there are prefixes it is exhaustive.
    """
    opened = [Hypothesis((), 0.0)]
    found: list[Hypothesis] = []
    for length in range(longest + 1):
        scores = ahead([path.sequence for path in opened]).double()
        if length == 0:
            scores[:, end] = -torch.inf
        else:
            found += [
                Hypothesis(path.sequence, path.score + float(scores[row, end]))
                for row, path in enumerate(opened)
            ]
            found = _best(found, beams)
        if length == longest:
            break
        scores[:, end] = -torch.inf
        totals = (scores + scores.new_tensor([[path.score] for path in opened])).flatten()
        # Equally probable ones stay in their order, so that the outcome is always the same.
        ranked, places = torch.sort(totals, descending=True, stable=True)
        width = scores.shape[1]
        opened = [
            Hypothesis((*opened[place // width].sequence, place % width), score)
            for score, place in zip(ranked[:beams].tolist(), places[:beams].tolist(), strict=True)
            if score > -torch.inf
        ]
        if not opened or (len(found) == beams and found[-1].score >= opened[0].score):
            break
    return found


def _best(found: list[Hypothesis], count: int) -> list[Hypothesis]:
    usable = [one for one in found if one.score > -torch.inf]
    return sorted(usable, key=lambda one: (-one.score, one.sequence))[:count]
