"""Collecting instructions: the worker's pages, the admin's, and the same for programs."""

import html
import json
import re
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from crowd_site import Visitor, admin, call, invited, requester, text_of
from instructions_served import EVIL, WriterVisitor, evil_catalog, qualify, submission
from shop_served import PASSWORD, Shop, shop_served

from errands.crowd.database import open_database
from errands.crowd.instructions.checks import copied_words
from errands.shop.catalog.catalog import Catalog
from errands.web.core.auth import AuthMiddleware
from errands.web.core.limits import ServerLimits, listen
from errands.web.core.server import Server
from errands.web.crowd.application import open_crowd_site
from errands.web.crowd.instructions.writing import EXAMPLE

OFFICE, WORK = "/v1/office/instructions", "/v1/work/instructions"


class Active(HTMLParser):
    """Finds what would act in a page: handlers, scripts of its own, odd addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.acts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        is_own = tag == "script" and not given.get("src", "").startswith("/office/static/")
        has_handler = any(name.startswith("on") for name in given)
        is_odd = given.get("src") == "x" or given.get("href", "").startswith("javascript:")
        if is_own or has_handler or is_odd:
            self.acts.append(f"{tag} {given}")


@pytest.fixture(scope="module")
def shop(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop_served(little, tmp_path_factory.mktemp("office") / "site.sqlite") as running:
        yield running


def test_from_the_first_trial_to_the_file(little: Catalog, tmp_path: Path) -> None:
    with shop_served(little, tmp_path / "site.sqlite") as shop:
        token = invited(shop, "Wanda Secretname")
        wanda, boss = WriterVisitor(shop, token), admin(shop)
        home = wanda.get(f"/work/{token}")
        assert "Writing instructions" in home.text
        assert "$0.15 each" in text_of(home)
        for number in range(3):
            page = wanda.take()
            assert f"Trial example {number + 1} of 3" in page.text
            handed = wanda.post(wanda.action(), wanda.filled(f"Trial text number {number}"))
            assert "Your instruction was submitted" in handed.text
        assert "being reviewed" in handed.text
        assert 'action="' not in handed.text, "nothing to do"
        assert wanda.take().status == 403
        desk = boss.get("/office/instructions")
        assert desk.text.count("/review") == 3
        assert "Qualify</button>" not in desk.text, "not before all are reviewed"
        for number, verdict in enumerate(("accepted", "refused", "accepted")):
            [first, *_] = re.findall(r'action="(/office/instructions/\d+/review)"', desk.text)
            assert f"Trial text number {number}" in desk.text
            desk = boss.post(first, {"verdict": verdict, "note": f"remark {number}"})
        assert "Nothing waits" in desk.text
        [decide] = re.findall(r'action="(/office/instructions/people/\d+)"', desk.text)
        desk = boss.post(decide, {"status": "granted", "note": "go on"})
        assert "qualified" in text_of(desk)
        page = wanda.get(wanda.home)
        assert "You are qualified" in page.text
        assert "remark 1" in page.text
        assert "approved" in wanda.write("Something very special for me").text
        assert "$0.45 earned" in text_of(wanda.get(f"/work/{token}"))
        answer = boss.get("/office/instructions/items_human_ins.json")
        assert "attachment" in answer.headers["content-disposition"]
        records = [one for held in json.loads(answer.body).values() for one in held]
        assert [one["instruction"] for one in records] == [
            "trial text number 0",
            "trial text number 2",
            "something very special for me",
        ]
        assert "Secretname" not in answer.text
        assert token not in answer.text
        assert call(shop, "GET", f"{OFFICE}/file").body == answer.body


def test_what_is_wrong_is_said_and_nothing_typed_is_lost(shop: Shop) -> None:
    wanda = WriterVisitor(shop, invited(shop, "Wanda"))
    page = wanda.take()
    title = html.unescape(re.findall(r"<h3>(.*?)</h3>", page.text)[-1])
    form = {**wanda.filled(title), "comment": "  odd <b>thing</b>"}
    del form["attribute"]
    wrong = wanda.post(wanda.action(), form)
    assert wrong.status == 400
    assert 'role="alert"' in wrong.text
    assert 'aria-describedby="attributes-hint attributes-wrong"' in wrong.text
    assert 'aria-describedby="instruction-hint instruction-wrong" aria-invalid="true"' in wrong.text
    assert "Tick at least one attribute" in wrong.text
    assert "Do not copy the title" in wrong.text
    areas = re.findall(r"<textarea.*?>\n(.*?)</textarea>", wrong.text, re.S)
    assert [html.unescape(area) for area in areas] == [title, "  odd <b>thing</b>"]
    assert wrong.text.count(" checked") == len([name for name in form if "option" in name])
    assert wanda.post(wanda.action(), wanda.filled()).status == 200


def test_a_replay_says_so(shop: Shop) -> None:
    wanda = WriterVisitor(shop, invited(shop, "Wanda"))
    wanda.take()
    action, form = wanda.action(), wanda.filled("One that is replayed")
    assert "Thank you" in wanda.post(action, form).text
    again = wanda.post(action, form)
    assert (again.status, "nothing has changed" in again.text) == (200, True)
    other = wanda.post(action, {**form, "instruction": "Quite <b>another</b> text"})
    assert other.status == 409
    assert "Quite &lt;b&gt;another&lt;/b&gt; text" in other.text, "it can be copied"
    assert wanda.post(f"{action}/give-back").status == 409
    mine = wanda.get(wanda.home).text
    assert mine.count("One that is replayed") == 1
    assert "another" not in mine


def test_a_product_is_given_back(shop: Shop) -> None:
    token = invited(shop, "Wanda")
    wanda = WriterVisitor(shop, token)
    wanda.take()
    action = wanda.action()
    assert wanda.get(wanda.home).text.count(action) == 2, "looking again shows the same"
    back = wanda.post(f"{action}/give-back")
    assert "First product" in back.text
    assert wanda.post(f"{action}/give-back").status == 200, "again changes nothing"
    wanda.take()
    assert wanda.action() != action


def test_one_worker_sees_and_changes_nothing_of_another(shop: Shop) -> None:
    ann, bob = invited(shop, "Ann"), invited(shop, "Bob")
    first, second = WriterVisitor(shop, ann), WriterVisitor(shop, bob)
    first.take()
    id = first.action().rsplit("/", 1)[1]
    form = first.filled("A text of mine alone")
    second.take()
    assert second.post(f"{second.home}/{id}", form).status == 404
    assert second.post(f"{second.home}/{id}/give-back").status == 404
    for path, body in ((id, None), (id, {"instruction": "a b c", "attributes": ["x"]})):
        method = "GET" if body is None else "POST"
        assert call(shop, method, f"{WORK}/{path}", body, token=bob).status == 404
    assert call(shop, "POST", f"{WORK}/{id}/give-back", {}, token=bob).status == 404
    assert first.post(first.action(), form).status == 200
    assert "mine alone" not in second.get(second.home).text
    stranger = Visitor(shop)
    assert stranger.get("/work/wrong/instructions").status == 404
    assert stranger.post(f"/work/wrong/instructions/{id}", form).status == 404


def test_only_the_admin_sees_the_desk(shop: Shop) -> None:
    token = invited(shop, "Wanda")
    paths = ("", "/settings", "/people", "/file", "/1")
    for path in paths:
        assert shop.ask(f"{OFFICE}{path}").status == 401
        assert call(shop, "GET", f"{OFFICE}{path}", token=token).status == 403
    rita = requester(shop)
    assert rita.get("/office/instructions").status == 403
    assert rita.get("/office/instructions/items_human_ins.json").status == 403
    assert Visitor(shop).get("/office/instructions", follow=False).status == 303
    assert call(shop, "GET", WORK).status == 403, "the admin is no worker"
    boss = admin(shop)
    boss.page = None
    for path in ("/settings", "/1/review", "/people/1"):
        assert boss.post(f"/office/instructions{path}", {"pay": "1"}).status == 403, "no check"


def test_texts_of_products_and_people_never_act(tmp_path: Path) -> None:
    catalog = evil_catalog(tmp_path)
    with shop_served(catalog, tmp_path / "site.sqlite") as shop:
        token = invited(shop, "Eve")
        eve, boss = WriterVisitor(shop, token), admin(shop)
        eve.take()
        pages = [eve.page, eve.post(eve.action(), {"instruction": EVIL, "comment": EVIL})]
        form = {**eve.filled(f"please {EVIL} some words"), "comment": EVIL}
        pages += [eve.post(eve.action(), form), eve.get(f"/work/{token}")]
        pages.append(boss.get("/office/instructions"))
        [path] = re.findall(r'action="(/office/instructions/\d+/review)"', pages[-1].text)
        pages.append(boss.post(path, {"verdict": "refused", "note": EVIL}))
        pages.append(boss.get(path.removesuffix("/review")))
        [path] = re.findall(r'action="(/office/instructions/people/\d+)"', pages[-2].text)
        boss.get("/office/instructions")
        pages += [boss.post(path, {"status": "refused", "note": EVIL}), eve.get(eve.home)]
        pages.append(boss.get(f"/office/instructions?worker={path.rsplit('/')[-1]}"))
        for page in pages:
            assert page is not None
            found = Active()
            found.feed(page.text)
            assert found.acts == []
            assert "default-src 'none'" in page.headers["content-security-policy"]
        assert pages[1] is not None
        assert html.escape(EVIL, quote=True) in pages[1].text


def test_programs_do_the_same(shop: Shop) -> None:
    token = invited(shop, "Robot")
    state = json.loads(call(shop, "GET", WORK, token=token).body)
    assert (state["account"]["standing"], state["in_hand"], state["pay"]) == ("trial", None, 0.15)
    made = call(shop, "POST", f"{WORK}/next", {}, token=token)
    assert made.status == 201
    piece = json.loads(made.body)
    again = call(shop, "POST", f"{WORK}/next", {}, token=token)
    assert (again.status, json.loads(again.body)) == (200, piece)
    assert "person" not in piece
    one = f"{WORK}/{piece['id']}"
    wrong = call(shop, "POST", one, {"instruction": "x", "attributes": []}, token=token)
    assert wrong.status == 400
    told = json.loads(wrong.body)
    assert told["error"]["code"] == "bad_instruction"
    assert {"attributes", "instruction"} <= {problem["field"] for problem in told["problems"]}
    good = submission(piece)
    assert call(shop, "POST", one, good, token=token).status == 201
    assert call(shop, "POST", one, good, token=token).status == 200, "a replay"
    assert call(shop, "POST", one, {**good, "comment": "!"}, token=token).status == 409
    assert json.loads(call(shop, "GET", one, token=token).body)["status"] == "submitted"
    seen = json.loads(call(shop, "GET", f"{OFFICE}/{piece['id']}").body)
    assert seen["instruction"] == good["instruction"]
    page = json.loads(call(shop, "GET", f"{OFFICE}?worker={seen['person']}&status=submitted").body)
    assert [held["id"] for held in page["list"]["writings"]] == [piece["id"]]
    people = json.loads(call(shop, "GET", f"{OFFICE}/people").body)["writers"]
    assert "Robot" in [one["name"] for one in people]
    early = call(shop, "POST", f"{OFFICE}/people/{seen['person']}", {"status": "granted"})
    assert early.status == 409
    back = json.loads(call(shop, "POST", f"{WORK}/next", {}, token=token).body)
    given = call(shop, "POST", f"{WORK}/{back['id']}/give-back", {}, token=token)
    assert json.loads(given.body)["status"] == "given_back"
    assert (
        call(shop, "POST", f"{OFFICE}/{back['id']}/review", {"verdict": "accepted"}).status == 409
    )


def test_settings_are_set(little: Catalog, tmp_path: Path) -> None:
    with shop_served(little, tmp_path / "site.sqlite") as shop:
        token, boss = invited(shop, "Wanda"), admin(shop)
        boss.get("/office/instructions")
        form = {"pay": "0.4", "wanted": "2", "trials": "2", "seed": "7", "review": "1"}
        form |= {"is_open": "1", "budget": "9.5"}
        assert boss.post("/office/instructions/settings", form).status == 200
        held = json.loads(call(shop, "GET", f"{OFFICE}/settings").body)
        assert held == {
            "pay": 0.4,
            "wanted": 2,
            "trials": 2,
            "review": True,
            "seed": 7,
            "is_open": True,
            "budget": 9.5,
        }
        qualify(shop, token)
        piece = json.loads(call(shop, "POST", f"{WORK}/next", {}, token=token).body)
        one = f"{WORK}/{piece['id']}"
        handed = json.loads(call(shop, "POST", one, submission(piece), token=token).body)
        assert (handed["status"], handed["pay"], handed["is_trial"]) == ("submitted", 0.4, False)
        put = call(shop, "PUT", f"{OFFICE}/settings", {"pay": 1, "review": False, "budget": 9})
        assert json.loads(put.body)["trials"] == 3, "what is left out is as at first"
        assert json.loads(call(shop, "GET", one, token=token).body)["pay"] == 0.4
        for name, value in (("pay", "nan"), ("pay", "-1"), ("trials", "6"), ("wanted", "x")):
            boss.get("/office/instructions")
            wrong = boss.post("/office/instructions/settings", {**form, name: value})
            assert wrong.status == 400
        for wrong_body in ({"pay": -1}, {"trials": 1}, {"seed": 2**70}, {"x": 1}, []):
            assert call(shop, "PUT", f"{OFFICE}/settings", wrong_body).status == 400


def test_nonsense_is_never_a_defect(shop: Shop) -> None:
    token = invited(shop, "Monkey")
    monkey, boss = WriterVisitor(shop, token), admin(shop)
    monkey.take()
    action = monkey.action()
    huge = "9" * 40
    for form in (
        {},
        {"attribute": huge, "option-0": huge, "instruction": "a b c"},
        {"attribute": "-1", "option-0": "²", "instruction": "\0\ud83d".encode("utf-8", "replace")},
        {"instruction": "x" * 500_000},
    ):
        assert monkey.post(action, form).status == 400  # type: ignore[arg-type]
    for path in (f"{monkey.home}/{huge}", f"{monkey.home}/{huge}/give-back", f"{monkey.home}/x"):
        assert monkey.post(path).status in (404, 405)
    for query in ("worker=x", "status=odd", "page=x", f"page={huge}", f"worker={huge}"):
        assert boss.get(f"/office/instructions?{query}").status == 400
        assert call(shop, "GET", f"{OFFICE}?{query}").status == 400
    assert boss.get("/office/instructions?page=999&worker=999&status=taken").status == 200
    assert boss.get(f"/office/instructions/{huge}").status == 404
    boss.get("/office/instructions")
    assert boss.post("/office/instructions/1/review", {"verdict": "maybe"}).status == 400
    boss.get("/office/instructions")
    long = {"verdict": "refused", "note": "x" * 3000}
    assert boss.post("/office/instructions/1/review", long).status == 400
    for body in ({}, {"verdict": "maybe"}, {"verdict": "refused", "note": 1}, [], "x"):
        assert call(shop, "POST", f"{OFFICE}/1/review", body).status == 400
    for person in (1, 999_999, huge):
        granted = {"status": "granted"}
        assert call(shop, "POST", f"{OFFICE}/people/{person}", granted).status == 404
    for body in ({}, [], {"instruction": 1, "attributes": []}, {"instruction": "\ud800 a b"}):
        answer = call(shop, "POST", f"{WORK}/1", body, token=token)
        assert answer.status in (400, 404)


def test_everything_is_described(shop: Shop) -> None:
    described = json.loads(shop.ask("/openapi.json").body)
    paths = described["paths"]
    assert {OFFICE, f"{OFFICE}/settings", WORK, f"{WORK}/next", f"{WORK}/{{id}}"} <= paths.keys()
    schemas = described["components"]["schemas"]
    for reference in set(re.findall(r"#/components/schemas/(\w+)", json.dumps(described))):
        assert reference in schemas


def test_who_is_refused_sees_why_and_no_form(shop: Shop) -> None:
    token = invited(shop, "Rolf")
    rolf = WriterVisitor(shop, token)
    rolf.take()
    action, form = rolf.action(), rolf.filled("A text that comes too late")
    people = json.loads(call(shop, "GET", f"{OFFICE}/people").body)["writers"]
    [person] = [one["person"] for one in people if one["name"] == "Rolf"]
    refused = {"status": "refused", "note": "please <i>rest</i>"}
    assert call(shop, "POST", f"{OFFICE}/people/{person}", refused).status == 200
    page = rolf.get(rolf.home)
    assert "please &lt;i&gt;rest" in page.text
    assert "<textarea" not in page.text
    late = rolf.post(action, form)
    assert late.status == 403
    assert "comes too late" in late.text


def test_the_example_keeps_the_rules() -> None:
    title = " ".join(re.findall(r"<h3>(.*?)</h3>", EXAMPLE, re.S)[0].split())
    said = dict(re.findall(r"<p><b>(.*?):</b> (.*?)(?:<span|</p>)", EXAMPLE, re.S))
    assert copied_words(title, said["Too much"])
    assert not copied_words(title, said["Good"])


def test_an_office_without_a_shop(tmp_path: Path) -> None:
    with open_database(str(tmp_path / "site.sqlite")) as database:
        part, _ = open_crowd_site(database, None, PASSWORD)
        started = threading.Event()
        server = Server([part], AuthMiddleware(None, public=True), ServerLimits(), started.set)
        with listen("127.0.0.1", 0) as listening:
            thread = threading.Thread(target=server.run, args=([listening],))
            thread.start()
            assert started.wait(60)
            try:
                shop = Shop(listening.getsockname()[1])
                token = invited(shop, "Wanda")
                assert "Writing instructions" not in shop.ask(f"/work/{token}").text
                assert WriterVisitor(shop, token).take().status == 409
                answer = call(shop, "POST", f"{WORK}/next", {}, token=token)
                assert json.loads(answer.body)["error"]["code"] == "no_shop"
                assert "no shop" in admin(shop).get("/office/instructions").text
            finally:
                server.handle_exit(15, None)
                thread.join(30)
        assert not thread.is_alive()


def test_shoppers_learn_nothing(little: Catalog, tmp_path: Path) -> None:
    """What is written stays in the office: the shop's pages are as they were."""
    with shop_served(little, tmp_path / "site.sqlite") as shop:
        token = invited(shop, "Wanda")
        piece = json.loads(call(shop, "POST", f"{WORK}/next", {}, token=token).body)
        paths = ("/fixed_0", f"/item_page/fixed_0/%5B%27lamp%27%5D/1/{piece['asin']}/%7B%7D")
        before = [shop.ask(path).text for path in paths]
        told = submission(piece, "Peculiarwords are what I want")
        assert call(shop, "POST", f"{WORK}/{piece['id']}", told, token=token).status == 201
        after = [shop.ask(path).text for path in paths]
        assert before == after
        assert all("peculiarwords" not in page.lower() for page in after)
