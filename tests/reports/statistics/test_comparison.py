import itertools
import math

import msgspec
import numpy as np
import pytest
from played import MemoryStore, made, run_info

from errands.reports.statistics import comparison as module
from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.comparison import RunComparison, compare, holm, mcnemar, sign_flip


def run(name: str, rewards: dict[int, float | None], **more: object) -> MemoryStore:
    episodes = [made(number, reward) for number, reward in rewards.items()]
    return MemoryStore(run_info("shop", name, len(rewards), **more), episodes)


def compared(first: MemoryStore, second: MemoryStore, **more: bool) -> RunComparison:
    return compare(
        (first.info.agent, first, read_columns(first)),
        (second.info.agent, second, read_columns(second)),
        **more,
    )


@pytest.mark.parametrize(
    "values",
    [[0.5, 0.25, 0.25, -0.1], [1.0] * 5, [0.3, -0.3], [0.0, 0.0, 0.2, 0.4, 0.6, -0.2, 0.1]],
)
def test_few_differences_are_flipped_in_every_way(values: list[float]) -> None:
    seen = abs(sum(values))
    ways = [
        abs(sum(sign * value for sign, value in zip(signs, values, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    slow = sum(way >= seen - 1e-12 for way in ways) / len(ways)
    assert sign_flip(values) == pytest.approx(slow)


def test_many_differences_agree_with_flipping_each_of_them() -> None:
    rng = np.random.default_rng(4)
    values = np.round(rng.choice([-0.5, -0.2, 0.0, 0.3, 0.6], 80), 2)
    flips = rng.choice([-1, 1], (20_000, len(values)))
    slow = np.mean(np.abs(flips @ values) >= abs(values.sum()) - 1e-9)
    assert sign_flip(values) == pytest.approx(slow, abs=0.02)


def test_known_cases_of_the_permutation_test() -> None:
    assert sign_flip([]) == 1.0
    assert sign_flip([0.0] * 50) == 1.0
    assert sign_flip([1.0, -1.0] * 20) == 1.0
    assert sign_flip([0.5] * 40) < 0.001


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 5), (3, 3), (0, 10), (12, 4)])
def test_mcnemar_is_the_exact_binomial_test(first: int, second: int) -> None:
    total = first + second
    tail = sum(math.comb(total, k) for k in range(min(first, second) + 1)) / 2**total
    assert mcnemar(first, second) == pytest.approx(min(1.0, 2 * tail))


def test_mcnemar_of_very_many() -> None:
    assert 0 <= mcnemar(400_000, 410_000) < 1e-20
    assert mcnemar(500_000, 500_000) == pytest.approx(1.0)


def test_holm_raises_the_smallest_most_and_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_only_episodes_that_both_finished_are_paired() -> None:
    first = run("a", {0: 0.0, 1: 1.0, 2: None, 3: 0.5})
    second = run("b", {0: 1.0, 1: 1.0, 2: 1.0, 4: 0.0})
    found = compared(first, second)
    assert (found.pairs, found.left_out) == (2, 3)
    assert (found.wins, found.ties, found.losses) == (1, 1, 0)
    assert found.difference.mean == pytest.approx(50)
    assert (found.first_score, found.second_score) == (50, 100)
    assert sum(found.histogram) == 2


def test_a_clear_difference_is_called_one_and_a_small_one_is_not() -> None:
    low = run("low", {n: 0.1 * (n % 3) for n in range(40)})
    high = run("high", {n: 0.1 * (n % 3) + 0.5 for n in range(40)})
    clear = compared(low, high)
    assert "high is better than low" in clear.meaning
    assert clear.p is not None
    assert clear.p < 0.01
    turned = compared(high, low)
    assert "high is better than low" in turned.meaning
    assert turned.difference.mean == pytest.approx(-50)
    noisy = compared(run("x", {0: 0.0, 1: 1.0, 2: 0.2}), run("y", {0: 0.1, 1: 0.9, 2: 0.5}))
    assert "can be chance" in noisy.meaning
    same = compared(low, run("twin", {n: 0.1 * (n % 3) for n in range(40)}))
    assert "exactly the same" in same.meaning
    assert same.p == 1.0


def test_the_paired_interval_is_narrower_than_what_two_runs_alone_would_say() -> None:
    rng = np.random.default_rng(2)
    hard = rng.random(100)
    first = run("a", dict(enumerate(np.round(hard * 0.8, 3).tolist())))
    second = run("b", dict(enumerate(np.round(hard * 0.8 + 0.05, 3).tolist())))
    found = compared(first, second)
    assert found.difference.low is not None
    assert found.difference.high is not None
    assert found.difference.high - found.difference.low < 1
    assert found.p is not None
    assert found.p < 0.001


def test_runs_of_different_protocols_are_refused_unless_asked() -> None:
    first = run("a", {0: 0.0, 1: 1.0})
    second = run("b", {0: 1.0, 1: 1.0}, protocol_key="other/2")
    refused = compared(first, second)
    assert "different protocols" in refused.refused
    assert refused.p is None
    asked = compared(first, second, anyway=True)
    assert asked.pairs == 2
    assert "Different protocols" in asked.remark


def test_runs_with_nothing_in_common_are_refused() -> None:
    found = compared(run("a", {0: 0.0}), run("b", {1: 0.0}))
    assert "no episode in common" in found.refused


def test_what_is_played_twice_is_paired_in_order() -> None:
    keys = {0: "goal 5", 1: "goal 5"}
    stores = []
    for name, rewards in (("a", (0.0, 1.0)), ("b", (0.0, 0.5))):
        episodes = [made(n, rewards[n], key=keys[n]) for n in keys]
        stores.append(MemoryStore(run_info("shop", name, 2), episodes))
    found = compared(*stores)
    assert (found.pairs, found.ties, found.losses) == (2, 1, 1)


def test_very_large_runs_are_paired_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    first = run("a", {0: 0.0, 1: 1.0, 2: None, 3: 0.5})
    second = run("b", {0: 1.0, 1: 1.0, 2: 1.0, 4: 0.0})
    by_key = compared(first, second)
    monkeypatch.setattr(module, "BY_NUMBER_FROM", 0)
    by_number = compared(first, second)
    assert msgspec.structs.asdict(by_number) == msgspec.structs.asdict(by_key)
