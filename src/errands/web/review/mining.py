"""The part of an application that asks a person about mined candidates.

Every answer is on disk before the next question is sent. Forms carry a key of this process, so
that no other page can answer; without scripts everything works but the keys.
"""

import asyncio
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from errands.errors import ErrandsError
from errands.markup import EMPTY, Markup, html, join
from errands.mining.candidates import AttributeCandidate
from errands.mining.phrases import words
from errands.mining.proposal import DROP, USES
from errands.mining.review import Review, ReviewProgress
from errands.reports.html.elements import badge, cut, table
from errands.web.core import document as core
from errands.web.core.application import AppPart, Route
from errands.web.core.document import Assets
from errands.web.core.forms import Form, read_form
from errands.web.core.http_errors import HttpError, not_found

__all__ = ["mining_site"]

PLACE: Final = "/mining"
DECIDED: Final = f"{PLACE}/decided"
ASSETS: Final = Assets("mining", __file__)
ROWS: Final = 100
"""Answers on one page."""
LATEST: Final = 6
"""Answers that stand below the question."""

HEADERS: Final = core.page_headers("img-src data:")

_LABELS: Final = {
    "good for": "It is good for …",
    "has": "It has …",
    "which is": "One which is …",
    "is a": "It is a …",
}
_WORD: Final = re.compile(r"[^\W_]+")

_FORM_BYTES: Final = 2**16
_Endpoint = Callable[[Request], Awaitable[Response]]


def mining_site(review: Review) -> AppPart:
    """The pages of one review."""
    site = _MiningSite(review)

    return AppPart(
        routes=[
            Route("/", _explained(site.home), methods=["GET"]),
            Route(PLACE, _explained(site.show), methods=["GET"]),
            Route(PLACE, _explained(site.answer), methods=["POST"]),
            Route(f"{PLACE}/undo", _explained(site.undo), methods=["POST"]),
            Route(f"{PLACE}/later", _explained(site.later), methods=["POST"]),
            Route(f"{PLACE}/decided", _explained(site.decided), methods=["GET"]),
            *ASSETS.routes(),
        ],
        busy=site.is_busy,
    )


def _page(content: bytes, status: int = 200) -> Response:
    return Response(content, status, HEADERS, media_type="text/html; charset=utf-8")


def _on(phrase: str = "") -> Response:
    """To the next question, or to that about a phrase."""
    where = f"{PLACE}?phrase={quote(phrase, safe='')}" if phrase else PLACE
    return RedirectResponse(where, 303, HEADERS)


def _explained(inner: _Endpoint) -> _Endpoint:
    async def endpoint(request: Request) -> Response:
        try:
            return await inner(request)
        except HttpError as error:
            return _page(error_page(error.message), error.status)
        except ErrandsError as failure:
            return _page(error_page(str(failure)), 400)

    return endpoint


class _MiningSite:
    def __init__(self, review: Review) -> None:
        self._review = review
        self._check = secrets.token_urlsafe(16)
        self._writing = asyncio.Lock()

    def is_busy(self) -> bool:
        return self._writing.locked()

    async def home(self, request: Request) -> Response:
        return _on()

    async def show(self, request: Request) -> Response:
        phrase = request.query_params.get("phrase", "")
        one = self._review.find(phrase) if phrase else self._review.next()
        if phrase and one is None:
            raise not_found("There is no such candidate.")
        return _page(question_page(self._review, one, self._check))

    async def answer(self, request: Request) -> Response:
        form = await self._form(request)
        async with self._writing:
            # Waiting for the disk is not the event loop's.
            await asyncio.to_thread(self._review.answer, form.text("phrase"), form.text("use"))
        return _on()

    async def undo(self, request: Request) -> Response:
        await self._form(request)
        async with self._writing:
            phrase = await asyncio.to_thread(self._review.undo)
        return _on(phrase if phrase and self._review.find(phrase) else "")

    async def later(self, request: Request) -> Response:
        form = await self._form(request)
        self._review.later(form.text("phrase"))
        return _on()

    async def decided(self, request: Request) -> Response:
        text = request.query_params.get("offset", "0")
        offset = int(text) if text.isdecimal() and len(text) < 9 else 0
        return _page(decided_page(self._review, offset))

    async def _form(self, request: Request) -> Form:
        form = await read_form(request, _FORM_BYTES)
        if not hmac.compare_digest(form.text("check").encode(), self._check.encode()):
            raise HttpError(403, "forged", "That page is from an earlier start; load it again.")
        return form


def document(title: str, body: Markup, *, here: str, below: Markup = EMPTY) -> bytes:
    """A whole page; `here` is the address whose link is marked."""
    links = core.navigation(((PLACE, "Question"), (DECIDED, "Answers")), here)
    return core.document(title, body, assets=ASSETS, navigation=links, below=below)


def _progress(progress: ReviewProgress) -> Markup:
    text = (
        f"{progress.decided:,} of {progress.total:,} answered: {progress.kept:,} kept,"
        f" {progress.dropped:,} dropped"
    )
    return html(
        '<p>{}</p><progress max="{}" value="{}" aria-label="Candidates answered"></progress>',
        text,
        max(progress.total, 1),
        progress.decided,
    )


def question_page(review: Review, one: AttributeCandidate | None, check: str) -> bytes:
    """The candidate to decide about; without one, that all is done."""
    below = _progress(review.progress())
    body = _done(check) if one is None else _question(review, one, check)
    return document("Attributes", body + _latest(review), here=PLACE, below=below)


def _done(check: str) -> Markup:
    return html(
        '<section><div class="card question"><h2>All candidates are answered.</h2>'
        "<p>End the command with Ctrl-C, then run <code>errands mine assign</code>.</p>"
        '<form method="post" action="{}/undo">{}'
        '<p class="others"><button class="button plain" data-key="u">Undo <kbd>u</kbd></button></p>'
        "</form></div></section>",
        PLACE,
        _hidden(check=check),
    )


def _hidden(**fields: str) -> Markup:
    return join(
        html('<input type="hidden" name="{}" value="{}">', name, value)
        for name, value in fields.items()
    )


def _question(review: Review, one: AttributeCandidate, check: str) -> Markup:
    use = one.proposal.use
    answer = review.decisions.made.get(one.phrase)
    answered = EMPTY
    if answer:
        answered = html('<p class="note">Answered before: {}</p>', badge(answer, "insider"))
    choices = join(
        _choice(str(number), each, _LABELS[each], use) for number, each in enumerate(USES, 1)
    )
    return html(
        '<section><div class="card question">'
        '<h2 class="phrase" id="phrase">{phrase}</h2>{answered}'
        '<p class="why">The filter proposes: {proposal}, {reason}.</p>'
        '<form method="post" action="{place}" aria-labelledby="phrase">{hidden}'
        '<div class="uses">{choices}</div></form>'
        '<div class="others"><form method="post" action="{place}/undo">{check}'
        '<button class="button plain" data-key="u">Undo <kbd>u</kbd></button></form>'
        '<form method="post" action="{place}/later">{hidden}'
        '<button class="button plain" data-key="n">Later <kbd>n</kbd></button></form></div>'
        '<p class="note keys">Keys: 1 to 4, d or space to drop, Enter or a to agree with the'
        " filter.</p>"
        '<h3>Where it stands</h3><ul class="examples">{examples}</ul>'
        "<h3>{products:,} products, best of</h3><ul>{groups}</ul></div></section>",
        phrase=one.phrase,
        answered=answered,
        proposal="drop" if use == DROP else f"“{use}”",
        reason=one.proposal.reason,
        place=PLACE,
        hidden=_hidden(check=check, phrase=one.phrase),
        check=_hidden(check=check),
        choices=choices + _choice("d", DROP, "Drop it", use),
        examples=join(
            html("<li>{}", _marked(example, one.phrase.split(" "))) for example in one.examples
        ),
        products=one.products,
        groups=_groups(one),
    )


def _groups(one: AttributeCandidate) -> Markup:
    groups = join(
        html(
            "<li>{} <small>#{:,}, {:,} products, score {:.4f}</small>",
            cut(group.name, 60),
            group.rank,
            group.products,
            group.score,
        )
        for group in one.groups[:5]
    )
    if len(one.groups) > 5:
        groups += html("<li><small>and {:,} more</small>", len(one.groups) - 5)
    return groups


def _choice(key: str, use: str, label: str, proposed: str) -> Markup:
    is_proposed = use == proposed
    return html(
        '<button class="choice{}{}" name="use" value="{}" data-key="{}">'
        "<kbd>{}</kbd><span>{}</span>{}</button>",
        " proposed" if is_proposed else "",
        " drop" if use == DROP else "",
        use,
        key,
        key,
        label,
        html(" {}", badge("proposed", "insider")) if is_proposed else EMPTY,
    )


def _marked(text: str, phrase: Sequence[str]) -> Markup:
    """A product's words, those of the phrase marked."""
    pieces: list[str] = []
    at = 0
    for word in _WORD.finditer(text):
        if word[0].lower() in phrase and words(word[0]):
            pieces += [text[at : word.start()], html("<mark>{}</mark>", word[0])]
            at = word.end()
    return join([*pieces, text[at:]])


def _latest(review: Review) -> Markup:
    latest = list(review.decisions.made.items())[-LATEST:][::-1]
    if not latest:
        return EMPTY
    return html(
        '<section><h2>Answered last</h2><ul class="latest card">{}</ul></section>',
        join(html("<li>{} {}", _link(phrase), _badge(use)) for phrase, use in latest),
    )


def _link(phrase: str) -> Markup:
    return html('<a href="{}?phrase={}">{}</a>', PLACE, quote(phrase, safe=""), phrase)


def _badge(use: str) -> Markup:
    return badge(use, "failed" if use == DROP else "won")


def decided_page(review: Review, offset: int) -> bytes:
    """The answers so far, the last first; each can be opened and changed."""
    decisions = list(review.decisions.made.items())[::-1]
    rows = [
        [_link(phrase), _badge(use), _agreement(review, phrase, use)]
        for phrase, use in decisions[offset : offset + ROWS]
    ]
    if rows:
        columns = ["candidate", "answer", "the filter"]
        answers = table(columns, rows, f"{len(decisions):,} answers")
    else:
        answers = html("<p>There are none yet.</p>")
    links = join(
        html('<a class="button plain" href="{}?offset={}">{}</a>', DECIDED, at, name)
        for name, at in (("Newer", offset - ROWS), ("Older", offset + ROWS))
        if 0 <= at < len(decisions)
    )
    return document(
        "Answers",
        html('<section>{}<p class="others">{}</p></section>', answers, links),
        here=DECIDED,
        below=_progress(review.progress()),
    )


def _agreement(review: Review, phrase: str, use: str) -> str:
    one = review.find(phrase)
    if one is None:
        return "of another review"
    return "agrees" if one.proposal.use == use else f"proposed {one.proposal.use}"


def error_page(message: str) -> bytes:
    """What cannot be done, and why."""
    body = html('<section><div class="callout bad"><p>{}</p></div></section>', message)
    return document("That did not work", body, here="")
