"""Answers made elsewhere, and the oracle's own, as lines of JSON.

A line names an instance (`task` and `row`) and has either `answers`, field name to value (or list
of values), which are scored as if the page held them, or `actions`, which are done on the page
first: a text in the agents' grammar, or a list of such texts or of tool calls.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from errands.errors import DataError, ErrandsError
from errands.turk.actions.grammar import GrammarError, format_action, parse_answer
from errands.turk.drivers import Pages
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.pages.driver import ActionError, OpenPage
from errands.turk.scoring.instance_score import ScoredField, score_page
from errands.turk.scoring.summary import FieldScore
from errands.turk.tasks.loader import TaskSet

__all__ = [
    "ScoredPrediction", "field_scores", "oracle_lines", "read_predictions", "score_prediction",
]  # fmt: skip


class ScoredPrediction(msgspec.Struct, frozen=True):
    """One prediction's scores, or why there are none."""

    task: str
    row: int
    fields: tuple[ScoredField, ...] = ()
    error: str | None = None
    failed_actions: int = 0


class _Prediction(msgspec.Struct):
    task: str
    row: int
    answers: dict[str, Any] | None = None
    actions: Any = None


def read_predictions(path: Path) -> Iterator[_Prediction]:
    """The lines of a predictions file; a bad line is one sentence with its number."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        raise DataError(f"{path} cannot be read ({failure}); expected lines of JSON.") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            read = msgspec.json.decode(line.encode(), type=_Prediction)
        except (msgspec.DecodeError, RecursionError, msgspec.ValidationError) as failure:
            raise DataError(
                f"Line {number} of {path} is not a prediction ({failure}); expected"
                ' {"task": NAME, "row": N, "answers": {...}} or "actions" instead of "answers".'
            ) from None
        if (read.answers is None) == (read.actions is None):
            raise DataError(
                f"Line {number} of {path} must have either `answers` or `actions`, not"
                f" {'both' if read.answers is not None else 'neither'}."
            )
        yield read


def score_prediction(prediction: _Prediction, tasks: TaskSet, pages: Pages) -> ScoredPrediction:
    """Score one line; what goes wrong with it is in the result."""
    where = prediction.task, prediction.row
    try:
        task = tasks.task(prediction.task)
        if not 0 <= prediction.row < len(task.instances):
            return ScoredPrediction(*where, error=f"there is no row {prediction.row}")
        instance = task.instances[prediction.row]
        with closing(pages.open(task, instance)) as page:
            if prediction.answers is not None:
                answers = {name: _values(answer) for name, answer in prediction.answers.items()}
                return ScoredPrediction(*where, tuple(score_page(page, instance, answers=answers)))
            failed = _perform(page, prediction.actions)
            scored = tuple(score_page(page, instance))
            return ScoredPrediction(*where, scored, failed_actions=failed)
    except ErrandsError as failure:
        return ScoredPrediction(*where, error=str(failure))


def field_scores(scored: Iterable[ScoredPrediction]) -> list[FieldScore]:
    """What a summary is made of."""
    return [
        FieldScore(
            one.task,
            one.row,
            field.name,
            field.type,
            field.scores.get("paper"),
            field.scores.get("released"),
            field.scores.get("submitted"),
        )
        for one in scored
        for field in one.fields
    ]


def _values(answer: Any) -> list[str]:
    return [str(value) for value in (answer if isinstance(answer, list) else [answer])]


def _perform(page: OpenPage, actions: Any) -> int:
    """Do what was asked for; how many actions failed."""
    failed = 0
    for answer in actions if isinstance(actions, list) else [actions]:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        try:
            for action in parse_answer(text):
                if action.name != "submit":
                    page.perform(action)
        except (ActionError, GrammarError):
            failed += 1
    return failed


def oracle_lines(tasks: TaskSet, pages: Pages, limit: int | None = None) -> Iterator[str]:
    """For each instance, a line with the actions the oracle takes on it."""
    for task in tasks:
        for instance in task.instances[:limit]:
            line: dict[str, Any] = {"id": instance.id, "task": task.name, "row": instance.row}
            try:
                with closing(pages.open(task, instance)) as page:
                    done = play_oracle(page, instance)
                line["actions"] = [format_action(action) for action in done]
            except ErrandsError as failure:
                line["error"] = str(failure)
            yield json.dumps(line, ensure_ascii=False)
