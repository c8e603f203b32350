import numpy as np
from played import MemoryStore, made, run_info

from errands.reports.columns import Columns, failed_summaries, keys_of, part_rows, read_columns


class Fast(MemoryStore):
    """A store with columns, which come in no order and with names for statuses."""

    def columns(self) -> dict[str, np.ndarray]:
        held = list(self.summaries())[::-1]
        columns = {
            name: np.array([getattr(one, name) for one in held]) for name in Columns._fields[2:]
        }
        columns["reward"] = columns["reward"].astype(float)
        return {
            "number": np.array([one.number for one in held]),
            "status": np.array([one.status for one in held]),
            **columns,
        }

    def parts(self):
        return [(one.number, one.parts) for one in self.summaries() if one.parts]


EPISODES = [made(3, 0.5), made(1, None), made(7, 1.0, parts={"r_type": 1.0}, steps=4)]


def test_a_fast_store_reads_like_any_other() -> None:
    info = run_info("shop", "x", 3)
    plain, fast = (read_columns(kind(info, EPISODES)) for kind in (MemoryStore, Fast))
    for one, other in zip(plain, fast, strict=True):
        np.testing.assert_array_equal(one, other)
    assert plain.number.tolist() == [1, 3, 7]
    assert plain.status.tolist() == [2, 0, 0]
    assert plain.failed.tolist() == [True, False, False]
    assert plain.rewards.tolist() == [0.5, 1.0]


def test_an_error_has_no_reward_even_if_its_row_has_one() -> None:
    odd = made(0, 0.0, status="error", owner="page", error="broken")
    columns = read_columns(MemoryStore(run_info("shop", "x", 1), [odd]))
    assert columns.failed.tolist() == [True]


def test_parts_keys_and_failures_of_both_kinds_of_store() -> None:
    for kind in (MemoryStore, Fast):
        store = kind(run_info("shop", "x", 3), EPISODES)
        columns = read_columns(store)
        assert [number for number, part in part_rows(store) if part] == [7]
        assert keys_of(store, np.array([3, 7])) == {3: "goal 3", 7: "goal 7"}
        assert keys_of(store, np.array([], dtype=int)) == {}
        assert [one.number for one in failed_summaries(store, columns)] == [1]


def test_a_store_that_knows_its_errors_is_asked() -> None:
    class Knowing(MemoryStore):
        def errors(self):
            return [self.episode(1).summary]

        def summaries(self):
            raise AssertionError("all summaries were read")

    store = Knowing(run_info("shop", "x", 3), EPISODES)
    columns = read_columns(MemoryStore(store.info, EPISODES))
    assert [one.owner for one in failed_summaries(store, columns)] == ["agent"]
