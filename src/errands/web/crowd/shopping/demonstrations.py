"""Where the admin looks at what people did in the shop: who, how well, step by step, and as a run.

Figures are those of `errands.crowd.accounts.worker_quality`, runs are made by
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
from starlette.routing import Route

from errands.crowd.accounts.worker_quality import Verdict
from errands.crowd.shopping.assignments import Outing, Outings, Settings, read_outings
from errands.crowd.shopping.demonstrations import Wanted, export_run
from errands.crowd.shopping.human_figures import Overview, read_overview
from errands.crowd.shopping.steps import Session, Step, find_session, session_steps
from errands.errors import ErrandsError
from errands.runs.export import export
from errands.runs.store.places import open_run
from errands.web.core.http_errors import Refusal
from errands.web.crowd.accounts import page
from errands.web.crowd.auth import Asked, as_json, see
from errands.web.crowd.openapi import operation, paths
from errands.web.crowd.shopping.demonstrations_pages import outing_page, overview_page
from errands.web.crowd.site import Desk, Office

__all__ = ["demonstrations_desk"]

HERE: Final = "/office/demonstrations"
_API: Final = "/v1/office/demonstrations"
_LISTED: Final = 100
_MOST: Final = 1000


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the admin says of a worker."""

    verdict: Literal["granted", "refused", "results"]


class OutingList(msgspec.Struct, frozen=True):
    """Outings by number; `after` the last one there may be more."""

    outings: list[Outing]


class Walk(msgspec.Struct, frozen=True):
    """One session, step by step."""

    session: Session
    instruction: str
    outing: Outing | None
    """None for people whom nobody sent."""
    steps: list[Step]


_SETTINGS: Final = msgspec.json.Decoder(Settings)
_DECISION: Final = msgspec.json.Decoder(Decision)


def demonstrations_desk(office: Office) -> Desk:
    """The admin's view; an office without a shop has none."""
    if office.shopping is None:
        none = Route(HERE, office.reception.page(_no_shop, "admin"), methods=["GET"])
        return Desk([none], lambda: paths({}))
    outings = Outings(office.database, office.shopping.goals)
    desk = _DemonstrationsDesk(outings, str(office.shopping.catalog.path))
    at = office.reception
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
    return Desk(routes, _paths)


class _DemonstrationsDesk:
    def __init__(self, outings: Outings, catalog: str) -> None:
        self._outings = outings
        self._database = outings.database
        self._catalog = catalog

    async def show(self, asked: Asked) -> Response:
        told = self._overview(asked.request)
        before = _number(asked.request, "before", 2**62, 2**62)
        newest = read_outings(self._database, before=before, most=_LISTED, newest=True)
        body = overview_page(told, newest, asked.check, HERE)
        return page("Demonstrations", body, asked, HERE)

    async def change(self, asked: Asked) -> Response:
        given: dict[str, Any] = {
            name: asked.form.text(name)
            for name in Settings.__struct_fields__
            if asked.form.texts(name)
        }
        given["is_open"] = asked.form.text("is_open") == "1"
        try:
            settings = msgspec.convert(given, Settings, strict=False)
        except msgspec.ValidationError as wrong:
            raise Refusal(400, "bad_request", f"The settings make no sense: {wrong}.") from None
        self._outings.set_settings(settings)
        return see(HERE)

    async def decide(self, asked: Asked) -> Response:
        said = asked.form.text("verdict")
        if said not in ("granted", "refused", "results"):
            raise Refusal(400, "bad_request", "The verdict is granted, refused or results.")
        self._decided(asked, said)  # type: ignore[arg-type]
        return see(HERE)

    async def walk(self, asked: Asked) -> Response:
        told = self._walk(asked)
        body = outing_page(told.session, told.instruction, told.outing, told.steps)
        return page("What one person did", body, asked, HERE)

    async def download(self, asked: Asked) -> Response:
        """A run's episodes as lines of JSON."""
        wanted = _wanted(asked.request)
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

    async def api_show(self, asked: Asked) -> Response:
        return as_json(self._overview(asked.request))

    async def api_change(self, asked: Asked) -> Response:
        self._outings.set_settings(asked.read(_SETTINGS))
        return as_json(self._outings.settings())

    async def api_decide(self, asked: Asked) -> Response:
        self._decided(asked, asked.read(_DECISION).verdict)
        return as_json(self._overview(asked.request))

    async def api_outings(self, asked: Asked) -> Response:
        after = _number(asked.request, "after", 0, 2**62)
        most = _number(asked.request, "most", _LISTED, _MOST)
        return as_json(OutingList(read_outings(self._database, after=after, most=most)))

    async def api_walk(self, asked: Asked) -> Response:
        return as_json(self._walk(asked))

    def _overview(self, request: Request) -> Overview:
        counted = request.query_params.get("trials", "0") == "1"
        return read_overview(self._database, include_trials=counted)

    def _decided(self, asked: Asked, verdict: Verdict) -> None:
        id = asked.number("id")
        if not self._database.rows("SELECT 1 FROM people WHERE id = ? AND role = 'worker'", (id,)):
            raise Refusal(404, "not_found", "There is no such worker.")
        self._outings.decide(id, verdict)

    def _walk(self, asked: Asked) -> Walk:
        session = find_session(self._database, asked.request.path_params["session"])
        if session is None:
            raise Refusal(404, "not_found", "There is no such session.")
        sent = read_outings(self._database, session=session.number)
        instruction = self._outings.goals[session.goal].instruction_text
        steps = session_steps(self._database, session.number)
        return Walk(session, instruction, sent[0] if sent else None, steps)

    def _written(self, folder: Path, wanted: Wanted) -> Path:
        export_run(
            self._database,
            folder / "run",
            wanted,
            catalog=self._catalog,
            goals=self._outings.goals.name,
        )
        with contextlib.closing(open_run(folder / "run")) as store:
            export(store, folder / "run.jsonl", "jsonl")
        return folder / "run.jsonl"


async def _no_shop(asked: Asked) -> Response:
    body = "<section><p>This office has no shop, so nobody can be sent shopping.</p></section>"
    return page("Demonstrations", body, asked, HERE)


def _wanted(request: Request) -> Wanted:
    asked = request.query_params
    who = asked.get("who", "workers")
    if who not in ("workers", "qualified", "experts", "visitors"):
        raise Refusal(400, "bad_request", "who is workers, qualified, experts or visitors.")
    worker = asked.get("worker")
    try:
        return Wanted(
            experts=who == "experts",
            qualified=who == "qualified",
            visitors=who == "visitors",
            min_reward=float(asked.get("min_reward", "0")),
            include_trials=asked.get("trials", "0") == "1",
            worker=None if worker is None else int(worker),
        )
    except ErrandsError:
        raise
    except ValueError:
        raise Refusal(400, "bad_request", "worker and min_reward are numbers.") from None


def _number(request: Request, name: str, otherwise: int, most: int) -> int:
    text = request.query_params.get(name, str(otherwise))
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= most):
        raise Refusal(400, "bad_request", f"{name} is a number up to {most}.")
    return int(text)


def _paths() -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string"}
    flag: dict[str, Any] = {"type": "string", "enum": ["0", "1"]}
    number: dict[str, Any] = {"type": "integer", "minimum": 0}
    who: dict[str, Any] = {
        "type": "string",
        "enum": ["workers", "qualified", "experts", "visitors"],
    }
    asked: dict[str, dict[str, Any]] = {
        "who": who,
        "trials": flag,
        "min_reward": {"type": "number"},
        "worker": number,
    }
    lines = operation("Demonstrations as a run", media="application/jsonl", query=asked)
    form = dict.fromkeys(Settings.__struct_fields__, text)
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
                "put": operation("Change settings", body=Settings, answer=Settings)
            },
            f"{_API}/workers/{{id}}": {
                "patch": operation("Decide by hand", body=Decision, answer=Overview)
            },
            f"{_API}/run.jsonl": {"get": lines},
            f"{_API}/outings": {
                "get": operation(
                    "Outings", answer=OutingList, query={"after": number, "most": number}
                )
            },
            f"{_API}/outings/{{session}}": {
                "get": operation("A session, step by step", answer=Walk)
            },
        },
        [Decision, OutingList, Overview, Settings, Walk],
    )
