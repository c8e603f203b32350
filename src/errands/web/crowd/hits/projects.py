"""Projects as requesters see them: publish, preview, progress, agreement, results."""

import asyncio
from collections.abc import Callable
from typing import Final

from starlette.responses import Response

from errands.crowd.errors import NotFound
from errands.crowd.hits.agreement import FieldAgreement, agreements
from errands.crowd.hits.assignments import Assignments
from errands.crowd.hits.projects import Project, Projects, Terms
from errands.crowd.hits.results import answer_names, field_kinds, results_csv
from errands.crowd.hits.uploads import import_results, publish_files, publish_task
from errands.markup import EMPTY, Markup
from errands.web.core.forms import Form
from errands.web.core.http_errors import HttpError
from errands.web.crowd.auth import CrowdRequest, redirect
from errands.web.crowd.document import paragraph
from errands.web.crowd.hits import project_pages as pages
from errands.web.crowd.hits.project_pages import PROJECTS
from errands.web.crowd.hits.task_frame import frame, frame_address, preview_key
from errands.web.crowd.hits.tasks import hit_name
from errands.web.crowd.routes import Routes
from errands.web.crowd.site import CrowdSite, staff_page

__all__ = ["UPLOAD_BYTES", "own_project", "project_agreement", "project_routes"]

UPLOAD_BYTES: Final = 64 * 2**20


def project_routes(site: CrowdSite) -> Routes:
    """Projects of requesters; the admin sees everybody's."""
    pages = _ProjectPages(site)
    routes = Routes(site.auth, "admin", "requester")
    one = f"{PROJECTS}/{{id:int}}"
    text, file = {"type": "string"}, {"type": "string", "format": "binary"}
    terms = {
        **dict.fromkeys(("check", "name", "about", "hosts", "with_answers"), text),
        "wanted": {"type": "integer"},
        "pay": {"type": "number"},
        "minutes": {"type": "integer"},
    }
    routes.page("GET", PROJECTS, pages.all, "Projects")
    routes.page(
        "POST",
        PROJECTS,
        pages.upload,
        "Publish a template and a table",
        most=UPLOAD_BYTES,
        form={**terms, "template": file, "table": file},
        multipart=True,
    )
    routes.page(
        "POST",
        f"{PROJECTS}/take",
        pages.publish_folder,
        "Publish a task folder",
        form={**terms, "task": text},
    )
    routes.page("GET", one, pages.show, "A project")
    routes.page("POST", f"{one}/terms", pages.change, "Save its terms", form=terms)
    routes.page("POST", f"{one}/standing", pages.set_open, "Open or close", form=["is_open"])
    routes.page(
        "POST",
        f"{one}/import",
        pages.import_results,
        "Import results",
        most=UPLOAD_BYTES,
        form={"table": file},
        multipart=True,
        media="text/html",
    )
    routes.page("GET", f"{one}/items/{{number:int}}", pages.preview, "Preview")
    routes.page("GET", f"{one}/results.csv", pages.results, "The results", media="text/csv")
    return routes


def own_project(projects: Projects, request: CrowdRequest) -> Project:
    """The project of an address, if it is the asker's; the admin may see all."""
    project = projects.project(request.number("id"))
    if project is None or (request.person.role != "admin" and project.owner != request.person.id):
        raise NotFound("You have no such project.")
    return project


def project_agreement(
    projects: Projects, work: Assignments, project: Project
) -> list[FieldAgreement]:
    """The agreement in each field that several workers have answered."""
    template = projects.template(project.id)
    done = work.done(project.id)
    return agreements(done, answer_names(template, done), field_kinds(template))


class _ProjectPages:
    def __init__(self, site: CrowdSite) -> None:
        self._site = site
        self._projects = Projects(site.database)
        self._work = Assignments(site.database)

    async def all(self, request: CrowdRequest) -> Response:
        owner = None if request.person.role == "admin" else request.person.id
        projects = [(one, self._work.progress(one)) for one in self._projects.all(owner)]
        names = () if self._site.tasks is None else self._site.tasks.names
        body = pages.projects_body(projects, names, request.check)
        return staff_page("Projects", body, request, PROJECTS)

    async def upload(self, request: CrowdRequest) -> Response:
        template, rows = request.form.file("template"), request.form.file("table")
        if template is None or rows is None:
            raise HttpError(
                400, "bad_request", "A task needs a template and a CSV file: choose both."
            )
        return await self._publish(request, publish_files, template, rows)

    async def publish_folder(self, request: CrowdRequest) -> Response:
        task = request.form.text("task")
        return await self._publish(request, publish_task, self._site.tasks, task)

    async def _publish(
        self, request: CrowdRequest, publish: Callable[..., Project], *source: object
    ) -> Response:
        project = await asyncio.to_thread(
            publish,
            *(self._projects, self._work, request.person.id, _terms(request.form), *source),
            with_answers=request.form.text("with_answers") == "1",
        )
        return redirect(f"{PROJECTS}/{project.id}")

    async def show(self, request: CrowdRequest) -> Response:
        return await self._page(request, own_project(self._projects, request))

    async def _page(
        self, request: CrowdRequest, project: Project, message: Markup = EMPTY
    ) -> Response:
        agreement = await asyncio.to_thread(project_agreement, self._projects, self._work, project)
        body = pages.project_body(
            project,
            self._work.progress(project),
            self._work.shares(project.id),
            {person.id: person.name for person in self._site.accounts.everybody()},
            agreement,
            request.check,
        )
        below = paragraph(project.about) if project.about else EMPTY
        return staff_page(project.name, message + body, request, PROJECTS, below=below)

    async def change(self, request: CrowdRequest) -> Response:
        project = own_project(self._projects, request)
        self._projects.change(project.id, _terms(request.form))
        return redirect(f"{PROJECTS}/{project.id}")

    async def set_open(self, request: CrowdRequest) -> Response:
        project = own_project(self._projects, request)
        self._projects.set_open(project.id, request.form.text("is_open") == "1")
        return redirect(f"{PROJECTS}/{project.id}")

    async def import_results(self, request: CrowdRequest) -> Response:
        project = own_project(self._projects, request)
        data = request.form.file("table")
        if data is None:
            raise HttpError(400, "bad_request", "Choose a CSV file of results.")
        imported = await asyncio.to_thread(
            import_results, self._projects, self._work, project, data
        )
        return await self._page(request, project, pages.import_message(imported))

    async def preview(self, request: CrowdRequest) -> Response:
        """An instance as workers see it."""
        project = own_project(self._projects, request)
        number = request.number("number")
        item = self._projects.item(project.id, number)
        if item is None:
            raise NotFound("There is no such instance.")
        key = preview_key(self._site.secret, project.id, number)
        address = frame_address(request.http, key, hit_name(project.id, number))
        body = pages.preview_body(project, item, frame(address, "Preview of the task"))
        return staff_page(project.name, body, request, PROJECTS)

    async def results(self, request: CrowdRequest) -> Response:
        project = own_project(self._projects, request)
        return await results_response(self._projects, self._work, project)


async def results_response(projects: Projects, work: Assignments, project: Project) -> Response:
    """The results as a file to download."""

    def content() -> bytes:
        template = projects.template(project.id)
        return results_csv(project, template, projects.items(project.id), work.done(project.id))

    headers = {
        "Content-Disposition": f'attachment; filename="project-{project.id}-results.csv"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    data = await asyncio.to_thread(content)
    return Response(data, headers=headers, media_type="text/csv; charset=utf-8")


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
        raise HttpError(
            400, "bad_request", "Workers, pay and minutes are numbers; one of them is none."
        ) from None
