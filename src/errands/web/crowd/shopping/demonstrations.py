"""Where the admin looks at what people did in the shop: who, how well, step by step, and as a run.

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

from errands.crowd.shopping.assignments import (
    ShoppingAssignment,
    ShoppingAssignments,
    ShoppingSettings,
    read_assignments,
)
from errands.crowd.shopping.demonstrations import SessionFilter, export_run
from errands.crowd.shopping.human_figures import Overview, read_overview
from errands.crowd.shopping.steps import LoggedStep, ShopSession, find_session, session_steps
from errands.crowd.shopping.worker_quality import Verdict
from errands.errors import ErrandsError
from errands.runs.export import export
from errands.runs.store.places import open_run
from errands.web.core.application import Route
from errands.web.core.http_errors import HttpError
from errands.web.crowd.accounts import page
from errands.web.crowd.auth import CrowdRequest, json_response, redirect
from errands.web.crowd.openapi import operation, paths
from errands.web.crowd.shopping.demonstrations_pages import overview_page, session_page
from errands.web.crowd.site import CrowdSite, RouteGroup

__all__ = ["demonstration_routes"]

HERE: Final = "/office/demonstrations"
_API: Final = "/v1/office/demonstrations"
_LISTED: Final = 100
_MOST: Final = 1000


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the admin says of a worker."""

    verdict: Literal["granted", "refused", "results"]


class ShoppingAssignmentList(msgspec.Struct, frozen=True):
    """Outings by number; `after` the last one there may be more."""

    outings: list[ShoppingAssignment]


class SessionReplay(msgspec.Struct, frozen=True):
    """One session, step by step."""

    session: ShopSession
    instruction: str
    outing: ShoppingAssignment | None
    """None for people whom nobody sent."""
    steps: list[LoggedStep]


_SETTINGS: Final = msgspec.json.Decoder(ShoppingSettings)
_DECISION: Final = msgspec.json.Decoder(Decision)


def demonstration_routes(site: CrowdSite) -> RouteGroup:
    """The admin's view; an office without a shop has none."""
    if site.shopping is None:
        none = Route(HERE, site.auth.page(_no_shop, "admin"), methods=["GET"])
        return RouteGroup([none], lambda: paths({}))
    outings = ShoppingAssignments(site.database, site.shopping.goals)
    desk = _DemonstrationPages(outings, str(site.shopping.catalog.path))
    at = site.auth
    worker = "workers/{id:int}"
    routes = [
        Route(HERE, at.page(desk.show, "admin"), methods=["GET"]),
        Route(f"{HERE}/settings", at.page(desk.change, "admin"), methods=["POST"]),
        Route(f"{HERE}/{worker}", at.page(desk.decide, "admin"), methods=["POST"]),
        Route(f"{HERE}/run.jsonl", at.page(desk.download, "admin"), methods=["GET"]),
        Route(f"{HERE}/{{session}}", at.page(desk.walk, "admin"), methods=["GET"]),
        Route(_API, at.api(desk.api_show, "admin"), methods=["GET"]),
        Route(f"{_API}/settings", at.api(desk.api_change, "admin"), methods=["PUT"]),
        Route(f"{_API}/{worker}", at.api(desk.api_decide, "admin"), methods=["PATCH"]),
        Route(f"{_API}/run.jsonl", at.api(desk.download, "admin"), methods=["GET"]),
        Route(f"{_API}/outings", at.api(desk.api_outings, "admin"), methods=["GET"]),
        Route(f"{_API}/outings/{{session}}", at.api(desk.api_walk, "admin"), methods=["GET"]),
    ]
    return RouteGroup(routes, _paths)


class _DemonstrationPages:
    def __init__(self, outings: ShoppingAssignments, catalog: str) -> None:
        self._assignments = outings
        self._database = outings.database
        self._catalog = catalog

    async def show(self, request: CrowdRequest) -> Response:
        told = self._overview(request.http)
        before = _number(request.http, "before", 2**62, 2**62)
        newest = read_assignments(self._database, before=before, most=_LISTED, newest=True)
        body = overview_page(told, newest, request.check, HERE)
        return page("Demonstrations", body, request, HERE)

    async def change(self, request: CrowdRequest) -> Response:
        given: dict[str, Any] = {
            name: request.form.text(name)
            for name in ShoppingSettings.__struct_fields__
            if request.form.texts(name)
        }
        given["is_open"] = request.form.text("is_open") == "1"
        try:
            settings = msgspec.convert(given, ShoppingSettings, strict=False)
        except msgspec.ValidationError as wrong:
            raise HttpError(400, "bad_request", f"The settings make no sense: {wrong}.") from None
        self._assignments.set_settings(settings)
        return redirect(HERE)

    async def decide(self, request: CrowdRequest) -> Response:
        said = request.form.text("verdict")
        if said not in ("granted", "refused", "results"):
            raise HttpError(400, "bad_request", "The verdict is granted, refused or results.")
        self._decided(request, said)  # type: ignore[arg-type]
        return redirect(HERE)

    async def walk(self, request: CrowdRequest) -> Response:
        told = self._walk(request)
        body = session_page(told.session, told.instruction, told.outing, told.steps)
        return page("What one person did", body, request, HERE)

    async def download(self, request: CrowdRequest) -> Response:
        """A run's episodes as lines of JSON."""
        wanted = _session_filter(request.http)
        folder = tempfile.mkdtemp(prefix="errands-demonstrations-")
        tidy = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        try:
            path = await asyncio.to_thread(self._written, Path(folder), wanted)
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

    async def api_show(self, request: CrowdRequest) -> Response:
        return json_response(self._overview(request.http))

    async def api_change(self, request: CrowdRequest) -> Response:
        self._assignments.set_settings(request.read(_SETTINGS))
        return json_response(self._assignments.settings())

    async def api_decide(self, request: CrowdRequest) -> Response:
        self._decided(request, request.read(_DECISION).verdict)
        return json_response(self._overview(request.http))

    async def api_outings(self, request: CrowdRequest) -> Response:
        after = _number(request.http, "after", 0, 2**62)
        most = _number(request.http, "most", _LISTED, _MOST)
        return json_response(
            ShoppingAssignmentList(read_assignments(self._database, after=after, most=most))
        )

    async def api_walk(self, request: CrowdRequest) -> Response:
        return json_response(self._walk(request))

    def _overview(self, request: Request) -> Overview:
        counted = request.query_params.get("trials", "0") == "1"
        return read_overview(self._database, include_trials=counted)

    def _decided(self, request: CrowdRequest, verdict: Verdict) -> None:
        id = request.number("id")
        if not self._database.rows("SELECT 1 FROM people WHERE id = ? AND role = 'worker'", (id,)):
            raise HttpError(404, "not_found", "There is no such worker.")
        self._assignments.decide(id, verdict)

    def _walk(self, request: CrowdRequest) -> SessionReplay:
        session = find_session(self._database, request.http.path_params["session"])
        if session is None:
            raise HttpError(404, "not_found", "There is no such session.")
        sent = read_assignments(self._database, session=session.number)
        instruction = self._assignments.goals[session.goal].instruction_text
        steps = session_steps(self._database, session.number)
        return SessionReplay(session, instruction, sent[0] if sent else None, steps)

    def _written(self, folder: Path, wanted: SessionFilter) -> Path:
        export_run(
            self._database,
            folder / "run",
            wanted,
            catalog=self._catalog,
            goals=self._assignments.goals.name,
        )
        with contextlib.closing(open_run(folder / "run")) as store:
            export(store, folder / "run.jsonl", "jsonl")
        return folder / "run.jsonl"


async def _no_shop(request: CrowdRequest) -> Response:
    body = "<section><p>This office has no shop, so nobody can be sent shopping.</p></section>"
    return page("Demonstrations", body, request, HERE)


def _session_filter(request: Request) -> SessionFilter:
    query = request.query_params
    who = query.get("who", "workers")
    if who not in ("workers", "qualified", "experts", "visitors"):
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


def _paths() -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string"}
    flag: dict[str, Any] = {"type": "string", "enum": ["0", "1"]}
    number: dict[str, Any] = {"type": "integer", "minimum": 0}
    who: dict[str, Any] = {
        "type": "string",
        "enum": ["workers", "qualified", "experts", "visitors"],
    }
    request: dict[str, dict[str, Any]] = {
        "who": who,
        "trials": flag,
        "min_reward": {"type": "number"},
        "worker": number,
    }
    lines = operation("Demonstrations as a run", media="application/jsonl", query=request)
    form = dict.fromkeys(ShoppingSettings.__struct_fields__, text)
    return paths(
        {
            HERE: {
                "get": operation(
                    "What people did in the shop",
                    media="text/html",
                    query={"trials": flag, "before": number},
                )
            },
            f"{HERE}/settings": {"post": operation("Change settings", form=form, status="303")},
            f"{HERE}/workers/{{id}}": {
                "post": operation("Decide by hand", form={"verdict": text}, status="303")
            },
            f"{HERE}/run.jsonl": {"get": lines},
            f"{HERE}/{{session}}": {"get": operation("A session, step by step", media="text/html")},
            _API: {
                "get": operation(
                    "Workers, standing and figures", answer=Overview, query={"trials": flag}
                )
            },
            f"{_API}/settings": {
                "put": operation("Change settings", body=ShoppingSettings, answer=ShoppingSettings)
            },
            f"{_API}/workers/{{id}}": {
                "patch": operation("Decide by hand", body=Decision, answer=Overview)
            },
            f"{_API}/run.jsonl": {"get": lines},
            f"{_API}/outings": {
                "get": operation(
                    "Outings",
                    answer=ShoppingAssignmentList,
                    query={"after": number, "most": number},
                )
            },
            f"{_API}/outings/{{session}}": {
                "get": operation("A session, step by step", answer=SessionReplay)
            },
        },
        [Decision, ShoppingAssignmentList, Overview, ShoppingSettings, SessionReplay],
    )
