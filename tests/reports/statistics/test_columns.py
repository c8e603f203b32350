"""Reading a run for its figures."""

import numpy as np
from played import MemoryStore, made, run_info

from errands.reports.statistics.columns import failed_summaries, keys_of, part_rows, read_columns

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
    assert [number for number, part in part_rows(store) if part] == [7]
    assert keys_of(store, np.array([3, 7])) == {3: "goal 3", 7: "goal 7"}
    assert keys_of(store, np.array([], dtype=int)) == {}
    assert [one.number for one in failed_summaries(store, columns)] == [1]
