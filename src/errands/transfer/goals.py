"""What is to be bought: instructions, with what is hidden behind them where somebody wrote it down.

A text file has one instruction a line. A TOML file has a table for each, and says what counts:

    [[errand]]
    instruction = "i need red basketball shoes in size 9, and price lower than 90.00 dollars"
    name = "Men's Basketball Shoes"            # a title to be compared; else the query's words
    category = "Clothing › Men › Shoes"
    attributes = ["non slip"]
    options = ["9"]                            # or options.size = "9"
    price = 90.0

A JSON file is a frozen goal list, as `errands catalog goals` writes it. Goals that say nothing
but the instruction are scored by hand.
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from errands.errors import GoalError
from errands.shop.goals import NO_CAP, Goal
from errands.shop.rewards.nouns import NounTagger, tagger

__all__ = ["TAGGER", "TransferGoal", "catalog_goals", "instruction_goal", "read_goals"]

TAGGER: Final = "lexicon"
_LONGEST: Final = 2_000


class TransferGoal(msgspec.Struct, frozen=True):
    """One thing to be bought: an instruction, and what it is scored by."""

    instruction: str
    goal: Goal
    """What it is scored by; for one that is scored by hand, the instruction alone."""
    by_hand: bool


class _GoalTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A goal as a TOML file spells it."""

    instruction: str
    name: str = ""
    query: str = ""
    category: str = ""
    attributes: tuple[str, ...] = ()
    options: tuple[str, ...] | dict[str, str] = ()
    price: float | None = None


class _GoalFile(msgspec.Struct, frozen=True):
    goals: tuple[Goal, ...]


def instruction_goal(instruction: str) -> TransferGoal:
    """A goal of which only the instruction is known: it is scored by hand."""
    text = " ".join(instruction.split())
    if not text or len(text) > _LONGEST:
        raise GoalError(f"An instruction has 1 to {_LONGEST} characters, not {len(text)}.")
    goal = Goal("", "", text, text, "", text, (), float(NO_CAP), (), 1.0)
    return TransferGoal(text, goal, by_hand=True)


def catalog_goals(goals: Iterable[Goal]) -> tuple[TransferGoal, ...]:
    """A catalogue's goals, which know everything."""
    return tuple(TransferGoal(goal.instruction_text, goal, by_hand=False) for goal in goals)


def read_goals(path: Path) -> tuple[TransferGoal, ...]:
    """The goals of a file, in its order."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as failure:
        raise GoalError(f"{path} cannot be read ({failure.strerror}).") from None
    except UnicodeDecodeError:
        raise GoalError(f"{path} is not UTF-8 text; expected .txt, .toml or .json.") from None
    ending = path.suffix.lower()
    if ending == ".toml":
        goals = _from_toml(text, path)
    elif ending == ".json":
        goals = _from_json(text, path)
    elif ending in (".txt", ""):
        lines = [line.strip() for line in text.splitlines()]
        goals = tuple(instruction_goal(line) for line in lines if line and not line.startswith("#"))
    else:
        raise GoalError(f"{path}: expected a file of goals, .txt, .toml or .json.")
    if not goals:
        raise GoalError(f"{path} has no goals; expected at least one instruction.")
    return goals


def _from_toml(text: str, path: Path) -> tuple[TransferGoal, ...]:
    try:
        document: Any = tomllib.loads(text)
        tables = msgspec.convert(document.get("errand", []), tuple[_GoalTable, ...])
    except msgspec.ValidationError as failure:
        raise GoalError(f"{path}: an [[errand]] is not of the expected form: {failure}.") from None
    except ValueError as failure:
        raise GoalError(f"{path} is not TOML ({failure}).") from None
    except RecursionError:
        raise GoalError(f"{path} nests too deeply; expected [[errand]] tables.") from None
    words = tagger(TAGGER)
    return tuple(_from_table(each, words) for each in tables)


def _from_table(each: _GoalTable, words: NounTagger) -> TransferGoal:
    bare = instruction_goal(each.instruction)
    if not (each.attributes or each.options or each.price is not None):
        return bare
    if not each.attributes:
        raise GoalError(
            f"The goal {each.instruction[:60]!r} has no attributes; to be scored by itself it"
            " needs at least one (with none of attributes, options and price it is scored by hand)."
        )
    if each.price is not None and not 0 < each.price < NO_CAP:
        raise GoalError(f"The goal {each.instruction[:60]!r}: price must be above 0.")
    name = each.name or each.query or each.instruction
    goal = Goal(
        asin="",
        category="",
        query=each.query or "(any)",
        name=name,
        product_category=each.category,
        instruction_text=bare.instruction,
        attributes=tuple(word.lower() for word in each.attributes),
        price_upper=float(NO_CAP) if each.price is None else each.price,
        goal_options=_lowered(each.options),
        weight=1.0,
        nouns=tuple(words.nouns(name)),
    )
    return TransferGoal(bare.instruction, goal, by_hand=False)


def _lowered(options: tuple[str, ...] | dict[str, str]) -> tuple[str, ...]:
    """The wanted values; which name they go by on another site says little."""
    values = options.values() if isinstance(options, dict) else options
    return tuple(value.lower() for value in values)


def _from_json(text: str, path: Path) -> tuple[TransferGoal, ...]:
    try:
        goals = msgspec.json.decode(text, type=_GoalFile).goals
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as failure:
        raise GoalError(
            f'{path} is not a goal file {{"goals": [...]}}, as `errands catalog goals` writes it'
            f" ({failure})."
        ) from None
    words = tagger(TAGGER)
    for number, goal in enumerate(goals):
        if not goal.attributes:
            raise GoalError(f"Goal {number} of {path} has no attributes; expected at least one.")
    return catalog_goals(
        msgspec.structs.replace(goal, nouns=tuple(words.nouns(goal.name))) for goal in goals
    )
