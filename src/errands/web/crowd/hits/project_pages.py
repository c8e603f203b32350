"""Markup of a requester's pages: forms, progress, who did what, agreement."""

from collections.abc import Mapping, Sequence
from typing import Final

from errands.crowd.hits.agreement import FieldAgreement
from errands.crowd.hits.assignments import ProjectProgress, WorkerShare
from errands.crowd.hits.projects import Item, Project
from errands.crowd.hits.uploads import ImportSummary
from errands.markup import EMPTY, Markup, html
from errands.reports.html.elements import badge, table
from errands.web.core import elements as ui

__all__ = ["PROJECTS", "import_message", "preview_body", "project_body", "projects_body"]

PROJECTS: Final = "/office/projects"
_DASH: Final = "-"
_NEW: Final = Project(0, 0, "", "", [], 1, 0.0, 60, [], "", True, 0.0, 0)


def projects_body(
    projects: Sequence[tuple[Project, ProjectProgress]], tasks: Sequence[str], check: str
) -> Markup:
    """All projects, and the forms that publish one: from files, or from a task folder."""
    rows = [
        [
            html('<a href="{}/{}">{}</a>', PROJECTS, project.id, project.name),
            f"{progress.done:,} of {progress.wanted:,}",
            f"{project.items:,}",
            badge("open", "good") if project.is_open else badge("closed"),
        ]
        for project, progress in projects
    ]
    head = ["project", "assignments done", "instances", "status"]
    listed = table(head, rows, "Progress") if rows else ui.paragraph("There are none yet.")
    return ui.fragment(
        ui.section(listed, title="Projects"),
        _upload_form(check),
        _folder_form(check, tasks) if tasks else EMPTY,
    )


def project_body(
    project: Project,
    progress: ProjectProgress,
    shares: Sequence[WorkerShare],
    names: Mapping[int, str],
    agreement: Sequence[FieldAgreement],
    check: str,
) -> Markup:
    """One project; `names` are those of accounts."""
    return ui.fragment(
        _progress(project, progress, check),
        _shares(shares, names),
        _agreement(agreement),
        _import_form(project, check),
        _terms_form(project, check),
    )


def preview_body(project: Project, item: Item, frame: Markup) -> Markup:
    """One instance as workers see it, and its inputs."""
    here, number = f"{PROJECTS}/{project.id}", item.number
    ways = [
        ui.link_button(label, f"{here}/items/{other}")
        for other, label in ((number - 1, "Previous"), (number + 1, "Next"))
        if 0 <= other < project.items
    ]
    inputs = table(["column", "value"], list(item.inputs.items()), "What this instance shows")
    return ui.fragment(
        ui.section(
            html('<p><a href="{}">Back to the project</a></p>', here),
            html("<h2>Instance {} of {:,}</h2>", number + 1, project.items),
            frame,
            ui.actions(*ways),
        ),
        ui.section(inputs, title="Inputs", kind="words"),
    )


def import_message(imported: ImportSummary) -> Markup:
    """What came of a file of results."""
    counts = [f"{imported.new:,} new"]
    counts += [
        f"{count:,} {what}"
        for count, what in (
            (imported.known, "there already"),
            (imported.strangers, "with inputs of no instance"),
            (imported.rejected, "rejected"),
            (imported.empty, "without an answer"),
        )
        if count
    ]
    return ui.section(ui.callout(f"Rows of the file: {', '.join(counts)}.", role="status"))


def _upload_form(check: str) -> Markup:
    content = ui.form(
        PROJECTS,
        _file("Template", "template", "HTML with ${variables} and fields.", ".html,.htm,text/html"),
        _file(
            "Table",
            "table",
            "CSV: a column for each variable, a row for each instance; or results of Mechanical"
            " Turk (Input.*, Answer.*).",
            ".csv,text/csv",
        ),
        _terms("up", _NEW),
        ui.checkbox("Import the answers that are in the CSV file", "with_answers"),
        ui.submit("Publish", "primary"),
        check=check,
        multipart=True,
    )
    return ui.section(content, title="Publish a task")


def _folder_form(check: str, names: Sequence[str]) -> Markup:
    content = ui.form(
        f"{PROJECTS}/take",
        ui.select("Task", "task", [(name, name) for name in names]),
        _terms("take", _NEW, needs_name=False),
        ui.checkbox("Import the answers that come with it", "with_answers"),
        ui.submit("Publish", "primary"),
        check=check,
    )
    return ui.section(content, title="Or publish a task folder of this server")


def _terms_form(project: Project, check: str) -> Markup:
    content = ui.form(
        f"{PROJECTS}/{project.id}/terms",
        _terms("terms", project),
        ui.paragraph("Assignments that are accepted already keep their time and pay.", "note"),
        ui.submit("Save"),
        check=check,
    )
    return ui.section(content, title="Terms")


def _import_form(project: Project, check: str) -> Markup:
    content = ui.form(
        f"{PROJECTS}/{project.id}/import",
        _file(
            "File of results",
            "table",
            "CSV of Mechanical Turk or of this site; rows find their instance by their inputs,"
            " and are imported once.",
            ".csv,text/csv",
        ),
        ui.submit("Import"),
        check=check,
        multipart=True,
    )
    return ui.section(content, title="Import results")


def _progress(project: Project, progress: ProjectProgress, check: str) -> Markup:
    here = f"{PROJECTS}/{project.id}"
    label, value = ("Close", "0") if project.is_open else ("Reopen", "1")
    return ui.section(
        html(
            '<progress max="{}" value="{}" aria-label="Assignments done"></progress>',
            max(progress.wanted, progress.done, 1),
            progress.done,
        ),
        html(
            "<p><b>{:,}</b> of {:,} assignments are done ({:,} of {:,} instances by {} worker{} or"
            " more); {:,} in progress. {:,} worker{}; <b>{}</b> owed. The project is {}.</p>",
            progress.done,
            progress.wanted,
            progress.finished_items,
            project.items,
            project.wanted,
            "s" if project.wanted > 1 else "",
            progress.accepted,
            progress.workers,
            "s" if progress.workers != 1 else "",
            ui.dollars(progress.owed),
            "open" if project.is_open else "closed",
        ),
        ui.actions(
            ui.link_button("Download results (CSV)", f"{here}/results.csv", "primary"),
            ui.link_button("Preview", f"{here}/items/0"),
            ui.button(label, f"{here}/standing", check, fields=[("is_open", value)]),
        ),
        title="Progress",
    )


def _shares(shares: Sequence[WorkerShare], names: Mapping[int, str]) -> Markup:
    if not shares:
        return EMPTY
    rows = [
        [
            one.worker,
            names.get(one.person, "") if one.person is not None else "from a file",
            f"{one.done:,}",
            f"{one.seconds / one.done:,.0f} s" if one.seconds else _DASH,
            ui.dollars(one.earned) if one.person is not None else _DASH,
        ]
        for one in shares
    ]
    head = ["worker", "name", "done", "mean time", "owed"]
    return ui.section(table(head, rows, "Workers of this project"), title="Workers")


def _agreement(fields: Sequence[FieldAgreement]) -> Markup:
    rows = [
        [
            one.field,
            one.type or _DASH,
            f"{one.units:,}",
            f"{one.answers:,}",
            _DASH if one.same is None else f"{100 * one.same:.1f}%",
            *(_figure(value) for value in (one.kappa, one.alpha, one.rouge)),
        ]
        for one in fields
        if one.units
    ]
    if not rows:
        return EMPTY
    head = ["field", "type", "instances", "answers", "same"]
    head += ["Fleiss' kappa", "Krippendorff's alpha", "ROUGE-L"]
    note = (
        "Over instances with two answers or more. A dash: the answers do not define the figure"
        " (all answers are the same, or unequally many workers)."
    )
    shown = table(head, rows, "Agreement of workers, field by field")
    return ui.section(shown, ui.paragraph(note, "note"), title="Agreement")


def _figure(value: float | None) -> str:
    return _DASH if value is None else f"{value:.3f}"


def _terms(prefix: str, project: Project, *, needs_name: bool = True) -> Markup:
    """The terms; ids begin with a prefix, for several forms are on a page."""
    minutes = "Minutes until an accepted instance goes to others"
    numbers = (
        ("Workers for each instance", "wanted", project.wanted, 1, 1000),
        ("Pay for each instance, in dollars", "pay", project.pay, 0, 1000),
        (minutes, "minutes", project.minutes, 1, 10_080),
    )
    hint = "" if needs_name else "If another than the task's."
    about, hosts = "Description for workers", "\n".join(project.hosts)
    hosts_hint = "One a line; everything else that the task would load is blocked."
    return ui.fragment(
        ui.field("Name", "name", project.name, id=f"{prefix}-name", hint=hint, required=needs_name),
        ui.text_area(about, "about", project.about, id=f"{prefix}-about", rows=2),
        *(
            ui.number(
                label, name, value, id=f"{prefix}-{name}", required=False, min=least, max=most
            )
            for label, name, value, least, most in numbers
        ),
        ui.text_area(
            "Hosts of pictures", "hosts", hosts, id=f"{prefix}-hosts", hint=hosts_hint, rows=2
        ),
    )


def _file(label: str, name: str, hint: str, accept: str) -> Markup:
    id = f"file-{name}"
    return ui.field(label, name, None, id=id, type="file", hint=hint, required=True, accept=accept)
