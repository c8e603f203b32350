"""`errands serve` killed while workers submit: nothing that was received is lost."""

import http.client
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from crowd_served import results
from crowd_site import call, invited
from effort import effort
from serve_process import started
from shop_served import PASSWORD, Shop

from errands.shop.catalog.catalog import Catalog

ITEMS = 400
KILLS = effort(1, 3)


def start(little: Catalog, store: Path) -> tuple["subprocess.Popen[str]", Shop]:
    return started("--data", str(little.path), "--store", str(store))


class Worker(threading.Thread):
    """Accepts and submits until the server is gone, half by JSON and half by frame."""

    def __init__(self, shop: Shop, token: str, project: int, by_frame: bool) -> None:
        super().__init__()
        self.shop, self.token, self.project, self.by_frame = shop, token, project, by_frame
        self.received: dict[int, str] = {}
        self.sent: dict[int, str] = {}
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            while True:
                self._once()
        except (OSError, EOFError, http.client.HTTPException):
            return  # It was killed.
        except Exception as failure:
            self.failure = failure

    def _once(self) -> None:
        path = f"/v1/work/tasks/{self.project}/accept"
        taken = call(self.shop, "POST", path, token=self.token)
        assert taken.status == 201, taken.text
        held: dict[str, Any] = json.loads(taken.body)
        text = f"{held['item']} by {self.token[:6]}"
        self.sent[held["item"]] = text
        if self.by_frame:
            answer = self.shop.ask(held["frame"], {"a": text}, headers={"Origin": "null"})
        else:
            at = f"/v1/work/assignments/{held['id']}/submit"
            answer = call(self.shop, "POST", at, {"answers": {"a": text}}, token=self.token)
        assert answer.status == 200, answer.text
        assert answer.body, "the whole answer came"
        self.received[held["item"]] = text


def test_a_kill_loses_no_submission(
    little: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRANDS_ADMIN_PASSWORD", PASSWORD)
    store = tmp_path / "site.sqlite"
    process, shop = start(little, store)
    rows = "n\n" + "\n".join(map(str, range(ITEMS)))
    body = {"name": "N", "template": "<input name=a>${n}", "csv": rows, "wanted": 2}
    made = call(shop, "POST", "/v1/office/projects", body)
    project = json.loads(made.body)["project"]["id"]
    tokens = [invited(shop, f"Worker {place}") for place in range(4)]
    received: dict[tuple[str, int], str] = {}
    sent: dict[tuple[str, int], str] = {}
    for kill in range(KILLS):
        workers = [
            Worker(shop, token, project, place % 2 == 0) for place, token in enumerate(tokens)
        ]
        for worker in workers:
            worker.start()
        while min(len(worker.received) for worker in workers) < 4 + kill:
            time.sleep(0.003)
            assert any(worker.is_alive() for worker in workers)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        for worker in workers:
            worker.join()
            assert worker.failure is None
            received |= {(worker.token, item): text for item, text in worker.received.items()}
            sent |= {(worker.token, item): text for item, text in worker.sent.items()}
        process, shop = start(little, store)
        held = results(shop, project)
        texts = [result["answers"]["a"] for result in held]
        assert set(received.values()) <= set(texts), "what was received is there"
        assert set(texts) <= set(sent.values()), "nothing is half there"
        assert len(texts) == len(set(texts)), "nothing is there twice"
        for item in {result["item"] for result in held}:
            assert sum(result["item"] == item for result in held) <= 2
    try:
        # What was accepted when the server died is still its worker's.
        for token in tokens:
            [task] = json.loads(call(shop, "GET", "/v1/work/tasks", token=token).body)["tasks"]
            assert task["done"] >= sum(worker == token for worker, _ in received)
        done = call(shop, "GET", f"/v1/office/projects/{project}/results.csv")
        assert done.text.count("\n") == len(results(shop, project)) + 1
    finally:
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 0
    assert "Traceback" not in said


def test_an_accepted_frame_works_after_a_kill(
    little: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRANDS_ADMIN_PASSWORD", PASSWORD)
    store = tmp_path / "site.sqlite"
    process, shop = start(little, store)
    body = {"name": "N", "template": "<input name=a>${n}", "csv": "n\n1\n"}
    project = json.loads(call(shop, "POST", "/v1/office/projects", body).body)["project"]["id"]
    token = invited(shop, "Ann")
    taken = json.loads(call(shop, "POST", f"/v1/work/tasks/{project}/accept", token=token).body)
    draft = f"/work/{token}/assignments/{taken['id']}/draft"
    assert shop.ask(draft, {"draft": '{"a": ["half a senten"]}'}).status == 204
    one = f"/v1/office/projects/{project}"
    link = json.loads(call(shop, "PUT", f"{one}/join", {"most": 1}).body)["link"]
    joined = shop.ask(link.removeprefix(shop.url), {"participant": "P1"})
    assert joined.status == 200
    shown = json.loads(call(shop, "GET", f"/v1/office/projects/{project}/items/0").body)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    process, shop = start(little, store)
    try:
        assert shop.ask(shown["frame"]).status == 200, "previews are signed as before"
        assert "half a senten" in shop.ask(taken["frame"]).text, "the draft is there"
        [guest] = joined.links("/accept") or joined.links("/work/")[:1]
        assert shop.ask(f"/work/{guest.split('/')[2]}").status == 200, "who joined is known"
        kept = json.loads(call(shop, "PUT", f"{one}/join", {"most": 1}).body)
        assert (kept["joined"], kept["link"].rpartition("/")[2]) == (1, link.rpartition("/")[2])
        assert shop.ask(taken["frame"], {"a": "x"}).status == 200
        decision = {"assignment": results(shop, project)[0]["assignment"], "verdict": "approved"}
        assert call(shop, "POST", f"{one}/decisions", decision).status == 200
        assert shop.ask(taken["frame"], {"a": "y"}).status == 409
        [result] = results(shop, project)
        assert result["answers"] == {"a": "x"}
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
