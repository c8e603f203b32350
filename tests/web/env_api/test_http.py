"""The protocol over HTTP: what it does, and that nothing sent to it is ever a server error."""

import json
import random
import socket
from typing import Any

import pytest
from effort import effort
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from served import Clock, Served, served

from errands.envs.shop import ShopEnv
from errands.shop.catalog.catalog import Catalog


def test_an_episode_is_the_environments_own(server: Served, little: Catalog) -> None:
    env = ShopEnv(little, max_steps=20)
    session = server.create(max_steps=20)
    observation, info = env.reset(seed=7)
    assert server.reset(session, seed=7) == {"observation": observation, "info": info}
    dice = random.Random(3)
    over = False
    while not over:
        clickables = info["available_actions"]["clickables"]
        picked = dice.choice(clickables) if len(clickables) > 1 else "none"
        action = f"click[{picked}]" if dice.random() < 0.7 else f"search[{info['instruction']}]"
        observation, reward, terminated, truncated, info = env.step(action)
        assert server.step(session, action) == (
            200,
            {
                "observation": observation,
                "reward": reward,
                "terminated": terminated,
                "truncated": truncated,
                "info": info,
            },
        )
        over = terminated or truncated
    status, answer = server.step(session, "search[more]")
    assert (status, answer["error"]["code"]) == (409, "episode_over")
    assert server.reset(session)["info"] == env.reset()[1]


def test_sessions_end(server: Served) -> None:
    session = server.create()
    assert server.ask(f"/v1/sessions/{session}", method="DELETE") == (200, {"closed": True})
    for method, path in (("DELETE", ""), ("POST", "/step"), ("POST", "/reset")):
        body = {"action": "a"} if path == "/step" else None
        status, answer = server.ask(f"/v1/sessions/{session}{path}", body, method=method)
        assert (status, answer["error"]["code"]) == (404, "unknown_session")


def test_stepping_needs_an_episode(server: Served) -> None:
    status, answer = server.step(server.create(), "search[a]")
    assert (status, answer["error"]["code"]) == (409, "no_episode")


def test_form_pages_are_served_too(server: Served) -> None:
    session = server.create("turk", observation="text")
    begun = server.reset(session, options={"row": 0}, seed=1)
    assert begun["info"]["fields"]
    assert "field_scores" not in begun["info"]
    assert server.step(session, "nonsense")[1]["info"]["message"]
    status, answer = server.step(session, "submit()")
    assert (status, answer["terminated"]) == (200, True)
    assert "field_scores" in answer["info"]
    assert server.step(session, "submit()")[0] == 409
    assert server.ask(f"/v1/sessions/{session}", method="DELETE")[0] == 200


def test_a_batch_does_every_call_and_reports_each(server: Served) -> None:
    status, answer = server.ask("/v1/sessions", {"environment": "shop", "count": 3})
    one, two, three = answer["sessions"]
    calls = [
        {"do": "reset", "session": one, "options": {"goal": 1}},
        {"do": "step", "session": two, "action": "search[a]"},
        {"do": "step", "session": one, "action": "search[a]", "id": "mine"},
        {"do": "close", "session": three},
        {"do": "close", "session": three},
    ]
    status, answer = server.ask("/v1/batch", {"calls": calls})
    assert status == 200
    begun, none, stepped, closed, again = answer["results"]
    assert begun["info"]["goal"] == 1
    assert none["error"]["code"] == "no_episode"
    assert (stepped["id"], stepped["reward"]) == ("mine", 0.0)
    assert closed == {"closed": True}
    assert again["error"]["code"] == "unknown_session"


WRONG_SETTINGS: list[tuple[str, dict[str, Any], str]] = [
    ("shop", {"observation": "pixels"}, "format 'pixels' here; expected text, text_rich"),
    ("shop", {"split": "dev"}, "no split 'dev'"),
    ("shop", {"max_steps": 0}, "max_steps=0"),
    ("shop", {"max_steps": True}, "Expected `int | null`, got `bool`"),
    ("shop", {"num_prev_obs": -1}, "0 or more"),
    ("shop", {"num_prev_obs": 10**6}, "at most 16"),
    ("shop", {"goals": "/etc/passwd"}, "no goal set '/etc/passwd' here; expected synthetic, human"),
    ("shop", {"rules": "os:system"}, "rules='os:system': only names are taken here"),
    ("shop", {"catalog": "/etc"}, "unknown field `catalog`"),
    ("shop", {"special_queries": True}, "unknown field `special_queries`"),
    ("shop", {"observation": "screenshot"}, "needs a browser, which this server has not"),
    ("turk", {"tasks": "/etc"}, "unknown field `tasks`"),
    ("turk", {"driver": "browser"}, "no browser"),
    ("turk", {"observation": "screenshot"}, "needs a browser"),
    ("turk", {"observation": "pixels"}, "'pixels' here; expected html, relevant, text."),
    ("turk", {"split": "nowhere"}, "nowhere"),
]


@pytest.mark.parametrize(("environment", "wrong", "complaint"), WRONG_SETTINGS)
def test_wrong_settings_are_one_sentence(
    server: Served, environment: str, wrong: dict[str, Any], complaint: str
) -> None:
    status, answer = server.ask("/v1/sessions", {"environment": environment, "settings": wrong})
    assert (status, answer["error"]["code"]) == (400, "bad_setting")
    assert complaint in answer["error"]["message"]


NOT_REQUESTS: list[tuple[bytes, str]] = [
    (b"", "bad_json"),
    (b"nonsense", "bad_json"),
    (b"\xff\xfe\x00garbage", "bad_json"),
    (b'{"environment": "shop", "count": NaN}', "bad_json"),
    (b'{"environment": "\xff"}', "bad_json"),
    (b'{"environment": "sh\\ud800op"}', "bad_json"),
    (b"null", "bad_request"),
    (b"[]", "bad_request"),
    (b"7", "bad_request"),
    (b"{}", "bad_request"),
    (b'{"environment": 3}', "bad_request"),
    (b'{"environment": "moon"}', "bad_request"),
    (b'{"environment": "shop", "count": 0}', "bad_request"),
    (b'{"environment": "shop", "count": 1e400}', "bad_request"),
    (b'{"environment": "shop", "count": ' + b"9" * 5000 + b"}", "bad_request"),
    (b'{"environment": "shop", "settings": {"split": [' + b"[" * 50_000, "bad_request"),
    (b'{"calls": ' * 50_000, "bad_request"),
    (b'{"environment": "shop", "surprise": 1}', "bad_request"),
    (b'{"environment": "shop", "count": 1025}', "too_large"),
]


@pytest.mark.parametrize(("body", "code"), NOT_REQUESTS)
def test_bad_bodies(server: Served, body: bytes, code: str) -> None:
    status, answer = server.ask("/v1/sessions", body)
    assert answer["error"]["code"] == code, answer
    assert status == (413 if code == "too_large" else 400)
    assert len(answer["error"]["message"]) > 10


@pytest.mark.parametrize(
    "body",
    [
        {"seed": -1},
        {"seed": 1.5},
        {"seed": "1"},
        {"options": {"goal": "three"}},
        {"options": {"goal": 10**9}},
        {"options": {"goal": True}},
        {"options": {"goal": [1]}},
        {"options": {"gaol": 1}},
        {"options": {"session": "s" * 201}},
        {"options": 4},
    ],
)
def test_bad_resets_leave_the_episode_alone(server: Served, body: dict[str, Any]) -> None:
    session = server.create()
    server.reset(session, options={"goal": 2})
    status, answer = server.ask(f"/v1/sessions/{session}/reset", body)
    assert status == 400, answer
    assert server.step(session, "wait")[1]["info"]["goal"] == 2


def test_bad_actions(server: Served) -> None:
    session = server.create()
    server.reset(session, seed=1)
    for wrong in (None, 3, ["search[a]"], {"search": "a"}):
        assert server.step(session, wrong)[0] == 400
    status, answer = server.step(session, "x" * 4097)
    assert (status, answer["error"]["code"]) == (413, "too_large")
    assert "4097 characters; the most is 4096" in answer["error"]["message"]
    for odd in ("", "\0", "search[\U0001f600]", "click[" * 100, "search[" + "a " * 2000 + "]"):
        assert server.step(session, odd)[0] == 200


def test_other_addresses_and_methods(server: Served) -> None:
    assert server.ask("/v1/nothing")[0] == 404
    assert server.ask("/v1/sessions/")[0] == 404
    assert server.ask("/v1/sessions/%00%ff/step", {"action": "a"})[0] == 404
    assert server.ask("/v1/sessions/..%2f..%2fetc/step", {"action": "a"})[0] == 404
    status, answer = server.ask("/v1/sessions", method="GET")
    assert (status, answer["error"]["code"]) == (405, "method_not_allowed")


PATHS = ("/v1/sessions", "/v1/batch", "/v1/sessions/x/step", "/v1/sessions/x/reset")


@given(
    path=st.sampled_from(
        ["/v1/sessions", "/v1/batch", "/v1/sessions/x/step", "/v1/sessions/S/reset"]
    )
    | st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=20).map("/".__add__),
    body=st.binary(max_size=300)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["do", "session", "action", "calls", "environment", "settings", "id"]
                )
                | st.text(max_size=5),
                inner,
                max_size=5,
            )
        ),
        max_leaves=12,
    ),
)
@settings(max_examples=effort(40, 150), suppress_health_check=list(HealthCheck))
def test_nothing_is_a_server_error(server: Served, path: str, body: Any) -> None:
    status, answer = server.ask(path, body, method="POST")
    assert status in (400, 404, 405, 409, 413) or (status == 200 and path == "/v1/batch")
    assert "error" in answer or answer == {"results": []}, answer


def test_large_bodies(little: Catalog) -> None:
    with served(little, body_bytes=1000, batch=3) as server:
        status, headers, answer = server.raw("/v1/batch", b"[" * 1001)
        assert (status, json.loads(answer)["error"]["code"]) == (413, "too_large")
        assert headers["connection"] == "close"
        # In chunks, a body does not say beforehand how large it is.
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as plain:
            plain.sendall(
                b"POST /v1/batch HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
            )
            for _ in range(3):
                plain.sendall(b"190\r\n" + b"[" * 400 + b"\r\n")
            assert plain.recv(4096).startswith(b"HTTP/1.1 413 ")
        call = {"do": "close", "session": "s"}
        assert server.ask("/v1/batch", {"calls": [call] * 3})[0] == 200
        assert server.ask("/v1/batch", {"calls": [call] * 4})[0] == 413


def test_a_body_that_does_not_come_and_requests_that_pile_up(little: Catalog) -> None:
    with served(little, body_seconds=4.0, in_flight=2) as server:
        head = b"POST /v1/batch HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n"
        waiting = [socket.create_connection(("127.0.0.1", server.port), 30) for _ in range(2)]
        for plain in waiting:
            plain.sendall(head)
        while server.service.metrics.in_flight < 2:
            pass
        status, headers, answer = server.raw("/v1/batch", {"calls": []})
        assert (status, headers["retry-after"]) == (503, "1")
        assert json.loads(answer)["error"]["code"] == "busy"
        for plain in waiting:
            assert plain.recv(4096).startswith(b"HTTP/1.1 408 ")
            plain.close()
        assert server.ask("/v1/batch", {"calls": []})[0] == 200


def test_slow_calls_have_a_bounded_queue(little: Catalog) -> None:
    with served(little, slow_calls=0) as server:
        status, answer = server.ask("/v1/sessions", {"environment": "turk"})
        assert (status, answer["error"]["code"]) == (503, "busy")
        assert server.create("shop")


def test_too_many_sessions_then_expiry(little: Catalog) -> None:
    clock = Clock()
    with served(little, clock=clock, sessions=4, sessions_per_client=3, idle_seconds=60) as server:
        opened = [server.create() for _ in range(2)]
        status, headers, answer = server.raw("/v1/sessions", {"environment": "shop", "count": 2})
        assert (status, headers["retry-after"]) == (429, "5")
        assert json.loads(answer)["error"]["code"] == "too_many_sessions"
        assert server.metric("errands_sessions_open") == 2
        clock.now += 59
        server.reset(opened[0])
        clock.now += 2
        server.service.expire()
        assert server.metric("errands_sessions_expired_total") == 1
        assert server.step(opened[1], "a")[0] == 404
        assert server.step(opened[0], "a")[0] == 200


def test_open_doors(server: Served) -> None:
    assert server.ask("/health") == (200, {"status": "ok"})
    assert server.ask("/ready") == (200, {"status": "ready"})
    about = server.ask("/v1")[1]
    assert about["environments"]["shop"]["products"] == 300
    assert about["limits"]["sessions"] == 10_000


def test_metrics(little: Catalog) -> None:
    with served(little) as server:
        session = server.create()
        server.reset(session, seed=1)
        for _ in range(3):
            server.step(session, "search[lamp]")
        server.step("nobody", "search[lamp]")
        _, headers, text = server.raw("/metrics")
        assert headers["content-type"].startswith("text/plain; version=0.0.4")
        lines = text.decode().splitlines()
        for line in (
            "errands_sessions_open 1",
            "errands_sessions_created_total 1",
            "errands_steps_total 3",
            "errands_resets_total 1",
            'errands_errors_total{code="unknown_session"} 1',
            'errands_call_seconds_count{call="step"} 3',
            'errands_call_seconds_bucket{call="step",le="+Inf"} 3',
            "# TYPE errands_steps_total counter",
            "# TYPE errands_call_seconds histogram",
        ):
            assert line in lines, line
        assert server.metric("errands_memory_private_bytes") > 2**20
        samples = [line for line in lines if not line.startswith("#")]
        assert len({line.rpartition(" ")[0] for line in samples}) == len(samples)


def test_the_description_fits(server: Served) -> None:
    described = server.ask("/openapi.json")[1]
    assert described["openapi"].startswith("3.1")
    text = json.dumps(described)
    schemas = described["components"]["schemas"]
    for part in text.split('"#/components/schemas/')[1:]:
        assert part.partition('"')[0] in schemas
    for path, held in described["paths"].items():
        for method in held.keys() - {"parameters"}:
            known = path.replace("{session}", "none")
            status, _, answer = server.raw(known, method=method.upper())
            assert str(status) in held[method]["responses"], (path, method, answer)
