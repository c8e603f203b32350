"""Crowd work by pages without scripts and by JSON: requesters, workers, and what both may not."""

import csv
import importlib
import io
import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from typing import Any

import pytest
from crowd_served import EVERY_FIELD, WORDS, close_all, put_up, results
from crowd_site import Visitor, admin, call, invited, requester
from crowd_site import text_of as spaced_text_of
from shop_served import Answer, Shop, shop_served

from errands.shop.catalog.catalog import Catalog


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def shop(
    little: Catalog, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Shop]:
    store = str(tmp_path_factory.mktemp("crowd") / "site.sqlite")
    if request.param == "postgres":
        store = request.getfixturevalue("postgres_url")
        import psycopg

        with psycopg.connect(store, autocommit=True) as connection:
            connection.execute("DROP SCHEMA IF EXISTS errands_site CASCADE")
    with shop_served(little, store) as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_else_is_open(shop: Shop) -> None:
    close_all(shop)


def text_of(page: Answer) -> str:
    return " ".join(spaced_text_of(page).split())


def frame_of(page: Answer) -> str:
    found = re.search(r'<iframe[^>]* src="([^"]*)"', page.text)
    assert found, page.text
    return unescape(found[1])


def api(shop: Shop, method: str, path: str, body: Any = None, **who: Any) -> Any:
    answer = call(shop, method, path, body, **who)
    assert answer.status in (200, 201), answer.text
    return json.loads(answer.body)


def upload(visitor: Visitor, template: bytes, table: bytes, **terms: str) -> Answer:
    visitor.get("/office/projects")
    fields = {"name": "Words", **terms}
    return visitor.upload("/office/projects", fields, {"template": template, "table": table})


def test_from_upload_to_results_without_scripts(shop: Shop) -> None:
    rita = requester(shop)
    page = upload(rita, EVERY_FIELD.encode(), WORDS, wanted="2", pay="0.25", about="Say <it>.")
    assert page.status == 200, page.text
    assert "0 of 6 assignments" in text_of(page)
    assert "<it>" not in page.text
    project = int(page.links("/terms")[0].split("/")[3])
    assert "until an administrator raises the budget" in text_of(page)
    page = admin(shop).get(f"/office/projects/{project}")
    boss = admin(shop)
    boss.get(f"/office/projects/{project}")
    boss.post(f"/office/projects/{project}/budget", {"budget": "1.50"})
    seen = rita.get(f"/office/projects/{project}/items/1")
    assert "beta" in shop.ask(frame_of(seen)).text
    assert rita.get(f"/office/projects/{project}/items/3").status == 404

    token = invited(shop, "Wanda")
    wanda = Visitor(shop)
    home = wanda.get(f"/work/{token}")
    [begin] = home.links(f"/tasks/{project}")
    shown = wanda.get(begin)
    preview = shop.ask(frame_of(shown))
    assert "alpha" in preview.text
    assert "disabled" in preview.text
    taken = wanda.post(f"{begin}/accept", {"item": "0"})
    assert wanda.get(begin).text == taken.text, "what is accepted is gone on with"
    address = frame_of(taken)
    inner = shop.ask(address)
    assert "<h1>alpha</h1>" in inner.text
    assert token not in inner.text + str(inner.headers) + address
    action = inner.links("/frame/")[0]
    done = shop.ask(action, b"text=caf%C3%A9&checkbox=a&checkbox=c&lone=on&assignmentId=x")
    assert done.status == 200
    assert "received" in done.text
    assert "received" in shop.ask(address).text
    again = shop.ask(action, {"text": "again"})
    assert again.status == 409
    [result] = results(shop, project)
    assert result["answers"] == {"text": "café", "checkbox": "a|c", "lone": "on"}
    home = wanda.get(f"/work/{token}")
    assert "1 done, $0.25 earned" in text_of(home)

    file = rita.get(f"/office/projects/{project}/results.csv")
    assert file.headers["content-disposition"].startswith("attachment")
    [row] = csv.DictReader(io.StringIO(file.text))
    assert row["Input.word"] == "alpha"
    assert row["Answer.checkbox"] == "a|c"
    assert row["Answer.textarea"] == ""
    assert row["Reward"] == "$0.25"
    page = rita.get(f"/office/projects/{project}")
    assert "1 of 6 assignments" in text_of(page)
    assert "Wanda" in text_of(page)


def test_skip_return_and_show_again(shop: Shop) -> None:
    project = put_up(shop)
    token = invited(shop, "Sam")
    sam = Visitor(shop)
    here = f"/work/{token}/tasks/{project}"
    page = sam.post(f"{here}/skip", {"item": "0"})
    assert "Instance 2" in page.text
    page = sam.post(f"{here}/accept", {"item": "1"})
    address = frame_of(page)
    page = sam.post(page.links("/return")[0])
    assert "Instance 3" in page.text
    assert shop.ask(address).status == 409
    assert shop.ask(address, {"text": "x"}).status == 409
    page = sam.post(f"{here}/skip", {"item": "2"})
    assert "nothing left" in page.text
    assert "You skipped 3" in text_of(page)
    assert "Instance 1" in sam.post(f"{here}/unskip").text
    assert sam.post(f"{here}/skip", {"item": "99"}).status == 404
    assert sam.post(f"{here}/skip", {"item": "x"}).status == 400


def test_time_that_is_up_is_said(shop: Shop) -> None:
    project = put_up(shop, minutes=5)
    token = invited(shop, "Slow")
    slow = Visitor(shop)
    page = slow.post(f"/work/{token}/tasks/{project}/accept", {"item": "0"})
    assert "Yours until" in text_of(page)
    address, here = frame_of(page), page.links("/return")[0].removesuffix("/return")
    assert shop.database is not None
    shop.database.run("UPDATE assignments SET until = 1 WHERE project = ?", (project,))
    assert "The time for this was up" in text_of(slow.get(here))
    quick = invited(shop, "Quick")
    taken = api(shop, "POST", f"/v1/work/tasks/{project}/accept", token=quick)
    assert taken["item"] == 0
    late = shop.ask(address, {"text": "late"})
    assert late.status == 409
    assert "somebody else" in late.text
    api(shop, "POST", f"/v1/work/assignments/{taken['id']}/return", token=quick)
    assert shop.ask(address, {"text": "late"}).status == 200, "nobody else has it now"


def test_a_task_of_the_folder_with_its_answers(shop: Shop) -> None:
    rita = requester(shop)
    rita.get("/office/projects")
    form = {"task": "Cat or Committee", "wanted": "9", "with_answers": "1"}
    page = rita.post("/office/projects", form)
    assert page.status == 200
    assert "Agreement" in text_of(page)
    assert "Was this diary line" in text_of(page)
    project = int(page.links("/terms")[0].split("/")[3])
    file = rita.get(f"/office/projects/{project}/results.csv").body
    rita.get(f"/office/projects/{project}")
    page = rita.upload(f"/office/projects/{project}/import", {}, {"table": file})
    assert "0 new" in text_of(page)
    rita.get("/office/projects")
    assert rita.post("/office/projects", {"task": "../../etc"}).status == 400
    both = rita.upload("/office/projects", form, {"template": b"<input name=a>", "table": WORDS})
    assert both.status == 403, "an error page has no form to take the check from"
    rita.get("/office/projects")
    both = rita.upload("/office/projects", form, {"template": b"<input name=a>", "table": WORDS})
    assert both.status == 400
    assert "not both" in text_of(both)


def test_uploads_that_are_refused(shop: Shop) -> None:
    rita = requester(shop)
    for template, table, terms, said in (
        (b"<p>hello</p>", WORDS, {}, "nothing to fill in"),
        (b"<input name=a>${absent}", WORDS, {}, "${absent}"),
        (b"<input name=a>", b"word\n", {}, "no rows"),
        (b"<input name=a>", b"a,a\n1,2\n", {}, "more than once"),
        (b"<input name=a>", WORDS, {"with_answers": "1"}, "nothing to import"),
        (b"<input name=a>", WORDS, {"pay": "much"}, "numbers"),
        (b"<input name=a>", WORDS, {"wanted": "0"}, "expected 1"),
        (b"<input name=a>", WORDS, {"hosts": "*; script-src *"}, "no host"),
        (b"<input name=a>", WORDS, {"name": " "}, "needs a name"),
    ):
        page = upload(rita, template, table, **terms)
        assert page.status == 400, said
        assert said in text_of(page)
    rita.get("/office/projects")
    assert rita.upload("/office/projects", {"name": "x"}, {}).status == 400
    assert "There are none yet" in rita.get("/office/projects").text


def test_terms_and_standing(shop: Shop) -> None:
    rita = requester(shop)
    page = upload(rita, EVERY_FIELD.encode(), WORDS)
    here = page.links("/terms")[0].removesuffix("/terms")
    page = rita.post(f"{here}/terms", {"name": "Other", "wanted": "4", "hosts": "a.example.org"})
    assert "0 of 12 assignments" in text_of(page)
    page = rita.post(f"{here}/standing", {"is_open": "0"})
    assert "closed" in page.text
    token = invited(shop, "Late")
    assert shop.ask(f"/work/{token}/tasks/{here.split('/')[-1]}").status == 404


def test_everything_by_json(shop: Shop) -> None:
    boss = invited(shop, "Rob", "requester")
    made = api(
        shop,
        "POST",
        "/v1/office/projects",
        {"name": "J", "template": "<input name=a>${w}", "csv": "w\n1\n2\n", "pay": 0.5},
        token=boss,
    )
    one = f"/v1/office/projects/{made['project']['id']}"
    assert call(shop, "PATCH", one, {"budget": 5.0}, token=boss).status == 403
    assert api(shop, "PATCH", one, {"budget": 5.0})["project"]["budget"] == 5.0
    worker = invited(shop, "Bot")
    [task] = api(shop, "GET", "/v1/work/tasks", token=worker)["tasks"]
    assert (task["next"], task["assignment"], task["pay"]) == (0, None, 0.5)
    mine = f"/v1/work/tasks/{task['id']}"
    upcoming = api(shop, "GET", f"{mine}/next", token=worker)
    assert upcoming["inputs"] == {"w": "1"}
    assert shop.ask(upcoming["frame"]).status == 200
    api(shop, "POST", f"{mine}/skip", {"item": 0}, token=worker)
    taken = api(shop, "POST", f"{mine}/accept", token=worker)
    assert (taken["item"], taken["status"]) == (1, "accepted")
    at = f"/v1/work/assignments/{taken['id']}"
    sent = {"answers": {"a": ["x", "y"], "assignmentId": "forged"}}
    done = api(shop, "POST", f"{at}/submit", sent, token=worker)
    assert (done["status"], done["answers"]) == ("submitted", {"a": "x|y"})
    assert call(shop, "POST", f"{at}/submit", sent, token=worker).status == 409
    assert call(shop, "POST", f"{at}/return", token=worker).status == 409
    assert call(shop, "GET", f"{mine}/next", token=worker).status == 409
    assert call(shop, "POST", f"{mine}/accept", token=worker).status == 409
    api(shop, "POST", f"{mine}/unskip", token=worker)
    taken = api(shop, "POST", f"{mine}/accept", {"item": 0}, token=worker)
    back = api(shop, "POST", f"/v1/work/assignments/{taken['id']}/return", token=worker)
    assert back["status"] == "returned"

    report = api(shop, "GET", one, token=boss)
    assert report["progress"]["done"] == 1
    assert report["workers"][0]["earned"] == 0.5
    changed = api(shop, "PATCH", one, {"wanted": 3, "is_open": False}, token=boss)
    assert (changed["project"]["wanted"], changed["project"]["is_open"]) == (3, False)
    text = call(shop, "GET", f"{one}/results.csv", token=boss).text
    brought = api(shop, "POST", f"{one}/import", {"csv": text}, token=boss)
    assert (brought["new"], brought["known"]) == (0, 1)
    other = text.replace(taken["frame"], "").replace("x|y", "x", 1)
    other = re.sub(r'"[0-9A-F]{30}","W\d+"', '"OTHER","W99"', other)
    assert api(shop, "POST", f"{one}/import", {"csv": other}, token=boss)["new"] == 1
    [field] = api(shop, "GET", f"{one}/agreement", token=boss)["fields"]
    assert (field["units"], field["same"], field["kappa"]) == (1, 0.0, None)
    item = api(shop, "GET", f"{one}/items/1", token=boss)
    assert shop.ask(item["frame"]).status == 200
    assert [p["name"] for p in api(shop, "GET", "/v1/office/projects", token=boss)["projects"]] == [
        "J"
    ]


def test_json_that_is_refused(shop: Shop) -> None:
    path = "/v1/office/projects"
    for body in (
        {},
        {"name": "x", "template": "<input>"},
        {"name": "x", "task": "no such task"},
        {"name": "x", "task": "Cat or Committee", "csv": "a\n1\n"},
        {"name": "x", "template": "<input>", "csv": "a\n1\n", "pay": 1e9},
        {"name": "x", "template": "<input>", "csv": "a\n1\n", "wanted": 2.5},
        {"name": "x", "template": "<input>", "csv": "a\n1\n", "owner": 1},
        [],
    ):
        assert call(shop, "POST", path, body).status == 400, body
    project = put_up(shop)
    one = f"{path}/{project}"
    assert call(shop, "PATCH", one, {"hosts": ["'unsafe-inline'"]}).status == 400
    assert call(shop, "POST", f"{one}/import", {"csv": "a\n"}).status == 400
    assert call(shop, "GET", f"{path}/99999").status == 404
    assert call(shop, "GET", f"{path}/9999999999999999999999").status == 404
    assert call(shop, "GET", f"{one}/items/77").status == 404
    worker = invited(shop, "Bea")
    mine = f"/v1/work/tasks/{project}"
    assert call(shop, "POST", f"{mine}/accept", {"item": 2**70}, token=worker).status == 400
    assert call(shop, "POST", f"{mine}/accept", {"item": -1}, token=worker).status == 400
    assert call(shop, "POST", f"{mine}/skip", {"item": 9}, token=worker).status == 404
    assert call(shop, "GET", "/v1/work/tasks/9999/next", token=worker).status == 404
    assert call(shop, "GET", "/v1/work/assignments/9999", token=worker).status == 404


def test_nobody_sees_what_is_anothers(shop: Shop) -> None:
    rita, rolf = requester(shop, "Rita"), requester(shop, "Rolf")
    page = upload(rita, EVERY_FIELD.encode(), WORDS, name="Secret words")
    here = page.links("/terms")[0].removesuffix("/terms")
    project = int(here.split("/")[-1])
    assert "Secret words" not in rolf.get("/office/projects").text
    for path in (here, f"{here}/results.csv", f"{here}/items/0"):
        assert rolf.get(path).status == 404
        assert rita.get(path).status == 200
        assert admin(shop).get(path).status == 200
        assert Visitor(shop).get(path, follow=False).status == 303
    rolf.get("/office/projects")
    for path, form in (("terms", {"name": "x"}), ("standing", {"is_open": "0"})):
        assert rolf.post(f"{here}/{path}", form).status == 404
        rolf.get("/office/projects")
    assert rolf.upload(f"{here}/import", {}, {"table": b"x\n1\n"}).status == 404
    other = invited(shop, "Ron", "requester")
    api_one = f"/v1/office/projects/{project}"
    for path in ("", "/results", "/results.csv", "/agreement", "/items/0"):
        assert call(shop, "GET", api_one + path, token=other).status == 404
    assert call(shop, "PATCH", api_one, {"pay": 0}, token=other).status == 404

    ann, bob = invited(shop, "Ann"), invited(shop, "Bob")
    taken = api(shop, "POST", f"/v1/work/tasks/{project}/accept", token=ann)
    at = f"/v1/work/assignments/{taken['id']}"
    for method, path, body in (
        ("GET", at, None),
        ("POST", f"{at}/submit", {"answers": {}}),
        ("POST", f"{at}/return", None),
    ):
        assert call(shop, method, path, body, token=bob).status == 404
        assert call(shop, method, path, body, token="forged").status == 401
        assert call(shop, method, path, body, token=other).status == 403
        assert call(shop, method, path, body).status == 403, "not even the admin"
    page = Visitor(shop)
    assert page.get(f"/work/{bob}/assignments/{taken['id']}").status == 404
    assert page.post(f"/work/{bob}/assignments/{taken['id']}/return").status == 404
    assert page.get(f"/work/forged/assignments/{taken['id']}").status == 404
    assert page.get(f"/work/{other}/tasks/{project}").status == 404
    assert call(shop, "GET", "/v1/office/projects", token=ann).status == 403


def test_requesters_forms_need_their_check(shop: Shop) -> None:
    rita = requester(shop)
    page = upload(rita, EVERY_FIELD.encode(), WORDS)
    here = page.links("/terms")[0].removesuffix("/terms")
    for path, form in (
        ("/office/projects", {"name": "x"}),
        ("/office/projects", {"task": "Cat or Committee"}),
        (f"{here}/workers", {"is_restricted": "1"}),
        (f"{here}/join", {"most": "3"}),
        (f"{here}/join/end", {}),
        (f"{here}/results", {"assignment": "x", "verdict": "approved"}),
        (f"{here}/results/approve", {}),
        (f"{here}/terms", {"name": "x"}),
        (f"{here}/standing", {"is_open": "0"}),
        (f"{here}/import", {}),
    ):
        rita.page = None
        assert rita.post(path, form).status == 403
        assert rita.post(path, {**form, "check": "0" * 32}).status == 403
        rita.get(here)
        foreign = {"Origin": "http://elsewhere.example"}
        assert rita.post(path, form, headers=foreign).status == 403
        null = {"Origin": "null"}
        rita.get(here)
        assert rita.post(path, form, headers=null).status == 403
    assert "open" in text_of(rita.get(here))


def test_forged_and_strange_frame_keys(shop: Shop) -> None:
    project = put_up(shop)
    shown = api(shop, "GET", f"/v1/office/projects/{project}/items/0")["frame"]
    key = shown.split("/")[2]
    assert key.startswith("preview-")
    other = key.replace(f"-{project}-0-", f"-{project}-1-")
    for forged in (
        other,
        key[:-1] + ("0" if key[-1] != "0" else "1"),
        "preview-1-0-",
        "preview-99999999999999999999-0-" + "0" * 32,
        "x",
        "%00",
        "import%20x",
        "A" * 5000,
        f"preview-%D9%A1-0-{'0' * 32}",
        "ASSIGNMENT_ID_NOT_AVAILABLE",
    ):
        assert shop.ask(f"/frame/{forged}/").status == 404
        assert shop.ask(f"/frame/{forged}/", {"text": "x"}).status == 404
    refused = shop.ask(f"/frame/{key}/", {"text": "x"})
    assert refused.status == 403
    assert "frame-ancestors 'self'" in refused.headers["content-security-policy"]
    assert results(shop, project) == []


def test_external_submit(shop: Shop) -> None:
    form = '<form action="https://www.mturk.com/mturk/externalSubmit" method="get"><input name=a>'
    project = put_up(shop, f"${{word}}{form}</form>")
    worker = invited(shop, "Eva")
    taken = api(shop, "POST", f"/v1/work/tasks/{project}/accept", token=worker)
    page = shop.ask(taken["frame"])
    key = taken["frame"].split("/")[2]
    assert f"assignmentId={key}" in taken["frame"]
    assert "turkSubmitTo=http" in taken["frame"]
    assert page.text.count("<form") == 1
    assert f'<form method="post" action="/frame/{key}/"' in page.text
    address = "/mturk/externalSubmit"
    assert shop.ask(address, {"a": "x"}).status == 400
    assert shop.ask(address, {"assignmentId": "guess", "a": "x"}).status == 404
    unavailable = {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "a": "x"}
    assert shop.ask(address, unavailable).status == 403
    null = {"Origin": "null"}
    sent = {"assignmentId": key, "a": "x", "workerId": "W"}
    assert shop.ask(address, sent, headers=null).status == 200
    assert shop.ask(address, sent, headers=null).status == 409
    [result] = results(shop, project)
    assert result["answers"] == {"a": "x"}
    foreign = {"Origin": "http://elsewhere.example"}
    assert shop.ask(address, sent, headers=foreign).status == 403


def test_bodies_that_are_too_large(shop: Shop) -> None:
    project = put_up(shop)
    worker = invited(shop, "Lou")
    taken = api(shop, "POST", f"/v1/work/tasks/{project}/accept", token=worker)
    huge = {"text": "x" * 2**21}
    assert shop.ask(taken["frame"], huge).status == 413
    assert shop.ask("/mturk/externalSubmit", huge).status == 413
    at = f"/v1/work/assignments/{taken['id']}"
    assert call(shop, "POST", f"{at}/submit", {"answers": huge}, token=worker).status == 413
    many = "&".join(f"f{n}=1" for n in range(6000)).encode()
    assert shop.ask(taken["frame"], many).status == 400
    answers = {"answers": {f"f{n}": "1" for n in range(6000)}}
    assert call(shop, "POST", f"{at}/submit", answers, token=worker).status == 400
    rita = requester(shop)
    assert upload(rita, b"<input name=a>" + b" " * (65 * 2**20), WORDS).status == 413
    assert upload(rita, b"<input name=a>" + b" " * (2 * 2**20), WORDS).status == 400
    assert api(shop, "GET", at, token=worker)["status"] == "accepted"


def test_answers_of_any_kind_are_kept(shop: Shop) -> None:
    project = put_up(shop)
    worker = invited(shop, "Odd")
    taken = api(shop, "POST", f"/v1/work/tasks/{project}/accept", token=worker)
    sent = (
        b"text=%00%ff%F0%9F%A6%86&%3Cscript%3E=%3Cscript%3Ealert(1)%3C%2Fscript%3E"
        b"&textarea=a%0D%0Ab"
    )
    assert shop.ask(taken["frame"], sent).status == 200
    [result] = results(shop, project)
    assert result["answers"]["textarea"] == "a\nb"
    assert result["answers"]["<script>"] == "<script>alert(1)</script>"
    page = admin(shop).get(f"/office/projects/{project}")
    assert "<script>alert" not in page.text
    again = api(shop, "POST", f"/v1/work/tasks/{project}/accept", token=worker)
    asked = shop.ask(again["frame"], b"text=+&hidden=%3Cb%3E&=")
    assert asked.status == 409, "nothing is asked about first"
    assert "You have not filled in anything" in asked.text
    assert "<b>" not in asked.text
    at = f"/v1/work/assignments/{again['id']}"
    nothing = {"answers": {"text": ""}}
    refused = call(shop, "POST", f"{at}/submit", nothing, token=worker)
    assert (refused.status, json.loads(refused.body)["error"]["code"]) == (409, "empty")
    sent = dict(re.findall(r'name="(\w+)" value="([^"]*)"', asked.text))
    assert shop.ask(asked.links("/frame/")[0], sent).status == 200
    assert results(shop, project)[1]["answers"] == {"text": " ", "hidden": "&lt;b&gt;"}
    last = api(shop, "POST", f"/v1/work/tasks/{project}/accept", token=worker)
    at = f"/v1/work/assignments/{last['id']}"
    api(shop, "POST", f"{at}/submit", {**nothing, "allow_empty": True}, token=worker)


def test_a_worker_cannot_spoil_results_with_half_a_character(shop: Shop) -> None:
    """A form may name a character set of its own."""
    project = put_up(shop, wanted=2)
    sent = (
        b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\n\\ud800 said\r\n'
        b'--x\r\nContent-Disposition: form-data; name="n\\ud800"\r\n\r\nmore\r\n--x--\r\n'
    )
    kind = {"Content-Type": "multipart/form-data; boundary=x; charset=unicode_escape"}
    for name in ("Odd", "Even"):
        worker = invited(shop, name)
        taken = api(shop, "POST", f"/v1/work/tasks/{project}/accept", token=worker)
        assert shop.ask(taken["frame"], sent, headers=kind).status == 200
    assert [one["answers"]["text"] for one in results(shop, project)] == ["? said"] * 2
    api(shop, "GET", f"/v1/work/assignments/{taken['id']}", token=worker)
    api(shop, "GET", f"/v1/office/projects/{project}/agreement")


def test_numbers_that_nobody_can_read_lead_nowhere(shop: Shop) -> None:
    worker = invited(shop, "Lou")
    assert shop.ask(f"/work/{worker}/tasks/{'9' * 5000}").status == 404
    assert call(shop, "GET", f"/v1/work/assignments/{'9' * 5000}", token=worker).status == 404


PATHS = ["../batch.csv", "..%2f..%2fbatch.csv", "%2e%2e/%2e%2e/proofs.json", "batch.csv",
         "%2fetc%2fpasswd", "..\\batch.csv", "x%00", "....//batch.csv", "/etc/passwd"]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_no_way_out_of_the_folder(shop: Shop, path: str) -> None:
    made = api(shop, "POST", "/v1/office/projects", {"task": "Cat or Committee"})
    shown = api(shop, "GET", f"/v1/office/projects/{made['project']['id']}/items/0")["frame"]
    base = shown.partition("?")[0]
    answer = shop.ask(f"{base}{path}")
    assert answer.status == 404, answer.text[:200]
    assert shop.ask(f"/frame/files/web/{path}").status == 404
    seen = shop.ask(f"{base}template.html")
    assert seen.status == 200
    assert "sandbox" in seen.headers["content-security-policy"]


def test_libraries_come_from_here(shop: Shop) -> None:
    template = (
        '<script src="https://code.jquery.com/jquery-3.2.1.min.js" integrity="sha384-x"'
        ' crossorigin="anonymous"></script><script'
        " src='https://s3.amazonaws.com/mturk-public/externalHIT_v1.js'></script>"
        '<img src="https://elsewhere.example/x.png"><input name=a>${word}'
    )
    project = put_up(shop, template, hosts=["elsewhere.example"])
    shown = api(shop, "GET", f"/v1/office/projects/{project}/items/0")["frame"]
    page = shop.ask(shown)
    assert "integrity" not in page.text
    assert 'src="https://elsewhere.example/x.png"' in page.text
    assert "img-src data: blob:" in page.headers["content-security-policy"]
    assert "https://elsewhere.example" in page.headers["content-security-policy"]
    own = re.findall(r"/frame/files/[^\"']*", page.text)
    assert own == [
        "/frame/files/web/code.jquery.com/jquery-3.2.1.min.js",
        "/frame/files/web/s3.amazonaws.com/mturk-public/externalHIT_v1.js",
    ]
    for address in own:
        answer = shop.ask(address)
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/javascript")
        assert len(answer.body) > 100
    assert shop.ask("/frame/files/web/evil.example/x.js").status == 404


def test_the_frames_policy(shop: Shop) -> None:
    project = put_up(shop)
    worker = invited(shop, "Pol")
    taken = api(shop, "POST", f"/v1/work/tasks/{project}/accept", token=worker)
    said = shop.ask(taken["frame"]).headers
    policy = said["content-security-policy"]
    for part in (
        "default-src 'none'",
        "connect-src 'none'",
        "base-uri 'none'",
        "frame-ancestors 'self'",
        "sandbox allow-scripts allow-forms",
        f"form-action {shop.url}/frame/ {shop.url}/mturk/externalSubmit",
    ):
        assert part in policy
    assert said["referrer-policy"] == "no-referrer"
    strange = shop.ask(taken["frame"], headers={"Host": "x; script-src *"})
    assert strange.status == 421
    assert "content-security-policy" not in strange.headers


def test_a_worker_who_is_kept_out_submits_nothing(shop: Shop) -> None:
    project = put_up(shop)
    worker = invited(shop, "Mal")
    taken = api(shop, "POST", f"/v1/work/tasks/{project}/accept", token=worker)
    everybody = api(shop, "GET", "/v1/office/people")["people"]
    [mal] = [person for person in everybody if person["name"] == "Mal"]
    api(shop, "PATCH", f"/v1/office/people/{mal['id']}", {"is_active": False})
    assert shop.ask(taken["frame"], {"text": "x"}).status == 404
    assert results(shop, project) == []


def _in_the_meantime(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, slow: str, address: str, form: Any = None
) -> list[str]:
    """In which order things end, while somebody's `slow` work waits for another's answer."""
    begun, answered, order = threading.Event(), threading.Event(), list[str]()
    module, _, name = slow.rpartition(".")
    real = getattr(importlib.import_module(module), name)

    def held(*arguments: Any, **settings: Any) -> Any:
        begun.set()
        answered.wait(10)  # So long only where all have to wait for it.
        order.append("the slow one")
        return real(*arguments, **settings)

    monkeypatch.setattr(slow, held)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(shop.ask, address, form)
        assert begun.wait(10)
        assert shop.ask("/frame/files/web/code.jquery.com/jquery-3.2.1.min.js").status == 200
        order.append("the other")
        answered.set()
        assert waiting.result().status == 200
    return order


def test_nobody_waits_for_a_page_or_for_answers_to_be_read(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = put_up(shop)
    worker = invited(shop, "Pat")
    taken = api(shop, "POST", f"/v1/work/tasks/{project}/accept", token=worker)
    page = "errands.web.crowd.hits.task_frame.task_page"
    assert _in_the_meantime(shop, monkeypatch, page, taken["frame"])[0] == "the other"
    check, sent = "errands.crowd.hits.assignments.is_blank", {"text": "x"}
    assert _in_the_meantime(shop, monkeypatch, check, taken["frame"], sent)[0] == "the other"


@pytest.mark.parametrize("charset", ["punycode", '"IDNA"', "utf-8; charset=punycode"])
def test_forms_in_slow_encodings_are_refused(shop: Shop, charset: str) -> None:
    project = put_up(shop)
    taken = api(shop, "POST", f"/v1/work/tasks/{project}/accept", token=invited(shop, "Pun"))
    sent = b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\nabc\r\n--x--\r\n'
    kind = {"Content-Type": f"multipart/form-data; boundary=x; charset={charset}"}
    refused = shop.ask(taken["frame"], sent, headers=kind)
    assert refused.status == 400
    assert "send it in UTF-8" in refused.text
    assert results(shop, project) == []


def test_a_task_is_shown_in_its_page_only(shop: Shop) -> None:
    project = put_up(shop)
    worker = invited(shop, "Alone")
    taken = api(shop, "POST", f"/v1/work/tasks/{project}/accept", token=worker)
    for place, status in (("iframe", 200), ("document", 403), ("object", 403), ("empty", 403)):
        answer = shop.ask(taken["frame"], headers={"Sec-Fetch-Dest": place})
        assert answer.status == status
        assert "sandbox" in answer.headers["content-security-policy"]
        assert ("allow-scripts" in answer.headers["content-security-policy"]) is (status == 200)


def test_old_libraries_are_for_frames_only(shop: Shop) -> None:
    path = "/frame/files/web/code.jquery.com/jquery-3.2.1.min.js"
    allowed: list[dict[str, str]] = [{}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}]
    for headers in allowed:
        assert shop.ask(path, headers=headers).status == 200
    for headers in (
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Referer": f"{shop.url}/office"},
        {"Origin": shop.url},
    ):
        assert shop.ask(path, headers=headers).status == 404
