"""Projects of requesters: publish, preview, progress, agreement, results; by pages and by JSON."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Final

import msgspec
from starlette.responses import Response

from errands.crowd.errors import NotFound
from errands.crowd.hits.agreement import FieldAgreement, agreements
from errands.crowd.hits.assignments import Assignments, ProjectProgress, WorkerShare
from errands.crowd.hits.projects import Item, Project, Projects, Terms
from errands.crowd.hits.results import answer_names, results_csv
from errands.crowd.hits.task_page import field_kinds
from errands.crowd.hits.uploads import ImportSummary, import_results, publish_files, publish_task
from errands.markup import EMPTY, Markup
from errands.web.core import elements as ui
from errands.web.core.document import file_headers
from errands.web.core.forms import Form
from errands.web.core.http_errors import bad_request, existing
from errands.web.crowd.auth import CrowdRequest, redirect
from errands.web.crowd.hits import project_pages as pages
from errands.web.crowd.hits.project_pages import PROJECTS
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
_TERMS: Final = {
    **dict.fromkeys(("check", "name", "about", "hosts", "with_answers"), _TEXT),
    "wanted": {"type": "integer"},
    "pay": {"type": "number"},
    "minutes": {"type": "integer"},
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


class ProjectChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is to be changed."""

    name: str | None = None
    about: str | None = None
    wanted: _Whole | None = None
    pay: Annotated[float, msgspec.Meta(ge=0)] | None = None
    minutes: _Whole | None = None
    hosts: list[str] | None = None
    is_open: bool | None = None


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

    @page("GET", PROJECTS, "Projects")
    async def all(self, request: CrowdRequest) -> Response:
        projects = [(one, self._work.progress(one)) for one in self._projects.all(_owner(request))]
        body = pages.projects_body(projects, self._folders(), request.check)
        return staff_response("Projects", body, request, PROJECTS)

    @page(
        *("POST", PROJECTS, "Publish a template and a table"),
        most=UPLOAD_BYTES,
        form={**_TERMS, "template": _FILE, "table": _FILE},
        multipart=True,
    )
    async def upload(self, request: CrowdRequest) -> Response:
        template, rows = request.form.file("template"), request.form.file("table")
        if template is None or rows is None:
            raise bad_request("A task needs a template and a CSV file: choose both.")
        return await self._publish(request, publish_files, template, rows)

    @page("POST", f"{PROJECTS}/take", "Publish a task folder", form={**_TERMS, "task": _TEXT})
    async def publish_folder(self, request: CrowdRequest) -> Response:
        task = request.form.text("task")
        return await self._publish(request, publish_task, self._site.tasks, task)

    async def _publish(
        self, request: CrowdRequest, publish: Callable[..., Project], *source: object
    ) -> Response:
        terms, with_answers = _terms(request.form), request.form.text("with_answers") == "1"
        project = await self._published(request, publish, terms, with_answers, *source)
        return redirect(f"{PROJECTS}/{project.id}")

    @page("GET", _ONE, "A project")
    async def show(self, request: CrowdRequest) -> Response:
        return await self._page(request, self._project(request))

    async def _page(
        self, request: CrowdRequest, project: Project, message: Markup = EMPTY
    ) -> Response:
        agreement = await asyncio.to_thread(self._agreement, project)
        body = pages.project_body(
            project,
            self._work.progress(project),
            self._work.shares(project.id),
            {person.id: person.name for person in self._site.accounts.everybody()},
            agreement,
            request.check,
        )
        below = ui.paragraph(project.about) if project.about else EMPTY
        return staff_response(project.name, message + body, request, PROJECTS, below=below)

    @page("POST", f"{_ONE}/terms", "Save its terms", form=_TERMS)
    async def change(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        self._projects.change(project.id, _terms(request.form))
        return redirect(f"{PROJECTS}/{project.id}")

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
        imported = await self._imported(project, data)
        return await self._page(request, project, pages.import_message(imported))

    @page("GET", f"{_ONE}/items/{{number:int}}", "Preview")
    async def preview(self, request: CrowdRequest) -> Response:
        """An instance as workers see it."""
        project = self._project(request)
        item, address = self._item(request, project)
        body = pages.preview_body(project, item, frame(address, "Preview of the task"))
        return staff_response(project.name, body, request, PROJECTS)

    @page("GET", f"{_ONE}/results.csv", "The results", media="text/csv")
    @api("GET", f"{_API_ONE}/results.csv", "Results as CSV", media="text/csv")
    async def results(self, request: CrowdRequest) -> Response:
        project = self._project(request)
        data = await asyncio.to_thread(self._results_csv, project)
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
        project = await self._published(request, publish, new, new.with_answers, *source)
        return self._report(project)

    @api("GET", _API_ONE, "A project")
    async def api_report(self, request: CrowdRequest) -> ProjectReport:
        return self._report(self._project(request))

    @api("PATCH", _API_ONE, "Change it")
    async def api_change(self, request: CrowdRequest, change: ProjectChange) -> ProjectReport:
        project = self._project(request)
        terms = msgspec.convert(project, Terms, from_attributes=True)
        changes = {
            name: value
            for name, value in msgspec.structs.asdict(change).items()
            if value is not None and name != "is_open"
        }
        if changes:
            self._projects.change(project.id, msgspec.structs.replace(terms, **changes))
        if change.is_open is not None:
            self._projects.set_open(project.id, change.is_open)
        return self._report(self._project(request))

    @api("GET", f"{_API_ONE}/results", "Results")
    async def api_results(self, request: CrowdRequest) -> ProjectResults:
        project = self._project(request)
        inputs = {item.number: item.inputs for item in self._projects.items(project.id)}
        return ProjectResults(
            [
                ProjectResult(
                    *(one.mark, one.item, inputs[one.item], one.worker, one.accepted),
                    *(one.submitted, one.answers, one.pay),
                )
                for one in self._work.done(project.id)
            ]
        )

    @api("GET", f"{_API_ONE}/agreement", "Agreement")
    async def api_agreement(self, request: CrowdRequest) -> ProjectAgreement:
        return ProjectAgreement(await asyncio.to_thread(self._agreement, self._project(request)))

    @api("POST", f"{_API_ONE}/import", "Import results", most=UPLOAD_BYTES)
    async def api_import(self, request: CrowdRequest, file: ResultsFile) -> ImportSummary:
        return await self._imported(self._project(request), file.csv.encode())

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
        done = self._work.done(project.id)
        return agreements(done, answer_names(template, done), field_kinds(template))

    def _results_csv(self, project: Project) -> bytes:
        template, items = self._projects.template(project.id), self._projects.items(project.id)
        return results_csv(project, template, items, self._work.done(project.id))

    async def _imported(self, project: Project, data: bytes) -> ImportSummary:
        return await asyncio.to_thread(import_results, self._projects, self._work, project, data)

    async def _published(
        self,
        request: CrowdRequest,
        publish: Callable[..., Project],
        terms: Terms,
        with_answers: bool,
        *source: object,
    ) -> Project:
        return await asyncio.to_thread(
            publish,
            *(self._projects, self._work, request.person.id, terms, *source),
            with_answers=with_answers,
        )

    def _item(self, request: CrowdRequest, project: Project) -> tuple[Item, str]:
        """The instance of an address, and the address of its preview."""
        number = request.number("number")
        item = existing(self._projects.item(project.id, number), "There is no such instance.")
        return item, preview_address(request.http, self._site.secret, project.id, item.number)


def _owner(request: CrowdRequest) -> int | None:
    """Whose projects somebody sees; None: everybody's."""
    return None if request.person.role == "admin" else request.person.id


def _terms(form: Form) -> Terms:
    """The terms of a form; a number that is none is refused."""
    try:
        return Terms(
            form.text("name")[:1000],
            form.text("about"),
            int(form.text("wanted").strip() or 1),
            float(form.text("pay").strip() or 0),
            int(form.text("minutes").strip() or 60),
            form.text("hosts").split(),
        )
    except ValueError:
        raise bad_request("Workers, pay and minutes are numbers; one of them is none.") from None
