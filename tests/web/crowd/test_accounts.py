"""The office's front desk: who gets in, and how."""

import contextlib
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from crowd_site import Visitor, admin, call, invited, requester, text_of
from shop_served import PASSWORD, Shop, shop_served
from starlette.routing import Route

from errands.crowd.accounts.accounts import Accounts
from errands.crowd.database import open_database
from errands.shop.catalog.catalog import Catalog
from errands.web.crowd.accounts import AccountRoutes
from errands.web.crowd.application import open_crowd_site
from errands.web.crowd.auth import Auth
from errands.web.crowd.site import CrowdSite


@pytest.fixture(scope="module")
def shop(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop_served(little, tmp_path_factory.mktemp("office") / "site.sqlite") as running:
        yield running


def test_strangers_are_sent_to_the_login(shop: Shop) -> None:
    visitor = Visitor(shop)
    for path in ("/office", "/office/people"):
        answer = visitor.get(path, follow=False)
        assert (answer.status, answer.headers["location"]) == (303, "/office/login")
    assert visitor.post("/office/people", {"names": "Eve"}).status == 401
    visitor.cookies["errands_login"] = "forged"
    assert visitor.get("/office", follow=False).status == 303
    assert visitor.post("/office/login", {"password": "wrong password"}).status == 403
    assert "errands_login" in visitor.cookies
    assert visitor.cookies["errands_login"] == "forged"


def test_the_admin_invites_somebody(shop: Shop) -> None:
    visitor = admin(shop)
    people = visitor.get("/office/people")
    assert people.status == 200
    made = visitor.post("/office/people", {"names": "Ann\n <b>Bob</b> \n", "role": "worker"})
    assert "<b>Bob" not in made.text
    links = [word for word in text_of(made).split() if "/work/" in word]
    assert len(links) == 2
    assert text_of(visitor.get("/office/people")).count("/work/") == 0, "shown only once"


def test_a_requesters_link(shop: Shop) -> None:
    visitor = requester(shop, "Rolf")
    assert visitor.get("/office").status == 200
    assert visitor.get("/office/people").status == 403
    assert visitor.post("/office/people", {"names": "Eve"}).status == 403
    visitor.get("/office")
    assert visitor.post("/office/logout").status == 200
    assert visitor.get("/office", follow=False).status == 303


def test_a_workers_link_opens_no_office(shop: Shop) -> None:
    token = invited(shop, "Wanda")
    answer = Visitor(shop).get(f"/office/enter/{token}", follow=False)
    assert answer.headers["location"] == f"/work/{token}"
    assert "set-cookie" not in answer.headers


def test_a_form_from_elsewhere_is_refused(shop: Shop) -> None:
    visitor = admin(shop)
    visitor.page = None
    assert visitor.post("/office/people", {"names": "Eve"}).status == 403
    assert visitor.post("/office/people", {"names": "Eve", "check": "0" * 32}).status == 403
    foreign = {"Origin": "http://elsewhere.example"}
    assert visitor.get("/office", headers=foreign).status == 403
    null = {"Origin": "null"}
    assert visitor.post("/office/people", {"names": "Eve"}, headers=null).status == 403
    everybody = json.loads(call(shop, "GET", "/v1/office/people").body)["people"]
    assert "Eve" not in [person["name"] for person in everybody]


def test_links_are_renewed_and_people_kept_out(shop: Shop) -> None:
    token = invited(shop, "Rosa", "requester")
    everybody = json.loads(call(shop, "GET", "/v1/office/people").body)["people"]
    [rosa] = [person for person in everybody if person["name"] == "Rosa"]
    visitor = admin(shop)
    visitor.get("/office/people")
    assert visitor.post(f"/office/people/{rosa['id']}/renew").status == 200
    assert Visitor(shop).get(f"/office/enter/{token}").status == 404
    one = f"/v1/office/people/{rosa['id']}"
    renewed = json.loads(call(shop, "POST", f"{one}/renew").body)["invited"][0]["token"]
    assert Visitor(shop).get(f"/office/enter/{renewed}").status == 200
    assert json.loads(call(shop, "PATCH", one, {"is_active": False}).body)["is_active"] is False
    assert Visitor(shop).get(f"/office/enter/{renewed}").status == 404
    visitor.get("/office/people")
    visitor.post(f"/office/people/{rosa['id']}/standing", {"is_active": "1"})
    assert Visitor(shop).get(f"/office/enter/{renewed}").status == 200
    assert call(shop, "PATCH", "/v1/office/people/999999", {"is_active": True}).status == 404
    assert call(shop, "POST", "/v1/office/people/99999999999999999999/renew").status == 404


def test_programs_need_a_token_or_the_password(shop: Shop) -> None:
    path = "/v1/office/people"
    assert shop.ask(path).status == 401
    assert call(shop, "GET", path, token="guess").status == 401
    assert call(shop, "GET", path, token=invited(shop, "Will")).status == 403
    assert call(shop, "GET", path).status == 200
    for body in ({"names": []}, {"names": [""]}, {"names": "x"}, {"names": ["x"], "role": "admin"}):
        assert call(shop, "POST", path, body).status == 400
    for sent in (b"{", b"\xff", b"[" * 100_000):
        headers = {"Authorization": "Basic !", "Content-Type": "application/json"}
        assert shop.ask(path, sent, headers=headers).status == 401


def test_a_password_is_changed(little: Catalog, tmp_path: Path) -> None:
    with shop_served(little, tmp_path / "site.sqlite") as shop:
        visitor = admin(shop)
        wrong = visitor.post("/office/password", {"old": "wrong", "new": "a better one"})
        assert wrong.status == 403
        visitor.get("/office")
        short = visitor.post("/office/password", {"old": PASSWORD, "new": "short"})
        assert short.status == 400
        visitor.get("/office")
        visitor.post("/office/password", {"old": PASSWORD, "new": "a better one"})
        assert visitor.get("/office", follow=False).status == 303
        assert Visitor(shop).post("/office/login", {"password": PASSWORD}).status == 403
        assert Visitor(shop).post("/office/login", {"password": "a better one"}).status == 200


def test_the_password_is_changed_by_a_program(little: Catalog, tmp_path: Path) -> None:
    with shop_served(little, tmp_path / "site.sqlite") as shop:
        path = "/v1/office/password"
        worker, boss = invited(shop, "Ann"), invited(shop, "Rob", "requester")
        wanted = {"old": PASSWORD, "new": "a better one"}
        for token in (worker, boss):
            assert call(shop, "PUT", path, wanted, token=token).status == 403
        assert call(shop, "PUT", path, {**wanted, "old": "guess"}).status == 403
        assert call(shop, "PUT", path, {**wanted, "new": "short"}).status == 400
        assert call(shop, "PUT", path, wanted).status == 200
        assert call(shop, "GET", "/v1/office/people").status == 401, "the old one is gone"
        assert Visitor(shop).post("/office/login", {"password": "a better one"}).status == 200


def test_every_address_of_the_desk_is_described(shop: Shop) -> None:
    described = json.loads(shop.ask("/openapi.json").body)["paths"]
    people = Accounts(shop.database)  # type: ignore[arg-type]
    office = CrowdSite(shop.database, people, Auth(people))  # type: ignore[arg-type]
    for route in AccountRoutes(office).routes():
        assert isinstance(route, Route)
        held = described.get(route.path.replace(":int", ""), {})
        assert {method.lower() for method in route.methods or () if method != "HEAD"} <= set(held)


def test_a_password_that_was_lost_is_replaced(tmp_path: Path) -> None:
    with open_database(str(tmp_path / "site.sqlite")) as database:
        people = Accounts(database)
        _, made_up = open_crowd_site(database)
        assert made_up is not None
        assert open_crowd_site(database, password="another one")[1] is None
        assert people.admin(made_up) is not None, "an old place keeps its password"
        assert open_crowd_site(database, password="another one", reset_password=True)[1] is None
        assert people.admin(made_up) is None
        assert people.admin("another one") is not None
        _, again = open_crowd_site(database, reset_password=True)
        assert people.admin(again or "") is not None


def test_a_refusal_leads_on(shop: Shop) -> None:
    refused = requester(shop).get("/office/people")
    assert refused.status == 403
    assert "/office" in refused.links("/office")
    assert Visitor(shop).get("/work/guess/shopping").links("/work/") == []


def test_passwords_cannot_be_guessed_fast(little: Catalog, tmp_path: Path) -> None:
    with shop_served(little, tmp_path / "site.sqlite") as shop:
        visitor = Visitor(shop)
        looks = {shop.ask("/office/login", method="HEAD").status for _ in range(12)}
        assert looks == {200}, "who looks does not guess"
        seen = [visitor.post("/office/login", {"password": f"no {n}"}).status for n in range(11)]
        assert seen == [403] * 10 + [429]
        assert visitor.post("/office/login", {"password": PASSWORD}).status == 429


def test_guesses_of_others_keep_nobody_out_who_is_in(little: Catalog, tmp_path: Path) -> None:
    with shop_served(little, tmp_path / "site.sqlite") as shop:
        assert call(shop, "GET", "/v1/office/people").status == 200
        visitor = Visitor(shop)
        for number in range(12):
            visitor.post("/office/login", {"password": f"no {number}"})
        assert visitor.post("/office/login", {"password": "no again"}).status == 429
        assert call(shop, "GET", "/v1/office/people").status == 200


def test_who_guesses_does_not_profit_from_who_knows(little: Catalog, tmp_path: Path) -> None:
    with shop_served(little, tmp_path / "site.sqlite") as shop:

        def tried(password: str, address: str) -> int:
            line = http.client.HTTPConnection(
                "127.0.0.1", shop.port, timeout=60, source_address=(address, 0)
            )
            with contextlib.closing(line):
                line.request("POST", "/office/login", f"password={quote(password)}")
                return line.getresponse().status

        knows, guesses = "127.0.0.1", "127.0.0.2"
        assert tried(PASSWORD, knows) == 303
        assert [tried(f"no {n}", guesses) for n in range(11)] == [403] * 10 + [429]
        assert tried(PASSWORD, guesses) == 429, "a right guess among too many is not taken"
        assert tried(PASSWORD, knows) == 303
        assert [tried(f"no {n}", knows) for n in range(100)] == [403] * 10 + [429] * 90
        assert tried(PASSWORD, knows) == 429, "nor from where the password is known"


def test_bodies_that_are_too_large(shop: Shop) -> None:
    visitor = admin(shop)
    assert visitor.post("/office/people", {"names": "x" * 2**21}).status == 413
    assert visitor.post("/office/login", {"password": "x" * 2**14}).status == 413


@pytest.mark.parametrize(
    "kind", ["multipart/form-data", "multipart/form-data; boundary=x", "text/plain"]
)
def test_forms_that_make_no_sense(shop: Shop, kind: str) -> None:
    answer = shop.ask("/office/login", b"--x\r\nbad\r\n\r\n", headers={"Content-Type": kind})
    assert answer.status in (400, 403)
