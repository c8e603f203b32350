"""Markup of a requester's pages: forms, progress, money, who may work, who did what, agreement."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from errands.crowd.accounts.accounts import Person
from errands.crowd.hits.agreement import FieldAgreement
from errands.crowd.hits.assignments import ProjectProgress, WorkerShare
from errands.crowd.hits.project_workers import MOST_PEOPLE, JoinLink
from errands.crowd.hits.projects import Item, Project
from errands.crowd.hits.uploads import ImportSummary
from errands.markup import EMPTY, Markup, html, join
from errands.reports.html.elements import badge, table
from errands.web.core import elements as ui

__all__ = [
    "PROJECTS",
    "Access",
    "import_message",
    "preview_body",
    "project_body",
    "projects_body",
]

PROJECTS: Final = "/office/projects"
_DASH: Final = "-"
_NEW: Final = Project(0, 0, "", "", [], 1, 0.0, 60, [], "", True, 0.0, 0)


class Access(NamedTuple):
    """Who may work on a project, and who could."""

    workers: Sequence[Person]
    """All who were invited."""
    assigned: Collection[int]
    link: JoinLink | None
    address: str
    """Of the link, for people to follow."""


def projects_body(
    projects: Sequence[tuple[Project, ProjectProgress]],
    tasks: Sequence[str],
    check: str,
    *,
    is_admin: bool,
) -> Markup:
    """All projects, and the form that makes one: from files, or from a task folder."""
    rows = [
        [
            html('<a href="{}/{}">{}</a>', PROJECTS, project.id, project.name),
            f"{progress.done:,} of {progress.wanted:,}",
            f"{project.items:,}",
            _status(project),
        ]
        for project, progress in projects
    ]
    head = ["project", "assignments done", "instances", "status"]
    listed = table(head, rows, "Progress") if rows else ui.paragraph("There are none yet.")
    return ui.fragment(
        ui.section(listed, title="Projects"),
        _new_form(check, tasks, is_admin=is_admin),
    )


def _status(project: Project) -> Markup:
    if not project.is_open:
        return badge("closed")
    if project.can_pay:
        return badge("open", "won")
    return badge("budget used up" if project.committed else "needs a budget", "part")


def project_body(
    project: Project,
    progress: ProjectProgress,
    shares: Sequence[WorkerShare],
    names: Mapping[int, str],
    agreement: Sequence[FieldAgreement],
    access: Access,
    check: str,
    *,
    is_admin: bool,
) -> Markup:
    """One project; `names` are those of accounts."""
    return ui.fragment(
        _progress(project, progress, check),
        _budget(project, check, is_admin=is_admin),
        _access(project, access, check),
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
            (imported.decided, "approved or rejected by the file"),
        )
        if count
    ]
    return ui.section(ui.callout(f"Rows of the file: {', '.join(counts)}.", role="status"))


def _new_form(check: str, tasks: Sequence[str], *, is_admin: bool) -> Markup:
    source = EMPTY
    if tasks:
        options = [("", "my own files"), *((name, name) for name in tasks)]
        hint = "Files of yours, or a task that this server has."
        source = ui.select("Task from", "task", options, hint=hint)
    budget = ui.paragraph("Work that pays waits until an administrator gives it a budget.", "note")
    if is_admin:
        budget = ui.number(
            "Budget, in dollars",
            "budget",
            0.0,
            required=False,
            hint="What the whole project may cost. Without one, work that pays stays closed.",
        )
    content = ui.form(
        PROJECTS,
        source,
        html(
            '<div class="uploads">{}{}</div>',
            _file(
                *("Template", "template", "HTML with ${variables} and fields."),
                ".html,.htm,text/html",
                required=False,
            ),
            _file(
                "Table",
                "table",
                "CSV: a column for each variable, a row for each instance; or results of"
                " Mechanical Turk (Input.*, Answer.*).",
                ".csv,text/csv",
                required=False,
            ),
        ),
        _terms(_NEW, name_hint="Empty: the name of the server's task." if tasks else ""),
        budget,
        ui.select(
            "Who may do it",
            "is_restricted",
            [("0", "all workers who were invited"), ("1", "only those I assign, or who join it")],
            "0",
        ),
        ui.checkbox("Import the answers that come with the table or the task", "with_answers"),
        ui.submit("Publish", "primary"),
        check=check,
        multipart=True,
    )
    return ui.section(content, title="New project", id="new")


def _terms_form(project: Project, check: str) -> Markup:
    content = ui.form(
        f"{PROJECTS}/{project.id}/terms",
        _terms(project, needs_name=True),
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
            " more); {:,} in progress. {:,} worker{}; <b>{}</b> owed. {:,} wait for your review,"
            " {:,} rejected.</p><p>{} {}</p>",
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
            progress.waiting,
            progress.rejected,
            _status(project),
            _what_now(project),
        ),
        ui.actions(
            ui.link_button("Look at results", f"{here}/results", "primary"),
            ui.link_button("Download results (CSV)", f"{here}/results.csv"),
            ui.link_button("Preview", f"{here}/items/0"),
            ui.button(label, f"{here}/standing", check, fields=[("is_open", value)]),
        ),
        title="Progress",
    )


def _what_now(project: Project) -> str:
    if not project.is_open:
        return "Nobody can accept anything; what is accepted can still be submitted."
    if project.can_pay:
        return "Workers can accept instances."
    return "Nobody can accept anything until an administrator raises the budget."


def _budget(project: Project, check: str, *, is_admin: bool) -> Markup:
    rest = project.pay * project.wanted * project.items
    if not (project.pay or project.budget or project.committed):
        return EMPTY
    spent = html(
        "<p><b>{}</b> of {} are promised or earned. All instances at today's pay cost {}.</p>",
        *(ui.dollars(one) for one in (project.committed, project.budget, rest)),
    )
    form = ui.paragraph("An administrator sets the budget.", "note")
    if is_admin:
        form = ui.form(
            f"{PROJECTS}/{project.id}/budget",
            ui.number(
                *("Budget, in dollars", "budget", float(project.budget)),
                hint="Nothing is accepted that it does not cover.",
            ),
            ui.submit("Save the budget"),
            check=check,
        )
    return ui.section(spent, form, title="Budget", id="spending")


def _access(project: Project, access: Access, check: str) -> Markup:
    here = f"{PROJECTS}/{project.id}"
    ticks = join(
        ui.tick("worker", one.id, f"{one.name} (W{one.id})", one.id in access.assigned)
        for one in access.workers
    )
    chosen = ui.form(
        f"{here}/workers",
        html(
            "<fieldset><legend>Workers</legend>{}{}</fieldset>",
            *(
                ui.tick(
                    "is_restricted", value, text, project.is_restricted is bool(value), type="radio"
                )
                for value, text in (
                    (0, "All workers who were invited"),
                    (1, "Only those ticked below, and those who join by the link"),
                )
            ),
        ),
        html('<fieldset><legend>Assigned</legend><div class="choices">{}</div></fieldset>', ticks)
        if access.workers
        else ui.paragraph("No worker has been invited yet.", "note"),
        ui.submit("Save"),
        check=check,
    )
    return ui.section(chosen, _join(here, access, check), title="Who may work on it", id="access")


def _join(here: str, access: Access, check: str) -> Markup:
    link = access.link
    shown = ui.paragraph(
        "A link for people without an invitation, for instance from Prolific. Who follows it sees"
        " this project and nothing else."
    )
    end = EMPTY
    if link is not None:
        shown = html(
            '<p><span class="secret">{}</span></p><p>{:,} of {:,} people have joined.'
            " Add <code>?PROLIFIC_PID=...</code> so that everybody joins once.</p>",
            access.address,
            link.joined,
            link.most,
        )
        end = ui.button("End the link", f"{here}/join/end", check, kind="bad")
    return html(
        '<div class="card"><h3>Join link</h3>{}{}{}</div>',
        shown,
        ui.form(
            f"{here}/join",
            ui.number(
                *("People at most", "most", 10 if link is None else link.most),
                min=1,
                max=MOST_PEOPLE,
            ),
            ui.field(
                "Completion code",
                "completion",
                "" if link is None else link.completion,
                hint="Shown to those who are done; as Prolific gives it to you. May be empty.",
                maxlength=80,
            ),
            ui.submit("Make a link" if link is None else "Save the link"),
            check=check,
            kind="plain",
        ),
        end,
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
            f"{one.rejected:,}",
            ui.dollars(one.earned) if one.person is not None else _DASH,
        ]
        for one in shares
    ]
    head = ["worker", "name", "submitted", "mean time", "rejected", "owed"]
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


def _terms(project: Project, *, needs_name: bool = False, name_hint: str = "") -> Markup:
    """The terms."""
    minutes = "Minutes until an accepted instance goes to others"
    numbers = (
        ("Workers for each instance", "wanted", project.wanted, 1, 1000),
        ("Pay for each instance, in dollars", "pay", project.pay, 0, 1000),
        (minutes, "minutes", project.minutes, 1, 10_080),
    )
    about, hosts = "Description for workers", "\n".join(project.hosts)
    hosts_hint = "One a line; everything else that the task would load is blocked."
    return ui.fragment(
        ui.field("Name", "name", project.name, hint=name_hint, required=needs_name),
        ui.text_area(about, "about", project.about, rows=2),
        *(
            ui.number(label, name, value, required=False, min=least, max=most)
            for label, name, value, least, most in numbers
        ),
        ui.text_area("Hosts of pictures", "hosts", hosts, hint=hosts_hint, rows=2),
    )


def _file(label: str, name: str, hint: str, accept: str, *, required: bool = True) -> Markup:
    id = f"file-{name}"
    return ui.field(
        label, name, None, id=id, type="file", hint=hint, required=required, accept=accept
    )
