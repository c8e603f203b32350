"""Crowd work as workers meet it: what there is, one instance in its frame, accept, skip, return.

The same by JSON, so that a program can be a worker: it reads an instance's inputs and page, and
sends answers by name.
"""

from typing import Annotated, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from errands.crowd.accounts.accounts import Person
from errands.crowd.errors import Conflict, NotFound
from errands.crowd.hits.assignments import Assignment, Assignments
from errands.crowd.hits.batch_file import mturk_time
from errands.crowd.hits.projects import Item, Project, Projects
from errands.crowd.hits.task_page import NO_ANSWERS
from errands.markup import EMPTY, Markup, html
from errands.web.core.forms import MOST_FIELDS
from errands.web.core.http_errors import HttpError
from errands.web.crowd.auth import CrowdRequest, json_response, redirect
from errands.web.crowd.document import (
    actions,
    button,
    callout,
    dollars,
    link_button,
    paragraph,
    section,
)
from errands.web.crowd.hits.task_frame import frame, frame_address, preview_key
from errands.web.crowd.routes import Routes, WorkCard
from errands.web.crowd.site import CrowdSite, worker_page

__all__ = ["hit_name", "task_routes"]


class ItemChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which instance; the next one where nothing is said."""

    item: Annotated[int, msgspec.Meta(ge=0, lt=2**62)] | None = None


class ItemSkip(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which instance is left to others."""

    item: Annotated[int, msgspec.Meta(ge=0, lt=2**62)]


class TaskAnswers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Answers by the names of their fields; several values of one name in a list."""

    answers: Annotated[dict[str, str | list[str]], msgspec.Meta(max_length=MOST_FIELDS)]


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


def hit_name(project: int, item: int) -> str:
    """What a page is told to be its HIT."""
    return f"H{project}-{item}"


def task_routes(site: CrowdSite) -> Routes:
    """Tasks for workers."""
    pages = _TaskPages(site)
    routes = Routes(site.auth, "worker", cards=pages.cards)
    task, one = "/work/{token}/tasks/{id:int}", "/work/{token}/assignments/{id:int}"
    api, mine = "/v1/work/tasks", "/v1/work/assignments/{id:int}"
    item = {"item": {"type": "integer"}}
    page, call = routes.worker_page, routes.api
    page("GET", task, pages.show, "Preview of the next instance")
    page("POST", f"{task}/accept", pages.accept, "Accept it", form=item)
    page("POST", f"{task}/skip", pages.skip, "Skip it", form=item)
    page("POST", f"{task}/unskip", pages.unskip, "Show skipped ones again")
    page("GET", one, pages.assignment, "An accepted instance in its frame")
    page("POST", f"{one}/return", pages.return_, "Return it")
    call("GET", api, pages.api_all, "Open work", answer=TasksOffered)
    api = f"{api}/{{id:int}}"
    call("GET", f"{api}/next", pages.api_next, "The next instance", answer=ItemUpcoming)
    call(
        "POST",
        f"{api}/accept",
        pages.api_accept,
        "Accept an instance",
        body=ItemChoice,
        answer=AcceptedTask,
        status="201",
    )
    call("POST", f"{api}/skip", pages.api_skip, "Skip an instance", body=ItemSkip)
    call("POST", f"{api}/unskip", pages.api_unskip, "Show skipped ones again")
    call("GET", mine, pages.api_assignment, "An assignment", answer=AcceptedTask)
    call(
        "POST",
        f"{mine}/submit",
        pages.api_submit,
        "Submit answers",
        body=TaskAnswers,
        answer=AcceptedTask,
    )
    call("POST", f"{mine}/return", pages.api_return, "Return an instance", answer=AcceptedTask)
    return routes


class _TaskPages:
    def __init__(self, site: CrowdSite) -> None:
        self._secret = site.secret
        self._projects = Projects(site.database)
        self._work = Assignments(site.database)

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
                        EMPTY if has_more else paragraph("You have done all there is."),
                        dollars(project.pay),
                    ),
                    f"/work/{token}/tasks/{project.id}" if has_more else "",
                    "Continue" if has_open else "Start",
                    task.done,
                    task.earned,
                )
            )
        return cards

    async def show(self, request: CrowdRequest) -> Response:
        """The next instance, to look at before it is accepted."""
        project = self._project(request)
        person = request.person.id
        here = _task(request, project.id)
        accepted = self._work.open_one(project.id, person)
        if accepted is not None:
            return redirect(_assignment(request, accepted.id))
        item = self._work.upcoming(project, person) if project.is_open else None
        if item is None:
            return _page(project, request, section(self._nothing_left(project, person, here)))
        done, earned = self._work.done_by(person).get(project.id, (0, 0.0))
        number = [("item", str(item.number))]
        body = section(
            _terms(project, project.pay),
            actions(
                button("Accept", f"{here}/accept", kind="primary", fields=number),
                button("Skip", f"{here}/skip", fields=number),
            ),
            html("<h2>Instance {} (preview)</h2>", item.number + 1),
            frame(self._preview(request.http, project, item), "Preview of the task"),
            paragraph(f"{done} done, {dollars(earned)} earned", "note"),
        )
        return _page(project, request, body)

    def _nothing_left(self, project: Project, person: int, here: str) -> Markup:
        if not project.is_open:
            return callout("This project is closed.")
        skipped = self._work.skipped(project.id, person)
        again = EMPTY
        if skipped:
            again = html(
                "<p>You skipped {}.</p>{}", skipped, button("Show them again", f"{here}/unskip")
            )
        return html(
            '<div class="callout"><p>There is nothing left to do here for you.</p>{}</div>', again
        )

    async def accept(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        try:
            item = _item(request.form.text("item"))
            accepted = self._work.accept(project, request.person.id, item)
        except Conflict:
            # Somebody else was faster: the page says what is left.
            return redirect(_task(request, project.id))
        return redirect(_assignment(request, accepted.id))

    async def skip(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        item = _item(request.form.text("item"))
        if item is None:
            raise HttpError(400, "bad_request", "Which instance is to be skipped?")
        self._work.skip(project.id, item, request.person.id)
        return redirect(_task(request, project.id))

    async def unskip(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        self._work.unskip(project.id, request.person.id)
        return redirect(_task(request, project.id))

    async def assignment(self, request: CrowdRequest) -> Response:
        """An accepted instance in its frame."""
        assignment = self._own(request)
        project = self._projects.project(assignment.project)
        assert project is not None
        after = _task(request, project.id)
        follow = link_button("Next", after)
        over = {
            "submitted": callout("Your answers were received."),
            "returned": callout("Returned."),
            "expired": callout(
                f"The time for this was up at {mturk_time(assignment.until)}.", "bad"
            ),
        }.get(assignment.status)
        if over is not None:
            return _page(project, request, section(over, follow))
        here = _assignment(request, assignment.id)
        body = section(
            _terms(project, assignment.pay),
            paragraph(f"Yours until {mturk_time(assignment.until)}.", "note"),
            html("<h2>Instance {}</h2>", assignment.item + 1),
            frame(self._frame(request.http, assignment), "Task", after),
            actions(follow, button("Return", f"{here}/return", kind="bad")),
            paragraph(
                "Your answers are sent by the button inside the task. Return leaves this instance"
                " to others.",
                "note",
            ),
        )
        return _page(project, request, body)

    async def return_(self, request: CrowdRequest) -> Response:
        assignment = self._own(request)
        self._work.return_(assignment)
        return redirect(_task(request, assignment.project))

    async def api_all(self, request: CrowdRequest) -> Response:
        return json_response(TasksOffered([task for _, task in self._tasks(request.person)]))

    async def api_next(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        item = self._work.upcoming(project, request.person.id) if project.is_open else None
        if item is None:
            raise Conflict("There is nothing left to do here for you.", "nothing_left")
        address = self._preview(request.http, project, item)
        return json_response(ItemUpcoming(item.number, item.inputs, address))

    async def api_accept(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        choice = request.read(_CHOICE) if request.body else ItemChoice()
        accepted = self._work.accept(project, request.person.id, choice.item)
        return json_response(self._record(request.http, accepted), 201)

    async def api_skip(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        self._work.skip(project.id, request.read(_SKIP).item, request.person.id)
        return json_response({"done": True})

    async def api_unskip(self, request: CrowdRequest) -> Response:
        self._work.unskip(self._project(request).id, request.person.id)
        return json_response({"done": True})

    async def api_assignment(self, request: CrowdRequest) -> Response:
        return json_response(self._record(request.http, self._own(request)))

    async def api_submit(self, request: CrowdRequest) -> Response:
        assignment = self._own(request)
        answers = {
            name: value if isinstance(value, str) else "|".join(value)
            for name, value in request.read(_ANSWERS).answers.items()
            if name and name not in NO_ANSWERS
        }
        done = self._work.submit(assignment.key, answers)
        return json_response(self._record(request.http, done))

    async def api_return(self, request: CrowdRequest) -> Response:
        self._work.return_(self._own(request))
        return json_response(self._record(request.http, self._own(request)))

    def _tasks(self, person: Person) -> list[tuple[Project, TaskOffered]]:
        """Projects that are open, or that the worker has worked for."""
        done = self._work.done_by(person.id)
        tasks = []
        for project in self._projects.all():
            accepted = self._work.open_one(project.id, person.id)
            item = self._work.upcoming(project, person.id) if project.is_open else None
            count, earned = done.get(project.id, (0, 0.0))
            if project.is_open or accepted or count:
                task = TaskOffered(
                    *(project.id, project.name, project.about, project.pay, project.minutes),
                    *(project.is_open, count, earned, None if item is None else item.number),
                    None if accepted is None else accepted.id,
                )
                tasks.append((project, task))
        return tasks

    def _project(self, request: CrowdRequest) -> Project:
        """A project that a worker may see: it is open, or they have worked for it."""
        project = self._projects.project(request.number("id"))
        person = request.person.id
        if project is None or not (
            project.is_open
            or self._work.open_one(project.id, person)
            or project.id in self._work.done_by(person)
        ):
            raise NotFound("There is no such work for you.")
        return project

    def _own(self, request: CrowdRequest) -> Assignment:
        assignment = self._work.of_worker(request.number("id"), request.person.id)
        if assignment is None:
            raise NotFound("There is no such work for you.")
        return assignment

    def _preview(self, request: Request, project: Project, item: Item) -> str:
        key = preview_key(self._secret, project.id, item.number)
        return frame_address(request, key, hit_name(project.id, item.number))

    def _frame(self, request: Request, one: Assignment) -> str:
        return frame_address(request, one.key, hit_name(one.project, one.item), one.worker)

    def _record(self, request: Request, one: Assignment) -> AcceptedTask:
        item = self._projects.item(one.project, one.item)
        assert item is not None
        return AcceptedTask(
            *(one.id, one.project, one.item, one.status, item.inputs, self._frame(request, one)),
            *(one.accepted, one.until, one.submitted, one.answers, one.pay),
        )


_CHOICE: Final = msgspec.json.Decoder(ItemChoice)
_SKIP: Final = msgspec.json.Decoder(ItemSkip)
_ANSWERS: Final = msgspec.json.Decoder(TaskAnswers)


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
        "{}<p>Pays <b>{}</b> for each instance; {} minute{} for each.</p>",
        paragraph(project.about) if project.about else EMPTY,
        dollars(pay),
        project.minutes,
        "s" if project.minutes != 1 else "",
    )


def _page(project: Project, request: CrowdRequest, body: Markup) -> Response:
    return worker_page(project.name, body, request, wide=True)
