"""Requests made up from the server's own description, right ones and wrong ones: none breaks it.

The server is the command, `errands serve`, with everything on that can be switched on, and what
is asked is what /openapi.json lists: a part that joins the application is asked, too.
"""

import contextlib
import itertools
import os
import re
import subprocess
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, MutableMapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from effort import effort
from hypothesis import HealthCheck, given, settings
from runs_served import made, make_run, run_info
from served import Served

from errands.cli.serve import app
from errands.shop.catalog.catalog import Catalog

schemathesis = pytest.importorskip(
    "schemathesis", reason="Schemathesis is not installed: pip install -r requirements-dev.txt"
)

CODE = "from errands.cli import main; main()"
PASSWORD = "correct horse battery"
EXAMPLES = effort(1, 15)
"""Of each address and method."""


class Application(NamedTuple):
    """The running server, and what it knows."""

    server: Served
    known: dict[str, dict[str, Any]]
    """Path parameters that lead somewhere, by how the address begins."""
    complaints: Path
    keys: dict[str, dict[str, str]]
    """Headers that let one in, by how the address begins."""

    def close(self, sessions: Iterable[str]) -> None:
        """Close sessions, those that are closed already aside."""
        for session in sessions:
            assert self.server.ask(f"/v1/sessions/{session}", method="DELETE")[0] in (200, 404)


def everything_on() -> list[str]:
    """The switches of `errands serve`, but for the server that is another framework's."""
    command: Any = typer.main.get_group(app).commands["serve"]
    switches = [option.opts[0] for option in command.params if option.is_flag]
    assert "--crowd" in switches
    return [switch for switch in switches if switch != "--openenv"]


@pytest.fixture(scope="module")
def application(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    folder = tmp_path_factory.mktemp("everything")
    runs = folder / "runs"
    make_run(runs / "one", run_info(3), [made(0, 1.0), made(1, 0.25), made(2, None)])
    words = [
        *everything_on(),
        *("--port", "0", "--data", str(little.path)),
        *("--runs", str(runs), "--store", str(folder / "site.sqlite")),
    ]
    complaints = folder / "complaints"
    with complaints.open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", CODE, "serve", *words],
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            env={
                **{name: value for name, value in os.environ.items() if name != "ERRANDS_TOKEN"},
                "ERRANDS_ADMIN_PASSWORD": PASSWORD,
            },
        )
    assert process.stdout is not None
    with contextlib.closing(process.stdout):
        try:
            line = process.stdout.readline()
            found = re.fullmatch(r"Serving .* on http://127\.0\.0\.1:(\d+)\n", line)
            assert found, line + complaints.read_text()
            server = Served(None, int(found[1]), None)  # type: ignore[arg-type]
            known: dict[str, dict[str, Any]] = {
                "/v1/runs/": {"id": server.ask("/v1/runs")[1]["runs"][0]["id"], "number": 1},
                "/item": {"asin": next(iter(little)).asin, "options": "{}"},
                "/done/": {"asin": next(iter(little)).asin, "options": "{}"},
                "/pictures/": {"kind": "shoe"},
            }
            admin = b64encode(f"admin:{PASSWORD}".encode()).decode()
            office = {"Authorization": f"Basic {admin}"}
            body = {"names": ["Victim", "Worker"]}
            status, made_up = server.ask("/v1/office/people", body, headers=office)
            assert status == 201
            victim, worker = made_up["invited"]
            known["/v1/office/people/{id}"] = {"id": victim["person"]["id"]}
            known["/work/{token}"] = {"token": worker["token"]}
            keys = {
                "/v1/office": office,
                "/v1/work": {"Authorization": f"Bearer {worker['token']}"},
            }
            yield Application(server, known, complaints, keys)
        finally:
            process.terminate()
            process.wait(30)


def known_parameters(path: str, application: Application) -> Iterator[dict[str, Any]]:
    """Values of parameters that lead somewhere."""
    if path.startswith("/v1/sessions/{session}"):
        for environment in ("shop", "turk"):
            session = application.server.create(environment)
            application.server.reset(session, seed=0)
            yield {"session": session}
            application.close([session])
    if path.startswith("/agentgym/"):
        yield {"env_idx": application.server.ask("/agentgym/create", method="POST")[1]}
    for start, values in application.known.items():
        if path.startswith(start):
            yield values


def ask(case: Any, application: Application) -> Iterator[int]:
    """Send a request, and those like it that get further; the statuses of all."""
    checks = schemathesis.checks
    wanted = [
        checks.not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    for known in itertools.chain([{}], known_parameters(case.operation.path, application)):
        for start, headers in application.keys.items():
            if case.operation.path.startswith(start):
                case.headers.update(headers)
        for held in (case.path_parameters, case.query, case.body):
            if isinstance(held, MutableMapping):
                held.update({name: value for name, value in known.items() if name in held})
        response = case.call_and_validate(
            base_url=application.server.url, checks=wanted, allow_redirects=False
        )
        if b'"sessions"' in response.content and case.method == "POST":
            # There may be so many at once, and others want some, too.
            answer = response.json()
            for each in (answer, *answer.get("results", ())):
                application.close(each.get("sessions", ()))
        yield response.status_code


def ask_often(operation: Any, mode: str, application: Application) -> Counter[int]:
    """How often an operation answered with which status; fails with the request that broke it."""
    answers: Counter[int] = Counter()

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(schemathesis.GenerationMode(mode)))
    def asked(case: Any) -> None:
        answers.update(ask(case, application))

    asked()
    return answers


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_no_request_breaks_the_server(application: Application, mode: str) -> None:
    description = schemathesis.openapi.from_url(f"{application.server.url}/openapi.json")
    answers: dict[str, Counter[int]] = {}
    broken: list[str] = []
    for found in description.get_all_operations():
        operation = found.ok()
        if mode == "negative" and not [*operation.iter_parameters(), *operation.body]:
            continue  # Nothing can be wrong about it.
        try:
            answers[operation.label] = ask_often(operation, mode, application)
        except (schemathesis.errors.FailureGroup, OSError) as failure:
            broken.append(f"{operation.label}: {failure}")
    complaints = application.complaints.read_text()
    assert not broken, "\n\n".join([*broken, complaints[-5000:]])
    assert "Traceback" not in complaints, complaints[-5000:]
    # Each part was there, and was not only knocked at.
    for label in (
        *("POST /v1/sessions", "GET /v1/runs/{id}", "GET /done/{session}/{asin}/{options}"),
        *("GET /work/{token}", "PATCH /v1/office/people/{id}"),
        *("GET /v1/environments/shop/goals", "GET /v1/environments/turk/tasks"),
        *("POST /api/sessions", "GET /agentgym/observation", "POST /agentgym/step"),
    ):
        assert answers[label].total() >= EXAMPLES
        assert answers[label][200] > 0 or mode == "negative", answers[label]
