"""`errands serve` as a process: starting, stopping in order, and what it says when it cannot."""

import asyncio
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from served import Served
from typer.testing import CliRunner

from errands.cli import app
from errands.errors import ErrandsError
from errands.extras import install_command
from errands.shop.catalog.catalog import Catalog
from errands.web.core.server import _is_ours

CODE = "from errands.cli import main; main()"


def command(*words: str, **environment: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", CODE, "serve", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.fixture
def process(little: Catalog) -> Iterator["subprocess.Popen[str]"]:
    started = command(
        *("--environments", "--data", str(little.path), "--port", "0"), ERRANDS_TOKEN="t0ken"
    )
    yield started
    started.kill()
    started.communicate()


def address(process: "subprocess.Popen[str]") -> Served:
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.fullmatch(r"Serving environments on http://127\.0\.0\.1:(\d+)\n", line)
    assert found, line
    return Served(None, int(found[1]), "t0ken")  # type: ignore[arg-type]


def test_a_stop_finishes_what_is_in_flight(process: "subprocess.Popen[str]") -> None:
    server = address(process)
    session = server.create(observation="html", search_anywhere=True)
    server.reset(session, seed=1)
    calls = [{"do": "step", "session": session, "action": f"search[lamp {i}]"} for i in range(1000)]
    answers: list[int] = []

    def work() -> None:
        status, answer = server.ask("/v1/batch", {"calls": calls})
        answers.extend([status, len(answer["results"])])

    asking = threading.Thread(target=work)
    asking.start()
    while asking.is_alive() and not server.metric("errands_requests_in_flight"):
        time.sleep(0.002)
    process.send_signal(signal.SIGTERM)
    asking.join(60)
    assert answers == [200, 1000]
    out, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in said
    assert "Bearer TOKEN" in said
    assert "t0ken" not in out + said
    with pytest.raises(ConnectionError):
        server.ask("/health")


def test_while_it_stops_it_is_not_ready(process: "subprocess.Popen[str]") -> None:
    server = address(process)
    # A request whose body is yet to come is in flight.
    plain = socket.create_connection(("127.0.0.1", server.port), 30)
    plain.sendall(
        b"POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer t0ken\r\n"
        b"content-length: 23\r\n\r\n"
    )
    while not server.metric("errands_requests_in_flight"):
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + 30
    while server.ask("/ready")[0] == 200 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.ask("/ready")[0] == 503
    assert server.ask("/health")[0] == 200
    plain.sendall(b'{"environment": "shop"}')
    assert plain.recv(4096).startswith(b"HTTP/1.1 503 ")
    plain.close()
    assert process.wait(60) == 0


def test_what_it_says_when_it_cannot(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for words, complaint in (
            (["--no-site"], "Nothing is left to serve"),
            (["--environments", "--port", port], "cannot be listened on"),
            (["--environments", "--token", "a\tb"], "printable ASCII"),
            (["--shop-processes", "2"], "add --environments"),
            (["--environments", "--port", "0", "--data", str(tmp_path)], "no such catalogue"),
        ):
            found = CliRunner().invoke(app, ["serve", *words])
            assert isinstance(found.exception, ErrandsError)
            assert complaint in str(found.exception)


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_the_extra_it_says_what_to_install(
    little: Catalog, tmp_path: Path, missing: str
) -> None:
    (tmp_path / f"{missing}.py").write_text(
        f"raise ModuleNotFoundError('No module named {missing}', name='{missing}')"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    process = command("--environments", "--data", str(little.path), PYTHONPATH=path)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2
    command_line = install_command("serve")
    assert said == (
        f"errands: Serving needs {missing}, which is not installed; run {command_line}.\n"
    )


def test_what_the_end_cuts_off_is_no_defect() -> None:
    """A client that does not finish its request is one line of a log, not a traceback."""

    def line(failure: BaseException) -> logging.LogRecord:
        told = (type(failure), failure, None)
        return logging.LogRecord("uvicorn.error", logging.ERROR, "", 1, "Exception", (), told)

    assert not _is_ours(line(asyncio.CancelledError()))
    assert _is_ours(line(ValueError()))


@pytest.mark.parametrize("has_site", [False, True])
def test_agentgym_is_served_at_the_root_or_beside_the_website(
    little: Catalog, tmp_path: Path, has_site: bool
) -> None:
    words = ["--agentgym", "--data", str(little.path), "--port", "0"]
    if has_site:
        words += ["--site", "--store", str(tmp_path / "site.sqlite"), "--no-crowd"]
    started = command(*words, ERRANDS_TOKEN="t0ken")
    try:
        assert started.stdout is not None
        line = started.stdout.readline()
        what = "the shop and AgentGym's WebShop" if has_site else "AgentGym's WebShop"
        found = re.fullmatch(rf"Serving {what} on http://127\.0\.0\.1:(\d+)\n", line)
        assert found, line
        server = Served(None, int(found[1]), "t0ken")  # type: ignore[arg-type]
        base = "/agentgym" if has_site else ""
        assert server.ask(f"{base}/") == (200, "ok")
        status, number = server.ask(f"{base}/create", method="POST")
        assert status == 200
        assert server.ask(f"{base}/reset", {"env_idx": number, "session_id": 4})[0] == 200
        assert server.ask(f"{base}/list_envs", headers={"Authorization": ""})[0] == 401
        assert (server.raw("/")[0] == 303) is has_site
    finally:
        started.terminate()
        _, said = started.communicate(timeout=60)
    assert f'env_server_base="http://127.0.0.1:{found[1]}{base}"' in said.replace("\n", "")
    assert started.returncode == 0


def test_form_threads_are_at_least_one() -> None:
    for number in ("0", "65", "many"):
        refused = CliRunner().invoke(app, ["serve", "--environments", "--form-threads", number])
        assert refused.exit_code == 2
        assert "--form-threads" in refused.output
