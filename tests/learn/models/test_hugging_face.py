"""Finding checkpoints: here, in reach, out of reach, and without the library."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from effort import only_slow

from errands.errors import DataError, SettingError
from errands.extras import install_command
from errands.learn.models import hugging_face
from errands.learn.models.hugging_face import (
    find_source,
    load,
    normalized,
    read_config,
    saved_source,
)

HUB = """
import sys
from errands.learn.models.pretrained_encoder import open_encoder
for _ in range(2):
    encoder = open_encoder("acme/tiny-bert", 0, seed=0)
    print(encoder.tokenizer.encode("red hat"), float(encoder.place.weight.sum()), flush=True)
    sys.stdin.readline()
"""


class _Hub(BaseHTTPRequestHandler):
    """As much of the Hub as one model needs."""

    folder: Path

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        name = self.path.partition("?")[0].removeprefix("/acme/tiny-bert/resolve/main/")
        if self.path.startswith("/api/models/acme/tiny-bert") and "tree" not in self.path:
            self._answer(json.dumps({"id": "acme/tiny-bert", "_id": "1"}).encode())
        elif (self.folder / name).is_file():
            self._answer((self.folder / name).read_bytes())
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{zlib.crc32(body):x}"')
        self.send_header("X-Repo-Commit", "a" * 40)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@only_slow
def test_a_name_is_fetched_once_and_then_on_this_machine(
    readers: Callable[[str], Path], tmp_path: Path
) -> None:
    _Hub.folder = readers("bert")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    child = subprocess.Popen(
        [sys.executable, "-c", HUB], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
             "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "0"},
    )  # fmt: skip
    assert child.stdout is not None
    fetched = child.stdout.readline()
    server.shutdown()
    server.server_close()
    thread.join()
    began = time.monotonic()
    again, said = child.communicate("\n\n", timeout=300)
    assert child.returncode == 0, said
    assert fetched.startswith("(")
    assert again == fetched
    assert time.monotonic() - began < 60  # The library alone asks for half a minute, for each file.


@pytest.mark.parametrize("is_silent", [False, True])
def test_a_hub_out_of_reach_or_silent_is_given_up_soon(
    is_silent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers", reason="needs transformers: pip install 'errands[hf]'")
    import huggingface_hub

    monkeypatch.setattr(hugging_face, "_HUB_TIMEOUT", 1.0)
    with socket.socket() as hub:
        hub.bind(("127.0.0.1", 0))
        if is_silent:
            hub.listen()  # It takes calls, and never says a word.
        address = f"http://127.0.0.1:{hub.getsockname()[1]}"
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", address)
        began = time.monotonic()
        with pytest.raises(DataError, match=r"^nobody/such-a-model cannot be had"):
            read_config(find_source("nobody/such-a-model"))
        assert time.monotonic() - began < 60


def test_a_directory_is_never_asked_for_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs transformers: pip install 'errands[hf]'")
    source = find_source(str(tmp_path))
    assert source.options() == {"trust_remote_code": False, "local_files_only": True}
    for name in ("./nowhere", "/nowhere/at/all", "no such name", "a" * 300, "a\0b"):
        assert find_source(name).is_local
        with pytest.raises(DataError):
            read_config(find_source(name))
    with pytest.raises(SettingError, match="needs a name or a path"):
        find_source(" ")


def test_a_missing_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(SettingError, match=re.escape(install_command("hf"))):
        find_source(str(tmp_path))


def test_every_failure_is_one_sentence(tmp_path: Path) -> None:
    def fails(failure: Exception) -> None:
        raise failure

    with pytest.raises(DataError, match="m cannot be had"):
        load("m", lambda: fails(OSError("gone")))
    with pytest.raises(SettingError, match="m needs a package that is not installed: sent"):
        load("m", lambda: fails(ImportError("sentencepiece\nand a long story")))
    with pytest.raises(DataError, match=r"m is no model that can be used \(KeyError: 'x'\)"):
        load("m", lambda: fails(KeyError("x")))
    with pytest.raises(DataError, match=r"^as it is$"):
        load("m", lambda: fails(DataError("as it is")))
    with pytest.raises(DataError, match="lost its folder"):
        saved_source(tmp_path)


def test_texts_are_written_as_the_original_writes_them() -> None:
    assert normalized(' Men\'s 28" x 28"\n RED ') == "mens 28 x 28 red"
