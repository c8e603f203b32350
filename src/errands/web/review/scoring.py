"""The desk at which a person scores purchases: one after the other, each kept before the next.

    GET  /scoring        how far one is; the table, once every purchase is scored
    GET  /scoring/3      the third purchase of the sample
    POST /scoring/3      what the person thinks of it

Until all are scored, nothing shows what the machine gave.
"""

import asyncio
import datetime
import hmac
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from errands.errors import ErrandsError
from errands.markup import EMPTY, Markup
from errands.verify.hand_scores import LONGEST_NOTE, TYPES, HandFile, HandScore
from errands.verify.page import verification_body
from errands.verify.trajectories import Trajectory
from errands.verify.verification import Material, verify
from errands.web.core.application import AppPart, Route
from errands.web.core.forms import Form, read_form
from errands.web.core.http_errors import HttpError
from errands.web.crowd.document import ASSETS, HEADERS, document, error_page
from errands.web.crowd.routes import operation, paths
from errands.web.review.scoring_pages import HOME, ScoreDraft, overview_body, scoring_body

__all__ = ["ScoringSite"]

_WAYS: Final = [(HOME, "Purchases to score")]
Work = Callable[[Request], Awaitable[Response]]


class ScoringSite:
    """A sample of purchases, and the file of what people said about them."""

    def __init__(
        self, material: Material, chosen: Sequence[Trajectory], file: HandFile, rules: str
    ) -> None:
        self._material = material
        self._chosen = list(chosen)
        self._file = file
        self._rules = rules
        self._check = secrets.token_urlsafe(18)
        self._verified: tuple[int, Markup] | None = None
        self._saved = 0

    @property
    def scored(self) -> set[int]:
        """The places of the sample that have a score, from 1."""
        held = self._file.scores
        return {place for place, one in enumerate(self._chosen, 1) if one.number in held}

    def part(self) -> AppPart:
        async def front(request: Request) -> Response:
            return RedirectResponse(HOME, 303)

        one = f"{HOME}/{{place:int}}"
        return AppPart(
            routes=[
                Route("/", front, methods=["GET"]),
                *ASSETS.routes(),
                Route(HOME, _explained(self.overview), methods=["GET"]),
                Route(one, _explained(self.look), methods=["GET"]),
                Route(one, _explained(self.save), methods=["POST"]),
            ],
            paths=_paths,
            metrics=lambda: (
                "# TYPE errands_hand_scores_saved counter\n"
                f"errands_hand_scores_saved {self._saved}\n"
            ),
        )

    async def overview(self, request: Request) -> Response:
        scored = self.scored
        table = EMPTY
        if len(scored) == len(self._chosen):
            table = await asyncio.to_thread(self._table)
        body = overview_body(self._chosen, scored, self._material.info, table)
        return _page("Scores by hand", body)

    async def look(self, request: Request) -> Response:
        place, one = self._one(request)
        held = self._file.scores.get(one.number)
        draft = ScoreDraft() if held is None else ScoreDraft.of(held)
        return self._form(place, one, draft)

    async def save(self, request: Request) -> Response:
        place, one = self._one(request)
        form = await read_form(request)
        draft, wrong = _drafted(form, one)
        if not hmac.compare_digest(form.text("check").encode(), self._check.encode()):
            wrong = "This page was made before the server started; save it once more."
        if wrong:
            return self._form(place, one, draft, wrong, 400)
        assert draft.type is not None
        goal = one.goal
        self._file.add(
            HandScore(
                run=self._material.info.id,
                episode=one.number,
                type=draft.type,
                attributes=tuple(at in draft.attributes for at in range(len(goal.attributes))),
                options=tuple(at in draft.options for at in range(len(goal.goal_options))),
                price=draft.price,
                note=draft.note,
                at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            )
        )
        self._saved += 1
        scored = self.scored
        order = (*range(place + 1, len(self._chosen) + 1), *range(1, place))
        after = next((at for at in order if at not in scored), None)
        return RedirectResponse(HOME if after is None else f"{HOME}/{after}", 303)

    def _one(self, request: Request) -> tuple[int, Trajectory]:
        place: int = request.path_params["place"]
        if not 1 <= place <= len(self._chosen):
            raise HttpError(404, "not_found", f"There are purchases 1 to {len(self._chosen)}.")
        return place, self._chosen[place - 1]

    def _form(
        self, place: int, one: Trajectory, draft: ScoreDraft, wrong: str = "", status: int = 200
    ) -> Response:
        total, done = len(self._chosen), len(self.scored)
        body = scoring_body(place, total, done, one, draft, self._check, wrong)
        return _page(f"Purchase {place} of {total}", body, status)

    def _table(self) -> Markup:
        """What came of it, made once for each new score."""
        if self._verified is None or self._verified[0] != self._saved:
            held = self._file.scores
            sampled = {one.number: held[one.number] for one in self._chosen}
            made = verification_body(verify(self._material, self._rules, sampled))
            self._verified = (self._saved, made)
        return self._verified[1]


def _drafted(form: Form, one: Trajectory) -> tuple[ScoreDraft, str]:
    """What was sent, and what is wrong with it."""
    kind = next((value for value in TYPES if f"{value:g}" == form.text("type")), None)
    note = form.text("note").strip()
    draft = ScoreDraft(
        type=kind,
        attributes=_places(form.texts("attribute"), len(one.goal.attributes)),
        options=_places(form.texts("option"), len(one.goal.goal_options)),
        price=form.text("price") == "1",
        note=note[:LONGEST_NOTE],
    )
    if kind is None:
        return draft, "Say whether it is that kind of product: one of the four."
    if len(note) > LONGEST_NOTE:
        return draft, f"The remark is longer than {LONGEST_NOTE:,} characters, and was cut there."
    return draft, ""


def _places(texts: Sequence[str], count: int) -> frozenset[int]:
    known = {str(place): place for place in range(count)}
    return frozenset(known[text] for text in texts if text in known)


def _page(title: str, body: Markup, status: int = 200) -> Response:
    content = document(title, body, ways=_WAYS, here=HOME)
    return Response(content, status, HEADERS, media_type="text/html")


def _explained(work: Work) -> Work:
    """What cannot be done is a page that says why."""

    async def endpoint(request: Request) -> Response:
        try:
            return await work(request)
        except HttpError as refusal:
            found = refusal
        except ErrandsError as failure:
            found = HttpError(503, "unavailable", str(failure))
        page = error_page(found, _WAYS)
        return Response(page, found.status, HEADERS, media_type="text/html")

    return endpoint


def _paths() -> dict[str, object]:
    text = {"type": "string"}
    form = dict.fromkeys(("type", "attribute", "option", "price", "note", "check"), text)
    return paths(
        {
            HOME: {"get": operation("Purchases to score", media="text/html")},
            f"{HOME}/{{number}}": {
                "get": operation("One purchase", media="text/html"),
                "post": operation("Score it", form=form, status="303"),
            },
        }
    )
