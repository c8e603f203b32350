"""The frame that a task runs in: other people's code, which may reach nothing but its own answers.

A frame's address has a key and nothing else that is secret. The key of an assignment shows its
page and takes its answers once; the key of a preview, signed by this site, only shows a page.
The browser is told to treat the page as nobody's (`sandbox`): no cookies, no storage, no parent,
no address but the frame's own, and no network.
"""

import asyncio
import hashlib
import hmac
import json
import mimetypes
import re
import secrets
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from errands.browser.libraries import SCRIPT, library
from errands.browser.network_policy import page_file
from errands.crowd.errors import Conflict
from errands.crowd.hits.assignments import Assignment, Assignments, Draft
from errands.crowd.hits.projects import Project, Projects
from errands.crowd.hits.task_page import ALLOW_EMPTY, EXTERNAL_SCRIPT, answers_of, task_page
from errands.errors import TaskError
from errands.markup import EMPTY, Markup, html, join
from errands.web.core.forms import Form
from errands.web.core.http_errors import HttpError, bad_request, existing, not_found
from errands.web.crowd.auth import Endpoint
from errands.web.crowd.document import HEADERS
from errands.web.crowd.routes import Routes, RouteSpec, open_page
from errands.web.crowd.site import CrowdSite

__all__ = ["UNAVAILABLE", "FrameRoutes", "frame", "frame_address", "hit_name", "preview_address"]

_FRAME: Final = "/frame/{key}/"
_NOTHING: Final = "There is nothing here."

UNAVAILABLE: Final = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""What pages for Mechanical Turk are told instead of an assignment, in a preview."""
SANDBOX: Final = "allow-scripts allow-forms"
_HOST: Final = re.compile(r"[A-Za-z0-9.-]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")
_PREVIEW: Final = re.compile(r"preview-(\d{1,18})-(\d{1,18})-([0-9a-f]{32})", re.ASCII)
_COMMON: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-DNS-Prefetch-Control": "off",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_FILE_HEADERS: Final = {
    **_COMMON,
    # A file that somebody opens by itself is as harmless as in its frame.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Access-Control-Allow-Origin": "*",
}

_REFUSED: Final = (
    HEADERS["Content-Security-Policy"].replace("frame-ancestors 'none'", "frame-ancestors 'self'")
    + "; sandbox"
)
"""So that a refusal can be read in the frame, too."""


_OWN_STYLE: Final = html(
    "body{{font:18px/1.5 system-ui,sans-serif;margin:1.5em;color:#1a2233;background:#fff}}"
    "h1{{font-size:1.25rem;margin:0 0 .4em}}form{{display:flex;flex-wrap:wrap;gap:12px}}"
    "a,button{{font:inherit;font-weight:650;padding:8px 18px;border-radius:99px;cursor:pointer;"
    "border:1px solid #1f5f8b;text-decoration:none;color:#fff;background:#1f5f8b}}"
    "button{{color:#b3261e;background:#fff;border-color:#b3261e}}"
)


class _Shown(NamedTuple):
    """What a key opens."""

    project: Project
    item: int
    assignment: Assignment | None
    """None: a preview."""


def preview_key(secret: bytes, project: int, item: int) -> str:
    """The key of an instance's preview."""
    said = f"preview {project} {item}".encode()
    sign = hmac.new(secret, said, hashlib.sha256).hexdigest()[:32]
    return f"preview-{project}-{item}-{sign}"


def preview_address(request: Request, secret: bytes, project: int, item: int) -> str:
    """Where the frame of an instance's preview leads."""
    return frame_address(request, preview_key(secret, project, item), hit_name(project, item))


def hit_name(project: int, item: int) -> str:
    """What a page is told to be its HIT."""
    return f"H{project}-{item}"


def frame_address(request: Request, key: str, hit: str, worker: str = "") -> str:
    """Where a frame leads, with what Mechanical Turk tells its pages."""
    told = {
        "assignmentId": UNAVAILABLE if key.startswith("preview-") else key,
        "hitId": hit,
        **({"workerId": worker} if worker else {}),
        "turkSubmitTo": origin(request),
    }
    return f"/frame/{key}/?{urlencode(told)}"


def frame(address: str, title: str, then: str = "") -> Markup:
    """The element in which a task runs."""
    return html(
        '<iframe class="task" title="{}" sandbox="{}" referrerpolicy="no-referrer" src="{}"{}>'
        "</iframe>",
        title,
        SANDBOX,
        address,
        html(' data-then="{}"', then) if then else EMPTY,
    )


def origin(request: Request) -> str:
    """This site, as its visitor knows it."""
    host = request.url.netloc
    if _HOST.fullmatch(host) is None:
        raise bad_request("The request names no host.")
    return f"{request.url.scheme}://{host}"


def policy(here: str, project: Project, *, is_preview: bool) -> str:
    """What a task's page may do: run its own scripts, load its own files, send its answers."""
    own = f"{here}/frame/"
    hosts = " ".join(f"https://{host} http://{host}" for host in project.hosts)
    sending = "'none'" if is_preview else f"{own} {here}/mturk/externalSubmit"
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'unsafe-inline' 'unsafe-eval' {own}",
            f"style-src 'unsafe-inline' {own}",
            f"font-src data: {own}",
            f"img-src data: blob: {own} {hosts}".strip(),
            f"media-src data: blob: {own} {hosts}".strip(),
            "connect-src 'none'",
            "worker-src 'none'",
            "object-src 'none'",
            "frame-src 'none'",
            f"form-action {sending}",
            "base-uri 'none'",
            "frame-ancestors 'self'",
            f"sandbox {SANDBOX}",
        )
    )


class FrameRoutes(Routes):
    """Pages of tasks, their files, and where their answers go."""

    def __init__(self, site: CrowdSite) -> None:
        super().__init__(site.auth)
        self._site = site
        self._projects = Projects(site.database)
        self._assignments = Assignments(site.database)

    def endpoint(self, spec: RouteSpec, handler: Callable[..., Any]) -> Endpoint:
        answer = super().endpoint(spec, handler)

        async def framed(request: Request) -> Response:
            response = await answer(request)
            own = response.headers.get("Content-Security-Policy", "")
            if response.status_code >= 400 and "sandbox" not in own:
                response.headers["Content-Security-Policy"] = _REFUSED
            return response

        return framed

    @open_page("GET", "/frame/files/web/{path:path}")
    async def library(self, request: Request, form: Form) -> Response:
        """A well-known library, by the address that it has elsewhere. Old ones have faults that
        everybody knows, so they are for tasks in their frames, which have nothing to lose, and not
        for pages of this site."""
        if not _is_from_frame(request):
            raise not_found(_NOTHING)
        address = f"https://{request.path_params['path']}"
        headers = {**_FILE_HEADERS, "Cache-Control": "max-age=86400"}
        if EXTERNAL_SCRIPT.fullmatch(address):
            return Response(_script("external_hit.js"), headers=headers, media_type=SCRIPT)
        served = existing(library(address), _NOTHING)
        content = b"" if served.path is None else _content(served.path)
        return Response(content, headers=headers, media_type=served.kind)

    @open_page("GET", _FRAME, "A task's page in its frame")
    async def page(self, request: Request, form: Form) -> Response:
        if request.headers.get("sec-fetch-dest", "iframe") != "iframe":
            raise HttpError(403, "frame_only", "A task is shown in its page; open it from there.")
        shown = self._shown(request.path_params["key"])
        here = origin(request)
        assignment = shown.assignment
        if assignment is not None and assignment.status == "submitted":
            return _received()
        if assignment is not None and assignment.status == "returned":
            raise HttpError(409, "conflict", "This was returned.")
        item = existing(self._projects.item(shown.project.id, shown.item), _NOTHING)
        key = request.path_params["key"]
        is_preview = assignment is None
        template = self._projects.template(shown.project.id)
        content = await asyncio.to_thread(
            task_page,
            template,
            item.inputs,
            action=f"/frame/{key}/",
            assignment=UNAVAILABLE if is_preview else key,
            is_preview=is_preview,
            guard=_before(template, {} if assignment is None else assignment.draft),
        )
        headers = {
            **_COMMON,
            "Cache-Control": "no-store",
            "Content-Security-Policy": policy(here, shown.project, is_preview=is_preview),
        }
        return Response(content.encode("utf-8", "replace"), headers=headers, media_type="text/html")

    @open_page("POST", _FRAME, "Submit its answers", form=["NAME"], media="text/html")
    async def submit(self, request: Request, form: Form) -> Response:
        return await self._submitted(request, self._shown(request.path_params["key"]), form)

    @open_page(
        *("POST", "/mturk/externalSubmit", "Submit answers as to Mechanical Turk"),
        form=["assignmentId", "NAME"],
        media="text/html",
    )
    async def external(self, request: Request, form: Form) -> Response:
        """As `submit`, for pages that say which assignment they are."""
        given = [*form.texts("assignmentId"), request.query_params.get("assignmentId", "")]
        if not any(given):
            raise bad_request("The answers do not say their assignmentId.")
        if UNAVAILABLE in given:
            raise _preview()
        for key in given:
            assignment = self._assignments.by_key(key) if key else None
            if assignment is not None:
                return await self._submitted(request, self._shown(key), form)
        raise not_found(_NOTHING)

    async def _submitted(self, request: Request, shown: _Shown, form: Form) -> Response:
        if shown.assignment is None:
            raise _preview()
        answers = answers_of(form.fields)
        allow_empty = bool(form.text(ALLOW_EMPTY))
        try:
            await asyncio.to_thread(
                self._assignments.submit, shown.assignment.key, answers, allow_empty=allow_empty
            )
        except Conflict as refused:
            if refused.code != "empty":
                raise
            return _empty_question(request, shown.assignment, form)
        return _received()

    @open_page("GET", f"{_FRAME}{{path:path}}")
    async def file(self, request: Request, form: Form) -> Response:
        """A file beside the template in its folder."""
        shown = self._shown(request.path_params["key"])
        tasks = self._site.tasks
        if not shown.project.task or tasks is None:
            raise not_found(_NOTHING)
        try:
            folder = tasks.folder(shown.project.task)
        except TaskError:
            raise not_found(_NOTHING) from None
        path = page_file(folder, request.path_params["path"]) if isinstance(folder, Path) else None
        if path is None:
            raise not_found(_NOTHING)
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        headers = {**_FILE_HEADERS, "Cache-Control": "no-store"}
        return Response(path.read_bytes(), headers=headers, media_type=kind)

    def _shown(self, key: str) -> _Shown:
        preview = _PREVIEW.fullmatch(key)
        if preview is not None:
            number, item = int(preview[1]), int(preview[2])
            if not hmac.compare_digest(key, preview_key(self._site.secret, number, item)):
                raise not_found(_NOTHING)
            return _Shown(self._project(number), item, None)
        assignment = existing(self._assignments.by_key(key), _NOTHING)
        return _Shown(self._project(assignment.project), assignment.item, assignment)

    def _project(self, number: int) -> Project:
        return existing(self._projects.project(number), _NOTHING)


def _is_from_frame(request: Request) -> bool:
    """Whether it may be a sandboxed frame that asks: it is on no site, and names no page."""
    headers = request.headers
    return (
        headers.get("sec-fetch-site", "cross-site") == "cross-site"
        and headers.get("origin", "null") == "null"
        and "referer" not in headers
    )


@cache
def _content(path: Path) -> bytes:
    return path.read_bytes()


def _before(template: str, draft: Draft) -> str:
    """What runs before a task's own scripts. Mechanical Turk puts its script into pages that
    call it without having asked for it, so do we."""
    # In a script nothing but this sign could end it.
    kept = json.dumps(draft).replace("<", "\\u003c")
    answers = _script("frame_answers.js").decode().partition("\n(draft) =>")
    scripts = [
        _script("frame_guard.js").decode(),
        f"{answers[0]}\n((draft) =>{answers[2].rstrip()})({kept});",
    ]
    if any(name in template for name in ("turkSetAssignmentID", "turkGetParam")):
        scripts.append(_script("external_hit.js").decode())
    return "\n".join(scripts)


@cache
def _script(name: str) -> bytes:
    return Path(__file__).with_name(name).read_bytes()


def _received() -> Response:
    """What a frame shows after its answers were taken; it tells the page around it."""
    body = html("<p>Thank you: your answers were received.</p>")
    return _own_page("Received", body, "errands:submitted")


def _empty_question(request: Request, one: Assignment, form: Form) -> Response:
    """Asks whether nothing is to be sent; what was sent with it comes along."""
    back = frame_address(request, one.key, hit_name(one.project, one.item), one.worker)
    fields = join(
        html('<input type="hidden" name="{}" value="{}">', name, value)
        for name, value in (*form.fields, (ALLOW_EMPTY, "1"))
    )
    body = html(
        "<h1>You have not filled in anything</h1><p>Nothing has been sent.</p>"
        '<form method="post" action="/frame/{}/">{}<a href="{}">Back to the task</a>'
        '<button type="submit">Submit it empty</button></form>',
        one.key,
        fields,
        back,
    )
    sending = f"{origin(request)}/frame/"
    asked = {"errands": "asked"}
    return _own_page("Nothing filled in", body, asked, sending=sending, status=409)


def _own_page(
    title: str, body: Markup, message: object, *, sending: str = "'none'", status: int = 200
) -> Response:
    """A page of ours in a task's frame, which tells the page around it a message and how high it
    is; `sending` is where its form may go."""
    nonce = secrets.token_urlsafe(12)
    content = html(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{0}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<style nonce="{1}">{2}</style>\n</head>\n<body>\n{3}\n'
        '<script nonce="{1}" data-told="{4}">const height = document.body.offsetHeight + 64;\n'
        'window.parent.postMessage({{ errands: "height", height }}, "*");\n'
        "window.parent.postMessage(JSON.parse(document.currentScript.dataset.told), "
        '"*");</script>\n</body>\n</html>\n',
        title,
        nonce,
        _OWN_STYLE,
        body,
        json.dumps(message),
    )
    headers = {
        **_COMMON,
        "Cache-Control": "no-store",
        "Content-Security-Policy": (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}';"
            f" form-action {sending}; base-uri 'none'; frame-ancestors 'self'; sandbox {SANDBOX}"
        ),
    }
    return Response(content.encode("utf-8", "replace"), status, headers, media_type="text/html")


def _preview() -> HttpError:
    return HttpError(403, "preview", "This is a preview: accept the task before you submit.")
