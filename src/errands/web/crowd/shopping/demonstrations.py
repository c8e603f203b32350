"""What people did in the shop, for the admin: who, how well, step by step, and as a run.

Figures are those of `errands.crowd.shopping.worker_quality`, runs are made by
`errands.crowd.shopping.demonstrations`.
"""

import asyncio
import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from errands.crowd.errors import NotFound
from errands.crowd.shopping.assignments import (
    ShoppingAssignment,
    ShoppingAssignments,
    ShoppingSettings,
    read_assignments,
)
from errands.crowd.shopping.demonstrations import (
    Overview,
    SessionFilter,
    export_run,
    read_overview,
)
from errands.crowd.shopping.steps import LoggedStep, ShopSession, find_session, session_steps
from errands.crowd.shopping.worker_quality import WorkerVerdict
from errands.errors import ErrandsError
from errands.runs.export import export
from errands.runs.store.places import open_run
from errands.web.core import elements as ui
from errands.web.core.http_errors import HttpError
from errands.web.crowd.auth import Auth, CrowdRequest, redirect
from errands.web.crowd.routes import Routes, api, page
from errands.web.crowd.shopping.demonstrations_pages import overview_page, session_page
from errands.web.crowd.site import CrowdSite, staff_response

__all__ = ["demonstration_routes"]

HERE: Final = "/office/demonstrations"
_API: Final = "/v1/office/demonstrations"
_LISTED: Final = 100
_MOST: Final = 1000
_WHO: Final = ("workers", "qualified", "experts", "visitors")


class WorkerDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the admin decides about a worker."""

    verdict: Literal["granted", "refused", "results"]


class ShoppingAssignmentList(msgspec.Struct, frozen=True):
    """Shopping assignments by number; `after` the last one there may be more."""

    assignments: list[ShoppingAssignment] = msgspec.field(name="outings")


class SessionReplay(msgspec.Struct, frozen=True):
    """One session, step by step."""

    session: ShopSession
    instruction: str
    assignment: ShoppingAssignment | None = msgspec.field(name="outing")
    """None for visitors."""
    steps: list[LoggedStep]


_FLAG: Final = {"type": "string", "enum": ["0", "1"]}
_NUMBER: Final = {"type": "integer", "minimum": 0}
_PAGES: Final = {"after": _NUMBER, "most": _NUMBER}
_JSONL: Final[Any] = {
    "media": "application/jsonl",
    "query": {
        "who": {"type": "string", "enum": list(_WHO)},
        "trials": _FLAG,
        "min_reward": {"type": "number"},
        "worker": _NUMBER,
    },
}


def demonstration_routes(site: CrowdSite) -> Routes:
    """The admin's view; a site without a shop has none."""
    if site.shopping is None:
        return _NoShopRoutes(site.auth)
    assignments = ShoppingAssignments(site.database, site.shopping.goals)
    return _DemonstrationRoutes(site.auth, assignments, str(site.shopping.catalog.path))


class _NoShopRoutes(Routes):
    roles = ("admin",)

    @page("GET", HERE, "Demonstrations")
    async def show(self, request: CrowdRequest) -> Response:
        body = ui.section(
            ui.paragraph("This site has no shop, so there are no shopping assignments.")
        )
        return staff_response("Demonstrations", body, request, HERE)


class _DemonstrationRoutes(Routes):
    roles = ("admin",)

    def __init__(self, auth: Auth, assignments: ShoppingAssignments, catalog: str) -> None:
        super().__init__(auth)
        self._assignments = assignments
        self._database = assignments.database
        self._catalog = catalog

    @page("GET", HERE, "What people did in the shop", query={"trials": _FLAG, "before": _NUMBER})
    async def show(self, request: CrowdRequest) -> Response:
        overview = self._overview(request.http)
        before = _number(request.http, "before", 2**62, 2**62)
        newest = read_assignments(self._database, before=before, most=_LISTED, newest=True)
        body = overview_page(overview, newest, request.check, HERE)
        return staff_response("Demonstrations", body, request, HERE)

    @page("POST", f"{HERE}/settings", "Save settings", form=ShoppingSettings.__struct_fields__)
    async def change(self, request: CrowdRequest) -> Response:
        values: dict[str, Any] = {
            name: request.form.text(name)
            for name in ShoppingSettings.__struct_fields__
            if request.form.texts(name)
        }
        values["is_open"] = request.form.text("is_open") == "1"
        try:
            settings = msgspec.convert(values, ShoppingSettings, strict=False)
        except msgspec.ValidationError as wrong:
            raise HttpError(400, "bad_request", f"The settings make no sense: {wrong}.") from None
        self._assignments.set_settings(settings)
        return redirect(HERE)

    @page("POST", f"{HERE}/workers/{{id:int}}", "Qualify or disqualify", form=["verdict"])
    async def decide(self, request: CrowdRequest) -> Response:
        verdict = request.form.text("verdict")
        if verdict not in ("granted", "refused", "results"):
            raise HttpError(400, "bad_request", "The verdict is granted, refused or results.")
        self._decide(request, verdict)  # type: ignore[arg-type]
        return redirect(HERE)

    @page("GET", f"{HERE}/run.jsonl", "Demonstrations as a run", **_JSONL)
    @api("GET", f"{_API}/run.jsonl", "Demonstrations as a run", **_JSONL)
    async def download(self, request: CrowdRequest) -> Response:
        """A run's episodes as lines of JSON."""
        chosen = _session_filter(request.http)
        folder = tempfile.mkdtemp(prefix="errands-demonstrations-")
        tidy = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        try:
            path = await asyncio.to_thread(self._write, Path(folder), chosen)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return FileResponse(
            path,
            headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"},
            media_type="application/jsonl",
            filename="demonstrations.jsonl",
            background=tidy,
        )

    @page("GET", f"{HERE}/{{session}}", "A session, step by step")
    async def session(self, request: CrowdRequest) -> Response:
        replay = self._replay(request)
        body = session_page(replay.session, replay.instruction, replay.assignment, replay.steps)
        return staff_response("One session", body, request, HERE)

    @api("GET", _API, "Workers and figures", query={"trials": _FLAG})
    async def api_show(self, request: CrowdRequest) -> Overview:
        return self._overview(request.http)

    @api("PUT", f"{_API}/settings", "Save settings")
    async def api_change(
        self, request: CrowdRequest, settings: ShoppingSettings
    ) -> ShoppingSettings:
        self._assignments.set_settings(settings)
        return self._assignments.settings()

    @api("PATCH", f"{_API}/workers/{{id:int}}", "Qualify or disqualify")
    async def api_decide(self, request: CrowdRequest, decision: WorkerDecision) -> Overview:
        self._decide(request, decision.verdict)
        return self._overview(request.http)

    @api("GET", f"{_API}/outings", "Shopping assignments", query=_PAGES)
    async def api_assignments(self, request: CrowdRequest) -> ShoppingAssignmentList:
        after = _number(request.http, "after", 0, 2**62)
        most = _number(request.http, "most", _LISTED, _MOST)
        return ShoppingAssignmentList(read_assignments(self._database, after=after, most=most))

    @api("GET", f"{_API}/outings/{{session}}", "A session, step by step")
    async def api_session(self, request: CrowdRequest) -> SessionReplay:
        return self._replay(request)

    def _overview(self, request: Request) -> Overview:
        counted = request.query_params.get("trials", "0") == "1"
        return read_overview(self._database, include_trials=counted)

    def _decide(self, request: CrowdRequest, verdict: WorkerVerdict) -> None:
        id = request.number("id")
        if not self._database.rows("SELECT 1 FROM people WHERE id = ? AND role = 'worker'", (id,)):
            raise NotFound("There is no such worker.")
        self._assignments.decide(id, verdict)

    def _replay(self, request: CrowdRequest) -> SessionReplay:
        session = find_session(self._database, request.http.path_params["session"])
        if session is None:
            raise NotFound("There is no such session.")
        own = read_assignments(self._database, session=session.number)
        instruction = self._assignments.goals[session.goal].instruction_text
        steps = session_steps(self._database, session.number)
        return SessionReplay(session, instruction, own[0] if own else None, steps)

    def _write(self, folder: Path, chosen: SessionFilter) -> Path:
        export_run(
            self._database,
            folder / "run",
            chosen,
            catalog=self._catalog,
            goals=self._assignments.goals.name,
        )
        with contextlib.closing(open_run(folder / "run")) as store:
            export(store, folder / "run.jsonl", "jsonl")
        return folder / "run.jsonl"


def _session_filter(request: Request) -> SessionFilter:
    query = request.query_params
    who = query.get("who", "workers")
    if who not in _WHO:
        raise HttpError(400, "bad_request", "who is workers, qualified, experts or visitors.")
    worker = query.get("worker")
    try:
        return SessionFilter(
            experts=who == "experts",
            qualified=who == "qualified",
            visitors=who == "visitors",
            min_reward=float(query.get("min_reward", "0")),
            include_trials=query.get("trials", "0") == "1",
            worker=None if worker is None else int(worker),
        )
    except ErrandsError:
        raise
    except ValueError:
        raise HttpError(400, "bad_request", "worker and min_reward are numbers.") from None


def _number(request: Request, name: str, otherwise: int, most: int) -> int:
    text = request.query_params.get(name, str(otherwise))
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= most):
        raise HttpError(400, "bad_request", f"{name} is a number up to {most}.")
    return int(text)
