"""Markup of a requester's pages: forms, progress, who did what, agreement."""

from collections.abc import Mapping, Sequence
from typing import Final

from errands.crowd.hits.agreement import FieldAgreement
from errands.crowd.hits.assignments import ProjectProgress, WorkerShare
from errands.crowd.hits.projects import Project
from errands.crowd.hits.uploads import ImportSummary
from errands.reports.html.markup import esc, table
from errands.web.crowd.document import field
from errands.web.crowd.site import dollars

__all__ = [
    "PROJECTS",
    "agreement",
    "brought",
    "import_form",
    "progress",
    "shares",
    "take_form",
    "terms_form",
    "upload_form",
]

PROJECTS: Final = "/office/projects"
NOTHING: Final = "-"


def upload_form(check: str) -> str:
    """Where a template and a table are chosen."""
    return (
        f'<section><h2>Upload a task</h2><form class="card" method="post" action="{PROJECTS}"'
        f' enctype="multipart/form-data">{_check(check)}'
        + _file("Template", "up-template", "template", "HTML with ${variables} and fields.", "html")
        + _file(
            "Table",
            "up-table",
            "table",
            "CSV: a column for each variable, a row for each instance; or results of Mechanical"
            " Turk (Input.*, Answer.*).",
            "csv",
        )
        + _fields("up", Project(0, 0, "", "", [], 1, 0.0, 60, [], "", True, 0.0, 0))
        + _tick("up", "Take over the answers that are in the CSV file")
        + '<button class="btn primary" type="submit">Upload</button></form></section>'
    )


def take_form(check: str, names: Sequence[str]) -> str:
    """Where a task folder is chosen."""
    options = "".join(f"<option>{esc(name)}</option>" for name in names)
    return (
        '<section><h2>Or take one that is here</h2><form class="card" method="post"'
        f' action="{PROJECTS}/take">{_check(check)}'
        '<p class="field"><label for="take-task">Task</label>'
        f'<select id="take-task" name="task">{options}</select></p>'
        + _fields(
            "take", Project(0, 0, "", "", [], 1, 0.0, 60, [], "", True, 0.0, 0), needs_name=False
        )
        + _tick("take", "Take over the answers that come with it")
        + '<button class="btn primary" type="submit">Put it up</button></form></section>'
    )


def terms_form(project: Project, check: str) -> str:
    """Where the terms of a project are changed."""
    return (
        '<section><h2>Terms</h2><form class="card" method="post"'
        f' action="{PROJECTS}/{project.id}/terms">{_check(check)}'
        + _fields("terms", project)
        + '<p class="note">What is accepted already keeps its time and pay.</p>'
        '<button class="btn" type="submit">Change them</button></form></section>'
    )


def import_form(project: Project, check: str) -> str:
    """Where a file of results is chosen."""
    return (
        '<section><h2>Take in results</h2><form class="card" method="post"'
        f' action="{PROJECTS}/{project.id}/import" enctype="multipart/form-data">{_check(check)}'
        + _file(
            "File of results",
            "import-table",
            "table",
            "CSV of Mechanical Turk or of this site; rows find their instance by their inputs,"
            " and are taken once.",
            "csv",
        )
        + '<button class="btn" type="submit">Take them in</button></form></section>'
    )


def brought(came: ImportSummary) -> str:
    """What came of a file."""
    parts = [f"{came.new:,} new"]
    parts += [
        f"{count:,} {what}"
        for count, what in (
            (came.known, "there already"),
            (came.strangers, "with inputs of no instance"),
            (came.rejected, "rejected"),
            (came.empty, "without an answer"),
        )
        if count
    ]
    return (
        '<section><div class="callout" role="status"><p>Rows of the file: '
        f"{', '.join(parts)}.</p></div></section>"
    )


def progress(project: Project, done: ProjectProgress) -> str:
    """How far a project is; the section is left open for what can be done."""
    most = max(done.wanted, done.done, 1)
    return (
        "<section><h2>Progress</h2>"
        f'<progress max="{most}" value="{done.done}" aria-label="Assignments done"></progress>'
        f"<p><b>{done.done:,}</b> of {done.wanted:,} assignments are done"
        f" ({done.finished_items:,} of {project.items:,} instances by {project.wanted}"
        f" worker{'s' if project.wanted > 1 else ''} or more); {done.accepted:,} being worked"
        f" on. {done.workers:,} worker{'s' if done.workers != 1 else ''};"
        f" <b>{dollars(done.owed)}</b> owed. The work is {'open' if project.is_open else 'closed'}."
        "</p>"
    )


def shares(held: Sequence[WorkerShare], people: Mapping[int, str]) -> str:
    """Who did how much."""
    if not held:
        return ""
    rows = [
        [
            esc(one.worker),
            esc(people.get(one.person, "")) if one.person is not None else "from a file",
            f"{one.done:,}",
            f"{one.seconds / one.done:,.0f} s" if one.seconds else NOTHING,
            dollars(one.earned) if one.person is not None else NOTHING,
        ]
        for one in held
    ]
    head = ["worker", "name", "done", "mean time", "owed"]
    return f"<section><h2>Workers</h2>{table(head, rows, 'Workers of this project')}</section>"


def agreement(found: Sequence[FieldAgreement]) -> str:
    """How far workers agree."""
    rows = [
        [
            esc(one.field),
            esc(one.type or NOTHING),
            f"{one.units:,}",
            f"{one.answers:,}",
            NOTHING if one.same is None else f"{100 * one.same:.1f}%",
            _figure(one.kappa),
            _figure(one.alpha),
            _figure(one.rouge),
        ]
        for one in found
        if one.units
    ]
    if not rows:
        return ""
    head = ["field", "type", "instances", "answers", "same", "Fleiss' kappa",
            "Krippendorff's alpha", "ROUGE-L"]  # fmt: skip
    note = (
        '<p class="note">Over instances with two answers or more. A dash: the answers do not'
        " define the figure (only one thing was ever answered, or unequally many workers).</p>"
    )
    caption = "Agreement of workers, field by field"
    return f"<section><h2>Agreement</h2>{table(head, rows, caption)}{note}</section>"


def _figure(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def _check(check: str) -> str:
    return f'<input type="hidden" name="check" value="{esc(check)}">'


def _fields(form: str, project: Project, *, needs_name: bool = True) -> str:
    """The terms; ids have the form's name before them, for several are on a page."""
    hosts = esc("\n".join(project.hosts))
    return (
        _field(form, "Name", "name", project.name, required=needs_name,
               hint="" if needs_name else "If another than the task's.")
        + f'<p class="field"><label for="{form}-about">Description for workers</label>'
        f'<textarea id="{form}-about" name="about" rows="2">{esc(project.about)}</textarea></p>'
        + _field(form, "Workers for each instance", "wanted", str(project.wanted), type="number",
                 more=' min="1" max="1000"')
        + _field(form, "Pay for each instance, in dollars", "pay", f"{project.pay:g}",
                 type="number", more=' min="0" max="1000" step="any"')
        + _field(form, "Minutes until an accepted instance goes to others", "minutes",
                 str(project.minutes), type="number", more=' min="1" max="10080"')
        + f'<p class="field"><label for="{form}-hosts">Hosts of pictures</label>'
        f'<small id="{form}-hosts-hint">One a line; all else that the task would load from'
        f' elsewhere is kept out.</small><textarea id="{form}-hosts" name="hosts" rows="2"'
        f' aria-describedby="{form}-hosts-hint">{hosts}</textarea></p>'
    )  # fmt: skip


def _field(
    form: str,
    label: str,
    name: str,
    value: str,
    *,
    type: str = "text",
    hint: str = "",
    required: bool = False,
    more: str = "",
) -> str:
    made = field(label, f"{form}-{name}", value, type=type, hint=hint, required=required, more=more)
    return made.replace(f'name="{form}-{name}"', f'name="{name}"', 1)


def _file(label: str, id: str, name: str, hint: str, kind: str) -> str:
    accept = ".html,.htm,text/html" if kind == "html" else ".csv,text/csv"
    return (
        f'<p class="field"><label for="{id}">{label}</label><small id="{id}-hint">{esc(hint)}'
        f'</small><input id="{id}" name="{name}" type="file" accept="{accept}"'
        f' aria-describedby="{id}-hint" required></p>'
    )


def _tick(form: str, label: str) -> str:
    return (
        f'<p class="field"><label class="tick" for="{form}-answers"><input type="checkbox"'
        f' id="{form}-answers" name="with_answers" value="1">{label}</label></p>'
    )
