import itertools
import math
import warnings

import numpy as np
import pytest
from played import MemoryStore, made, run_info
from scipy import stats

from errands.reports.statistics import comparison as module
from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.comparison import (
    Contestant,
    RunComparison,
    compare,
    corrected,
    holm,
    mcnemar,
    sign_flip,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip(
        "statsmodels", reason="needs statsmodels: pip install -r requirements-dev.txt"
    )
    from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
    from statsmodels.stats.multitest import multipletests


def run(name: str, rewards: dict[int, float | None], **more: object) -> MemoryStore:
    episodes = [made(number, reward) for number, reward in rewards.items()]
    return MemoryStore(run_info("shop", name, len(rewards), **more), episodes)


def contestant(*runs: MemoryStore) -> Contestant:
    return Contestant(runs[0].info.agent, [(one, read_columns(one)) for one in runs])


def compared(first: MemoryStore, second: MemoryStore, **more: bool) -> RunComparison:
    (found,) = corrected([compare(contestant(first), contestant(second), **more)])
    return found


def clustered(name: str, rewards: list[float], clusters: list[str], **more: object) -> MemoryStore:
    episodes = [
        made(n, reward, parts={"cluster": cluster})
        for n, (reward, cluster) in enumerate(zip(rewards, clusters, strict=True))
    ]
    return MemoryStore(run_info("shop", name, len(rewards), **more), episodes)


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


@pytest.mark.parametrize(("first", "second"), [(1, 5), (3, 3), (0, 10), (12, 4)])
def test_mcnemar_is_that_of_statsmodels(first: int, second: int) -> None:
    theirs = statsmodels_mcnemar([[5, first], [second, 9]], exact=True).pvalue
    assert mcnemar(first, second) == pytest.approx(theirs)


def test_equal_differences_are_mcnemars_and_the_exact_way_agrees() -> None:
    assert sign_flip([1.0] * 12 + [-1.0] * 4) == pytest.approx(mcnemar(4, 12))
    assert sign_flip([0.5] * 900 + [-0.5] * 1000) == pytest.approx(
        stats.binomtest(900, 1900).pvalue
    )


@pytest.mark.parametrize("count", [12, 60])
def test_the_sign_flip_test_is_scipys_permutation_of_signs(count: int) -> None:
    rng = np.random.default_rng(count)
    values = np.round(rng.normal(0.1, 0.4, count), 2)
    theirs = stats.permutation_test(
        (values,),
        np.mean,
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    ).pvalue
    assert sign_flip(values) == pytest.approx(theirs, abs=0.012)


def test_a_sum_of_very_many_sizes_is_taken_as_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).normal(0.02, 0.4, 900)
    drawn = sign_flip(values)
    monkeypatch.setattr(module, "MOST_FLIPPED", 10)
    assert sign_flip(values) == pytest.approx(drawn, abs=0.02)


def test_mcnemar_of_very_many() -> None:
    assert 0 <= mcnemar(400_000, 410_000) < 1e-20
    assert mcnemar(500_000, 500_000) == pytest.approx(1.0)


def test_holm_raises_the_smallest_most_and_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    values = [0.001, 0.2, 0.03, 0.04, 0.04]
    assert holm(values) == pytest.approx(multipletests(values, method="holm")[1].tolist())


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
    ahead = hard * 0.8 + rng.choice([0.04, 0.06], 100)
    second = run("b", dict(enumerate(np.round(ahead, 3).tolist())))
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


def test_episodes_of_a_cluster_are_flipped_and_drawn_together() -> None:
    # One product of 40 goals, on which the second is better, and nine of one on which it is not.
    clusters = ["big"] * 40 + [f"p{n}" for n in range(9)]
    first = clustered("a", [0.0] * 40 + [1.0, 0.9] * 4 + [0.9], clusters)
    second = clustered("b", [1.0] * 40 + [0.9, 1.0] * 4 + [1.0], clusters)
    found = compared(first, second)
    assert found.clusters == 10
    assert found.p is not None
    assert found.p > 0.4, "one product says nothing about others"
    assert found.success_p is not None
    assert found.success_p > 0.4
    assert found.success_test == "sign-flip test by cluster"
    assert found.difference.low is not None
    assert found.difference.low < 5
    assert "can be chance" in found.meaning
    alone = compared(
        run("a", dict(enumerate([0.0] * 40 + [1.0, 0.9] * 4 + [0.9]))),
        run("b", dict(enumerate([1.0] * 40 + [0.9, 1.0] * 4 + [1.0]))),
    )
    assert alone.p is not None
    assert alone.p < 0.001
    assert alone.success_test == "McNemar's exact test"


def test_clusters_that_count_alike_are_compared_by_their_means() -> None:
    clusters = ["big"] * 8 + [f"p{n}" for n in range(12)]
    protocol = {**run_info("shop", "x", 1).protocol, "weights": "cluster"}
    first = clustered("a", [1.0] * 8 + [0.0] * 12, clusters, protocol=protocol)
    second = clustered("b", [0.0] * 8 + [1.0] * 12, clusters, protocol=protocol)
    found = compared(first, second)
    assert found.difference.mean == pytest.approx(100 * 11 / 13)
    assert found.first_score == pytest.approx(100 / 13)
    assert found.p == pytest.approx(mcnemar(1, 12))


def test_several_seeds_are_compared_by_their_means() -> None:
    firsts = [run("a", {0: 0.0, 1: 1.0, 2: 0.5}, seed=1), run("a", {0: 1.0, 1: 1.0}, seed=2)]
    second = run("b", {0: 1.0, 1: 0.5, 2: 1.0})
    found = compare(contestant(*firsts), contestant(second))
    assert found.pairs == 2, "what one of the seeds has not played is left out"
    assert found.first_score == pytest.approx(75)
    assert found.difference.mean == pytest.approx(0)
    assert (found.wins, found.losses) == (1, 1)
    assert found.success_test == "sign-flip test by cluster", "half a success is not McNemar's"


def test_what_means_better_is_decided_after_the_correction() -> None:
    made_ = [
        compare(contestant(run("a", dict.fromkeys(range(6), 0.0))), contestant(run(name, rewards)))
        for name, rewards in (
            ("b", dict.fromkeys(range(6), 1.0)),
            ("c", dict.fromkeys(range(6), 1.0)),
        )
    ]
    assert [one.p for one in made_] == [pytest.approx(2 / 64)] * 2
    both = corrected(made_)
    assert [one.p_holm for one in both] == [pytest.approx(4 / 64)] * 2
    assert [one.success_p_holm for one in both] == [pytest.approx(4 / 64)] * 2
    assert all("can be chance" in one.meaning for one in both)
    assert "is better" in corrected(made_[:1])[0].meaning


def test_the_product_is_taken_from_the_run_that_knows_it() -> None:
    old = run("old", {0: 0.0, 1: 0.5, 2: 1.0})
    new = clustered("new", [1.0, 1.0, 0.0], ["p", "p", "q"])
    assert compared(old, new).clusters == 2
    assert compared(new, old).clusters == 2
