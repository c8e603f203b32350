import numpy as np
from played import MemoryStore, made, run_info

from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.sample import pick


def columns_of(count: int):
    rewards = [None if n % 10 == 9 else (n * 7 % 11) / 10 for n in range(count)]
    rewards = [None if r is None else min(r, 1.0) for r in rewards]
    episodes = [made(n, reward, steps=n % 5 + 1) for n, reward in enumerate(rewards)]
    return read_columns(MemoryStore(run_info("shop", "x", count), episodes))


def test_up_to_200_all_are_listed() -> None:
    listed = pick(columns_of(200))
    assert listed.numbers == tuple(range(200))
    assert listed.kinds == {}
    assert "All 200" in listed.rule


def test_beyond_there_are_the_best_the_worst_the_failed_and_some_sampled() -> None:
    columns = columns_of(1000)
    listed = pick(columns)
    assert len(listed.numbers) == len(set(listed.numbers)) == 200
    assert list(listed.numbers) == sorted(listed.numbers)
    by_kind = {kind: [n for n, k in listed.kinds.items() if k == kind] for kind in
               ("best", "worst", "failed", "drawn")}  # fmt: skip
    assert [len(by_kind[kind]) for kind in ("best", "worst", "failed")] == [20, 20, 20]
    rewards = columns.reward
    assert np.isnan(rewards[by_kind["failed"]]).all()
    assert rewards[by_kind["best"]].min() == np.nanmax(rewards)
    assert rewards[by_kind["worst"]].max() == np.nanmin(rewards)
    assert "200 of 1,000" in listed.rule


def test_the_draw_is_the_seeds() -> None:
    columns = columns_of(1000)
    assert pick(columns, seed=1) == pick(columns, seed=1)
    assert pick(columns, seed=1).numbers != pick(columns, seed=2).numbers


def test_among_equals_fewer_steps_are_better() -> None:
    episodes = [made(n, 1.0, steps=10 - n % 10) for n in range(300)]
    listed = pick(read_columns(MemoryStore(run_info("shop", "x", 300), episodes)), each=5)
    best = [number for number, kind in listed.kinds.items() if kind == "best"]
    assert [number % 10 for number in best] == [9] * 5
