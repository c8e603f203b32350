"""The part of an application that asks a person about mined candidates.

Every answer is on disk before the next question is sent. Forms carry a key of this process, so
that no other page can answer; without scripts everything works but the keys.
"""

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from errands.errors import ErrandsError
from errands.mining.review import Review
from errands.web.core.application import AppPart, Route
from errands.web.core.forms import Form, read_form
from errands.web.core.http_errors import HttpError
from errands.web.review.mining_pages import (
    ASSETS,
    HEADERS,
    PLACE,
    decided_page,
    error_page,
    question_page,
)

__all__ = ["mining_site"]

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
            raise HttpError(404, "not_found", "There is no such candidate.")
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
