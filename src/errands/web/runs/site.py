"""The part of the application that shows runs: pages for people, JSON for programs, live progress.

    application([runs_site(RunLibrary(["runs"]))], Auth(token))

Reading happens beside the event loop, in a few threads with a bounded queue; playing episodes
again and making reports, which take longer, have a thread each of their own.
"""

import asyncio
import contextlib
import logging
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from errands.errors import ErrandsError
from errands.reports.content import Report, gather, to_json
from errands.reports.formatting import count
from errands.reports.markdown import to_markdown
from errands.runs.episode import Episode
from errands.web.core.application import AppPart, Route
from errands.web.core.http_errors import HttpError, busy, internal
from errands.web.core.metrics import metric
from errands.web.runs.api import (
    as_json,
    episode_answer,
    episodes_answer,
    progress,
    run_answer,
    runs_answer,
    runs_paths,
)
from errands.web.runs.document import ASSETS, HEADERS, error_page, protocol_of
from errands.web.runs.episode_page import FRAME_HEADERS, episode_page, place_of, still_page
from errands.web.runs.library import RunEntry, RunLibrary, RunStatus
from errands.web.runs.pages import compare_page, live_figures, report_page, run_page, runs_page
from errands.web.runs.query import RunQuery, unknown_episode, unknown_run
from errands.web.runs.replays import EpisodeReplay, ReplayCache

__all__ = ["runs_site"]

PAGE: Final = 50
"""Rows of a list, unless somebody asks for others."""
MOST_ROWS: Final = 500
MOST_COMPARED: Final = 8
LATEST: Final = 8
"""Episodes that a run in progress shows as its last."""
QUEUE: Final = 64
"""Requests that are being answered or wait for a thread."""
STREAMS: Final = 64
REPORTS: Final = 16
"""Reports that are remembered."""
_TICK: Final = 0.25
_log = logging.getLogger(__name__)

Work = Callable[[Request], Response]


def runs_site(library: RunLibrary) -> AppPart:
    """The part of the application that shows runs."""
    site = _Site(library)
    one = "/runs/{id}"
    episode = f"{one}/episodes/{{number:int}}"
    routes = [
        Route("/runs", site.page("list", site.runs), methods=["GET"]),
        Route("/runs/compare", site.page("compare", site.compare, "report"), methods=["GET"]),
        *ASSETS.routes(),
        Route(one, site.page("run", site.run), methods=["GET"]),
        Route(f"{one}/events", site.events, methods=["GET"]),
        *(
            Route(f"{one}/report{end}", site.page("report", work, "report"), methods=["GET"])
            for end, work in (
                ("", site.report),
                (".md", site.report_markdown),
                (".json", site.report_json),
            )
        ),
        Route(episode, site.page("episode", site.episode, "replay"), methods=["GET"]),
        Route(
            f"{episode}/pages/{{place:int}}",
            site.page("frame", site.frame, "replay"),
            methods=["GET"],
        ),
        Route("/v1/runs", site.api(site.api_runs), methods=["GET"]),
        Route("/v1/runs/{id}", site.api(site.api_run), methods=["GET"]),
        Route("/v1/runs/{id}/episodes", site.api(site.api_episodes), methods=["GET"]),
        Route("/v1/runs/{id}/episodes/{number:int}", site.api(site.api_episode), methods=["GET"]),
    ]

    @contextlib.asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        try:
            yield
        finally:
            await asyncio.to_thread(site.close)

    return AppPart(
        routes=tuple(routes),
        paths=lambda: runs_paths(PAGE, MOST_ROWS),
        lifespan=lifespan,
        metrics=site.metrics,
        ready=lambda: not site.is_stopping(),
        drain=site.drain,
        busy=site.is_busy,
    )


class _Site:
    """Everything behind the addresses."""

    def __init__(self, library: RunLibrary) -> None:
        self._library = library
        self._stopping = False
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

    def drain(self) -> None:
        """End the streams."""
        self._stopping = True

    def is_stopping(self) -> bool:
        return self._stopping

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

    def page(self, name: str, work: Work, threads: str = "read") -> Callable[[Request], Any]:
        """An endpoint that answers people."""

        async def endpoint(request: Request) -> Response:
            try:
                answer: Response = await self._in_thread(threads, work, request)
            except HttpError as error:
                self._errors[error.code] += 1
                body = error_page(_TITLES.get(error.status, "Sorry"), error.message)
                return Response(body, error.status, HEADERS, media_type="text/html")
            self._shown[name] += 1
            return answer

        return endpoint

    def api(self, work: Work) -> Callable[[Request], Any]:
        """An endpoint that answers programs."""

        async def endpoint(request: Request) -> Response:
            try:
                answer: Response = await self._in_thread("read", work, request)
            except HttpError as error:
                self._errors[error.code] += 1
                return _json(error.answer(), error.status)
            self._shown["api"] += 1
            return answer

        return endpoint

    async def _in_thread(self, threads: str, work: Callable[..., Any], *arguments: Any) -> Any:
        """Work in a thread; what goes wrong is an `HttpError`."""
        if self._waiting >= QUEUE:
            raise busy()
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads[threads], work, *arguments)
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

    def _selected(self, query: RunQuery) -> tuple[list[RunEntry], int, int, int]:
        """The runs that a query asks for, how many there are, and which rows these are."""
        protocol, agent = query.text("protocol"), query.text("agent")
        selected = [
            run
            for run in self._library.runs()
            if protocol in ("", protocol_of(run.info)) and agent in ("", run.info.agent)
        ]
        offset, limit = query.rows(PAGE, MOST_ROWS)
        return selected[offset : offset + limit], len(selected), offset, limit

    def runs(self, request: Request) -> Response:
        query = RunQuery(request)
        some, total, offset, limit = self._selected(query)
        infos = [run.info for run in self._library.runs()]
        body = runs_page(
            [(run, self._status(run)) for run in some],
            self._library.unreadable(),
            protocols=sorted({protocol_of(info) for info in infos}),
            agents=sorted({info.agent for info in infos}),
            protocol=query.text("protocol"),
            agent=query.text("agent"),
            total=total,
            offset=offset,
            limit=limit,
        )
        return _html(body)

    def run(self, request: Request) -> Response:
        run = self._run(request)
        query = RunQuery(request)
        chosen = query.chosen()
        offset, limit = query.rows(PAGE, MOST_ROWS)
        status = self._library.status(run)
        plain = chosen.status is None and chosen.least is None and chosen.most is None
        total = status.totals.kept if plain else run.view.count(chosen)
        body = run_page(
            run,
            status,
            run.view.some(chosen, offset, limit),
            run.view.latest(LATEST) if status.writing else (),
            chosen,
            total=total,
            offset=offset,
            limit=limit,
        )
        return _html(body)

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
        return Response(body, headers=_PLAIN, media_type="text/markdown")

    def report_json(self, request: Request) -> Response:
        body = to_json(self._report([self._run(request)]))
        return Response(body, headers=_PLAIN, media_type="application/json")

    def compare(self, request: Request) -> Response:
        ids = list(dict.fromkeys(request.query_params.getlist("run")))
        if not 2 <= len(ids) <= MOST_COMPARED:
            raise HttpError(
                400, "bad_request", f"Choose two to {MOST_COMPARED} runs; {len(ids)} were chosen."
            )
        runs = [self._find(id) for id in ids]
        anyway = RunQuery(request).text("anyway") == "1"
        return _html(compare_page(runs, self._report(runs, anyway=anyway)))

    async def events(self, request: Request) -> Response:
        """Progress as it happens, until the run is over."""
        try:
            run = await self._in_thread("read", self._run, request)
        except HttpError as error:
            return _json(error.answer(), error.status)
        if self._streams >= STREAMS or self.is_stopping():
            return _json(busy().answer(), 503)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        stream = self._events(run)
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

    async def _events(self, run: RunEntry) -> AsyncIterator[bytes]:
        self._streams += 1
        sent = None
        try:
            while not self.is_stopping():
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
                for _ in range(4):
                    if self.is_stopping():
                        return
                    await asyncio.sleep(_TICK)
        finally:
            self._streams -= 1

    def _moment(self, run: RunEntry) -> tuple[dict[str, Any], str]:
        status = self._library.status(run)
        latest = run.view.latest(LATEST)
        return progress(run, status), str(live_figures(run, status, latest))

    def api_runs(self, request: Request) -> Response:
        some, total, offset, limit = self._selected(RunQuery(request))
        rows = [(run, self._status(run)) for run in some]
        return _json(runs_answer(rows, self._library.unreadable(), total, offset, limit))

    def api_run(self, request: Request) -> Response:
        run = self._run(request)
        return _json(run_answer(run, self._library.status(run)))

    def api_episodes(self, request: Request) -> Response:
        run = self._run(request)
        query = RunQuery(request)
        chosen = query.chosen()
        offset, limit = query.rows(PAGE, MOST_ROWS)
        some = run.view.some(chosen, offset, limit)
        return _json(episodes_answer(some, run.view.count(chosen), offset, limit))

    def api_episode(self, request: Request) -> Response:
        run = self._run(request)
        episode = _episode(run, request)
        return _json(episode_answer(episode, run.view.neighbours(episode.summary.number)))


_TITLES: Final = {
    400: "That makes no sense",
    404: "Not found",
    500: "A defect",
    503: "Not now",
}
_PLAIN: Final = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


def _episode(run: RunEntry, request: Request) -> Episode:
    number = request.path_params["number"]
    episode = run.view.find(number) if 0 <= number < 2**63 else None
    if episode is None:
        raise unknown_episode(number)
    return episode


def _html(body: bytes) -> Response:
    return Response(body, headers=HEADERS, media_type="text/html")


def _json(answer: Any, status: int = 200) -> Response:
    return Response(as_json(answer), status, _PLAIN, media_type="application/json")
