"""Reading a run for its figures."""

import numpy as np
from played import MemoryStore, made, run_info

from errands.reports.statistics.columns import read_columns, summaries_of

EPISODES = [made(3, 0.5), made(1, None), made(7, 1.0, parts={"r_type": 1.0}, steps=4)]


def test_columns_in_order_of_number() -> None:
    columns = read_columns(MemoryStore(run_info("shop", "x", 3), EPISODES))
    assert columns.number.tolist() == [1, 3, 7]
    assert columns.status.tolist() == [2, 0, 0]
    assert columns.failed.tolist() == [True, False, False]
    assert columns.rewards.tolist() == [0.5, 1.0]


def test_parts_keys_and_failures() -> None:
    store = MemoryStore(run_info("shop", "x", 3), EPISODES)
    columns = read_columns(store)
    assert [number for number, part in store.parts() if part] == [7]
    assert [one.key for one in summaries_of(store, np.array([3, 7]))] == ["goal 3", "goal 7"]
    assert not list(summaries_of(store, np.array([], dtype=int)))
    failed = columns.number[columns.failed]
    assert [one.number for one in summaries_of(store, failed)] == [1]
