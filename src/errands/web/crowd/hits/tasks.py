"""Crowd work as workers meet it: what there is, one instance in its frame, accept, skip, return.

The same by JSON, so that a program can be a worker: it reads an instance's inputs and page, and
sends answers by name.
"""

from typing import Annotated, Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from errands.crowd.accounts.accounts import Person
from errands.crowd.hits.assignments import Assignment, Assignments, Conflict
from errands.crowd.hits.batch_file import mturk_time
from errands.crowd.hits.projects import Item, Project, Projects
from errands.crowd.hits.task_page import NO_ANSWERS
from errands.reports.html.markup import esc
from errands.web.core.application import Route
from errands.web.core.forms import MOST_FIELDS
from errands.web.core.http_errors import HttpError
from errands.web.crowd.auth import CrowdRequest, json_response, redirect
from errands.web.crowd.document import HEADERS, button, document, worker_links
from errands.web.crowd.hits.task_frame import frame, frame_address, preview_key
from errands.web.crowd.openapi import operation, paths
from errands.web.crowd.site import CrowdSite, RouteGroup, WorkCard, dollars

__all__ = ["hit_name", "task_routes"]


class ItemChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which instance; the next one where nothing is said."""

    item: Annotated[int, msgspec.Meta(ge=0, lt=2**62)] | None = None


class ItemSkipped(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


class TaskTaken(msgspec.Struct, frozen=True):
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


def task_routes(site: CrowdSite) -> RouteGroup:
    """Work for workers."""
    desk = _TaskPages(site)
    at = site.auth
    task, one = "/work/{token}/tasks/{id:int}", "/work/{token}/assignments/{id:int}"
    api, mine = "/v1/work/tasks", "/v1/work/assignments/{id:int}"
    routes = [
        Route(task, at.worker_page(desk.show), methods=["GET"]),
        Route(f"{task}/accept", at.worker_page(desk.accept), methods=["POST"]),
        Route(f"{task}/skip", at.worker_page(desk.skip), methods=["POST"]),
        Route(f"{task}/unskip", at.worker_page(desk.unskip), methods=["POST"]),
        Route(one, at.worker_page(desk.assignment), methods=["GET"]),
        Route(f"{one}/return", at.worker_page(desk.give_back), methods=["POST"]),
        Route(api, at.api(desk.api_all, "worker"), methods=["GET"]),
        Route(f"{api}/{{id:int}}/next", at.api(desk.api_next, "worker"), methods=["GET"]),
        Route(f"{api}/{{id:int}}/accept", at.api(desk.api_accept, "worker"), methods=["POST"]),
        Route(f"{api}/{{id:int}}/skip", at.api(desk.api_skip, "worker"), methods=["POST"]),
        Route(f"{api}/{{id:int}}/unskip", at.api(desk.api_unskip, "worker"), methods=["POST"]),
        Route(mine, at.api(desk.api_assignment, "worker"), methods=["GET"]),
        Route(f"{mine}/submit", at.api(desk.api_submit, "worker"), methods=["POST"]),
        Route(f"{mine}/return", at.api(desk.api_return, "worker"), methods=["POST"]),
    ]
    return RouteGroup(routes, _paths, desk.offers)


class _TaskPages:
    def __init__(self, site: CrowdSite) -> None:
        self._secret = site.secret
        self._projects = Projects(site.database)
        self._work = Assignments(site.database)

    def offers(self, person: Person, token: str) -> list[WorkCard]:
        """A card for each project that has something for a worker, or had."""
        cards = []
        for project, seen in self._seen(person):
            if seen.next is None and seen.assignment is None and not seen.done:
                continue
            left = "" if seen.next is not None else "<p>You have done all there is.</p>"
            is_waiting = seen.assignment is not None
            has_more = is_waiting or seen.next is not None
            cards.append(
                WorkCard(
                    project.name,
                    f"<p>{esc(project.about)}</p>{'' if is_waiting else left}"
                    f"<p>{dollars(project.pay)} for each</p>",
                    f"/work/{token}/tasks/{project.id}" if has_more else "",
                    "Go on" if is_waiting else "Begin",
                    seen.done,
                    seen.earned,
                )
            )
        return cards

    async def show(self, request: CrowdRequest) -> Response:
        """The next instance, to look at before it is accepted."""
        project = self._project(request)
        token = request.http.path_params["token"]
        here = f"/work/{token}/tasks/{project.id}"
        held = self._work.open_one(project.id, request.person.id)
        if held is not None:
            return redirect(f"/work/{token}/assignments/{held.id}")
        item = self._work.upcoming(project, request.person.id) if project.is_open else None
        done, earned = self._work.done_by(request.person.id).get(project.id, (0, 0.0))
        sofar = f'<p class="note">{done} done, {dollars(earned)} earned</p>'
        if item is None:
            return _page(project, token, f"<section>{self._rest(project, request, here)}</section>")
        number = [("item", str(item.number))]
        address = self._preview(request.http, project, item)
        body = (
            f"<section>{_terms(project)}<div class='deeds'>"
            f"{button('Accept', f'{here}/accept', kind='primary', fields=number)}"
            f"{button('Skip', f'{here}/skip', fields=number)}</div>"
            f"<h2>Instance {item.number + 1}, to look at</h2>"
            f"{frame(address, 'Preview of the task')}{sofar}</section>"
        )
        return _page(project, token, body)

    def _rest(self, project: Project, request: CrowdRequest, here: str) -> str:
        """What is said where nothing is left."""
        skipped = self._work.skipped(project.id, request.person.id)
        said = "There is nothing left to do here for you." if project.is_open else "This is closed."
        again = ""
        if skipped and project.is_open:
            again = f"<p>You left {skipped} to others.</p>" + button(
                "Show them again", f"{here}/unskip"
            )
        return f'<div class="callout"><p>{said}</p>{again}</div>'

    async def accept(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        token = request.http.path_params["token"]
        try:
            taken = self._work.accept(project, request.person.id, _item(request.form.text("item")))
        except Conflict:
            # Somebody else was faster: the page says what is left.
            return redirect(f"/work/{token}/tasks/{project.id}")
        return redirect(f"/work/{token}/assignments/{taken.id}")

    async def skip(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        item = _item(request.form.text("item"))
        if item is None:
            raise HttpError(400, "bad_request", "Which instance is to be skipped?")
        self._skip(project, item, request.person)
        return redirect(f"/work/{request.http.path_params['token']}/tasks/{project.id}")

    async def unskip(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        self._work.unskip(project.id, request.person.id)
        return redirect(f"/work/{request.http.path_params['token']}/tasks/{project.id}")

    async def assignment(self, request: CrowdRequest) -> Response:
        """An accepted instance in its frame."""
        held = self._held(request)
        project = self._projects.project(held.project)
        assert project is not None
        token = request.http.path_params["token"]
        here, after = f"/work/{token}/assignments/{held.id}", f"/work/{token}/tasks/{project.id}"
        follow = f'<a class="btn" href="{esc(after)}">Next</a>'
        if held.status in ("submitted", "returned"):
            said = "Your answers were received." if held.status == "submitted" else "Returned."
            body = f'<section><div class="callout"><p>{said}</p></div>{follow}</section>'
            return _page(project, token, body)
        if held.status == "expired":
            body = (
                '<section><div class="callout bad"><p>The time for this was up at'
                f" {mturk_time(held.until)}.</p></div>{follow}</section>"
            )
            return _page(project, token, body)
        address = self._frame(request.http, held)
        body = (
            f"<section>{_terms(project, held.pay)}"
            f'<p class="note">Yours until {mturk_time(held.until)}.</p>'
            f"<h2>Instance {held.item + 1}</h2>{frame(address, 'Task', after)}"
            f'<div class="deeds">{follow}{button("Return", f"{here}/return", kind="bad")}</div>'
            '<p class="note">Your answers are sent by the button inside the task. Return leaves'
            " this instance to others.</p></section>"
        )
        return _page(project, token, body)

    async def give_back(self, request: CrowdRequest) -> Response:
        held = self._held(request)
        self._return(held)
        return redirect(f"/work/{request.http.path_params['token']}/tasks/{held.project}")

    async def api_all(self, request: CrowdRequest) -> Response:
        return json_response(TasksOffered([seen for _, seen in self._seen(request.person)]))

    async def api_next(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        item = self._work.upcoming(project, request.person.id) if project.is_open else None
        if item is None:
            raise HttpError(409, "nothing_left", "There is nothing left to do here for you.")
        address = self._preview(request.http, project, item)
        return json_response(ItemUpcoming(item.number, item.inputs, address))

    async def api_accept(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        wanted = request.read(_CHOICE) if request.body else ItemChoice()
        try:
            taken = self._work.accept(project, request.person.id, wanted.item)
        except Conflict as failure:
            raise HttpError(409, "nothing_left", str(failure)) from None
        return json_response(self._told(request.http, taken), 201)

    async def api_skip(self, request: CrowdRequest) -> Response:
        self._skip(self._project(request), request.read(_SKIPPED).item, request.person)
        return json_response({"done": True})

    async def api_unskip(self, request: CrowdRequest) -> Response:
        self._work.unskip(self._project(request).id, request.person.id)
        return json_response({"done": True})

    async def api_assignment(self, request: CrowdRequest) -> Response:
        return json_response(self._told(request.http, self._held(request)))

    async def api_submit(self, request: CrowdRequest) -> Response:
        held = self._held(request)
        given = {
            name: value if isinstance(value, str) else "|".join(value)
            for name, value in request.read(_ANSWERS).answers.items()
            if name and name not in NO_ANSWERS
        }
        try:
            done = self._work.submit(held.key, given)
        except Conflict as failure:
            raise HttpError(409, "conflict", str(failure)) from None
        return json_response(self._told(request.http, done))

    async def api_return(self, request: CrowdRequest) -> Response:
        held = self._held(request)
        self._return(held)
        return json_response(self._told(request.http, self._held(request)))

    def _seen(self, person: Person) -> list[tuple[Project, TaskOffered]]:
        done = self._work.done_by(person.id)
        seen = []
        for project in self._projects.all():
            held = self._work.open_one(project.id, person.id)
            item = self._work.upcoming(project, person.id) if project.is_open else None
            count, earned = done.get(project.id, (0, 0.0))
            if not (project.is_open or held or count):
                continue
            seen.append(
                (
                    project,
                    TaskOffered(
                        *(project.id, project.name, project.about, project.pay, project.minutes),
                        *(project.is_open, count, earned, None if item is None else item.number),
                        None if held is None else held.id,
                    ),
                )
            )
        return seen

    def _project(self, request: CrowdRequest) -> Project:
        """A project that a worker may see: it is open, or they have worked for it."""
        project = self._projects.project(request.number("id"))
        if project is None or not (
            project.is_open
            or self._work.open_one(project.id, request.person.id)
            or project.id in self._work.done_by(request.person.id)
        ):
            raise _nothing()
        return project

    def _held(self, request: CrowdRequest) -> Assignment:
        held = self._work.of_worker(request.number("id"), request.person.id)
        if held is None:
            raise _nothing()
        return held

    def _skip(self, project: Project, item: int, person: Person) -> None:
        try:
            self._work.skip(project.id, item, person.id)
        except Conflict as failure:
            raise HttpError(404, "not_found", str(failure)) from None

    def _return(self, held: Assignment) -> None:
        try:
            self._work.give_back(held)
        except Conflict as failure:
            raise HttpError(409, "conflict", str(failure)) from None

    def _preview(self, request: Request, project: Project, item: Item) -> str:
        key = preview_key(self._secret, project.id, item.number)
        return frame_address(request, key, hit_name(project.id, item.number))

    def _frame(self, request: Request, held: Assignment) -> str:
        return frame_address(request, held.key, hit_name(held.project, held.item), held.worker)

    def _told(self, request: Request, held: Assignment) -> TaskTaken:
        item = self._projects.item(held.project, held.item)
        assert item is not None
        return TaskTaken(
            *(held.id, held.project, held.item, held.status, item.inputs),
            *(self._frame(request, held), held.accepted, held.until, held.submitted),
            *(held.answers, held.pay),
        )


_CHOICE: Final = msgspec.json.Decoder(ItemChoice)
_SKIPPED: Final = msgspec.json.Decoder(ItemSkipped)
_ANSWERS: Final = msgspec.json.Decoder(TaskAnswers)


def _item(text: str) -> int | None:
    if text.isascii() and text.isdecimal() and len(text) < 18:
        return int(text)
    return None


def _terms(project: Project, pay: float | None = None) -> str:
    about = f"<p>{esc(project.about)}</p>" if project.about else ""
    paid = dollars(project.pay if pay is None else pay)
    minutes = f"{project.minutes} minute{'s' if project.minutes != 1 else ''}"
    return f"{about}<p>Pays <b>{paid}</b> for each instance; {minutes} for each.</p>"


def _page(project: Project, token: str, body: str) -> Response:
    content = document(project.name, body, ways=worker_links(token), wide=True)
    return Response(content, headers=HEADERS, media_type="text/html")


def _nothing() -> HttpError:
    return HttpError(404, "not_found", "There is no such work for you.")


def _paths() -> dict[str, Any]:
    item = {"item": {"type": "integer"}}
    task, one = "/work/{token}/tasks/{id}", "/work/{token}/assignments/{id}"
    api, mine = "/v1/work/tasks", "/v1/work/assignments/{id}"
    return paths(
        {
            task: {"get": operation("The next instance, to look at", media="text/html")},
            f"{task}/accept": {"post": operation("Accept it", form=item, status="303")},
            f"{task}/skip": {"post": operation("Skip it", form=item, status="303")},
            f"{task}/unskip": {"post": operation("Show skipped ones again", status="303")},
            one: {"get": operation("An accepted instance in its frame", media="text/html")},
            f"{one}/return": {"post": operation("Return it", status="303")},
            api: {"get": operation("Open work", answer=TasksOffered)},
            f"{api}/{{id}}/next": {"get": operation("The next instance", answer=ItemUpcoming)},
            f"{api}/{{id}}/accept": {
                "post": operation(
                    "Accept an instance", body=ItemChoice, answer=TaskTaken, status="201"
                )
            },
            f"{api}/{{id}}/skip": {"post": operation("Skip an instance", body=ItemSkipped)},
            f"{api}/{{id}}/unskip": {"post": operation("Show skipped ones again")},
            mine: {"get": operation("An assignment", answer=TaskTaken)},
            f"{mine}/submit": {
                "post": operation("Send answers", body=TaskAnswers, answer=TaskTaken)
            },
            f"{mine}/return": {"post": operation("Return an instance", answer=TaskTaken)},
        },
        [TaskAnswers, ItemChoice, TasksOffered, ItemSkipped, TaskTaken, ItemUpcoming],
    )
