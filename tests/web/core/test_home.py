"""The front door: a home page with what is served, or the way to the only thing there is."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from crowd_site import Visitor
from served import Served, running
from shop_served import PASSWORD, Answer, Shop, shop_served
from whole_site import environments_part, runs_part, whole_site

from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import DONE, ITEM, RESULTS
from errands.shop.urls import Address, build
from errands.web.core.limits import ServerLimits

PLACES = {
    "Shop": "/shop/new",
    "Crowd work": "/office",
    "Runs": "/runs",
    "Environment API": "/api",
}


@pytest.fixture(scope="module")
def site(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with whole_site(little, tmp_path_factory.mktemp("whole")) as running:
        yield running


def bar_of(page: Answer) -> tuple[dict[str, str], list[str]]:
    """The links of the bar by name, and the names that are marked."""
    found = re.search(r'<nav class="places".*?</nav>', page.text, re.DOTALL)
    if found is None:
        return {}, []
    links, marked = {}, []
    for address, more, text in re.findall(r'<a href="([^"]*)"([^>]*)>([^<]*)</a>', found[0]):
        label = re.search('aria-label="([^"]*)"', more)
        name = html.unescape(label[1] if label else text)
        links[name] = address
        if "aria-current" in more:
            marked.append(name)
    return links, marked


def test_home_shows_every_place_and_leads_there(site: Shop) -> None:
    home = site.ask("/")
    assert home.status == 200
    assert re.findall(r"<h2>([^<]*)</h2>", home.text) == list(PLACES)
    assert bar_of(home) == ({"Errands": "/", **PLACES}, [])
    for address in PLACES.values():
        assert f'class="btn " href="{address}"' in home.text
        assert Visitor(site).get(address).status == 200
    assert "goals to shop for" in home.text
    for path in re.findall(r'<link rel="stylesheet" href="([^"]+)"', home.text):
        assert site.ask(path).status == 200
    assert "script-src 'self'" in home.headers["content-security-policy"]


def test_one_bar_on_every_page(site: Shop, little: Catalog) -> None:
    asin = little.product_at(0).asin
    run = re.findall(r'href="(/runs/[^"?]+)"', site.ask("/runs").text)[0]
    here = Address(ITEM, "bar", "a", 1, asin)
    pages = {
        "/bar": "Shop",
        build(here._replace(page=RESULTS)): "Shop",
        build(here): "Shop",
        build(here._replace(page="features")): "Shop",
        build(Address(DONE, "bar", asin=asin)): "Shop",
        "/no/such/page": "Shop",
        "/office/login": "Crowd work",
        "/office/no-such-page": "Crowd work",
        "/work/nobody": "Crowd work",
        "/runs": "Runs",
        run: "Runs",
        f"{run}/episodes/0": "Runs",
        f"{run}/report": "Runs",
        "/runs/nothing": "Runs",
        "/api": "Environment API",
    }
    for address, name in pages.items():
        links, marked = bar_of(site.ask(address))
        assert (list(links), marked) == (["Errands", *PLACES], [name]), address
        assert {**links, name: ""} == {"Errands": "/", **PLACES, name: ""}, address
    # Who shops goes back to the same session, who works to the own page.
    assert bar_of(site.ask("/bar"))[0]["Shop"] == "/bar"
    admin = Visitor(site)
    admin.get("/office/login")
    admin.post("/office/login", {"password": PASSWORD})
    assert bar_of(admin.get("/office/people"))[1] == ["Crowd work"]
    invited = admin.post("/office/people", {"names": "Ann", "role": "worker"})
    [link] = set(re.findall(r"/work/[\w-]+", invited.text))
    assert bar_of(site.ask(link))[0]["Crowd work"] == link


def test_every_page_has_a_head_and_forgives_a_slash(site: Shop) -> None:
    described = json.loads(site.ask("/openapi.json").body)["paths"]
    plain = [path for path, item in described.items() if "get" in item and "{" not in path]
    assert {"/", "/v1/runs", "/v1", "/office", "/health"} <= set(plain)
    for path in (*plain, "/runs", "/api", "/runs/nothing", "/v1/runs/nothing"):
        head = site.ask(path, method="HEAD", follow=False)
        assert (head.status, head.body) == (site.ask(path, follow=False).status, b""), path
    run = re.findall(r'href="(/runs/[^"?]+)"', site.ask("/runs").text)[0]
    assert site.ask(f"{run}/events", method="HEAD").headers["content-type"].startswith("text/event")
    for path in ("/runs", run, "/office", "/office/people", "/api", "/v1/runs"):
        answer = site.ask(f"{path}/?a=1", follow=False)
        assert (answer.status, answer.headers["location"]) == (307, f"{path}?a=1")


def test_scripts_for_the_original_find_their_session(site: Shop) -> None:
    for path, method in (("/", "POST"), ("/?goal=4", "GET"), ("/shop/new", "GET")):
        door = site.ask(path, method=method, follow=False)
        assert door.status == 303
        assert 'id="search_input"' in site.ask(door.headers["location"]).text
    assert 'id="search_input"' in site.ask("/abc").text


def test_what_is_served_alone_is_where_the_door_leads(little: Catalog, tmp_path: Path) -> None:
    with shop_served(little, tmp_path / "one.sqlite", has_crowd=False) as shop:
        door = shop.ask("/")
        assert 'id="search_input"' in door.text
        assert bar_of(door) == ({}, [])
    with shop_served(little, tmp_path / "two.sqlite", has_site=False) as crowd:
        assert crowd.ask("/", follow=False).headers["location"] == "/office"
        assert bar_of(crowd.ask("/office/login")) == ({}, [])
    for part, address in (
        (runs_part(tmp_path), "/runs"),
        (environments_part(little), "/api"),
    ):
        # The way in needs no token; what is there may.
        with running([part], ServerLimits(), "t0ken") as port:
            server = Served(None, port, None)  # type: ignore[arg-type]
            status, headers, _ = server.raw("/")
            assert (status, headers["location"]) == (303, address)
            assert server.raw(address)[0] == (401 if address == "/runs" else 200)
            assert server.raw(address, headers={"Authorization": "Bearer t0ken"})[0] == 200
            assert server.raw("/home/static/home.css")[0] == 200


def test_a_program_can_begin_with_what_the_page_of_the_api_says(site: Shop) -> None:
    page = html.unescape(site.ask("/api").text)
    assert "POST /v1/sessions/{session}/step" in page
    [(address, sent)] = re.findall(r"curl (http\S+/v1/sessions) -d '(.*?)'", page)
    assert address == f"{site.url}/v1/sessions"
    [session] = json.loads(site.ask("/v1/sessions", sent.encode()).body)["sessions"]
    for call in ("reset", "step"):
        [sent] = re.findall(rf"/SESSION/{call} -d '(.*?)'\n?", page)
        answer = site.ask(f"/v1/sessions/{session}/{call}", sent.encode())
        assert "Instruction" in json.loads(answer.body)["observation"]
