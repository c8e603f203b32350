"""What a browser sends with a form: fields and files, within bounds."""

import codecs
import logging
from collections.abc import AsyncGenerator, Sequence
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from errands.web.core.bodies import read_body
from errands.web.core.http_errors import HttpError, bad_request

__all__ = ["FORM_BYTES", "MOST_FIELDS", "SMALL_FORM", "Form", "read_form"]

FORM_BYTES: Final = 2**20
"""The most that a form may have, unless a page says otherwise."""
SMALL_FORM: Final = 2**14
"""Of a form with a line or two in it, as a login is."""
_SECONDS: Final = 60.0
MOST_FIELDS: Final = 5_000
_FILES: Final = 8
_MULTIPART: Final = "multipart/form-data"
_SLOW: Final = frozenset({"idna", "punycode"})
"""Encodings that take time that grows with the square of a text."""

# Its warnings are of what clients send, and anybody could fill a server's log with them.
logging.getLogger("python_multipart").setLevel(logging.ERROR)


class Form(NamedTuple):
    """Fields in their order, a name as often as it was sent; files as bytes."""

    fields: Sequence[tuple[str, str]] = ()
    files: Sequence[tuple[str, str, bytes]] = ()
    """Field, file name, content; fields without a chosen file are left out."""

    def text(self, name: str, otherwise: str = "") -> str:
        """The last value of a field."""
        return next((value for key, value in reversed(self.fields) if key == name), otherwise)

    def texts(self, name: str) -> list[str]:
        """All values of a field, in their order."""
        return [value for key, value in self.fields if key == name]

    def file(self, name: str) -> bytes | None:
        return next((content for key, _, content in self.files if key == name), None)


async def read_form(request: Request, most: int = FORM_BYTES) -> Form:
    """The form of a request; one that makes no sense is an error."""
    body = await read_body(request.scope, request.receive, most, _SECONDS)
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() == _MULTIPART:
        return await _multipart(request.headers, body)
    try:
        text = body.decode("utf-8", "replace")
        return Form(tuple(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)))
    except ValueError:
        raise _bad_form() from None


async def _multipart(headers: Headers, body: bytes) -> Form:
    if _is_slow(headers.get("content-type", "")):
        raise bad_request("A form in this encoding is not read: send it in UTF-8.")

    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    parser = MultiPartParser(
        headers, stream(), max_files=_FILES, max_fields=MOST_FIELDS, max_part_size=max(len(body), 1)
    )
    try:
        parsed = await parser.parse()
    except (MultiPartException, KeyError, ValueError, AssertionError):
        raise _bad_form() from None
    fields: list[tuple[str, str]] = []
    files: list[tuple[str, str, bytes]] = []
    for name, value in parsed.multi_items():
        if not isinstance(value, UploadFile):
            fields.append((_whole(name), _whole(value)))
        elif value.filename:
            files.append((name, value.filename, await value.read()))
    await parsed.close()
    return Form(tuple(fields), tuple(files))


def _whole(text: str) -> str:
    """A form may name a character set by which halves of surrogate pairs come out."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _bad_form() -> HttpError:
    return bad_request("The form that was sent makes no sense.")


def _is_slow(content_type: str) -> bool:
    # Read as the parser of the form reads it: of two, the last is what counts.
    charset = parse_options_header(content_type)[1].get(b"charset", b"utf-8")
    try:
        return codecs.lookup(charset.decode("latin-1")).name in _SLOW
    except LookupError:
        return False
