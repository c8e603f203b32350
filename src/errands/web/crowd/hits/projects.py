"""Projects of requesters: publish, preview, who may work, progress, agreement, results.

By pages, and by JSON.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Final
from urllib.parse import urlencode

import msgspec
from starlette.responses import Response

from errands.crowd.errors import NotAllowed, NotFound
from errands.crowd.hits.agreement import FieldAgreement, agreements
from errands.crowd.hits.assignments import (
    Assignment,
    Assignments,
    ProjectProgress,
    WorkerShare,
)
from errands.crowd.hits.project_workers import ProjectWorkers
from errands.crowd.hits.projects import Item, Project, Projects, Terms
from errands.crowd.hits.results import answer_names, results_csv
from errands.crowd.hits.reviews import STATUSES, Decision, ResultFilter, Reviews
from errands.crowd.hits.task_page import field_kinds
from errands.crowd.hits.uploads import ImportSummary, import_results, publish_files, publish_task
from errands.markup import EMPTY, Markup
from errands.web.core import elements as ui
from errands.web.core.document import file_headers
from errands.web.core.forms import Form
from errands.web.core.http_errors import bad_request, existing
from errands.web.crowd.auth import CrowdRequest, redirect
from errands.web.crowd.hits import project_pages as pages
from errands.web.crowd.hits.joining import join_address
from errands.web.crowd.hits.project_pages import PROJECTS
from errands.web.crowd.hits.result_pages import FILTERS, results_body
from errands.web.crowd.hits.task_frame import frame, preview_address
from errands.web.crowd.routes import Routes, api, page
from errands.web.crowd.site import CrowdSite, staff_response

__all__ = ["ProjectRoutes"]

UPLOAD_BYTES: Final = 64 * 2**20
_ONE: Final = f"{PROJECTS}/{{id:int}}"
_API: Final = "/v1/office/projects"
_API_ONE: Final = f"{_API}/{{id:int}}"
_TEXT: Final = {"type": "string"}
_FILE: Final = {"type": "string", "format": "binary"}
_FLAG: Final = {"type": "string", "enum": ["0", "1"]}
_TERMS: Final = {
    **dict.fromkeys(("check", "name", "about", "hosts"), _TEXT),
    "wanted": {"type": "integer"},
    "pay": {"type": "number"},
    "minutes": {"type": "integer"},
}
_QUERY: Final = {
    **dict.fromkeys(("worker", "text"), _TEXT),
    "status": {"type": "string", "enum": list(STATUSES)},
    "item": {"type": "integer", "minimum": 1},
}


_Whole = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


class NewProject(Terms, frozen=True, forbid_unknown_fields=True):
    """A project: from a template and a table as texts, or from a task folder by its name."""

    name: str = ""
    wanted: _Whole = 1
    pay: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    minutes: _Whole = 60
    template: str | None = None
    csv: str | None = None
    task: str | None = None
    with_answers: bool = False
    budget: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Dollars for all of it; from an administrator only."""


class ProjectChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is to be changed."""

    name: str | None = None
    about: str | None = None
    wanted: _Whole | None = None
    pay: Annotated[float, msgspec.Meta(ge=0)] | None = None
    minutes: _Whole | None = None
    hosts: list[str] | None = None
    is_open: bool | None = None
    is_restricted: bool | None = None
    budget: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Dollars for all of it; from an administrator only."""


class AssignedWorkers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The accounts that are assigned to a project."""

    workers: list[int]


class JoinTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a project can be joined."""

    most: Annotated[int, msgspec.Meta(ge=1, lt=2**31)]
    """People in all."""
    completion: str = ""
    """The code that those who are done are shown."""


class JoinReport(msgspec.Struct, frozen=True):
    """A project's join link."""

    link: str
    most: int
    completion: str
    joined: int


class ResultDecision(Decision, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whether a submission is approved; a rejection needs a reason."""

    assignment: str
    """Its name in results."""


class ResultsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of results, as a text."""

    csv: str


class ProjectReport(msgspec.Struct, frozen=True):
    """A project and how far it is."""

    project: Project
    progress: ProjectProgress
    workers: list[WorkerShare]


class ProjectList(msgspec.Struct, frozen=True):
    """Projects of the asker; of everybody, for the admin."""

    projects: list[Project]
    tasks: list[str]
    """Task folders that can be published."""


class ProjectResult(msgspec.Struct, frozen=True):
    """One finished assignment."""

    assignment: str
    item: int
    inputs: dict[str, str]
    worker: str
    accepted: float | None
    submitted: float | None
    answers: dict[str, str]
    pay: float
    verdict: str
    """`approved` or `rejected`; empty: not decided."""
    feedback: str
    """Why."""
    decided: float | None


class ProjectResults(msgspec.Struct, frozen=True):
    """All finished assignments of a project."""

    results: list[ProjectResult]


class ProjectAgreement(msgspec.Struct, frozen=True):
    """How far workers agree, field by field; null where the answers do not define a figure."""

    fields: list[FieldAgreement]


class ProjectItem(msgspec.Struct, frozen=True):
    """One instance, and the address of its preview."""

    number: int
    inputs: dict[str, str]
    frame: str


class ProjectRoutes(Routes):
    """Projects of requesters, by pages and by JSON; the admin sees everybody's."""

    roles = ("admin", "requester")

    def __init__(self, site: CrowdSite) -> None:
        super().__init__(site.auth)
        self._site = site
        self._projects = Projects(site.database)
        self._work = Assignments(site.database)
        self._workers = ProjectWorkers(site.database)
        self._reviews = Reviews(site.database)

    @page("GET", PROJECTS, "Projects")
    async def all(self, request: CrowdRequest) -> Response:
        everything = self._projects.all(_owner(request))
        projects = await asyncio.to_thread(
            lambda: [(one, self._work.progress(one)) for one in everything]
        )
        body = pages.projects_body(
            projects, self._folders(), request.check, is_admin=_is_admin(request)
        )
        return staff_response("Projects", body, request, PROJECTS)

    @page(
        *("POST", PROJECTS, "Publish a project"),
        most=UPLOAD_BYTES,
        form={
            **_TERMS,
            **dict.fromkeys(("with_answers", "is_restricted"), _FLAG),
            "budget": {"type": "number"},
            "task": _TEXT,
            "template": _FILE,
            "table": _FILE,
        },
        multipart=True,
    )
    async def publish(self, request: CrowdRequest) -> Response:
        """From a template and a table, or from a task folder of this server."""
        form = request.form
        template, rows, task = form.file("template"), form.file("table"), form.text("task")
        publish: Callable[..., Project] = publish_files
        source: tuple[object, ...] = (template, rows)
        if task:
            if template is not None or rows is not None:
                raise bad_request("Either files of yours, or a task of this server; not both.")
            publish, source = publish_task, (self._site.tasks, task)
        elif template is None or rows is None:
            raise bad_request("A task needs a template and a CSV file: choose both.")
        terms = _terms(form, is_restricted=form.text("is_restricted") == "1")
        with_answers, budget = form.text("with_answers") == "1", _budget(form)
        project = await self._published(request, publish, terms, with_answers, budget, *source)
        return redirect(f"{PROJECTS}/{project.id}")

    @page("GET", _ONE, "A project")
    async def show(self, request: CrowdRequest) -> Response:
        return await self._page(request, self._project(request))

    async def _page(
        self, request: CrowdRequest, project: Project, message: Markup = EMPTY
    ) -> Response:
        report, agreement = await asyncio.to_thread(
            lambda: (self._report(project), self._agreement(project))
        )
        link = self._workers.link(project.id)
        everybody = self._site.accounts.everybody()
        access = pages.Access(
            [
                one
                for one in everybody
                if one.role == "worker" and one.is_active and not one.is_guest
            ],
            self._workers.assigned(project.id),
            link,
            "" if link is None else join_address(request.http, link.code),
        )
        body = pages.project_body(
            project,
            report.progress,
            report.workers,
            {person.id: person.name for person in everybody},
            agreement,
            access,
            request.check,
            is_admin=_is_admin(request),
        )
        below = ui.paragraph(project.about) if project.about else EMPTY
        return staff_response(project.name, message + body, request, PROJECTS, below=below)

    @page("POST", f"{_ONE}/terms", "Save its terms", form=_TERMS)
    async def change(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        terms = _terms(request.form, is_restricted=project.is_restricted)
        self._projects.change(project.id, terms)
        return redirect(f"{PROJECTS}/{project.id}")

    @page("POST", f"{_ONE}/budget", "Set its budget", roles=("admin",), form=["budget"])
    async def budget(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        self._projects.set_budget(project.id, _budget(request.form))
        return redirect(f"{PROJECTS}/{project.id}#spending")

    @page("POST", f"{_ONE}/workers", "Say who may do it", form=["is_restricted", "worker"])
    async def assign(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        chosen = request.form.texts("worker")
        if not all(one.isascii() and one.isdecimal() and len(one) < 18 for one in chosen):
            raise bad_request("A worker is a number of an account.")
        self._workers.assign(project.id, map(int, chosen))
        is_restricted = request.form.text("is_restricted") == "1"
        self._restrict(project, is_restricted)
        return redirect(f"{PROJECTS}/{project.id}#access")

    def _restrict(self, project: Project, is_restricted: bool) -> None:
        terms = msgspec.convert(project, Terms, from_attributes=True)
        terms = msgspec.structs.replace(terms, is_restricted=is_restricted)
        self._projects.change(project.id, terms)

    @page("POST", f"{_ONE}/join", "Make or change its join link", form=["most", "completion"])
    async def join(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        terms = request.form_record(JoinTerms)
        self._workers.set_link(project.id, terms.most, terms.completion)
        return redirect(f"{PROJECTS}/{project.id}#access")

    @page("POST", f"{_ONE}/join/end", "End its join link", form=[])
    async def end_join(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        self._workers.end_link(project.id)
        return redirect(f"{PROJECTS}/{project.id}#access")

    @page("GET", f"{_ONE}/results", "Results to look at", query={**_QUERY, "page": _QUERY["item"]})
    async def look(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        query = request.http.query_params
        chosen, number = _filter(query), request.query_number("page", 1)
        found, workers = await asyncio.to_thread(
            lambda: (
                self._reviews.page(project.id, chosen, number),
                self._reviews.workers(project.id),
            )
        )
        body = results_body(
            project,
            found,
            workers,
            {person.id: person.name for person in self._site.accounts.everybody()},
            query,
            request.check,
        )
        return staff_response(f"Results: {project.name}", body, request, PROJECTS)

    @page(
        *("POST", f"{_ONE}/results", "Approve or reject"),
        form=["assignment", "verdict", "reason", *FILTERS, "page"],
    )
    async def decide(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        sent = request.form_record(ResultDecision)
        self._reviews.decide(project.id, sent.assignment, sent, request.person.id)
        return _back_to_results(request, project)

    @page("POST", f"{_ONE}/results/approve", "Approve all that wait", form=FILTERS)
    async def approve(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        chosen = _filter({name: request.form.text(name) for name in FILTERS})
        await asyncio.to_thread(self._reviews.approve_all, project.id, chosen, request.person.id)
        return _back_to_results(request, project)

    @page("POST", f"{_ONE}/standing", "Open or close", form=["is_open"])
    async def set_open(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        self._projects.set_open(project.id, request.form.text("is_open") == "1")
        return redirect(f"{PROJECTS}/{project.id}")

    @page(
        *("POST", f"{_ONE}/import", "Import results"),
        most=UPLOAD_BYTES,
        form={"table": _FILE},
        multipart=True,
        media="text/html",
    )
    async def import_results(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        data = request.form.file("table")
        if data is None:
            raise bad_request("Choose a CSV file of results.")
        imported = await self._imported(request, project, data)
        return await self._page(request, project, pages.import_message(imported))

    @page("GET", f"{_ONE}/items/{{number:int}}", "Preview")
    async def preview(self, request: CrowdRequest) -> Response:
        """An instance as workers see it."""
        project = self._project(request)
        item, address = self._item(request, project)
        body = pages.preview_body(project, item, frame(address, "Preview of the task"))
        return staff_response(project.name, body, request, PROJECTS)

    @page("GET", f"{_ONE}/results.csv", "The results", media="text/csv", query=_QUERY)
    @api("GET", f"{_API_ONE}/results.csv", "Results as CSV", media="text/csv", query=_QUERY)
    async def results(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        chosen = _filter(request.http.query_params)
        data = await asyncio.to_thread(self._results_csv, project, chosen)
        headers = file_headers(f"project-{project.id}-results.csv")
        return Response(data, headers=headers, media_type="text/csv; charset=utf-8")

    @api("GET", _API, "Projects")
    async def api_all(self, request: CrowdRequest) -> ProjectList:
        return ProjectList(self._projects.all(_owner(request)), list(self._folders()))

    @api("POST", _API, "Publish a project", most=UPLOAD_BYTES, status=201)
    async def api_publish(self, request: CrowdRequest, new: NewProject) -> ProjectReport:
        publish: Callable[..., Project]
        source: tuple[object, ...]
        if new.task is not None:
            if new.template is not None or new.csv is not None:
                raise bad_request("Either task, or template and csv; not both.")
            publish, source = publish_task, (self._site.tasks, new.task)
        elif new.template is None or new.csv is None:
            raise bad_request("A project needs template and csv, or task.")
        else:
            publish, source = publish_files, (new.template.encode(), new.csv.encode())
        with_answers, budget = new.with_answers, new.budget
        project = await self._published(request, publish, new, with_answers, budget, *source)
        return await asyncio.to_thread(self._report, project)

    @api("GET", _API_ONE, "A project")
    async def api_report(self, request: CrowdRequest) -> ProjectReport:
        return await asyncio.to_thread(self._report, self._project(request))

    @api("PATCH", _API_ONE, "Change it")
    async def api_change(self, request: CrowdRequest, change: ProjectChange) -> ProjectReport:
        project = self._project(request)
        terms = msgspec.convert(project, Terms, from_attributes=True)
        changes = {
            name: value
            for name, value in msgspec.structs.asdict(change).items()
            if value is not None and name not in ("is_open", "budget")
        }
        if change.budget is not None:
            _check_budget(request, change.budget)
            self._projects.set_budget(project.id, change.budget)
        if changes:
            self._projects.change(project.id, msgspec.structs.replace(terms, **changes))
        if change.is_open is not None:
            self._projects.set_open(project.id, change.is_open)
        return await asyncio.to_thread(self._report, self._project(request))

    @api("PUT", f"{_API_ONE}/workers", "Assign workers")
    async def api_assign(self, request: CrowdRequest, chosen: AssignedWorkers) -> AssignedWorkers:
        project = self._project(request)
        self._workers.assign(project.id, chosen.workers)
        return AssignedWorkers(self._workers.assigned(project.id))

    @api("GET", f"{_API_ONE}/workers", "Assigned workers")
    async def api_assigned(self, request: CrowdRequest) -> AssignedWorkers:
        return AssignedWorkers(self._workers.assigned(self._project(request).id))

    @api("PUT", f"{_API_ONE}/join", "Make or change its join link")
    async def api_join(self, request: CrowdRequest, terms: JoinTerms) -> JoinReport:
        project = self._project(request)
        link = self._workers.set_link(project.id, terms.most, terms.completion)
        address = join_address(request.http, link.code)
        return JoinReport(address, link.most, link.completion, link.joined)

    @api("DELETE", f"{_API_ONE}/join", "End its join link")
    async def api_end_join(self, request: CrowdRequest) -> dict[str, bool]:
        self._workers.end_link(self._project(request).id)
        return {"done": True}

    @api("GET", f"{_API_ONE}/results", "Results", query=_QUERY)
    async def api_results(self, request: CrowdRequest) -> ProjectResults:
        project = self._project(request)
        chosen = _filter(request.http.query_params)
        return await asyncio.to_thread(self._all_results, project, chosen)

    @api("POST", f"{_API_ONE}/decisions", "Approve or reject")
    async def api_decide(self, request: CrowdRequest, sent: ResultDecision) -> ProjectResult:
        project = self._project(request)
        one = self._reviews.decide(project.id, sent.assignment, sent, request.person.id)
        item = self._projects.item(project.id, one.item)
        assert item is not None
        return _result(one, item.inputs)

    @api("GET", f"{_API_ONE}/agreement", "Agreement")
    async def api_agreement(self, request: CrowdRequest) -> ProjectAgreement:
        return ProjectAgreement(await asyncio.to_thread(self._agreement, self._project(request)))

    @api("POST", f"{_API_ONE}/import", "Import results", most=UPLOAD_BYTES)
    async def api_import(self, request: CrowdRequest, file: ResultsFile) -> ImportSummary:
        return await self._imported(request, self._project(request), file.csv.encode())

    @api("GET", f"{_API_ONE}/items/{{number:int}}", "An instance")
    async def api_item(self, request: CrowdRequest) -> ProjectItem:
        item, address = self._item(request, self._project(request))
        return ProjectItem(item.number, item.inputs, address)

    def _project(self, request: CrowdRequest) -> Project:
        """The project of an address, if it is the asker's; the admin may see all."""
        project = self._projects.project(request.number("id"))
        if project is None or _owner(request) not in (None, project.owner):
            raise NotFound("You have no such project.")
        return project

    def _folders(self) -> Sequence[str]:
        """Task folders that can be published."""
        return () if self._site.tasks is None else self._site.tasks.names

    def _report(self, project: Project) -> ProjectReport:
        return ProjectReport(project, self._work.progress(project), self._work.shares(project.id))

    def _agreement(self, project: Project) -> list[FieldAgreement]:
        """The agreement in each field that several workers have answered."""
        template = self._projects.template(project.id)
        shared = list(self._work.shared_answers(project.id))
        names = answer_names(template, (given for _, given in shared))
        return agreements(shared, names, field_kinds(template))

    def _all_results(self, project: Project, chosen: ResultFilter) -> ProjectResults:
        inputs = {item.number: item.inputs for item in self._projects.items(project.id)}
        found = self._reviews.all(project.id, chosen)
        return ProjectResults([_result(one, inputs[one.item]) for one in found])

    def _results_csv(self, project: Project, chosen: ResultFilter) -> bytes:
        template, items = self._projects.template(project.id), self._projects.items(project.id)
        return results_csv(project, template, items, self._reviews.all(project.id, chosen))

    async def _imported(
        self, request: CrowdRequest, project: Project, data: bytes
    ) -> ImportSummary:
        return await asyncio.to_thread(
            import_results,
            *(self._projects, self._work, self._reviews, project, data, request.person.id),
        )

    async def _published(
        self,
        request: CrowdRequest,
        publish: Callable[..., Project],
        terms: Terms,
        with_answers: bool,
        budget: float,
        *source: object,
    ) -> Project:
        _check_budget(request, budget)
        return await asyncio.to_thread(
            publish,
            *(self._projects, self._work, request.person.id, terms, *source),
            with_answers=with_answers,
            budget=budget,
        )

    def _item(self, request: CrowdRequest, project: Project) -> tuple[Item, str]:
        """The instance of an address, and the address of its preview."""
        number = request.number("number")
        item = existing(self._projects.item(project.id, number), "There is no such instance.")
        return item, preview_address(request.http, self._site.secret, project.id, item.number)


def _owner(request: CrowdRequest) -> int | None:
    """Whose projects somebody sees; None: everybody's."""
    return None if request.person.role == "admin" else request.person.id


def _is_admin(request: CrowdRequest) -> bool:
    return request.person.role == "admin"


def _check_budget(request: CrowdRequest, budget: float) -> None:
    if budget and not _is_admin(request):
        raise NotAllowed("Only an administrator gives a budget.")


def _budget(form: Form) -> float:
    try:
        return float(form.text("budget").strip() or 0)
    except ValueError:
        raise bad_request("A budget is a number of dollars.") from None


def _filter(query: Mapping[str, str]) -> ResultFilter:
    """Which results an address or a form asks for; instances are counted from 1 there."""
    chosen = {name: query.get(name, "").strip() for name in FILTERS}
    status = next((one for one in STATUSES if one == chosen["status"]), None)
    if chosen["status"] and status is None:
        raise bad_request(f"There is no such status; expected {', '.join(STATUSES)}.")
    item = chosen["item"]
    if item and not (item.isascii() and item.isdecimal() and len(item) < 18 and int(item)):
        raise bad_request("An instance is a number from 1.")
    number = int(item) - 1 if item else None
    return ResultFilter(chosen["worker"], status, number, chosen["text"])


def _back_to_results(request: CrowdRequest, project: Project) -> Response:
    kept = {name: request.form.text(name) for name in (*FILTERS, "page")}
    query = urlencode({name: value for name, value in kept.items() if value})
    return redirect(f"{PROJECTS}/{project.id}/results{'?' if query else ''}{query}")


def _result(one: Assignment, inputs: dict[str, str]) -> ProjectResult:
    return ProjectResult(
        *(one.mark, one.item, inputs, one.worker, one.accepted, one.submitted),
        *(one.answers, one.pay, one.verdict, one.feedback, one.decided),
    )


def _terms(form: Form, *, is_restricted: bool) -> Terms:
    """The terms of a form; a number that is none is refused."""
    try:
        return Terms(
            form.text("name")[:1000],
            form.text("about"),
            int(form.text("wanted").strip() or 1),
            float(form.text("pay").strip() or 0),
            int(form.text("minutes").strip() or 60),
            form.text("hosts").split(),
            is_restricted,
        )
    except ValueError:
        raise bad_request("Workers, pay and minutes are numbers; one of them is none.") from None
