"""Cookies are taken as they stand."""

from pathlib import Path

import pytest
from starlette.types import Scope

import errands.web
from errands.web.core.auth import cookie


def _scope(*headers: bytes) -> Scope:
    return {"headers": [(b"host", b"a=b"), *((b"cookie", one) for one in headers)]}


@pytest.mark.parametrize(
    ("headers", "value"),
    [
        ((), ""),
        ((b"a=1; key=abc-_9; b=2",), "abc-_9"),
        ((b"a=1", b"key=2;;=;key", b"b"), ""),
        ((b"key=1; key=2",), "2"),
        ((b"key=a=b; monkey=3",), "a=b"),
        ((b"key=\xff\x00",), "\xff\x00"),
        # Python's own reader makes `a` of it, and takes time for that.
        ((b'key="\\141"',), '"\\141"'),
    ],
)
def test_a_cookie_is_found(headers: tuple[bytes, ...], value: str) -> None:
    assert cookie(_scope(*headers), "key") == value


def test_nobody_reads_cookies_otherwise() -> None:
    folder = Path(errands.web.__file__).parent
    readers = [
        path.name
        for path in folder.rglob("*.py")
        if ".cookies." in (text := path.read_text()) or "from http.cookies" in text
    ]
    assert readers == []
