"""Crowd work as requesters meet it: upload, preview, progress, agreement, results."""

import asyncio
from typing import Final

from starlette.responses import Response

from errands.crowd.accounts.accounts import Role
from errands.crowd.hits.agreement import FieldAgreement, agreements
from errands.crowd.hits.assignments import Assignments
from errands.crowd.hits.projects import Project, Projects, Terms
from errands.crowd.hits.results import answer_names, field_kinds, results_csv
from errands.crowd.hits.uploads import import_results, publish_files, publish_task
from errands.reports.html.markup import badge, esc, table
from errands.web.core.application import Route
from errands.web.core.forms import Form
from errands.web.core.http_errors import HttpError
from errands.web.crowd.accounts import page
from errands.web.crowd.auth import CrowdRequest, redirect
from errands.web.crowd.document import button
from errands.web.crowd.hits import project_pages as pages
from errands.web.crowd.hits.project_pages import PROJECTS
from errands.web.crowd.hits.task_frame import frame, frame_address, preview_key
from errands.web.crowd.hits.tasks import hit_name
from errands.web.crowd.openapi import operation, paths
from errands.web.crowd.site import CrowdSite, RouteGroup

__all__ = ["REQUESTERS", "UPLOAD_BYTES", "own_project", "project_agreement", "project_routes"]

UPLOAD_BYTES: Final = 64 * 2**20
REQUESTERS: Final[tuple[Role, ...]] = ("admin", "requester")


def project_routes(site: CrowdSite) -> RouteGroup:
    """Projects of requesters; the admin sees everybody's."""
    desk = _ProjectPages(site)
    at = site.auth
    one = f"{PROJECTS}/{{id:int}}"
    who = REQUESTERS
    most = UPLOAD_BYTES
    routes = [
        Route(PROJECTS, at.page(desk.everything, *who), methods=["GET"]),
        Route(PROJECTS, at.page(desk.upload, *who, most=most), methods=["POST"]),
        Route(f"{PROJECTS}/take", at.page(desk.take, *who), methods=["POST"]),
        Route(one, at.page(desk.show, *who), methods=["GET"]),
        Route(f"{one}/terms", at.page(desk.change, *who), methods=["POST"]),
        Route(f"{one}/standing", at.page(desk.stand, *who), methods=["POST"]),
        Route(f"{one}/import", at.page(desk.import_results, *who, most=most), methods=["POST"]),
        Route(f"{one}/items/{{number:int}}", at.page(desk.preview, *who), methods=["GET"]),
        Route(f"{one}/results.csv", at.page(desk.results, *who), methods=["GET"]),
    ]
    return RouteGroup(routes, _paths)


def own_project(projects: Projects, request: CrowdRequest) -> Project:
    """The project of an address, if it is the asker's; the admin may see all."""
    project = projects.project(request.number("id"))
    if project is None or (request.person.role != "admin" and project.owner != request.person.id):
        raise HttpError(404, "not_found", "There is no such project of yours.")
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

    async def everything(self, request: CrowdRequest) -> Response:
        owner = None if request.person.role == "admin" else request.person.id
        rows = []
        for project in self._projects.all(owner):
            done = self._work.progress(project)
            rows.append(
                [
                    f'<a href="{PROJECTS}/{project.id}">{esc(project.name)}</a>',
                    f"{done.done:,} of {done.wanted:,}",
                    f"{project.items:,}",
                    badge("open", "good") if project.is_open else badge("closed"),
                ]
            )
        head = ["project", "assignments done", "instances", "standing"]
        listed = table(head, rows, "How far they are") if rows else "<p>There are none yet.</p>"
        tasks = self._site.tasks
        body = (
            f"<section><h2>Projects</h2>{listed}</section>"
            f"{pages.upload_form(request.check)}"
            f"{pages.take_form(request.check, tasks.names) if tasks is not None else ''}"
        )
        return page("Crowd work", body, request, PROJECTS)

    async def upload(self, request: CrowdRequest) -> Response:
        template, rows = request.form.file("template"), request.form.file("table")
        if template is None or rows is None:
            raise HttpError(
                400, "bad_request", "A task needs a template and a CSV file: choose both."
            )
        made = await asyncio.to_thread(
            publish_files,
            self._projects,
            self._work,
            request.person.id,
            _terms(request.form),
            template,
            rows,
            with_answers=request.form.text("with_answers") == "1",
        )
        return redirect(f"{PROJECTS}/{made.id}")

    async def take(self, request: CrowdRequest) -> Response:
        made = await asyncio.to_thread(
            publish_task,
            self._projects,
            self._work,
            request.person.id,
            _terms(request.form),
            self._site.tasks,
            request.form.text("task"),
            with_answers=request.form.text("with_answers") == "1",
        )
        return redirect(f"{PROJECTS}/{made.id}")

    async def show(self, request: CrowdRequest) -> Response:
        return await self._shown(request, own_project(self._projects, request))

    async def _shown(self, request: CrowdRequest, project: Project, said: str = "") -> Response:
        found = await asyncio.to_thread(project_agreement, self._projects, self._work, project)
        people = {person.id: person.name for person in self._site.people.everybody()}
        here = f"{PROJECTS}/{project.id}"
        label, value = ("Close", "0") if project.is_open else ("Open again", "1")
        stand = button(label, f"{here}/standing", request.check, fields=[("is_open", value)])
        body = (
            f"{said}{pages.progress(project, self._work.progress(project))}"
            f'<div class="deeds"><a class="btn primary" href="{here}/results.csv">Results (CSV)'
            f'</a><a class="btn" href="{here}/items/0">Preview</a>{stand}</div></section>'
            f"{pages.shares(self._work.shares(project.id), people)}"
            f"{pages.agreement(found)}"
            f"{pages.import_form(project, request.check)}"
            f"{pages.terms_form(project, request.check)}"
        )
        below = f"<p>{esc(project.about)}</p>" if project.about else ""
        return page(project.name, body, request, PROJECTS, below=below)

    async def change(self, request: CrowdRequest) -> Response:
        project = own_project(self._projects, request)
        self._projects.change(project.id, _terms(request.form))
        return redirect(f"{PROJECTS}/{project.id}")

    async def stand(self, request: CrowdRequest) -> Response:
        project = own_project(self._projects, request)
        self._projects.set_open(project.id, request.form.text("is_open") == "1")
        return redirect(f"{PROJECTS}/{project.id}")

    async def import_results(self, request: CrowdRequest) -> Response:
        project = own_project(self._projects, request)
        data = request.form.file("table")
        if data is None:
            raise HttpError(400, "bad_request", "Choose a CSV file of results.")
        brought = await asyncio.to_thread(import_results, self._projects, self._work, project, data)
        return await self._shown(request, project, pages.brought(brought))

    async def preview(self, request: CrowdRequest) -> Response:
        """An instance as workers see it."""
        project = own_project(self._projects, request)
        number = request.number("number")
        item = self._projects.item(project.id, number)
        if item is None:
            raise HttpError(404, "not_found", "There is no such instance.")
        key = preview_key(self._site.secret, project.id, number)
        address = frame_address(request.http, key, hit_name(project.id, number))
        here = f"{PROJECTS}/{project.id}/items"
        ways = "".join(
            f'<a class="btn" href="{here}/{to}">{label}</a>'
            for to, label in ((number - 1, "Previous"), (number + 1, "Next"))
            if 0 <= to < project.items
        )
        inputs = [[esc(name), esc(value)] for name, value in item.inputs.items()]
        body = (
            f'<section><p><a href="{PROJECTS}/{project.id}">Back to the project</a></p>'
            f"<h2>Instance {number + 1} of {project.items:,}</h2>"
            f'{frame(address, "Preview of the task")}<div class="deeds">{ways}</div></section>'
            '<section class="words"><h2>Inputs</h2>'
            f"{table(['column', 'value'], inputs, 'What this instance shows')}</section>"
        )
        return page(project.name, body, request, PROJECTS)

    async def results(self, request: CrowdRequest) -> Response:
        project = own_project(self._projects, request)
        return await results_response(self._projects, self._work, project)


async def results_response(projects: Projects, work: Assignments, project: Project) -> Response:
    """The results as a file to download."""

    def made() -> bytes:
        template = projects.template(project.id)
        return results_csv(project, template, projects.items(project.id), work.done(project.id))

    headers = {
        "Content-Disposition": f'attachment; filename="project-{project.id}-results.csv"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    content = await asyncio.to_thread(made)
    return Response(content, headers=headers, media_type="text/csv; charset=utf-8")


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


def _paths() -> dict[str, object]:
    text, file = {"type": "string"}, {"type": "string", "format": "binary"}
    terms = {
        **dict.fromkeys(("check", "name", "about", "hosts", "with_answers"), text),
        "wanted": {"type": "integer"},
        "pay": {"type": "number"},
        "minutes": {"type": "integer"},
    }
    one = f"{PROJECTS}/{{id}}"
    download = operation("The results", media="text/csv")
    download["responses"]["303"] = {"description": "To the login"}
    return paths(
        {
            PROJECTS: {
                "get": operation("Projects", media="text/html"),
                "post": operation(
                    "Upload a task",
                    form={**terms, "template": file, "table": file},
                    multipart=True,
                    status="303",
                ),
            },
            f"{PROJECTS}/take": {
                "post": operation("Take a task folder", form={**terms, "task": text}, status="303")
            },
            one: {"get": operation("A project", media="text/html")},
            f"{one}/terms": {"post": operation("Other terms", form=terms, status="303")},
            f"{one}/standing": {
                "post": operation("Open or close", form={"is_open": text}, status="303")
            },
            f"{one}/import": {
                "post": operation(
                    "Take in results", form={"table": file}, multipart=True, media="text/html"
                )
            },
            f"{one}/items/{{number}}": {"get": operation("Preview", media="text/html")},
            f"{one}/results.csv": {"get": download},
        }
    )
