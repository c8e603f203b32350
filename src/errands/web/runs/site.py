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
from errands.web.runs.api import (
    as_json,
    episode_answer,
    episodes_answer,
    progress,
    run_answer,
    runs_answer,
    runs_paths,
)
from errands.web.runs.document import ASSETS, HEADERS, protocol_of, sorry_page
from errands.web.runs.episode_page import episode_page, place_of
from errands.web.runs.frames import FRAME_HEADERS, still_page
from errands.web.runs.library import RunEntry, RunLibrary, RunStatus
from errands.web.runs.pages import live_figures, run_page, runs_page
from errands.web.runs.query import Query, unknown_episode, unknown_run
from errands.web.runs.replays import EpisodeReplay, ReplayCache
from errands.web.runs.report_pages import compare_page, report_page

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
        self._watcher = ReplayCache()
        self._threads = {
            "read": ThreadPoolExecutor(4, "runs"),
            "replay": ThreadPoolExecutor(1, "replay"),
            "report": ThreadPoolExecutor(1, "report"),
        }
        self._waiting = self._streams = 0
        self._shown: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
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
        self._watcher.close()

    def metrics(self) -> str:
        lines = []
        known, damaged = self._library.counts()
        for name, about, held in (
            ("runs_known", "Runs that can be looked at.", known),
            ("runs_unreadable", "Files that are no readable run.", damaged),
            ("runs_streams_open", "Those who follow a run in progress.", self._streams),
        ):
            lines += [f"# HELP errands_{name} {about}", f"# TYPE errands_{name} gauge"]
            lines.append(f"errands_{name} {held}")
        name = "errands_runs_replays_total"
        lines += [f"# HELP {name} Episodes played again.", f"# TYPE {name} counter"]
        lines.append(f"{name} {self._watcher.played}")
        for name, label, about, counts in (
            ("errands_runs_pages_total", "page", "Pages about runs shown.", self._shown),
            ("errands_runs_refused_total", "code", "Questions refused, by code.", self._refused),
        ):
            lines += [f"# HELP {name} {about}", f"# TYPE {name} counter"]
            lines += [f'{name}{{{label}="{key}"}} {n}' for key, n in sorted(counts.items())]
        return "\n".join(lines) + "\n"

    def page(self, name: str, work: Work, threads: str = "read") -> Callable[[Request], Any]:
        """An endpoint that answers people."""

        async def endpoint(request: Request) -> Response:
            try:
                answer: Response = await self._aside(threads, work, request)
            except HttpError as refusal:
                self._refused[refusal.code] += 1
                body = sorry_page(_TITLES.get(refusal.status, "Sorry"), refusal.message)
                return Response(body, refusal.status, HEADERS, media_type="text/html")
            self._shown[name] += 1
            return answer

        return endpoint

    def api(self, work: Work) -> Callable[[Request], Any]:
        """An endpoint that answers programs."""

        async def endpoint(request: Request) -> Response:
            try:
                answer: Response = await self._aside("read", work, request)
            except HttpError as refusal:
                self._refused[refusal.code] += 1
                return _json(refusal.answer(), refusal.status)
            self._shown["api"] += 1
            return answer

        return endpoint

    async def _aside(self, threads: str, work: Callable[..., Any], *given: Any) -> Any:
        """Work in a thread; what goes wrong is a refusal."""
        if self._waiting >= QUEUE:
            raise busy()
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads[threads], work, *given)
        except HttpError:
            raise
        except ErrandsError as failure:
            said = self._library.said(failure)
            raise HttpError(503, "unreadable", said, retry_after=1) from None
        except Exception:
            _log.exception("a page about runs failed")
            raise internal() from None
        finally:
            self._waiting -= 1

    def _held(self, request: Request) -> RunEntry:
        id = request.path_params["id"]
        held = self._library.find(id)
        if held is None:
            raise unknown_run()
        return held

    def _standing(self, held: RunEntry) -> RunStatus | str:
        try:
            return self._library.standing(held)
        except ErrandsError as failure:
            return self._library.said(failure)

    def _listed(self, asked: Query) -> tuple[list[RunEntry], int, int, int]:
        """The runs of a stretch, and how many there are."""
        protocol, agent = asked.text("protocol"), asked.text("agent")
        found = [
            held
            for held in self._library.runs()
            if protocol in ("", protocol_of(held.info)) and agent in ("", held.info.agent)
        ]
        offset, limit = asked.stretch(PAGE, MOST_ROWS)
        return found[offset : offset + limit], len(found), offset, limit

    def runs(self, request: Request) -> Response:
        asked = Query(request)
        some, total, offset, limit = self._listed(asked)
        infos = [held.info for held in self._library.runs()]
        body = runs_page(
            [(held, self._standing(held)) for held in some],
            self._library.damaged(),
            protocols=sorted({protocol_of(info) for info in infos}),
            agents=sorted({info.agent for info in infos}),
            protocol=asked.text("protocol"),
            agent=asked.text("agent"),
            total=total,
            offset=offset,
            limit=limit,
        )
        return _html(body)

    def run(self, request: Request) -> Response:
        held = self._held(request)
        asked = Query(request)
        chosen = asked.chosen()
        offset, limit = asked.stretch(PAGE, MOST_ROWS)
        standing = self._library.standing(held)
        plain = chosen.status is None and chosen.least is None and chosen.most is None
        total = standing.totals.kept if plain else held.view.count(chosen)
        body = run_page(
            held,
            standing,
            held.view.some(chosen, offset, limit),
            held.view.latest(LATEST) if standing.writing else (),
            chosen,
            total=total,
            offset=offset,
            limit=limit,
        )
        return _html(body)

    def _watched(self, request: Request) -> tuple[RunEntry, Episode, EpisodeReplay]:
        held = self._held(request)
        episode = _episode(held, request)
        # An episode that is played anew (--retry-errors) is another one.
        summary = episode.summary
        key = held.id, summary.number, summary.seconds, summary.error, episode.last_digest
        return held, episode, self._watcher.watch(key, held.info, episode)

    def episode(self, request: Request) -> Response:
        held, episode, watched = self._watched(request)
        place = place_of(Query(request).text("step"), len(episode.steps))
        if place is None:
            steps = count(len(episode.steps), "step")
            raise HttpError(404, "unknown_step", f"The episode has {steps}, from 1, and an end.")
        neighbours = held.view.neighbours(episode.summary.number)
        return _html(episode_page(held, episode, watched, place, neighbours))

    def frame(self, request: Request) -> Response:
        _, _, watched = self._watched(request)
        place = request.path_params["place"]
        html = watched.pages[place].html if place < len(watched.pages) else ""
        if not html:
            raise HttpError(404, "unknown_page", "There is no page here that could be shown.")
        return Response(still_page(html), headers=FRAME_HEADERS, media_type="text/html")

    def _report(self, held: list[RunEntry], *, anyway: bool = False) -> Report:
        """A report on runs; made again only when something was added."""
        key = tuple((one.id, one.view.stamp()) for one in held), anyway
        made = self._reports.get(key)
        if made is None:
            views = [one.view for one in held]
            made = self._reports[key] = gather(views, most_listed=0, compare_anyway=anyway)
            while len(self._reports) > REPORTS:
                self._reports.popitem(last=False)
        return made

    def report(self, request: Request) -> Response:
        held = self._held(request)
        return _html(report_page(held, self._report([held])))

    def report_markdown(self, request: Request) -> Response:
        made = to_markdown(self._report([self._held(request)]))
        body = made.encode("utf-8", "replace")
        return Response(body, headers=_PLAIN, media_type="text/markdown")

    def report_json(self, request: Request) -> Response:
        body = to_json(self._report([self._held(request)]))
        return Response(body, headers=_PLAIN, media_type="application/json")

    def compare(self, request: Request) -> Response:
        ids = list(dict.fromkeys(request.query_params.getlist("run")))
        if not 2 <= len(ids) <= MOST_COMPARED:
            raise HttpError(
                400, "bad_request", f"Choose two to {MOST_COMPARED} runs; {len(ids)} were chosen."
            )
        found = [self._library.find(id) for id in ids]
        held = [one for one in found if one is not None]
        if len(held) < len(found):
            raise unknown_run()
        anyway = Query(request).text("anyway") == "1"
        return _html(compare_page(held, self._report(held, anyway=anyway)))

    async def events(self, request: Request) -> Response:
        """Progress as it happens, until the run is over."""
        try:
            held = await self._aside("read", self._held, request)
        except HttpError as refusal:
            return _json(refusal.answer(), refusal.status)
        if self._streams >= STREAMS or self.is_stopping():
            return _json(busy().answer(), 503)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        stream = self._events(held)
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

    async def _events(self, held: RunEntry) -> AsyncIterator[bytes]:
        self._streams += 1
        told = None
        try:
            while not self.is_stopping():
                try:
                    now, html = await self._aside("read", self._moment, held)
                except HttpError:
                    now = None
                if now is not None and now != told:
                    told = now
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

    def _moment(self, held: RunEntry) -> tuple[dict[str, Any], str]:
        standing = self._library.standing(held)
        latest = held.view.latest(LATEST)
        return progress(held, standing), live_figures(held, standing, latest)

    def api_runs(self, request: Request) -> Response:
        some, total, offset, limit = self._listed(Query(request))
        rows = [(held, self._standing(held)) for held in some]
        return _json(runs_answer(rows, self._library.damaged(), total, offset, limit))

    def api_run(self, request: Request) -> Response:
        held = self._held(request)
        return _json(run_answer(held, self._library.standing(held)))

    def api_episodes(self, request: Request) -> Response:
        held = self._held(request)
        asked = Query(request)
        chosen = asked.chosen()
        offset, limit = asked.stretch(PAGE, MOST_ROWS)
        some = held.view.some(chosen, offset, limit)
        return _json(episodes_answer(some, held.view.count(chosen), offset, limit))

    def api_episode(self, request: Request) -> Response:
        held = self._held(request)
        episode = _episode(held, request)
        return _json(episode_answer(episode, held.view.neighbours(episode.summary.number)))


_TITLES: Final = {
    400: "That makes no sense",
    404: "Not found",
    500: "A defect",
    503: "Not now",
}
_PLAIN: Final = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


def _episode(held: RunEntry, request: Request) -> Episode:
    number = request.path_params["number"]
    found = held.view.find(number) if 0 <= number < 2**63 else None
    if found is None:
        raise unknown_episode(number)
    return found


def _html(body: bytes) -> Response:
    return Response(body, headers=HEADERS, media_type="text/html")


def _json(answer: Any, status: int = 200) -> Response:
    return Response(as_json(answer), status, _PLAIN, media_type="application/json")
