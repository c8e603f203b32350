"""What people did in the shop, for the admin: who, how well, step by step, and as a run.

Figures are those of `errands.crowd.shopping.worker_quality`, runs are made by
`errands.crowd.shopping.demonstrations`.
"""

import asyncio
import contextlib
import datetime
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from errands.crowd.errors import NotFound
from errands.crowd.shopping.assignments import (
    SPLIT_NAMES,
    ShoppingAssignment,
    ShoppingAssignments,
    ShoppingSettings,
    committed,
    read_assignments,
)
from errands.crowd.shopping.demonstrations import (
    Overview,
    SessionFilter,
    export_run,
    read_overview,
)
from errands.crowd.shopping.steps import LoggedStep, ShopSession, find_session, session_steps
from errands.crowd.shopping.worker_quality import (
    CountSpread,
    ShoppingFigures,
    Worker,
    WorkerVerdict,
)
from errands.errors import ErrandsError
from errands.markup import EMPTY, Markup, html
from errands.reports.html.elements import badge, cut, table
from errands.runs.export import export
from errands.runs.store.places import open_run
from errands.web.core import elements as ui
from errands.web.core.document import file_headers
from errands.web.core.http_errors import bad_request, existing
from errands.web.crowd.auth import Auth, CrowdRequest, redirect
from errands.web.crowd.routes import Routes, api, page
from errands.web.crowd.shopping.assignments import state_badge
from errands.web.crowd.site import CrowdSite, staff_response

__all__ = ["demonstration_routes"]

_DASH: Final = "–"
_BADGES: Final = {"qualified": "won", "refused": "failed"}

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
        before = request.query_number("before", 2**62)
        newest = read_assignments(self._database, before=before, most=_LISTED, newest=True)
        body = _overview_body(overview, newest, committed(self._database), request.check)
        return staff_response("Demonstrations", body, request, HERE)

    @page("POST", f"{HERE}/settings", "Save settings", form=ShoppingSettings.__struct_fields__)
    async def change(self, request: CrowdRequest) -> Response:
        self._assignments.set_settings(request.form_record(ShoppingSettings))
        return redirect(HERE)

    @page("POST", f"{HERE}/workers/{{id:int}}", "Qualify or disqualify", form=["verdict"])
    async def decide(self, request: CrowdRequest) -> Response:
        self._decide(request, request.form_record(WorkerDecision).verdict)
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
            headers=file_headers(),
            media_type="application/jsonl",
            filename="demonstrations.jsonl",
            background=tidy,
        )

    @page("GET", f"{HERE}/{{session}}", "A session, step by step")
    async def session(self, request: CrowdRequest) -> Response:
        replay = self._replay(request)
        body = _session_body(replay.session, replay.instruction, replay.assignment, replay.steps)
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
        after = request.query_number("after", 0)
        most = request.query_number("most", _LISTED, _MOST)
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
        name = request.http.path_params["session"]
        session = existing(find_session(self._database, name), "There is no such session.")
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
        raise bad_request("who is workers, qualified, experts or visitors.")
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
        raise bad_request("worker and min_reward are numbers.") from None


def _overview_body(
    overview: Overview, newest: Sequence[ShoppingAssignment], spent: float, check: str
) -> Markup:
    """Figures, workers, assignments, settings; `spent` is promised or earned."""
    names = {worker.id: worker.name for worker in overview.workers}
    counted = "with trials" if overview.include_trials else "without trials"
    other = ("", "without") if overview.include_trials else ("?trials=1", "with")
    return html(
        '<div class="shopping">{}</div>',
        ui.fragment(
            ui.section(
                ui.paragraph(
                    f"{overview.finished:,} assignments are finished, {overview.open:,} open,"
                    f" {overview.returned:,} returned; {ui.dollars(overview.paid)} earned."
                    f" {overview.visitors:,} visitors without an assignment bought something."
                )
            ),
            ui.section(
                html(
                    '<p>Counted {}; <a href="{}{}">show {} trials</a>.</p>',
                    *(counted, HERE, *other),
                ),
                _figures(overview),
                title="How well people shop",
            ),
            ui.section(_workers(overview.workers, check), title="Workers"),
            ui.section(_downloads(), title="Export as a run"),
            ui.section(_assignments(newest, names), title="Assignments"),
            ui.section(_settings(overview.settings, spent, check), title="Settings"),
        ),
    )


def _figures(overview: Overview) -> Markup:
    rows = [
        [name, str(one.count), *_scores(one), *_spreads(one)]
        for name, one in (
            ("everybody", overview.all),
            ("qualified", overview.qualified),
            ("experts", overview.experts),
        )
    ]
    head = ["who", "assignments", "score", "success, %", "deviation"]
    return table([*head, "steps", "pages", "products", "searches", "minutes"], rows)


def _scores(figures: ShoppingFigures) -> list[str]:
    return [_figure(one) for one in (figures.score, figures.success, figures.deviation)]


def _spreads(figures: ShoppingFigures) -> list[str]:
    counts = (figures.steps, figures.states, figures.items, figures.searches)
    return [*(_spread(one) for one in counts), _spread(figures.seconds, 60)]


def _spread(values: CountSpread | None, unit: float = 1) -> str:
    if values is None:
        return _DASH
    counted = (values.mean / unit, values.least / unit, values.most / unit)
    return html("{:.1f} <small>{:.0f} to {:.0f}</small>", *counted)


def _figure(value: float | None, digits: int = 1) -> str:
    return _DASH if value is None else f"{value:.{digits}f}"


def _workers(workers: Sequence[Worker], check: str) -> Markup:
    if not workers:
        return html('<p>Nobody has been invited: see <a href="/office/people">Accounts</a>.</p>')
    rows = [
        [
            html("{} <small>w{}</small>", one.name, one.id),
            html(
                "{}{}",
                badge("expert" if one.is_expert else one.status, _BADGES.get(one.status, "")),
                html(" <small>by hand</small>") if one.by_hand else EMPTY,
            ),
            _figure(one.trial, 2),
            str(one.figures.count),
            *_scores(one.figures),
            ui.dollars(one.earned),
            _decision(one, check),
        ]
        for one in workers
    ]
    head = ["worker", "status", "trial", "assignments", "score", "success, %", "deviation"]
    return table([*head, "earned", "decision"], rows)


def _decision(worker: Worker, check: str) -> Markup:
    choices = [("Qualify", "granted"), ("Disqualify", "refused")]
    if worker.by_hand:
        choices.append(("Use trial result", "results"))
    return ui.actions(
        *(
            ui.button(label, f"{HERE}/workers/{worker.id}", check, fields=[("verdict", verdict)])
            for label, verdict in choices
        )
    )


def _downloads() -> Markup:
    ways = (("Everybody", "workers"), ("Qualified", "qualified"), ("Experts", "experts"))
    return html(
        "<p>Every session is replayed in the environment; trials are left out."
        " <code>errands crowd export demonstrations</code> does more.</p>{}",
        ui.actions(
            *(
                ui.link_button(f"{label} (JSONL)", f"{HERE}/run.jsonl?who={who}")
                for label, who in ways
            )
        ),
    )


def _assignments(newest: Sequence[ShoppingAssignment], names: dict[int, str]) -> Markup:
    if not newest:
        return ui.paragraph("There are none.")
    rows = [
        [
            html('<a href="{}/{}">{}</a>', HERE, one.name, one.number),
            names.get(one.person, ""),
            str(one.goal),
            state_badge(one.state, one.reward),
            "trial" if one.is_trial else "",
            _DASH if one.reward is None else f"{100 * one.reward:.0f}",
            str(one.steps) if one.state == "done" else _DASH,
            ui.dollars(one.pay),
            "submitted" if one.coded is not None else "",
            _time(one.began),
        ]
        for one in newest
    ]
    head = ["number", "worker", "goal", "state", "kind", "score", "steps", "pay", "code", "began"]
    first, last = newest[0].number, newest[-1].number
    older = html('<p><a href="{}?before={}">Older ones</a></p>', HERE, last)
    return table(head, rows, f"Assignments {first} to {last}") + (older if last > 1 else EMPTY)


def _settings(settings: ShoppingSettings, spent: float, check: str) -> Markup:
    budget = f"For all of them; {ui.dollars(spent)} are promised or earned."
    splits = [(name, name) for name in SPLIT_NAMES]
    goals, trials = "What people shop for.", "Best kept apart."
    return ui.form(
        f"{HERE}/settings",
        ui.checkbox("Workers can begin new ones", "is_open", settings.is_open),
        ui.number("Budget, in dollars", "budget", settings.budget, hint=budget),
        ui.select("Goals", "split", splits, settings.split, hint=goals),
        ui.select("Goals of trials", "trial_split", splits, settings.trial_split, hint=trials),
        ui.number("People for each goal", "per_goal", settings.per_goal),
        ui.number("Hours until an assignment expires", "hours", settings.hours),
        ui.number("Dollars for an assignment", "pay", settings.pay),
        ui.number("Assignments of a trial", "trials", settings.trials),
        ui.number("Average reward that a trial has to exceed", "bar", settings.bar),
        ui.submit("Save", "primary"),
        check=check,
    )


def _session_body(
    session: ShopSession,
    instruction: str,
    assignment: ShoppingAssignment | None,
    steps: Sequence[LoggedStep],
) -> Markup:
    """One session, step by step."""
    rows = [
        [
            str(step.number),
            html("<code>{}</code>", cut(step.action, 200)) if step.action else "start",
            html("{:,.1f}&nbsp;s", step.at - session.began),
            step.page,
            "" if step.source == step.number - 1 or not step.number else f"step {step.source}",
            EMPTY if step.exact else badge("not an action", "failed"),
        ]
        for step in steps
    ]
    who = "A visitor without an assignment."
    if assignment is not None:
        kind = "A trial" if assignment.is_trial else "An assignment"
        who = f"{kind} of w{assignment.person}, {assignment.state}."
    head = ["step", "action", "after", "page", "done on", "remark"]
    return html(
        '<div class="shopping"><section><div class="card instruction"><blockquote>{}</blockquote>'
        "<p>{} Goal {}, begun {}. {}</p></div></section>{}</div>",
        instruction,
        who,
        session.goal,
        _time(session.began),
        _purchase(session),
        ui.section(table(head, rows), title="Steps", kind="words"),
    )


def _purchase(session: ShopSession) -> str:
    bought = session.bought
    if bought is None:
        return "Nothing has been bought yet."
    chosen = ", ".join(f"{name}: {value}" for name, value in bought.options)
    return (
        f"Bought {bought.asin}{f' ({chosen})' if chosen else ''} for {ui.dollars(bought.price)}; it"
        f" scored {100 * bought.reward:.0f} of 100."
    )


def _time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
