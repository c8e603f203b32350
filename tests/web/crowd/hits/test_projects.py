"""A requester's means, by pages without scripts and by JSON: budget, workers, links, decisions."""

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from crowd_served import close_all, put_up, results
from crowd_site import Visitor, admin, call, invited, requester, text_of
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
    with shop_served(little, store, paid=False) as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_else_is_open(shop: Shop) -> None:
    close_all(shop)


TEMPLATE = "<p>${word}</p><input name=a>"


def api(shop: Shop, method: str, path: str, body: Any = None, **who: Any) -> Any:
    answer = call(shop, method, path, body, **who)
    assert answer.status in (200, 201), answer.text
    return json.loads(answer.body)


def account(shop: Shop, name: str) -> tuple[str, int]:
    """A new worker's token and number."""
    made = api(shop, "POST", "/v1/office/people", {"names": [name]})["invited"][0]
    return made["token"], made["person"]["id"]


def submit(shop: Shop, token: str, project: int, answer: str = "x") -> dict[str, Any]:
    taken = api(shop, "POST", f"/v1/work/tasks/{project}/accept", token=token)
    at = f"/v1/work/assignments/{taken['id']}/submit"
    sent: dict[str, Any] = api(shop, "POST", at, {"answers": {"a": answer}}, token=token)
    return sent


def test_nothing_that_pays_is_offered_before_it_is_opened(shop: Shop) -> None:
    token = invited(shop, "New")
    home = shop.ask(f"/work/{token}")
    for kind in ("instructions", "shopping"):
        assert home.links(f"/{kind}") == [], "no card leads there"
        assert "at the moment" in text_of(shop.ask(f"/work/{token}/{kind}"))
        assert shop.ask(f"/work/{token}/{kind}", {}).status == 409
    assert call(shop, "POST", "/v1/work/instructions/next", {}, token=token).status == 409
    assert call(shop, "POST", "/v1/work/shopping", token=token).status == 409
    rita = invited(shop, "Rita", "requester")
    body = {"name": "P", "template": TEMPLATE, "csv": "word\n1\n2\n", "pay": 0.6}
    project = api(shop, "POST", "/v1/office/projects", body, token=rita)["project"]["id"]
    assert (
        call(shop, "POST", "/v1/office/projects", {**body, "budget": 1}, token=rita).status == 403
    )
    accept = f"/v1/work/tasks/{project}/accept"
    assert call(shop, "POST", accept, token=token).status == 404
    assert api(shop, "GET", "/v1/work/tasks", token=token)["tasks"] == []
    assert shop.ask(f"/work/{token}/tasks/{project}").status == 404

    boss = admin(shop)
    assert "needs a budget" in boss.get("/office/projects").text
    boss.get(f"/office/projects/{project}")
    page = boss.post(f"/office/projects/{project}/budget", {"budget": "1"})
    assert "Workers can accept instances" in text_of(page)
    submit(shop, token, project)
    assert "budget used up" in boss.get("/office/projects").text
    assert call(shop, "POST", accept, token=token).status == 409
    boss.get(f"/office/projects/{project}")
    refused = boss.post(f"/office/projects/{project}/budget", {"budget": "0.5"})
    assert refused.status == 409
    assert "$0.60 are promised or earned already" in text_of(refused)
    for wrong in ("much", "-1", "nan", "inf", "1e300"):
        boss.get(f"/office/projects/{project}")
        assert boss.post(f"/office/projects/{project}/budget", {"budget": wrong}).status == 400
    own = Visitor(shop)
    own.get(f"/office/enter/{rita}")
    page = own.get(f"/office/projects/{project}")
    assert "An administrator sets the budget" in text_of(page)
    assert own.post(f"/office/projects/{project}/budget", {"budget": "9"}).status == 403


def test_writing_and_shopping_stop_when_their_budget_is_used_up(shop: Shop) -> None:
    token = invited(shop, "Able")
    for kind, begin in (("instructions", "instructions/next"), ("demonstrations", "shopping")):
        put = f"/v1/office/{kind}/settings"
        pay = {"pay": 0.5, "is_open": True}
        api(shop, "PUT", put, {**pay, "budget": 0.4})
        assert call(shop, "POST", f"/v1/work/{begin}", {}, token=token).status == 409, kind
        api(shop, "PUT", put, {**pay, "budget": 0.5})
        assert call(shop, "POST", f"/v1/work/{begin}", {}, token=token).status == 201
        other = invited(shop, "Late")
        assert call(shop, "POST", f"/v1/work/{begin}", {}, token=other).status == 409
        less = call(shop, "PUT", put, {**pay, "budget": 0.4})
        assert (less.status, "promised or earned" in less.text) == (400, True)
        api(shop, "PUT", put, {**pay, "budget": 0.5, "is_open": False})


def test_workers_are_assigned_to_a_project(shop: Shop) -> None:
    project = put_up(shop, TEMPLATE, is_restricted=True)
    (ann, ann_id), (bob, _) = account(shop, "Ann"), account(shop, "Bob")
    one = f"/v1/office/projects/{project}"
    for token in (ann, bob):
        assert shop.ask(f"/work/{token}/tasks/{project}").status == 404
        assert call(shop, "POST", f"/v1/work/tasks/{project}/accept", token=token).status == 404
    boss = admin(shop)
    boss.get(f"/office/projects/{project}")
    page = boss.post(
        f"/office/projects/{project}/workers", {"is_restricted": "1", "worker": str(ann_id)}
    )
    assert re.search(rf'name="worker" value="{ann_id}" checked', page.text)
    assert api(shop, "GET", f"{one}/workers")["workers"] == [ann_id]
    submit(shop, ann, project)
    assert call(shop, "POST", f"/v1/work/tasks/{project}/accept", token=bob).status == 404
    assert shop.ask(f"/work/{bob}").links(f"/tasks/{project}") == []
    assert call(shop, "PUT", f"{one}/workers", {"workers": [ann_id, 10**9]}).status == 404
    assert api(shop, "PUT", f"{one}/workers", {"workers": []})["workers"] == []
    page = boss.post(f"/office/projects/{project}/workers", {"is_restricted": "0"})
    submit(shop, bob, project)
    assert boss.post(f"/office/projects/{project}/workers", {"worker": "x"}).status == 400


def joined(shop: Shop, address: str, participant: str = "") -> tuple[Visitor, Answer]:
    visitor = Visitor(shop)
    visitor.get(address)
    return visitor, visitor.post(address.partition("?")[0], {"participant": participant})


def test_people_join_by_a_link(shop: Shop) -> None:
    project, other = put_up(shop, TEMPLATE, "word\n1\n"), put_up(shop, TEMPLATE)
    one = f"/v1/office/projects/{project}"
    boss = admin(shop)
    boss.get(f"/office/projects/{project}")
    page = boss.post(f"/office/projects/{project}/join", {"most": "2", "completion": "CODE-7"})
    link = re.search(r"http://[^<]*(/join/[\w-]+)", page.text)
    assert link
    shown = shop.ask(f"{link[1]}?PROLIFIC_PID=%3Cb%3E5f1e&STUDY_ID=s")
    assert 'value="&lt;b&gt;5f1e"' in shown.text
    assert api(shop, "PUT", f"{one}/join", {"most": 2, "completion": "CODE-7"})["joined"] == 0, (
        "looking makes no account"
    )
    vera, page = joined(shop, link[1], "5f1e")
    assert "Instance 1" in page.text
    [accept] = page.links("/accept")
    token = accept.split("/")[2]
    assert shop.ask(f"/work/{token}/tasks/{other}").status == 404, "nothing else is theirs"
    assert shop.ask(f"/work/{token}/instructions", {}).status == 403
    assert shop.ask(f"/work/{token}/shopping", {}).status == 403
    assert vera.get(link[1]).links("/accept") == [accept], "the browser is known again"
    assert vera.post(link[1], {"participant": "other"}).links("/accept") == [accept]
    _, again = joined(shop, link[1], "5f1e")
    assert again.status == 409
    assert "joined already" in text_of(again)
    assert token not in again.text
    assert joined(shop, link[1])[1].status == 200
    full = shop.ask(link[1])
    assert "takes nobody else" in text_of(full)
    assert joined(shop, link[1], "third")[1].status == 409
    report = api(shop, "PUT", f"{one}/join", {"most": 2, "completion": "CODE-7"})
    assert (report["joined"], report["link"]) == (2, f"{shop.url}{link[1]}")

    assert "CODE-7" not in shop.ask(f"/work/{token}").text
    submit(shop, token, project)
    assert "CODE-7" in shop.ask(f"/work/{token}/tasks/{project}").text
    everybody = {one["name"]: one for one in api(shop, "GET", "/v1/office/people")["people"]}
    assert everybody["5f1e"]["is_guest"]
    boss.get(f"/office/projects/{project}")
    boss.post(f"/office/projects/{project}/join/end")
    assert shop.ask(link[1]).status == 404
    assert shop.ask(f"/work/{token}").status == 200, "who has joined stays"
    for wrong in ({"most": "0"}, {"most": "x"}, {"most": "3", "completion": "x" * 81}):
        boss.get(f"/office/projects/{project}")
        assert boss.post(f"/office/projects/{project}/join", wrong).status == 400
    for strange in ("x", "%00", "../office", "a" * 5000):
        assert shop.ask(f"/join/{strange}").status == 404
    assert call(shop, "DELETE", f"{one}/join").status == 200


def test_a_cookie_of_another_account_is_nobodys_way_in(shop: Shop) -> None:
    project = put_up(shop, TEMPLATE)
    link = api(shop, "PUT", f"/v1/office/projects/{project}/join", {"most": 1})["link"]
    path = link.removeprefix(shop.url)
    visitor = Visitor(shop)
    visitor.cookies["errands_joined"] = invited(shop, "Invited")
    assert "Your ID" in visitor.get(path).text


def test_results_are_looked_at_and_decided(shop: Shop) -> None:
    project = put_up(shop, TEMPLATE, pay=0.5, wanted=2)
    ann, bob = invited(shop, "Ann"), invited(shop, "Bob")
    one, page = f"/v1/office/projects/{project}", f"/office/projects/{project}/results"
    for token, answer in ((ann, "<b>good"), (ann, "bad"), (bob, "fine")):
        submit(shop, token, project, answer)
    boss = admin(shop)
    seen = boss.get(page)
    assert "3 found" in seen.text
    assert "<b>good" not in seen.text
    assert "fine" not in boss.get(f"{page}?text=GOOD").text
    assert "1 found" in boss.get(f"{page}?item=2").text
    for wrong in ("status=odd", "item=0", "item=x", "page=x"):
        assert boss.get(f"{page}?{wrong}").status == 400
    names = {row["answers"]["a"]: row["assignment"] for row in results(shop, project)}
    boss.get(page)
    form = {"assignment": names["bad"], "verdict": "rejected", "text": "bad"}
    refused = boss.post(page, form)
    assert (refused.status, "needs a reason" in text_of(refused)) == (400, True)
    boss.get(page)
    seen = boss.post(page, {**form, "reason": "Not <a> word."})
    assert "Not &lt;a&gt; word." in seen.text
    assert "1 found" in seen.text, "the filter stays"
    assert boss.post(page, {"assignment": "none", "verdict": "approved"}).status == 404
    boss.get(page)
    seen = boss.post(f"{page}/approve", {"worker": next(iter(re.findall(r"W\d+", seen.text)))})
    held = {row["answers"]["a"]: row for row in results(shop, project)}
    assert [held[name]["verdict"] for name in ("<b>good", "bad", "fine")] == [
        "approved",
        "rejected",
        "",
    ]
    decision = {"assignment": names["fine"], "verdict": "approved"}
    assert api(shop, "POST", f"{one}/decisions", decision)["verdict"] == "approved"
    assert call(shop, "POST", f"{one}/decisions", {**decision, "verdict": "x"}).status == 400
    rows = list(csv.DictReader(io.StringIO(boss.get(f"{page}.csv?status=rejected").text)))
    assert [(row["AssignmentStatus"], row["RequesterFeedback"]) for row in rows] == [
        ("Rejected", "Not <a> word.")
    ]
    own = shop.ask(f"/work/{ann}/tasks/{project}")
    assert "Not &lt;a&gt; word." in own.text, "the worker reads why"
    assert "$0.50 earned" in text_of(own), "what is rejected is not paid"
    assert "1 wait for your review" not in text_of(boss.get(f"/office/projects/{project}"))
    stranger = requester(shop, "Rolf")
    assert stranger.get(page).status == 404
    token = invited(shop, "Ron", "requester")
    assert call(shop, "POST", f"{one}/decisions", decision, token=token).status == 404
    for path in ("workers", "join"):
        body = {"workers": []} if path == "workers" else {"most": 1}
        assert call(shop, "PUT", f"{one}/{path}", body, token=token).status == 404


def test_a_file_of_decisions_is_brought_in(shop: Shop) -> None:
    project = put_up(shop, TEMPLATE)
    submit(shop, invited(shop, "Ann"), project)
    one = f"/v1/office/projects/{project}"
    rows = list(csv.DictReader(io.StringIO(call(shop, "GET", f"{one}/results.csv").text)))
    rows[0]["Reject"] = "Too short."
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    told = api(shop, "POST", f"{one}/import", {"csv": out.getvalue()})
    assert (told["new"], told["decided"]) == (0, 1)
    [row] = results(shop, project)
    assert (row["verdict"], row["feedback"]) == ("rejected", "Too short.")


def test_drafts_are_kept_on_the_server(shop: Shop) -> None:
    project = put_up(shop, TEMPLATE)
    ann, bob = invited(shop, "Ann"), invited(shop, "Bob")
    taken = api(shop, "POST", f"/v1/work/tasks/{project}/accept", token=ann)
    at = f"/work/{ann}/assignments/{taken['id']}"
    draft = {"a": ["</script><b>ünï"]}
    kept = shop.ask(f"{at}/draft", {"draft": json.dumps(draft)})
    assert (kept.status, kept.body) == (204, b"")
    frame = shop.ask(taken["frame"])
    assert r'({"a": ["\u003c/script>\u003cb>\u00fcn\u00ef"]});' in frame.text
    for wrong in (
        "",
        "[]",
        '{"a": "x"}',
        '{"a": [1]}',
        json.dumps({str(n): [] for n in range(6000)}),
    ):
        assert shop.ask(f"{at}/draft", {"draft": wrong}).status == 400, wrong[:20]
    assert shop.ask(f"{at}/draft", {"draft": json.dumps({"a": ["x" * 2**18]})}).status == 400
    assert shop.ask(f"{at}/draft", {"draft": json.dumps({"a": ["x" * 2**21]})}).status == 413
    other = f"/work/{bob}/assignments/{taken['id']}/draft"
    assert shop.ask(other, {"draft": "{}"}).status == 404
    assert r"\u003c/script" in shop.ask(taken["frame"]).text, "nothing of it took its place"
    preview = shop.ask(f"/work/{bob}/tasks/{project}")
    assert "ünï" not in preview.text

    assert shop.database is not None
    shop.database.run("UPDATE assignments SET until = 1 WHERE id = ?", (taken["id"],))
    late = shop.ask(at)
    assert "&lt;/script&gt;&lt;b&gt;ünï" in late.text, "what was typed can be read"
    on = shop.ask(f"{at}/resume", {})
    assert "Yours until" in text_of(on)
    assert shop.ask(f"{at}/resume", {}).status == 409
    assert shop.ask(taken["frame"], {"a": "sent"}).status == 200
    assert shop.ask(f"{at}/draft", {"draft": "{}"}).status == 409
