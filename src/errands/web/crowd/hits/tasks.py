"""Crowd work as workers meet it: what there is, one instance in its frame, accept, skip, return.

The same by JSON, so that a program can be a worker: it reads an instance's inputs and page, and
sends answers by name.
"""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from errands.crowd.accounts.accounts import Person
from errands.crowd.errors import Conflict, NotFound
from errands.crowd.hits.assignments import Assignment, Assignments, Draft
from errands.crowd.hits.project_workers import ProjectWorkers
from errands.crowd.hits.projects import Project, Projects
from errands.crowd.hits.task_page import NO_ANSWERS
from errands.markup import EMPTY, Markup, html
from errands.reports.html.elements import badge, cut, table
from errands.web.core import elements as ui
from errands.web.core.forms import MOST_FIELDS
from errands.web.core.http_errors import bad_request, decode_request, existing
from errands.web.crowd.auth import CrowdRequest, redirect
from errands.web.crowd.hits.task_frame import frame, frame_address, hit_name, preview_address
from errands.web.crowd.routes import Routes, WorkCard, api, worker_page
from errands.web.crowd.site import CrowdSite, worker_response

__all__ = ["VERDICTS", "TaskRoutes"]

_TASK: Final = "/work/{token}/tasks/{id:int}"
_ASSIGNMENT: Final = "/work/{token}/assignments/{id:int}"
_API: Final = "/v1/work/tasks"
_API_TASK: Final = f"{_API}/{{id:int}}"
_API_ASSIGNMENT: Final = "/v1/work/assignments/{id:int}"
_ITEM: Final = {"item": {"type": "integer"}}
_DRAFT: Final = msgspec.json.Decoder(
    Annotated[dict[str, list[str]], msgspec.Meta(max_length=MOST_FIELDS)]
)
_LAST: Final = 10
"""Submissions that a worker sees again."""
VERDICTS: Final = {
    "": ("waits for review", ""),
    "approved": ("approved", "won"),
    "rejected": ("rejected", "failed"),
}
"""Badges of decisions."""


class ItemChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which instance; the next one where nothing is said."""

    item: Annotated[int, msgspec.Meta(ge=0, lt=2**62)] | None = None


_NEXT: Final = ItemChoice()


class ItemSkip(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which instance is left to others."""

    item: Annotated[int, msgspec.Meta(ge=0, lt=2**62)]


class TaskAnswers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Answers by the names of their fields; several values of one name in a list."""

    answers: Annotated[dict[str, str | list[str]], msgspec.Meta(max_length=MOST_FIELDS)]
    allow_empty: bool = False
    """Whether answers that say nothing are meant so."""


class TaskOffered(msgspec.Struct, frozen=True):
    """A project as a worker sees it."""

    id: int
    name: str
    about: str
    pay: float
    minutes: int
    is_open: bool
    done: int
    earned: float
    next: int | None
    """The number of the instance that comes next; None where nothing is left."""
    assignment: int | None
    """What is accepted and not finished."""


class TasksOffered(msgspec.Struct, frozen=True):
    """All work that is open."""

    tasks: list[TaskOffered]


class ItemUpcoming(msgspec.Struct, frozen=True):
    """An instance before it is accepted."""

    item: int
    inputs: dict[str, str]
    frame: str
    """The address of its page; it takes no answers."""


class AcceptedTask(msgspec.Struct, frozen=True):
    """An assignment as its worker sees it."""

    id: int
    task: int
    item: int
    status: str
    inputs: dict[str, str]
    frame: str
    """The address of its page."""
    accepted: float | None
    until: float | None
    submitted: float | None
    answers: dict[str, str]
    pay: float
    verdict: str
    """`approved` or `rejected`; empty: not decided."""
    feedback: str
    """Why."""


class TaskRoutes(Routes):
    """Tasks for workers."""

    roles = ("worker",)

    def __init__(self, site: CrowdSite) -> None:
        super().__init__(site.auth)
        self._secret = site.secret
        self._projects = Projects(site.database)
        self._work = Assignments(site.database)
        self._workers = ProjectWorkers(site.database)

    def cards(self, person: Person, token: str) -> list[WorkCard]:
        """A card for each project that has something for a worker, or had."""
        cards = []
        for project, task in self._tasks(person):
            if task.next is None and task.assignment is None and not task.done:
                continue
            has_open = task.assignment is not None
            has_more = has_open or task.next is not None
            cards.append(
                WorkCard(
                    project.name,
                    html(
                        "<p>{}</p>{}<p>{} for each</p>",
                        project.about,
                        EMPTY if has_more else ui.paragraph("You have done all there is."),
                        ui.dollars(project.pay),
                    ),
                    f"/work/{token}/tasks/{project.id}" if has_more else "",
                    "Continue" if has_open else "Start",
                    task.done,
                    task.earned,
                )
            )
        return cards

    @worker_page("GET", _TASK, "Preview of the next instance")
    async def show(self, request: CrowdRequest) -> Response:
        """The next instance, to look at before it is accepted."""
        project = self._project(request)
        person = request.person.id
        here = _task(request, project.id)
        accepted = self._work.open_one(project.id, person)
        if accepted is not None:
            return redirect(_assignment(request, accepted.id))
        item = self._work.upcoming(project, person)
        last = _submissions(self._work.last_of(project.id, person, _LAST))
        if item is None:
            nothing = ui.section(self._nothing_left(project, person, here))
            return _page(project, request, nothing + last)
        done, earned = self._work.done_by(person).get(project.id, (0, 0.0))
        number = [("item", str(item.number))]
        body = ui.section(
            _terms(project, project.pay),
            ui.actions(
                ui.button("Accept", f"{here}/accept", kind="primary", fields=number),
                ui.button("Skip", f"{here}/skip", fields=number),
            ),
            html("<h2>Instance {} (preview)</h2>", item.number + 1),
            frame(self._preview(request, item.number), "Preview of the task"),
            ui.paragraph(f"{done} done, {ui.dollars(earned)} earned", "note"),
        )
        return _page(project, request, body + last)

    def _nothing_left(self, project: Project, person: int, here: str) -> Markup:
        completion = self._completion(project, person)
        if not project.is_offered:
            return ui.callout("This project takes no more work at the moment.") + completion
        skipped = self._work.skipped(project.id, person)
        again = EMPTY
        if skipped:
            again = html(
                "<p>You skipped {}.</p>{}", skipped, ui.button("Show them again", f"{here}/unskip")
            )
        return completion + html(
            '<div class="callout"><p>There is nothing left to do here for you.</p>{}</div>', again
        )

    def _completion(self, project: Project, person: int) -> Markup:
        """The code by which somebody proves elsewhere that they are done."""
        link = self._workers.link(project.id)
        if link is None or not link.completion or project.id not in self._work.done_by(person):
            return EMPTY
        message = html(
            '<p>You are done. Your completion code: <b class="secret">{}</b></p>', link.completion
        )
        return ui.callout(message, "good", role="status")

    @worker_page("POST", f"{_TASK}/accept", "Accept it", form=_ITEM)
    async def accept(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        try:
            item = _item(request.form.text("item"))
            accepted = self._work.accept(project, request.person.id, item)
        except Conflict:
            # Somebody else was faster: the page says what is left.
            return redirect(_task(request, project.id))
        return redirect(_assignment(request, accepted.id))

    @worker_page("POST", f"{_TASK}/skip", "Skip it", form=_ITEM)
    async def skip(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        item = _item(request.form.text("item"))
        if item is None:
            raise bad_request("Which instance is to be skipped?")
        self._work.skip(project.id, item, request.person.id)
        return redirect(_task(request, project.id))

    @worker_page("POST", f"{_TASK}/unskip", "Show skipped ones again")
    async def unskip(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        self._work.unskip(project.id, request.person.id)
        return redirect(_task(request, project.id))

    @worker_page("GET", _ASSIGNMENT, "An accepted instance in its frame")
    async def assignment(self, request: CrowdRequest) -> Response:
        """An accepted instance in its frame."""
        assignment = self._own(request)
        project = self._projects.project(assignment.project)
        assert project is not None
        after = _task(request, project.id)
        follow = ui.link_button("Next", after, "primary")
        here = _assignment(request, assignment.id)
        if assignment.status == "submitted":
            received = ui.callout("Your answers were received.", "good", role="status")
            return _page(project, request, ui.section(received, follow, _verdict(assignment)))
        if assignment.status == "returned":
            return _page(project, request, ui.section(ui.callout("Returned."), follow))
        if assignment.status == "expired":
            return _page(project, request, _expired(assignment, here, follow))
        body = ui.section(
            _terms(project, assignment.pay),
            html("<h2>Instance {}</h2>", assignment.item + 1),
            html(
                '<p class="note" data-required hidden>What is marked with'
                ' <b class="star">*</b> is required.</p>'
            ),
            frame(self._frame(request.http, assignment), "Task", after),
            _bar(assignment, here, after),
        )
        return _page(project, request, body)

    @worker_page("POST", f"{_ASSIGNMENT}/draft", "Keep a draft", form=["draft"], status=204)
    async def draft(self, request: CrowdRequest) -> Response:
        """What is filled in so far: JSON, the values of each field by its name."""
        draft: Draft = decode_request(_DRAFT, request.form.text("draft").encode())
        self._work.save_draft(self._own(request), draft)
        return Response(status_code=204, headers={"Cache-Control": "no-store"})

    @worker_page("POST", f"{_ASSIGNMENT}/resume", "Go on with what has expired")
    async def resume(self, request: CrowdRequest) -> Response:
        assignment = self._work.resume(self._own(request))
        return redirect(_assignment(request, assignment.id))

    @worker_page("POST", f"{_ASSIGNMENT}/return", "Return it")
    async def return_(self, request: CrowdRequest) -> Response:
        assignment = self._own(request)
        self._work.return_(assignment)
        return redirect(_task(request, assignment.project))

    @api("GET", _API, "Open work")
    async def api_all(self, request: CrowdRequest) -> TasksOffered:
        return TasksOffered([task for _, task in self._tasks(request.person)])

    @api("GET", f"{_API_TASK}/next", "The next instance")
    async def api_next(self, request: CrowdRequest) -> ItemUpcoming:
        project = self._project(request)
        item = self._work.upcoming(project, request.person.id)
        if item is None:
            raise Conflict("There is nothing left to do here for you.", "nothing_left")
        return ItemUpcoming(item.number, item.inputs, self._preview(request, item.number))

    @api("POST", f"{_API_TASK}/accept", "Accept an instance", status=201)
    async def api_accept(self, request: CrowdRequest, choice: ItemChoice = _NEXT) -> AcceptedTask:
        project = self._project(request)
        return self._record(request, self._work.accept(project, request.person.id, choice.item))

    @api("POST", f"{_API_TASK}/skip", "Skip an instance")
    async def api_skip(self, request: CrowdRequest, skip: ItemSkip) -> dict[str, bool]:
        self._work.skip(self._project(request).id, skip.item, request.person.id)
        return {"done": True}

    @api("POST", f"{_API_TASK}/unskip", "Show skipped ones again")
    async def api_unskip(self, request: CrowdRequest) -> dict[str, bool]:
        self._work.unskip(self._project(request).id, request.person.id)
        return {"done": True}

    @api("GET", _API_ASSIGNMENT, "An assignment")
    async def api_assignment(self, request: CrowdRequest) -> AcceptedTask:
        return self._record(request, self._own(request))

    @api("POST", f"{_API_ASSIGNMENT}/submit", "Submit answers")
    async def api_submit(self, request: CrowdRequest, sent: TaskAnswers) -> AcceptedTask:
        answers = {
            name: value if isinstance(value, str) else "|".join(value)
            for name, value in sent.answers.items()
            if name and name not in NO_ANSWERS
        }
        key = self._own(request).key
        done = await asyncio.to_thread(
            self._work.submit, key, answers, allow_empty=sent.allow_empty
        )
        return self._record(request, done)

    @api("POST", f"{_API_ASSIGNMENT}/return", "Return an instance")
    async def api_return(self, request: CrowdRequest) -> AcceptedTask:
        self._work.return_(self._own(request))
        return self._record(request, self._own(request))

    def _tasks(self, person: Person) -> list[tuple[Project, TaskOffered]]:
        """Projects that are open, or that the worker has worked for."""
        done = self._work.done_by(person.id)
        tasks = []
        for project in self._projects.all():
            accepted = self._work.open_one(project.id, person.id)
            item = self._work.upcoming(project, person.id)
            count, earned = done.get(project.id, (0, 0.0))
            is_offered = project.is_offered and self._workers.may_work(project.id, person.id)
            if is_offered or accepted or count:
                task = TaskOffered(
                    *(project.id, project.name, project.about, project.pay, project.minutes),
                    *(is_offered, count, earned, None if item is None else item.number),
                    None if accepted is None else accepted.id,
                )
                tasks.append((project, task))
        return tasks

    def _project(self, request: CrowdRequest) -> Project:
        """A project that a worker may see: it is open for them, or they have worked for it."""
        project = self._projects.project(request.number("id"))
        person = request.person.id
        if project is None or not (
            (project.is_offered and self._workers.may_work(project.id, person))
            or self._work.open_one(project.id, person)
            or project.id in self._work.done_by(person)
        ):
            raise NotFound("There is no such work for you.")
        return project

    def _own(self, request: CrowdRequest) -> Assignment:
        assignment = self._work.of_worker(request.number("id"), request.person.id)
        return existing(assignment, "There is no such work for you.")

    def _preview(self, request: CrowdRequest, item: int) -> str:
        return preview_address(request.http, self._secret, request.number("id"), item)

    def _frame(self, request: Request, one: Assignment) -> str:
        return frame_address(request, one.key, hit_name(one.project, one.item), one.worker)

    def _record(self, request: CrowdRequest, one: Assignment) -> AcceptedTask:
        item = self._projects.item(one.project, one.item)
        assert item is not None
        return AcceptedTask(
            *(one.id, one.project, one.item, one.status, item.inputs),
            *(self._frame(request.http, one), one.accepted, one.until, one.submitted),
            *(one.answers, one.pay, one.verdict, one.feedback),
        )


def _item(text: str) -> int | None:
    if text.isascii() and text.isdecimal() and len(text) < 18:
        return int(text)
    return None


def _task(request: CrowdRequest, project: int) -> str:
    return f"/work/{request.token}/tasks/{project}"


def _assignment(request: CrowdRequest, id: int) -> str:
    return f"/work/{request.token}/assignments/{id}"


def _terms(project: Project, pay: float) -> Markup:
    return html(
        "{}<p>{}{} minute{} for each.</p>",
        ui.paragraph(project.about) if project.about else EMPTY,
        html("Pays <b>{}</b> for each instance; ", ui.dollars(pay)) if pay else "Not paid; ",
        project.minutes,
        "s" if project.minutes != 1 else "",
    )


def _bar(assignment: Assignment, here: str, after: str) -> Markup:
    """What stays in sight below a task: the way to send it, or to leave it to others. Without
    scripts the task's own button sends it."""
    assert assignment.until is not None
    return html(
        '<div class="taskbar" data-draft="{}/draft"><p>Yours until {}.</p><p role="status"></p>{}'
        '<noscript><p class="note">Your answers are sent by the button inside the task.'
        ' <a href="{}">Next</a></p></noscript></div>',
        here,
        ui.moment(assignment.until, left=True),
        ui.actions(
            html('<button class="btn primary" type="button" data-submit hidden>Submit</button>'),
            ui.button("Return to others", f"{here}/return", kind="bad"),
        ),
        after,
    )


def _expired(assignment: Assignment, here: str, follow: Markup) -> Markup:
    """Time was up; what was filled in is not lost."""
    message = html("<p>The time for this was up: {}.</p>", ui.moment(assignment.until or 0.0))
    kept = EMPTY
    if any(any(values) for values in assignment.draft.values()):
        rows = [[name, ", ".join(values)] for name, values in assignment.draft.items() if values]
        kept = ui.section(table(["field", "value"], rows), title="Your draft", kind="words")
    return (
        ui.section(
            ui.callout(message, "bad"),
            ui.actions(ui.button("Go on with it", f"{here}/resume"), follow),
        )
        + kept
    )


def _verdict(one: Assignment) -> Markup:
    if not one.verdict:
        return EMPTY
    why = html(" {}", one.feedback) if one.feedback else EMPTY
    return html("<p>{}{}</p>", badge(*VERDICTS[one.verdict]), why)


def _submissions(last: Sequence[Assignment]) -> Markup:
    """What a worker submitted, and what was said of it."""
    if not last:
        return EMPTY
    rows = [
        [
            str(one.item + 1),
            EMPTY if one.submitted is None else ui.moment(one.submitted),
            badge(*VERDICTS[one.verdict]),
            cut(one.feedback, 300) or "-",
        ]
        for one in last
    ]
    shown = table(["instance", "submitted", "status", "remark"], rows)
    return ui.section(shown, title="What you submitted", kind="texts")


def _page(project: Project, request: CrowdRequest, body: Markup) -> Response:
    return worker_response(project.name, body, request, wide=True)
