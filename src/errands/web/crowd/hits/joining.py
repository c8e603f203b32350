"""How people without an invitation come to a project: by its join link, as Prolific sends them.

Looking at the link makes nothing; the button there makes an account, whose page is the answer. A
cookie brings the same browser back to it, so that an ID that others may know opens nobody's work.
"""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from errands.crowd.accounts.accounts import LONGEST_NAME
from errands.crowd.hits.project_workers import JoinLink, ProjectWorkers
from errands.crowd.hits.projects import Projects
from errands.markup import EMPTY
from errands.web.core import elements as ui
from errands.web.core.auth import cookie
from errands.web.core.forms import SMALL_FORM, Form
from errands.web.core.http_errors import existing
from errands.web.crowd.auth import redirect
from errands.web.crowd.document import document, html_response
from errands.web.crowd.routes import Routes, open_page
from errands.web.crowd.site import CrowdSite

__all__ = ["JoinRoutes", "join_address"]

_LINK: Final = "/join/{code}"
_COOKIE: Final = "errands_joined"
_COOKIE_SECONDS: Final = 90 * 24 * 3600
_IDS: Final = ("PROLIFIC_PID", "participant", "workerId")
"""By which sites that send people name them in the address."""


def join_address(request: Request, code: str) -> str:
    """A join link, for people to follow."""
    return f"{request.url.scheme}://{request.url.netloc}/join/{code}"


class JoinRoutes(Routes):
    """The page of a join link."""

    def __init__(self, site: CrowdSite) -> None:
        super().__init__(site.auth)
        self._accounts = site.accounts
        self._projects = Projects(site.database)
        self._workers = ProjectWorkers(site.database)

    @open_page("GET", _LINK, "A join link")
    async def show(self, request: Request, form: Form) -> Response:
        link = self._link(request)
        token = self._known(request, link)
        if token:
            return redirect(f"/work/{token}/tasks/{link.project}")
        project = self._projects.project(link.project)
        assert project is not None
        query = request.query_params
        id = next((query[name] for name in _IDS if query.get(name)), "")
        if link.is_full or not project.is_offered:
            body = ui.section(ui.callout("This project takes nobody else at the moment."))
            return html_response(document(project.name, body))
        minutes = f"{project.minutes} minute{'s' if project.minutes != 1 else ''}"
        body = ui.section(
            ui.paragraph(project.about) if project.about else EMPTY,
            ui.paragraph(
                f"Pays {ui.dollars(project.pay)} for each instance; {minutes} for each."
                if project.pay
                else f"{minutes.capitalize()} for each instance."
            ),
            ui.form(
                f"/join/{link.code}",
                ui.field(
                    "Your ID",
                    "participant",
                    id[:LONGEST_NAME],
                    hint="Where you come from a site that gave you one (Prolific and the like).",
                    maxlength=LONGEST_NAME,
                    autocomplete="off",
                ),
                ui.submit("Join", "primary"),
            ),
        )
        return html_response(document(project.name, body))

    @open_page("POST", _LINK, "Join", form=["participant"], status=303, most=SMALL_FORM)
    async def join(self, request: Request, form: Form) -> Response:
        link = self._link(request)
        token = self._known(request, link)
        if not token:
            token = self._workers.join(link.code, form.text("participant")).token
        response = redirect(f"/work/{token}/tasks/{link.project}")
        response.set_cookie(
            _COOKIE,
            token,
            max_age=_COOKIE_SECONDS,
            path=f"/join/{link.code}",
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )
        return response

    def _link(self, request: Request) -> JoinLink:
        link = self._workers.by_code(request.path_params["code"])
        return existing(link, "This link leads nowhere; ask for a new one.")

    def _known(self, request: Request, link: JoinLink) -> str:
        """The token of the account that this browser has joined with, if it is there."""
        token = cookie(request.scope, _COOKIE)
        person = self._accounts.by_token(token) if token else None
        is_theirs = person is not None and self._workers.has_joined(link.project, person.id)
        return token if is_theirs else ""
