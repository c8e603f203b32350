"""The part of the application that shows runs: pages for people, JSON for programs, live progress.

    application([runs_site(RunLibrary(["runs"]))], Auth(token))

Reading happens beside the event loop, in a few threads with a bounded queue; playing episodes
again and making reports, which take longer, have a thread each of their own.
"""

import asyncio
import contextlib
import contextvars
import logging
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from errands.errors import ErrandsError
from errands.reports.content import Report, gather, to_json
from errands.reports.formatting import count
from errands.reports.markdown import to_markdown
from errands.runs.episode import Episode
from errands.web.core.application import AppPart, Route, without_slash
from errands.web.core.document import file_headers
from errands.web.core.http_errors import HttpError, bad_request, busy, internal
from errands.web.core.metrics import metric
from errands.web.core.places import RUNS, Place
from errands.web.runs.api import (
    EpisodeDetail,
    EpisodeList,
    RunDetail,
    as_json,
    progress,
    run_row,
    runs_answer,
    runs_paths,
)
from errands.web.runs.document import ASSETS, HEADERS, error_page, protocol_of
from errands.web.runs.episode_page import FRAME_HEADERS, episode_page, place_of, still_page
from errands.web.runs.library import RunEntry, RunLibrary, RunStatus
from errands.web.runs.pages import compare_page, live_figures, report_page, run_page, runs_page
from errands.web.runs.query import Rows, RunQuery, unknown_episode, unknown_run
from errands.web.runs.replays import EpisodeReplay, ReplayCache

__all__ = ["runs_site"]

MOST_COMPARED: Final = 8
LATEST: Final = 8
"""Episodes that a run in progress shows as its last."""
QUEUE: Final = 64
"""Requests that are being answered or wait for a thread."""
STREAMS: Final = 64
REPORTS: Final = 16
"""Reports that are remembered."""
_EVERY: Final = 1.0
"""Seconds between two looks at a run in progress."""
_log = logging.getLogger(__name__)

Work = Callable[[Request], Response]
Endpoint = Callable[[Request], Awaitable[Response]]


def runs_site(library: RunLibrary) -> AppPart:
    """The part of the application that shows runs."""
    site = _Site(library)
    one = "/runs/{id}"
    episode = f"{one}/episodes/{{number:int}}"
    api_run = "/v1/runs/{id}"
    endpoints = {
        "/runs": site.page("list", site.runs),
        "/runs/compare": site.page("compare", site.compare, "report"),
        one: site.page("run", site.run),
        f"{one}/events": site.events,
        f"{one}/report": site.page("report", site.report, "report"),
        f"{one}/report.md": site.page("report", site.report_markdown, "report"),
        f"{one}/report.json": site.page("report", site.report_json, "report"),
        episode: site.page("episode", site.episode, "replay"),
        f"{episode}/pages/{{place:int}}": site.page("frame", site.frame, "replay"),
        "/v1/runs": site.api(site.api_runs),
        api_run: site.api(site.api_run),
        f"{api_run}/episodes": site.api(site.api_episodes),
        f"{api_run}/episodes/{{number:int}}": site.api(site.api_episode),
    }
    endpoints |= {f"{path}/": without_slash for path in endpoints}
    routes = [Route(path, endpoint, methods=["GET"]) for path, endpoint in endpoints.items()]

    @contextlib.asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        try:
            yield
        finally:
            await asyncio.to_thread(site.close)

    return AppPart(
        routes=(*ASSETS.routes(), *routes),
        place=Place(
            RUNS,
            "/runs",
            "What agents did, episode by episode and page by page; scores, comparisons, progress.",
            "See the runs",
        ),
        paths=runs_paths,
        lifespan=lifespan,
        metrics=site.metrics,
        ready=lambda: not site.stopping.is_set(),
        drain=site.stopping.set,
        busy=site.is_busy,
    )


class _Site:
    """Everything behind the addresses."""

    def __init__(self, library: RunLibrary) -> None:
        self._library = library
        self.stopping = asyncio.Event()
        """Ends the streams."""
        self._replays = ReplayCache()
        self._threads = {
            "read": ThreadPoolExecutor(4, "runs"),
            "replay": ThreadPoolExecutor(1, "replay"),
            "report": ThreadPoolExecutor(1, "report"),
        }
        self._waiting = self._streams = 0
        self._shown: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._reports: OrderedDict[object, Report] = OrderedDict()

    def is_busy(self) -> bool:
        return bool(self._waiting or self._streams)

    def close(self) -> None:
        for threads in self._threads.values():
            threads.shutdown(cancel_futures=True)
        self._replays.close()

    def metrics(self) -> str:
        readable, unreadable = self._library.counts()
        lines = chain(
            metric("runs_known", "gauge", "Runs that can be shown.", readable),
            metric("runs_unreadable", "gauge", "Files that are no readable run.", unreadable),
            metric("runs_streams_open", "gauge", "Clients following a run.", self._streams),
            metric("runs_replays_total", "counter", "Episodes played again.", self._replays.played),
            metric("runs_pages_total", "counter", "Pages about runs.", self._shown, "page"),
            metric("runs_refused_total", "counter", "Errors, by code.", self._errors, "code"),
        )
        return "\n".join(lines) + "\n"

    def page(self, name: str, work: Work, threads: str = "read") -> Endpoint:
        """An endpoint that answers people."""

        def refuse(error: HttpError) -> Response:
            body = error_page(_TITLES.get(error.status, "Sorry"), error.message)
            return Response(body, error.status, HEADERS, media_type="text/html")

        return self._endpoint(name, work, threads, refuse)

    def api(self, work: Work) -> Endpoint:
        """An endpoint that answers programs."""
        return self._endpoint("api", work, "read", _json_error)

    def _endpoint(
        self, name: str, work: Work, threads: str, refuse: Callable[[HttpError], Response]
    ) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            try:
                answer: Response = await self._in_thread(threads, work, request)
            except HttpError as error:
                self._errors[error.code] += 1
                return refuse(error)
            self._shown[name] += 1
            return answer

        return endpoint

    async def _in_thread(self, threads: str, work: Callable[..., Any], *arguments: Any) -> Any:
        """Work in a thread; what goes wrong is an `HttpError`."""
        if self._waiting >= QUEUE:
            raise busy()
        self._waiting += 1
        try:
            loop, context = asyncio.get_running_loop(), contextvars.copy_context()
            return await loop.run_in_executor(self._threads[threads], context.run, work, *arguments)
        except HttpError:
            raise
        except ErrandsError as failure:
            message = self._library.message(failure)
            raise HttpError(503, "unreadable", message, retry_after=1) from None
        except Exception:
            _log.exception("a page about runs failed")
            raise internal() from None
        finally:
            self._waiting -= 1

    def _run(self, request: Request) -> RunEntry:
        return self._find(request.path_params["id"])

    def _find(self, id: str) -> RunEntry:
        run = self._library.find(id)
        if run is None:
            raise unknown_run()
        return run

    def _status(self, run: RunEntry) -> RunStatus | str:
        try:
            return self._library.status(run)
        except ErrandsError as failure:
            return self._library.message(failure)

    def _selected(self, query: RunQuery) -> tuple[list[tuple[RunEntry, RunStatus | str]], Rows]:
        """The runs that a query asks for, with their status, and which rows these are."""
        protocol, agent = query.text("protocol"), query.text("agent")
        selected = [
            run
            for run in self._library.runs()
            if protocol in ("", protocol_of(run.info)) and agent in ("", run.info.agent)
        ]
        offset, limit = query.rows()
        some = selected[offset : offset + limit]
        return [(run, self._status(run)) for run in some], Rows(len(selected), offset, limit)

    def runs(self, request: Request) -> Response:
        query = RunQuery(request)
        statuses, rows = self._selected(query)
        infos = [run.info for run in self._library.runs()]
        body = runs_page(
            statuses,
            self._library.unreadable(),
            rows,
            protocols=sorted({protocol_of(info) for info in infos}),
            agents=sorted({info.agent for info in infos}),
            protocol=query.text("protocol"),
            agent=query.text("agent"),
        )
        return _html(body)

    def run(self, request: Request) -> Response:
        run = self._run(request)
        query = RunQuery(request)
        chosen = query.chosen()
        offset, limit = query.rows()
        status = self._library.status(run)
        plain = chosen.status is None and chosen.least is None and chosen.most is None
        total = status.totals.kept if plain else run.view.count(chosen)
        episodes = run.view.some(chosen, offset, limit)
        latest = run.view.latest(LATEST) if status.writing else ()
        rows = Rows(total, offset, limit)
        return _html(run_page(run, status, episodes, latest, chosen, rows))

    def _replay(self, request: Request) -> tuple[RunEntry, Episode, EpisodeReplay]:
        run = self._run(request)
        episode = _episode(run, request)
        # An episode that is played anew (--retry-errors) is another one.
        summary = episode.summary
        key = run.id, summary.number, summary.seconds, summary.error, episode.last_digest
        return run, episode, self._replays.watch(key, run.info, episode)

    def episode(self, request: Request) -> Response:
        run, episode, replay = self._replay(request)
        place = place_of(RunQuery(request).text("step"), len(episode.steps))
        if place is None:
            steps = count(len(episode.steps), "step")
            raise HttpError(404, "unknown_step", f"The episode has {steps}, from 1, and an end.")
        neighbours = run.view.neighbours(episode.summary.number)
        return _html(episode_page(run, episode, replay, place, neighbours))

    def frame(self, request: Request) -> Response:
        _, _, replay = self._replay(request)
        place = request.path_params["place"]
        html = replay.pages[place].html if place < len(replay.pages) else ""
        if not html:
            raise HttpError(404, "unknown_page", "There is no page here that could be shown.")
        return Response(still_page(html), headers=FRAME_HEADERS, media_type="text/html")

    def _report(self, runs: list[RunEntry], *, anyway: bool = False) -> Report:
        """A report on runs; made again only when something was added."""
        key = tuple((one.id, one.view.stamp()) for one in runs), anyway
        report = self._reports.get(key)
        if report is None:
            views = [one.view for one in runs]
            report = self._reports[key] = gather(views, most_listed=0, compare_anyway=anyway)
            while len(self._reports) > REPORTS:
                self._reports.popitem(last=False)
        return report

    def report(self, request: Request) -> Response:
        run = self._run(request)
        return _html(report_page(run, self._report([run])))

    def report_markdown(self, request: Request) -> Response:
        text = to_markdown(self._report([self._run(request)]))
        body = text.encode("utf-8", "replace")
        return Response(body, headers=file_headers(), media_type="text/markdown")

    def report_json(self, request: Request) -> Response:
        body = to_json(self._report([self._run(request)]))
        return Response(body, headers=file_headers(), media_type="application/json")

    def compare(self, request: Request) -> Response:
        ids = list(dict.fromkeys(request.query_params.getlist("run")))
        if not 2 <= len(ids) <= MOST_COMPARED:
            raise bad_request(f"Choose two to {MOST_COMPARED} runs; {len(ids)} were chosen.")
        runs = [self._find(id) for id in ids]
        anyway = RunQuery(request).text("anyway") == "1"
        return _html(compare_page(runs, self._report(runs, anyway=anyway)))

    async def events(self, request: Request) -> Response:
        """Progress as it happens, until the run is over."""
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        if request.method == "HEAD":
            return Response(media_type="text/event-stream", headers=headers)
        try:
            run = await self._in_thread("read", self._run, request)
        except HttpError as error:
            return _json_error(error)
        if self._streams >= STREAMS or self.stopping.is_set():
            return _json_error(busy())
        stream = self._events(run)
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

    async def _events(self, run: RunEntry) -> AsyncIterator[bytes]:
        self._streams += 1
        sent = None
        try:
            while not self.stopping.is_set():
                try:
                    now, html = await self._in_thread("read", self._moment, run)
                except HttpError:
                    now = None
                if now is not None and now != sent:
                    sent = now
                    yield b"event: progress\ndata: " + as_json({**now, "html": html}) + b"\n\n"
                if now is not None and not now["writing"]:
                    yield b"event: end\ndata: {}\n\n"
                    return
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.stopping.wait(), _EVERY)
        finally:
            self._streams -= 1

    def _moment(self, run: RunEntry) -> tuple[dict[str, Any], str]:
        status = self._library.status(run)
        latest = run.view.latest(LATEST)
        return progress(run, status), str(live_figures(run, status, latest))

    def api_runs(self, request: Request) -> Response:
        statuses, rows = self._selected(RunQuery(request))
        return _json(runs_answer(statuses, self._library.unreadable(), rows))

    def api_run(self, request: Request) -> Response:
        run = self._run(request)
        row = run_row(run, self._library.status(run))
        return _json(RunDetail(row, msgspec.to_builtins(run.info)))

    def api_episodes(self, request: Request) -> Response:
        run = self._run(request)
        query = RunQuery(request)
        chosen = query.chosen()
        offset, limit = query.rows()
        some = run.view.some(chosen, offset, limit)
        return _json(EpisodeList(list(some), run.view.count(chosen), offset, limit))

    def api_episode(self, request: Request) -> Response:
        run = self._run(request)
        one = _episode(run, request)
        steps = [msgspec.structs.asdict(step) for step in one.steps]
        neighbours = run.view.neighbours(one.summary.number)
        return _json(EpisodeDetail(one.summary, steps, one.last_digest, one.last, *neighbours))


_TITLES: Final = {
    400: "That makes no sense",
    404: "Not found",
    500: "A defect",
    503: "Not now",
}


def _episode(run: RunEntry, request: Request) -> Episode:
    number = request.path_params["number"]
    episode = run.view.find(number) if 0 <= number < 2**63 else None
    if episode is None:
        raise unknown_episode(number)
    return episode


def _html(body: bytes) -> Response:
    return Response(body, headers=HEADERS, media_type="text/html")


def _json(answer: Any, status: int = 200) -> Response:
    return Response(as_json(answer), status, file_headers(), media_type="application/json")


def _json_error(error: HttpError) -> Response:
    return _json(error.answer(), error.status)
