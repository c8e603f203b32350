"""What was judged as a file: CSV with a line for each thing asked, JSON Lines with one for each
purchase. Both have the purchase's facts, what the rules gave, and what every judge said."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from errands.atomic import atomic_write
from errands.errors import DataError, SettingError
from errands.shop.rewards.rules import RewardRules
from errands.shop.rewards.synonym import Credit
from errands.verify.hand_scores import HandScore
from errands.verify.judges import answers_of, things_of
from errands.verify.scores import by_rules, reasons
from errands.verify.trajectories import Trajectory

__all__ = ["ENDINGS", "judged_text", "write_export"]

ENDINGS: Final = (".csv", ".jsonl")
_FACTS: Final = ("run", "episode", "goal", "wanted_asin", "bought_asin", "title", "instruction")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def write_export(
    path: Path,
    run: str,
    trajectories: Sequence[Trajectory],
    judges: Mapping[str, Mapping[int, HandScore]],
    scorers: Mapping[str, RewardRules],
    *,
    replace: bool = False,
) -> int:
    """Write what was judged, in one piece or not at all; how many purchases it has."""
    if path.suffix not in ENDINGS:
        raise SettingError(
            f"{path} has no known ending; what was judged is exported as {' or '.join(ENDINGS)}."
        )
    if path.exists() and not replace:
        raise DataError(f"{path} exists already; --force replaces it.")
    text = judged_text(path.suffix, run, trajectories, judges, scorers)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, lambda work: work.write_text(text, "utf-8", "replace", newline=""))
    except OSError as failure:
        raise DataError(f"{path} cannot be written ({failure.strerror}).") from None
    judged = {number for scores in judges.values() for number in scores}
    return sum(one.number in judged for one in trajectories)


def judged_text(
    ending: str,
    run: str,
    trajectories: Sequence[Trajectory],
    judges: Mapping[str, Mapping[int, HandScore]],
    scorers: Mapping[str, RewardRules],
) -> str:
    """The whole file."""
    purchases = _purchases(run, trajectories, judges, scorers)
    if ending == ".jsonl":
        return "".join(f"{msgspec.json.encode(one).decode()}\n" for one in purchases)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [name or "by hand" for name in judges]
    writer.writerow(
        [*_FACTS, "part", "thing", *(f"{name} overall" for name in scorers), "counted_for", *names,
         *(f"{name} note" for name in names)]
    )  # fmt: skip
    for one in purchases:
        facts = [_cell(one[name]) for name in _FACTS]
        overall = [one["rules"][name]["overall"] for name in scorers]
        for thing in one["things"]:
            said = [thing["judges"].get(name, "") for name in names]
            notes = [_cell(one["notes"].get(name, "")) for name in names]
            writer.writerow(
                [*facts, thing["part"], _cell(thing["wanted"]), *overall,
                 _cell(thing["counted_for"]), *said, *notes]
            )  # fmt: skip
    return out.getvalue()


def _purchases(
    run: str,
    trajectories: Sequence[Trajectory],
    judges: Mapping[str, Mapping[int, HandScore]],
    scorers: Mapping[str, RewardRules],
) -> Iterator[dict[str, Any]]:
    for one in trajectories:
        said = {
            name or "by hand": scores[one.number]
            for name, scores in judges.items()
            if one.number in scores
        }
        if not said:
            continue
        answers = {name: answers_of(score, one) for name, score in said.items()}
        credits = reasons(one)
        product = one.purchase.product if one.purchase else None
        yield {
            "run": run,
            "episode": one.number,
            "goal": one.key,
            "wanted_asin": one.goal.asin,
            "bought_asin": product.asin if product else "",
            "title": product.title if product else "",
            "instruction": one.goal.instruction_text,
            "price": one.purchase.price if one.purchase else None,
            "options": dict(one.purchase.options) if one.purchase else {},
            "things": [
                {
                    "part": thing.part,
                    "wanted": thing.wanted,
                    "counted_for": _counted(credits, thing.part, thing.wanted),
                    "judges": {name: said[place] for name, said in answers.items()},
                }
                for place, thing in enumerate(things_of(one))
            ],
            "rules": {
                name: msgspec.to_builtins(by_rules(one, rules)) for name, rules in scorers.items()
            },
            "judges": {
                name: msgspec.to_builtins(score.scores(one)) for name, score in said.items()
            },
            "notes": {name: score.note for name, score in said.items() if score.note},
        }


def _counted(credits: Sequence[Credit], part: str, wanted: str) -> str:
    """What the rules `synonym` took for it; of a type, all that helped."""
    return ", ".join(
        one.found
        for one in credits
        if one.part == part and (part == "type" or one.wanted == wanted)
    )


def _cell(value: object) -> object:
    """A text that a spreadsheet does not take for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
