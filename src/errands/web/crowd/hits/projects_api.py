"""Projects for programs of requesters: everything that their pages can do, by JSON."""

import asyncio
from typing import Annotated, Final

import msgspec
from starlette.responses import Response

from errands.crowd.errors import NotFound
from errands.crowd.hits.agreement import FieldAgreement
from errands.crowd.hits.assignments import Assignments, ProjectProgress, WorkerShare
from errands.crowd.hits.projects import Project, Projects, Terms
from errands.crowd.hits.uploads import ImportSummary, import_results, publish_files, publish_task
from errands.web.core.http_errors import HttpError
from errands.web.crowd.auth import CrowdRequest, json_response
from errands.web.crowd.hits.projects import (
    UPLOAD_BYTES,
    own_project,
    project_agreement,
    results_response,
)
from errands.web.crowd.hits.task_frame import frame_address, preview_key
from errands.web.crowd.hits.tasks import hit_name
from errands.web.crowd.routes import Routes
from errands.web.crowd.site import CrowdSite

__all__ = ["project_api_routes"]

API: Final = "/v1/office/projects"
_Whole = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


class NewProject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A project: from a template and a table as texts, or from a task folder by its name."""

    name: str = ""
    about: str = ""
    wanted: _Whole = 1
    pay: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    minutes: _Whole = 60
    hosts: list[str] = []
    template: str | None = None
    csv: str | None = None
    task: str | None = None
    with_answers: bool = False


class ProjectChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is to be changes."""

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


def project_api_routes(site: CrowdSite) -> Routes:
    """Projects for programs of requesters."""
    api = _ProjectApi(site)
    routes = Routes(site.auth, "admin", "requester")
    one = f"{API}/{{id:int}}"
    add = routes.api
    add("GET", API, api.all, "Projects", answer=ProjectList)
    add(
        "POST",
        API,
        api.publish,
        "Publish a project",
        most=UPLOAD_BYTES,
        body=NewProject,
        answer=ProjectReport,
        status="201",
    )
    add("GET", one, api.report, "A project", answer=ProjectReport)
    add("PATCH", one, api.change, "Change it", body=ProjectChange, answer=ProjectReport)
    add("GET", f"{one}/results", api.results, "Results", answer=ProjectResults)
    add("GET", f"{one}/results.csv", api.results_csv, "Results as CSV", media="text/csv")
    add("GET", f"{one}/agreement", api.agreement, "Agreement", answer=ProjectAgreement)
    add(
        "POST",
        f"{one}/import",
        api.import_results,
        "Import results",
        most=UPLOAD_BYTES,
        body=ResultsFile,
        answer=ImportSummary,
    )
    add("GET", f"{one}/items/{{number:int}}", api.item, "An instance", answer=ProjectItem)
    return routes


class _ProjectApi:
    def __init__(self, site: CrowdSite) -> None:
        self._site = site
        self._projects = Projects(site.database)
        self._work = Assignments(site.database)

    async def all(self, request: CrowdRequest) -> Response:
        owner = None if request.person.role == "admin" else request.person.id
        tasks = self._site.tasks
        names = [] if tasks is None else list(tasks.names)
        return json_response(ProjectList(self._projects.all(owner), names))

    async def publish(self, request: CrowdRequest) -> Response:
        new = request.read(_NEW)
        terms = Terms(new.name, new.about, new.wanted, new.pay, new.minutes, new.hosts)
        owner, with_answers = request.person.id, new.with_answers
        if new.task is not None:
            if new.template is not None or new.csv is not None:
                raise HttpError(400, "bad_request", "Either task, or template and csv; not both.")
            project = await asyncio.to_thread(
                publish_task,
                *(self._projects, self._work, owner, terms, self._site.tasks, new.task),
                with_answers=with_answers,
            )
        elif new.template is None or new.csv is None:
            raise HttpError(400, "bad_request", "A project needs template and csv, or task.")
        else:
            project = await asyncio.to_thread(
                publish_files,
                *(self._projects, self._work, owner, terms),
                *(new.template.encode(), new.csv.encode()),
                with_answers=with_answers,
            )
        return json_response(self._report(project), 201)

    async def report(self, request: CrowdRequest) -> Response:
        return json_response(self._report(own_project(self._projects, request)))

    async def change(self, request: CrowdRequest) -> Response:
        project = own_project(self._projects, request)
        change = request.read(_CHANGE)
        terms = Terms(
            *(project.name, project.about, project.wanted, project.pay, project.minutes),
            project.hosts,
        )
        changes = {
            name: value
            for name, value in msgspec.structs.asdict(change).items()
            if value is not None and name != "is_open"
        }
        if changes:
            self._projects.change(project.id, msgspec.structs.replace(terms, **changes))
        if change.is_open is not None:
            self._projects.set_open(project.id, change.is_open)
        return json_response(self._report(own_project(self._projects, request)))

    async def results(self, request: CrowdRequest) -> Response:
        project = own_project(self._projects, request)
        inputs = {item.number: item.inputs for item in self._projects.items(project.id)}
        return json_response(
            ProjectResults(
                [
                    ProjectResult(
                        *(one.mark, one.item, inputs[one.item], one.worker, one.accepted),
                        *(one.submitted, one.answers, one.pay),
                    )
                    for one in self._work.done(project.id)
                ]
            )
        )

    async def results_csv(self, request: CrowdRequest) -> Response:
        project = own_project(self._projects, request)
        return await results_response(self._projects, self._work, project)

    async def agreement(self, request: CrowdRequest) -> Response:
        project = own_project(self._projects, request)
        fields = await asyncio.to_thread(project_agreement, self._projects, self._work, project)
        return json_response(ProjectAgreement(fields))

    async def import_results(self, request: CrowdRequest) -> Response:
        project = own_project(self._projects, request)
        data = request.read(_FILE).csv.encode()
        return json_response(
            await asyncio.to_thread(import_results, self._projects, self._work, project, data)
        )

    async def item(self, request: CrowdRequest) -> Response:
        project = own_project(self._projects, request)
        item = self._projects.item(project.id, request.number("number"))
        if item is None:
            raise NotFound("There is no such instance.")
        key = preview_key(self._site.secret, project.id, item.number)
        address = frame_address(request.http, key, hit_name(project.id, item.number))
        return json_response(ProjectItem(item.number, item.inputs, address))

    def _report(self, project: Project) -> ProjectReport:
        return ProjectReport(project, self._work.progress(project), self._work.shares(project.id))


_NEW: Final = msgspec.json.Decoder(NewProject)
_CHANGE: Final = msgspec.json.Decoder(ProjectChange)
_FILE: Final = msgspec.json.Decoder(ResultsFile)
