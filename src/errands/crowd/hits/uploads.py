"""How work gets into a project: from uploaded files, from a task folder, from files of results."""

import msgspec

from errands.crowd.hits.assignments import Assignments
from errands.crowd.hits.batch_file import check_template, distinct, read_batch, read_template
from errands.crowd.hits.projects import Project, Projects, Terms
from errands.crowd.hits.results import decisions_in, match_results, task_records
from errands.crowd.hits.reviews import Reviews
from errands.errors import TaskError
from errands.turk.tasks.loader import TaskSet

__all__ = ["ImportSummary", "import_results", "publish_files", "publish_task"]


class ImportSummary(msgspec.Struct, frozen=True):
    """What came of a file of results."""

    new: int
    known: int
    """Rows that were there already."""
    strangers: int
    """Rows whose inputs are no instance's."""
    rejected: int
    """Rows whose work was rejected."""
    empty: int
    """Rows without an answer."""
    decided: int = 0
    """Submissions of this project that the file approves or rejects."""


def publish_files(
    projects: Projects,
    work: Assignments,
    owner: int,
    terms: Terms,
    template: bytes,
    table: bytes,
    *,
    with_answers: bool = False,
    budget: float = 0.0,
) -> Project:
    """A project out of a template and a table; its answers come along if that is wanted."""
    page = read_template(template)
    batch = read_batch(table, page)
    if not batch.columns:
        raise TaskError("The CSV file has no column of inputs.")
    check_template(page, batch.columns)
    if with_answers and not batch.has_answers:
        raise TaskError("The CSV file has no Answer. column: there is nothing to import.")
    inputs = distinct(row.inputs for row in batch.rows)
    project = projects.publish(owner, terms, page, batch.columns, inputs, budget=budget)
    if with_answers:
        work.import_answers(
            project.id, match_results(project, projects.items(project.id), batch).records
        )
    return project


def publish_task(
    projects: Projects,
    work: Assignments,
    owner: int,
    terms: Terms,
    tasks: TaskSet | None,
    name: str,
    *,
    with_answers: bool = False,
    budget: float = 0.0,
) -> Project:
    """A project out of a task folder."""
    if tasks is None:
        raise TaskError("No task folder is served here; upload a template and a CSV file.")
    task = tasks.task(name)
    first = task.instances[0].inputs
    terms = msgspec.structs.replace(
        terms,
        name=terms.name.strip() or task.name,
        about=terms.about.strip() or first.get("Description", ""),
    )
    inputs = [instance.inputs for instance in task.instances]
    project = projects.publish(
        owner, terms, task.template, list(first), inputs, task=name, budget=budget
    )
    if with_answers:
        work.import_answers(project.id, task_records(task))
    return project


def import_results(
    projects: Projects,
    work: Assignments,
    reviews: Reviews,
    project: Project,
    data: bytes,
    decider: int,
) -> ImportSummary:
    """Take a file of results into a project, with what its columns Approve and Reject say."""
    batch = read_batch(data, projects.template(project.id))
    decisions = decisions_in(batch)
    match = match_results(project, projects.items(project.id), batch)
    new = work.import_answers(project.id, match.records)
    known = len(match.records) - new
    decided = len(reviews.decide_all(project.id, decisions, decider))
    return ImportSummary(new, known, match.strangers, match.rejected, match.empty, decided)
