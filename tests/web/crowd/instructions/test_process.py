"""`errands serve` as a process that is killed: no instruction that was taken is lost."""

import contextlib
import http.client
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from command import Done, in_process
from crowd_site import call, invited, open_paid_work
from instructions_served import qualify, submission
from serve_process import started
from shop_served import PASSWORD, shop_served

from errands.shop.catalog.catalog import Catalog

WORK = "/v1/work/instructions"


def test_a_killed_server_loses_no_instruction(little: Catalog, tmp_path: Path) -> None:
    store = tmp_path / "site.sqlite"
    words = ("--data", str(little.path), "--store", str(store), "--password", PASSWORD)
    process, shop = started(*words)
    open_paid_work(shop)
    tokens = [invited(shop, f"Worker {number}") for number in range(3)]
    for token in tokens:
        qualify(shop, token)
    taken: dict[str, list[str]] = {token: [] for token in tokens}

    def write(token: str) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException, json.JSONDecodeError):
            for number in range(80):
                text = f"Text {tokens.index(token)} number {number}"
                piece = json.loads(call(shop, "POST", f"{WORK}/next", {}, token=token).body)
                one = f"{WORK}/{piece['id']}"
                answer = call(shop, "POST", one, submission(piece, text), token=token)
                if answer.status == 201:
                    taken[token].append(text)

    writers = [threading.Thread(target=write, args=[token]) for token in tokens]
    for writer in writers:
        writer.start()
    waited = time.monotonic() + 60
    while min(map(len, taken.values())) < 5 and time.monotonic() < waited:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    for writer in writers:
        writer.join()
    assert min(map(len, taken.values())) >= 5
    process, shop = started(*words)
    try:
        for token in tokens:
            state = json.loads(call(shop, "GET", WORK, token=token).body)
            # The last one may have been kept, and the answer not have arrived.
            assert len(taken[token]) <= state["account"]["accepted"] - 3 <= len(taken[token]) + 1
        out = tmp_path / "items_human_ins.json"
        export = ("crowd", "export", "instructions", str(store), "--out", str(out))
        assert in_process(*export).returncode == 0
        records = json.loads(out.read_text())
        written = {one["instruction"] for held in records.values() for one in held}
        for texts in taken.values():
            assert {text.lower() for text in texts} <= written
        again = in_process(*export)
        assert again.returncode == 2
        assert "exists already" in again.stderr
    finally:
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 0
    assert "Traceback" not in said


@pytest.mark.parametrize("as_json", [True, False])
def test_the_commands(little: Catalog, tmp_path: Path, as_json: bool) -> None:
    store = tmp_path / "site.sqlite"
    with shop_served(little, store) as shop:
        qualify(shop, invited(shop, "Wanda"))

    def asked(*more: str) -> Done:
        return in_process("crowd", *more, *(["--json"] * as_json))

    out = tmp_path / "out.json"
    info, export = (
        asked("info", str(store)),
        asked("export", "instructions", str(store), "--out", str(out)),
    )
    if as_json:
        told = json.loads(info.stdout)["instructions"]
        assert (told["statuses"], told["trials"]) == ({"accepted": 3}, 3)
        assert told["pay"] == pytest.approx(0.45)
        assert json.loads(export.stdout)["instructions"] == 3
    else:
        assert "$0.45" in info.stdout
        assert "3 instructions for 3 products" in " ".join(export.stdout.split())
    assert len(json.loads(out.read_text())) == 3
    assert asked("export", "instructions", str(store), "--out", str(out)).returncode == 2
    assert asked("export", "instructions", str(store), "--out", str(out), "--force").returncode == 0
    missing = asked("info", str(tmp_path / "none.sqlite"))
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
    assert "--store" in missing.stderr
