"""`errands data` as a user types it."""

import functools
import json
import shlex
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from errands.cli import app
from errands.cli.data import next_command
from errands.data import find_dataset
from errands.errors import DataError, SettingError
from errands.shop.catalog.catalog import Catalog

SHARED = Path(__file__).parents[3] / "shared" / "data"
NAMES = ("template.html", "batch.csv")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["data", *arguments])
    if result.exception:
        raise result.exception
    return result.stdout


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("ERRANDS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("ERRANDS_DATA_URL", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    folder = tmp_path / "downloads"
    for task in ("One", "Two"):
        for name in NAMES:
            (folder / "tasks" / task).mkdir(parents=True, exist_ok=True)
            (folder / "tasks" / task / name).write_text(f"{task} {name}")
    return folder


def test_the_list(tasks: Path) -> None:
    before = run()
    for text in ("webshop-1k", "0 of 3 files", "turkingbench", "0 of 159 tasks"):
        assert text in before
    run("turkingbench", "--from", str(tasks))
    assert "2 of 159 tasks" in run()
    listed = json.loads(run("--json"))["datasets"]
    assert [entry["there"] for entry in listed] == [0, 0, 2]


def test_tasks_are_reported_in_words(cache: Path, tasks: Path) -> None:
    said = run("turkingbench", "--from", str(tasks))
    assert f"turkingbench is now in {cache / 'data' / 'turkingbench'}:" in said
    assert "2 of 159 tasks" in said
    assert "4 files: nothing known to check against" in said
    assert "nothing to do" in run("turkingbench")


def test_json_is_one_object(tmp_path: Path, tasks: Path) -> None:
    out = str(tmp_path / "out")
    report = json.loads(run("turkingbench", "--from", str(tasks), "--out", out, "--json"))
    assert (report["name"], report["folder"]) == ("turkingbench", out)
    assert len(report["files"]) == 4
    assert set(report["files"][0]) >= {"name", "bytes", "sha256", "status"}
    assert {file["status"] for file in report["files"]} == {"copied"}


def test_errors_are_left_to_the_main_command() -> None:
    with pytest.raises(DataError, match="did you mean 'webshop'"):
        run("webshopp")
    with pytest.raises(DataError, match=r"items_shuffle\.json: 5,479,720,229 bytes, sha256 2ef591"):
        run("webshop")
    with pytest.raises(DataError, match="--from"):
        run("webshop", "--url", "file:///tmp")


def test_the_next_command_can_be_pasted(cache: Path, tmp_path: Path) -> None:
    folder = tmp_path / "my data"
    command = next_command(find_dataset("webshop-1k"), folder)
    assert command is not None
    words = shlex.split(command)
    assert words[words.index("catalog") :] == [
        *("catalog", "build", str(cache / "catalogs" / "webshop-1k")),
        *("--items", str(folder / "items_shuffle_1000.json")),
        *("--attributes", str(folder / "items_ins_v2_1000.json")),
        *("--human", str(folder / "items_human_ins.json")),
    ]
    assert next_command(find_dataset("turkingbench"), folder) is None


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared")
def test_it_ends_with_a_catalogue(cache: Path) -> None:
    words = ("webshop-1k", "--from", str(SHARED / "webshop-1k"), "--build")
    said = run(*words)
    place = cache / "catalogs" / "webshop-1k"
    assert f"Its catalogue is {place}." in said
    assert "demo --data webshop-1k" in said
    assert len(Catalog.open("webshop-1k")) == 1000
    made = (place / "manifest.json").stat().st_mtime_ns
    assert json.loads(run(*words, "--json"))["catalog"] == str(place)
    assert (place / "manifest.json").stat().st_mtime_ns == made
    run(*words, "--force")
    assert (place / "manifest.json").stat().st_mtime_ns > made


def test_tasks_have_no_catalogue(tasks: Path) -> None:
    with pytest.raises(SettingError, match="no catalogue is built; leave out --build"):
        run("turkingbench", "--from", str(tasks), "--build")


def test_help_has_examples() -> None:
    assert "errands data webshop-1k --from" in run("--help")


@pytest.fixture
def shared_server() -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(SHARED))
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared")
def test_the_small_shop_from_a_server(cache: Path, shared_server: str) -> None:
    said = run("webshop-1k", "--url", shared_server)
    assert said.count("downloaded, checksum right") == 3
    assert " catalog build " in said
    assert "nothing to do" in run("webshop-1k")
    assert run("webshop-1k", "--url", shared_server, "--force").count("downloaded") == 3
