"""Groups: some goals of a split, each played several times, as group-relative trainers want them.

    goals = ShopEnv(goals="human", split=training_split("disjoint-train")).context.indices
    for batch in group_batches(goals, groups=16, size=8, seed=0):
        observations, infos = envs.reset(options=group_options(batch))

What is drawn follows from the seed alone, the same in every process: workers that are given the
same seed know each other's share.
"""

import operator
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, SupportsIndex, TypeVar

from errands.errors import SettingError
from errands.turk.tasks.loader import TaskSet

__all__ = [
    "TRAINING_SPLITS",
    "group_batches",
    "group_options",
    "is_for_testing",
    "sample_groups",
    "task_rows",
    "training_split",
]

T = TypeVar("T")

TRAINING_SPLITS: Final[Mapping[str, tuple[str, ...]]] = {
    "shop": ("disjoint-train", "train"),
    "turk": ("train",),
}
"""The splits of each domain that are for training."""
_TESTING: Final = ("test", "eval", "disjoint-test", "disjoint-eval", "test_challenge")


def sample_groups(items: Sequence[T], *, groups: int, size: int = 1, seed: int) -> list[T]:
    """So many different items, `size` times each, the same ones side by side.

    >>> sample_groups(range(100), groups=2, size=3, seed=0)
    [87, 87, 87, 46, 46, 46]
    """
    _check(items, groups, size)
    return _repeated(_rng(seed).sample(range(len(items)), groups), items, size)


def group_batches(
    items: Sequence[T], *, groups: int, size: int = 1, seed: int
) -> Iterator[list[T]]:
    """Batches like those of `sample_groups`, without end: no item comes again before all have
    come, and none twice in a batch. `itertools.islice(batches, done, None)` goes on after a break.
    """
    _check(items, groups, size)
    return _batches(items, groups, size, _rng(seed))


def _batches(items: Sequence[T], groups: int, size: int, rng: random.Random) -> Iterator[list[T]]:
    left: list[int] = []
    while True:
        if len(left) < groups:
            fresh = list(range(len(items)))
            rng.shuffle(fresh)
            # What is left over from before must not come twice in the batch that is next.
            fresh.sort(key=set(left).__contains__)
            left += fresh
        yield _repeated(left[:groups], items, size)
        del left[:groups]


def task_rows(tasks: TaskSet) -> list[tuple[str, int]]:
    """Every instance of a task set as a pair of task and row; broken tasks are left out."""
    return [(task.name, row) for task in tasks for row in range(len(task.instances))]


def group_options(batch: Sequence[Any]) -> dict[str, list[Any]]:
    """What `reset` of a vector environment is told: goals, or pairs of task and row, one each."""
    if batch and isinstance(batch[0], tuple | list):  # JSON makes lists of pairs.
        return {"task": [task for task, _ in batch], "row": [row for _, row in batch]}
    return {"goal": list(batch)}


def is_for_testing(split: object) -> bool:
    """Whether a split is one that nothing may be learnt from which is to be tested."""
    return split in _TESTING


def training_split(
    name: str | None, *, domain: str = "shop", allow_tests: bool = False
) -> str | None:
    """The name of a split, if it is for training; `allow_tests` takes any, for those who know that
    what they train cannot be tested any more.

    >>> training_split("disjoint-train")
    'disjoint-train'
    """
    if domain not in TRAINING_SPLITS:
        raise SettingError(f"domain={domain!r}: expected {', '.join(TRAINING_SPLITS)}.")
    expected = TRAINING_SPLITS[domain]
    if name in expected or allow_tests:
        return name
    if name in (None, "all"):
        problem = "has everything, also what is for testing"
    else:
        problem = "is for testing" if name in _TESTING else "is not for training"
    raise SettingError(
        f"The split {name!r} {problem}; training takes {' or '.join(expected)} (allow_tests=True"
        " takes any)."
    )


def _check(items: Sequence[Any], groups: int, size: int) -> None:
    if not (isinstance(groups, SupportsIndex) and 1 <= operator.index(groups) <= len(items)):
        raise SettingError(
            f"groups={groups!r}: expected 1 to {len(items)}, for so many goals there are to choose"
            " from, and none comes twice."
        )
    if not (isinstance(size, SupportsIndex) and operator.index(size) >= 1):
        raise SettingError(f"size={size!r}: expected 1 or more, so often each goal is played.")


def _rng(seed: int) -> random.Random:
    return random.Random(f"groups {seed}")


def _repeated(places: Sequence[int], items: Sequence[T], size: int) -> list[T]:
    return [items[place] for place in places for _ in range(size)]
