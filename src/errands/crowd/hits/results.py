"""Results in Mechanical Turk's CSV format, and such files taken into a project.

Columns are those of Mechanical Turk's batch files, in its order; what has no meaning here is
empty. Cells are written exactly as they were answered. A file can be taken into a project again,
and is a task folder's `batch.csv`.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from errands.crowd.hits.assignments import Assignment, ImportedAnswers
from errands.crowd.hits.batch_file import INPUT, BatchFile, loosely, mturk_time, time_of
from errands.crowd.hits.projects import Item, Project
from errands.crowd.hits.reviews import Decision
from errands.crowd.hits.task_page import field_kinds
from errands.errors import TaskError
from errands.turk.tasks.instances import plain_newlines
from errands.turk.tasks.table import ANSWER, written
from errands.turk.tasks.task import Task

__all__ = [
    "ResultMatch",
    "answer_names",
    "decisions_in",
    "match_results",
    "results_csv",
    "task_records",
]

BEFORE: Final = (
    *("HITId", "HITTypeId", "Title", "Description", "Keywords", "Reward", "CreationTime"),
    *("MaxAssignments", "RequesterAnnotation", "AssignmentDurationInSeconds"),
    *("AutoApprovalDelayInSeconds", "Expiration", "NumberOfSimilarHITs", "LifetimeInSeconds"),
    *("AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime", "SubmitTime"),
    *("AutoApprovalTime", "ApprovalTime", "RejectionTime", "RequesterFeedback"),
    *("WorkTimeInSeconds", "LifetimeApprovalRate", "Last30DaysApprovalRate"),
    "Last7DaysApprovalRate",
)
AFTER: Final = ("Approve", "Reject")


def decisions_in(batch: BatchFile) -> dict[str, Decision]:
    """What a requester wrote into the columns `Approve` (any mark) and `Reject` (the reason), by
    the name of the assignment."""
    decisions = {}
    for row in batch.rows:
        mark = row.noted.get("AssignmentId", "").strip()
        approve, reject = (row.noted.get(name, "").strip() for name in AFTER)
        if not mark or not (approve or reject):
            continue
        if approve and reject:
            raise TaskError(
                f"The CSV file both approves and rejects assignment {mark[:80]}; fill in one of the"
                " columns Approve and Reject."
            )
        if reject.lower() == "x":
            raise TaskError(
                f"The CSV file rejects assignment {mark[:80]} without a reason; write the reason"
                " into the column Reject."
            )
        decisions[mark] = Decision("rejected", reject) if reject else Decision("approved")
    return decisions


class ResultMatch(NamedTuple):
    """Rows of a file that belong to instances of a project, and how many do not."""

    records: list[ImportedAnswers]
    strangers: int
    """Rows whose inputs are no instance's."""
    rejected: int
    """Rows whose work was rejected: they are no answers."""
    empty: int
    """Rows without any answer."""


def answer_names(template: str, given: Iterable[Mapping[str, str]]) -> list[str]:
    """Names of all answers: the template's fields, then others in order of appearance."""
    names = dict.fromkeys(field_kinds(template))
    for answers in given:
        names.update(dict.fromkeys(answers))
    return list(names)


def results_csv(
    project: Project, template: str, items: Iterable[Item], done: Sequence[Assignment]
) -> bytes:
    """One row for each submitted assignment."""
    inputs = {item.number: item.inputs for item in items}
    names = answer_names(template, (one.answers for one in done))
    columns = [
        *BEFORE,
        *(INPUT + column for column in project.columns),
        *(ANSWER + name for name in names),
        *AFTER,
    ]
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writeheader()
    for one in done:
        shown = inputs[one.item]
        writer.writerow(
            _noted(project, one, shown)
            | {INPUT + column: shown.get(column, "") for column in project.columns}
            | {ANSWER + name: answer for name, answer in one.answers.items()}
        )
    return out.getvalue().encode("utf-8", "replace")


def _noted(project: Project, one: Assignment, shown: dict[str, str]) -> dict[str, str]:
    took = None
    if one.submitted is not None and one.accepted is not None:
        took = max(0, round(one.submitted - one.accepted))
    return {
        "HITId": _name(f"hit {project.id} {project.made} {one.item}"),
        "HITTypeId": _name(f"type {project.id} {project.made}"),
        "Title": shown.get("Title") or project.name,
        "Description": shown.get("Description") or project.about,
        "Keywords": shown.get("Keywords", ""),
        # What was promised when it was accepted; nothing is known of work that was done elsewhere.
        "Reward": f"${project.pay if one.person is None else one.pay:.2f}",
        "CreationTime": mturk_time(project.made),
        "MaxAssignments": str(project.wanted),
        "AssignmentDurationInSeconds": str(60 * project.minutes),
        "AssignmentId": one.mark,
        "WorkerId": one.worker,
        "AssignmentStatus": one.verdict.capitalize() or "Submitted",
        "AcceptTime": mturk_time(one.accepted),
        "SubmitTime": mturk_time(one.submitted),
        "ApprovalTime": mturk_time(one.decided) if one.verdict == "approved" else "",
        "RejectionTime": mturk_time(one.decided) if one.verdict == "rejected" else "",
        "RequesterFeedback": one.feedback,
        "WorkTimeInSeconds": "" if took is None else str(took),
    }


def _name(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:30].upper()


def match_results(project: Project, items: Iterable[Item], batch: BatchFile) -> ResultMatch:
    """The rows of a file as answers to a project's instances, found by their inputs."""
    if not batch.has_answers:
        raise TaskError("The CSV file has no Answer. column: there is nothing to import.")
    absent = [column for column in project.columns if column not in batch.columns]
    if absent:
        raise TaskError(
            f"The CSV file has no column {INPUT}{absent[0]}; it belongs to another task."
        )
    exact: dict[tuple[str, ...], int] = {}
    loose: dict[tuple[str, ...], int] = {}
    for item in items:
        cells = tuple(plain_newlines(item.inputs.get(name, "")) for name in project.columns)
        exact.setdefault(cells, item.number)
        loose.setdefault(loosely(cells), item.number)
    records: list[ImportedAnswers] = []
    strangers = rejected = empty = 0
    for row in batch.rows:
        cells = tuple(row.inputs[name] for name in project.columns)
        number = exact.get(cells, loose.get(loosely(cells)))
        if number is None:
            strangers += 1
        elif row.noted.get("AssignmentStatus") == "Rejected":
            rejected += 1
        elif not any(row.answers.values()):
            empty += 1
        else:
            records.append(
                ImportedAnswers(
                    number,
                    row.answers,
                    row.noted.get("AssignmentId", "")[:200],
                    row.noted.get("WorkerId", "")[:200],
                    time_of(row.noted.get("AcceptTime", "")),
                    time_of(row.noted.get("SubmitTime", "")),
                )
            )
    if not records and strangers:
        raise TaskError("No row of the CSV file has the inputs of an instance of this project.")
    return ResultMatch(records, strangers, rejected, empty)


def task_records(task: Task) -> list[ImportedAnswers]:
    """The answers that a task folder holds."""
    records = []
    for instance in task.instances:
        count = max((len(labels) for labels in instance.labels.values()), default=0)
        for place in range(count):
            answers = {name: written(labels[place]) for name, labels in instance.labels.items()}
            records.append(ImportedAnswers(instance.row, answers, worker=f"label {place + 1}"))
    return records
