"""Which tasks are for training and which for testing.

TurkingBench's own lists are known by name; they hold for every folder in which one of its tasks
is found. Another set of tasks says it in a file beside its task folders, `splits.toml` or
`splits.json`: `test = ["Task name", ...]`, and likewise `test_challenge` and `subjective`.
What no list names is `train`; without lists, everything is.
"""

import difflib
import json
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

from errands.errors import SettingError, TaskError

__all__ = ["SPLITS", "Splits", "find_splits", "turkingbench"]

SPLITS: Final = ("train", "test", "test_challenge", "subjective", "all")
"""Every name of a split; `all` is the four others together."""

_LISTED: Final = ("test", "test_challenge", "subjective")
_FILES: Final = ("splits.toml", "splits.json")
_BESIDES: Final = frozenset({"train", "gone"})


@dataclass(frozen=True)
class Splits:
    """Lists of task names; `train` is what is in none of them."""

    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """`test`, `test_challenge` and `subjective`, each in the order of evaluation."""
    train: tuple[str, ...] = ()
    """Names that are expected in `train`, where they are known."""
    gone: frozenset[str] = frozenset()
    """Listed names of tasks that exist no more."""

    def of(self, name: str) -> str:
        """The split of a task, known or not."""
        return next((split for split, names in self.lists.items() if name in names), "train")

    def select(self, split: str, names: Iterable[str]) -> tuple[str, ...]:
        """Those of `names` that are in a split: in the order of its list, else sorted."""
        _check(split)
        present = sorted(names)
        if split == "all":
            return tuple(present)
        if split == "train":
            return tuple(name for name in present if self.of(name) == "train")
        return tuple(name for name in self.lists.get(split, ()) if name in set(present))

    def expected(self, split: str) -> tuple[str, ...]:
        """The names that a complete set has in a split, as far as they are known."""
        _check(split)
        lists = {"train": self.train, **self.lists}
        chosen = lists if split == "all" else (split,)
        names = [name for key in chosen for name in lists.get(key, ())]
        return tuple(name for name in names if name not in self.gone)


@cache
def turkingbench() -> Splits:
    """The lists of TurkingBench: 120 train, 20 test, 17 challenge and 2 subjective tasks."""
    source = resources.files("errands.turk.tasks").joinpath("turkingbench.toml")
    return _parse(tomllib.loads(source.read_text("utf-8")), source.name)


def find_splits(places: Sequence[Path | Traversable], names: Collection[str]) -> Splits:
    """The lists for tasks of these names: from a file in one of the places, or TurkingBench's."""
    for place in places:
        for name in _FILES:
            source = place.joinpath(name)
            if source.is_file():
                return _read(source, name)
    known = turkingbench()
    return known if not set(known.expected("all")).isdisjoint(names) else Splits()


def _read(source: Path | Traversable, name: str) -> Splits:
    try:
        text = source.read_text("utf-8-sig")
        return _parse(tomllib.loads(text) if name.endswith("toml") else json.loads(text), name)
    except (OSError, ValueError, RecursionError) as error:
        raise TaskError(f"{source} is no list of splits: {error}.") from None


def _parse(table: Any, name: str) -> Splits:
    if not isinstance(table, dict) or (odd := set(table) - {*_LISTED, *_BESIDES}):
        problem = f"found {sorted(odd)}" if isinstance(table, dict) else "found no table"
        raise TaskError(f"{name} may have the lists {', '.join(_LISTED)} and train; {problem}.")
    lists: dict[str, tuple[str, ...]] = {}
    for split, names in table.items():
        if not isinstance(names, list) or not all(isinstance(task, str) for task in names):
            raise TaskError(f"{name}: {split} must be a list of task names.")
        lists[split] = tuple(dict.fromkeys(names))
    gone = frozenset(lists.pop("gone", ()))
    everything = [task for names in lists.values() for task in names]
    if twice := sorted({task for task in everything if everything.count(task) > 1}):
        raise TaskError(f"{name} has {twice[0]!r} in more than one list.")
    train = lists.pop("train", ())
    return Splits({split: lists.get(split, ()) for split in _LISTED}, train, gone)


def _check(split: str) -> None:
    if split not in SPLITS:
        near = difflib.get_close_matches(split, SPLITS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise SettingError(f"There is no split {split!r}; {hint}expected {', '.join(SPLITS)}.")
