"""What people searched for: the original's goal_query_map.json, parted by instruction.

pairs = read_pairs(Path("goal_query_map.json"), Path("human_goals.json"))
train_search(pairs.examples(), Path("search"), SearchTrainingConfig())
"""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec

from errands.agents.page_reading import read_instruction
from errands.agents.page_reading import words as split_words
from errands.errors import DataError
from errands.learn.data.demonstrations import DemonstratedQuery, Demonstrations
from errands.shop.fingerprints import GoalFingerprints
from errands.shop.goals import SPLITS, instruction_key

__all__ = ["HumanPairs", "read_pairs", "read_query_file"]

_HELD_OUT: Final = 0.3

Content = TypeVar("Content")


class HumanPairs(NamedTuple):
    """Instructions, without their price, and what people searched for, in order."""

    training: Mapping[str, tuple[str, ...]]
    test: Mapping[str, tuple[str, ...]]
    source: str
    """How they were parted, in words."""

    def examples(self, apart: frozenset[str] = frozenset()) -> list[DemonstratedQuery]:
        """What is learnt; nothing of the instructions in `apart`."""
        return [
            DemonstratedQuery(instruction, query)
            for instruction, queries in self.training.items()
            if instruction_key(instruction) not in apart
            for query in queries
        ]


def read_pairs(
    pairs: Path, instructions: Path | None = None, *, share: float = _HELD_OUT, seed: int = 0
) -> HumanPairs:
    """Instructions and queries of a file of the form of goal_query_map.json, parted by instruction.

    With `instructions`, the original's human_goals.json in its order, as the paper does: learnt is
    from those of goals 1500 and later, tested on those of 0 to 499. Without, a share is held out.
    """
    known = {
        read_instruction(text).text: tuple(query for query in queries if split_words(query))
        for text, queries in _json(pairs, dict[str, list[str]], "instruction to queries").items()
    }
    usable = {text: queries for text, queries in known.items() if text and queries}
    if len(usable) < 2:
        raise DataError(
            f"{pairs} has {len(usable)} instructions with a query; expected two or more, since some"
            " are held out."
        )
    if instructions is None:
        names = sorted(usable)
        random.Random(f"{seed} held out").shuffle(names)
        count = min(max(round(share * len(names)), 1), len(names) - 1)
        test = set(names[:count])
        source = f"a share of {share:g} of the instructions held out"
    else:
        places: dict[str, int] = {}
        for place, text in enumerate(_json(instructions, list[str], "instructions")):
            places.setdefault(instruction_key(text), place)
        missing = [text for text in usable if instruction_key(text) not in places]
        if missing:
            raise DataError(
                f"{len(missing)} of the instructions of {pairs} are not in {instructions}, as"
                f" {missing[0]!r}; expected the list that they come from."
            )
        sides = {text: _side(places[instruction_key(text)]) for text in usable}
        test = {text for text, side in sides.items() if side == "test"}
        usable = {text: queries for text, queries in usable.items() if sides[text] != "eval"}
        source = "goals 1500 and later learnt from, 0 to 499 held out"
        if not test or len(test) == len(usable):
            raise DataError(
                f"{pairs} has no instructions of both sides of the split; leave --instructions out"
                " to hold out a share."
            )
    return HumanPairs(
        {text: usable[text] for text in usable if text not in test},
        {text: usable[text] for text in usable if text in test},
        source,
    )


def read_query_file(pairs: Path, instructions: Path | None = None) -> Demonstrations:
    """The same as demonstrations to learn from: all of them, or with `instructions` those that the
    paper learns from."""
    parted = read_pairs(pairs, instructions)
    if instructions is None:
        parted = parted._replace(training={**parted.training, **parted.test})
    queries = tuple(parted.examples())
    goals = GoalFingerprints.of(("", query.instruction) for query in queries)
    return Demonstrations((), queries, len(parted.training), 0, "", goals)


def _side(place: int) -> str:
    """Which of the original's splits a goal is of."""
    return next(
        name for name, (start, end) in SPLITS.items() if start <= place and (not end or place < end)
    )


def _json(path: Path, kind: type[Content], what: str) -> Content:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as failure:
        raise DataError(f"{path} cannot be read ({failure.strerror}).") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as failure:
        raise DataError(f"{path} is no JSON file of {what} ({failure}).") from None
