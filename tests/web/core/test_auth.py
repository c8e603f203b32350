"""Who may come in."""

import json

import pytest
from served import Served, served
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from errands.errors import ErrandsError
from errands.remote.client import Connection
from errands.shop.catalog.catalog import Catalog


def test_a_token_keeps_others_out(little: Catalog) -> None:
    with served(little, token="s3cret") as server:
        session = server.create()
        for wrong in (
            "",
            "Bearer",
            "Bearer ",
            "Bearer s3cre",
            "Basic s3cret",
            "s3cret",
            "Bearer é",
        ):
            for path, body in (("/v1/sessions", {"environment": "shop"}), ("/metrics", None)):
                status, headers, answer = server.raw(
                    path, body, headers={"Authorization": wrong.encode().decode("latin-1")}
                )
                assert (status, headers["www-authenticate"]) == (401, "Bearer")
                assert json.loads(answer)["error"]["code"] == "unauthorized"
        for open_door in ("/health", "/ready", "/openapi.json"):
            assert server.ask(open_door, headers={"Authorization": ""})[0] == 200
        assert server.reset(session)
        with pytest.raises(ErrandsError, match="wants its token"):
            Connection(server.url)
        with Connection(server.url, token="s3cret") as line:
            assert line.create("shop", {})


def test_pages_from_elsewhere_are_turned_away(server: Served) -> None:
    address = f"ws://127.0.0.1:{server.port}/v1/socket"
    for origin in ("http://evil.example", "null", "http://127.0.0.1", "file://"):
        status, headers, answer = server.raw(
            "/v1/sessions", {"environment": "shop"}, headers={"Origin": origin}
        )
        assert (status, json.loads(answer)["error"]["code"]) == (403, "foreign_origin")
        assert "access-control-allow-origin" not in headers
        with pytest.raises(InvalidStatus) as refused:
            connect(address, origin=Origin(origin), proxy=None).__enter__()
        assert refused.value.response.status_code == 403
    own = {"Origin": server.url}
    assert server.ask("/v1/sessions", {"environment": "shop"}, headers=own)[0] == 200


def test_another_session_needs_its_id(server: Served) -> None:
    session = server.create()
    for guess in (session[:-1], session + "A", session.swapcase(), "*", "%2a"):
        assert server.step(guess, "a")[0] == 404
