"""Forms that make no sense."""

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from errands.web.core.forms import Form, read_form
from errands.web.core.http_errors import HttpError


def _read(body: bytes, kind: str) -> Form:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [(b"content-type", kind.encode())]
    scope = {"type": "http", "method": "POST", "headers": headers}
    return asyncio.run(read_form(Request(scope, receive)))


_MISTAKES = (b"x--B", b"--B\r\n\x00: a\r\n\r\n", b"--B\r\nx\r\n", b"--Bx")


@pytest.mark.parametrize("body", _MISTAKES)
def test_a_form_that_makes_no_sense_is_not_told_to_the_log(
    body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG", "root"), pytest.raises(HttpError, match="makes no sense"):
        _read(body, "multipart/form-data; boundary=B")
    assert not [one for one in caplog.records if one.name.startswith("python_multipart")]
