"""Beam search against looking at everything."""

import itertools
import math
from collections.abc import Sequence

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'errands[train]'")

from errands.learn.models.search import beam_search  # noqa: E402

END, LETTERS, LONGEST = 0, 4, 4


class Toy:
    """Log-probabilities of what comes next that depend on all that came before."""

    def __init__(self, seed: int) -> None:
        self._chance = torch.Generator().manual_seed(seed)
        self._known: dict[tuple[int, ...], object] = {}
        self.calls = 0

    def __call__(self, prefixes: Sequence[tuple[int, ...]]):  # type: ignore[no-untyped-def]
        self.calls += 1
        return torch.stack([self.row(prefix) for prefix in prefixes])

    def row(self, prefix: tuple[int, ...]):  # type: ignore[no-untyped-def]
        if prefix not in self._known:
            scores = 2 * torch.randn(LETTERS, generator=self._chance, dtype=torch.float64)
            self._known[prefix] = scores.log_softmax(0)
        return self._known[prefix]


def everything(toy: Toy) -> list[tuple[tuple[int, ...], float]]:
    """All sequences of 1 to LONGEST letters, the most probable first."""
    found = []
    for length in range(1, LONGEST + 1):
        for sequence in itertools.product(range(1, LETTERS), repeat=length):
            members = [*sequence, END]
            score = sum(float(toy.row(sequence[:at])[one]) for at, one in enumerate(members))
            found.append((sequence, score))
    return sorted(found, key=lambda one: -one[1])


@pytest.mark.parametrize("seed", range(20))
def test_with_enough_beams_it_finds_what_an_exhaustive_search_finds(seed: int) -> None:
    toy = Toy(seed)
    best = everything(toy)
    wide = beam_search(toy, end=END, beams=3**LONGEST, longest=LONGEST)[:10]
    assert [one.sequence for one in wide] == [sequence for sequence, _ in best[:10]]
    assert [one.score for one in wide] == pytest.approx([score for _, score in best[:10]])


@pytest.mark.parametrize("seed", range(20))
def test_few_beams_give_true_scores_in_order_and_no_sequence_twice(seed: int) -> None:
    toy = Toy(seed)
    scores = dict(everything(toy))
    found = beam_search(toy, end=END, beams=3, longest=LONGEST)
    assert len({one.sequence for one in found}) == len(found) == 3
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for one in found:
        assert 1 <= len(one.sequence) <= LONGEST
        assert one.score == pytest.approx(scores[one.sequence])
    assert beam_search(toy, end=END, beams=3, longest=LONGEST) == found


def test_it_stops_as_soon_as_nothing_better_can_come() -> None:
    calls = 0

    def sure(prefixes: Sequence[tuple[int, ...]]):  # type: ignore[no-untyped-def]
        nonlocal calls
        calls += 1
        rows = [[math.log(0.9), math.log(0.1)] for _ in prefixes]
        return torch.tensor(rows)

    found = beam_search(sure, end=END, beams=1, longest=50)
    assert [one.sequence for one in found] == [(1,)]
    assert calls == 2
