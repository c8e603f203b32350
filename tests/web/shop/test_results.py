"""Sessions on a goal of one's choice, and their results, told to who holds the key."""

import html
import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from shop_served import Answer, Shop, shop_served

from errands.envs.config import ShopConfig
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal, ListedGoals
from errands.shop.navigation import DONE
from errands.shop.urls import Address, build
from errands.web.server import serve_shop


@pytest.fixture(scope="module")
def shop(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop_served(little, tmp_path_factory.mktemp("site") / "log.sqlite") as running:
        yield running


def begin(shop: Shop, body: Any = None) -> dict[str, Any]:
    sent = json.dumps(body).encode() if body is not None else b""
    answer = shop.ask("/api/sessions", sent, method="POST")
    assert answer.status == 200, answer.text
    begun: dict[str, Any] = json.loads(answer.body)
    return begun


def result(shop: Shop, session: str, key: str | None, **headers: str) -> Answer:
    shown = {} if key is None else {"Authorization": f"Bearer {key}"}
    return shop.ask(f"/api/sessions/{session}/result", headers={**shown, **headers})


def purchase(session: str, goal: Goal) -> str:
    """The address of a purchase that wants nothing more."""
    assert isinstance(goal.goal_options, dict)
    chosen = tuple(goal.goal_options.items())
    return build(Address(DONE, session, asin=goal.asin, options=chosen))


def test_a_program_shops_for_a_goal_and_is_told_the_reward(shop: Shop, little: Catalog) -> None:
    goals = little.goals("synthetic")
    for index in (0, 4, len(goals) - 1):
        begun = begin(shop, {"goal": index})
        name = begun["session"]
        assert begun == {"session": name, "key": begun["key"], "url": f"/{name}", "goal": index}
        page = shop.ask(begun["url"])
        assert goals[index].instruction_text in html.unescape(page.text)
        before = {
            "session": name,
            "goal": index,
            "steps": 0,
            "done": False,
            "reward": 0.0,
            "reward_parts": {},
            "success": False,
        }
        assert json.loads(result(shop, name, begun["key"]).body) == before
        shop.ask(begun["url"], {"search_query": "lamp"})
        after_search = json.loads(result(shop, name, begun["key"]).body)
        assert after_search == {**before, "steps": 1}
        assert shop.ask(purchase(name, goals[index])).status == 200
        done = json.loads(result(shop, name, begun["key"]).body)
        assert (done["done"], done["reward"], done["success"]) == (True, 1.0, True)
        assert done["steps"] == 2
        assert done["reward_parts"]
        assert shop.log is not None
        logged = shop.log.find(name)
        assert logged is not None
        assert logged.bought is not None
        assert done["reward_parts"] == logged.bought.parts


def test_a_wrong_purchase_is_no_success(shop: Shop, little: Catalog) -> None:
    goals = little.goals("synthetic")
    begun = begin(shop, {"goal": 4})
    other = next(product for product in little if product.asin != goals[4].asin)
    address = build(Address(DONE, begun["session"], asin=other.asin, options=()))
    assert shop.ask(address).status == 200
    done = json.loads(result(shop, begun["session"], begun["key"]).body)
    assert done["done"]
    assert not done["success"]
    assert 0.0 <= done["reward"] < 1.0


def test_a_browser_chooses_a_goal_by_the_address(shop: Shop, little: Catalog) -> None:
    goals = little.goals("synthetic")
    for method in ("GET", "POST"):
        door = shop.ask("/?goal=7", method=method, follow=False)
        assert door.status == 303
        name = door.headers["location"].removeprefix("/")
        assert re.fullmatch("[0-9a-f]{24}", name)
        found = re.fullmatch(
            rf"errands-key=([A-Za-z0-9_-]{{32}}); Path=/api/sessions/{name}/result; HttpOnly;"
            " SameSite=Strict",
            door.headers["set-cookie"],
        )
        assert found
        assert goals[7].instruction_text in html.unescape(shop.ask(f"/{name}").text)
        told = result(shop, name, None, Cookie=f"other=1; errands-key={found[1]}")
        assert json.loads(told.body)["goal"] == 7
        assert json.loads(result(shop, name, found[1]).body)["goal"] == 7


def test_people_get_no_cookie(shop: Shop) -> None:
    for address in ("/", "/somebody", "/?other=4", "/fixed_4"):
        assert "set-cookie" not in shop.ask(address, follow=False).headers


def test_without_a_goal_one_is_sampled(shop: Shop, little: Catalog) -> None:
    drawn = {begin(shop, body)["goal"] for body in (None, {}, {"goal": None}) for _ in range(5)}
    assert len(drawn) > 1
    assert drawn <= set(range(len(little.goals("synthetic"))))


def test_nobody_else_is_told(shop: Shop, little: Catalog) -> None:
    mine, other = begin(shop, {"goal": 4}), begin(shop, {"goal": 5})
    name = mine["session"]
    shop.ask(purchase(name, little.goals("synthetic")[4]))
    refused = [
        result(shop, name, None),
        result(shop, name, ""),
        result(shop, name, other["key"]),
        result(shop, name, mine["key"][:-1]),
        result(shop, name, mine["key"] + "A"),
        result(shop, name, None, Authorization=f"Basic {mine['key']}"),
        result(shop, name, None, Cookie=f"errands-key={other['key']}"),
        result(shop, name, None, Cookie="errands-key=\xff\xfe; ="),
        result(shop, name, None, Cookie='errands-key="\\400"'),
        result(shop, "nobody", None),
        result(shop, "nobody", mine["key"]),
        result(shop, "fixed_4", mine["key"]),
        result(shop, "%ff", mine["key"]),
    ]
    assert len({(answer.status, answer.body) for answer in refused}) == 1, "alike for all"
    assert refused[0].status == 403
    error = json.loads(refused[0].body)["error"]
    assert error["code"] == "wrong_key"
    assert "POST /api/sessions" in error["message"]
    assert result(shop, name, mine["key"], Origin="http://elsewhere.example").status == 403
    assert shop.log is not None
    assert shop.log.find("nobody") is None, "who asks for a result begins no session"


@pytest.mark.parametrize(
    ("body", "status", "complaint"),
    [
        (b"{", 400, "not JSON"),
        (b"[]", 400, "Expected `object`"),
        (b'{"goal": "4"}', 400, "`$.goal`"),
        (b'{"goal": -1}', 400, ">= 0"),
        (b'{"goal": 4.5}', 400, "`$.goal`"),
        (b'{"goal": 1e400}', 400, "message"),
        (b'{"gaol": 4}', 400, "unknown field `gaol`"),
        (b'{"goal": 999999}', 404, "There is no goal 999999; expected 0 to "),
        (b" " * 1025, 413, "the most is 1024"),
    ],
)
def test_nonsense_is_one_sentence(shop: Shop, body: bytes, status: int, complaint: str) -> None:
    answer = shop.ask("/api/sessions", body, method="POST")
    assert answer.status == status
    assert complaint in json.loads(answer.body)["error"]["message"]


def test_other_methods_are_refused(shop: Shop) -> None:
    for path, method, allowed in (
        ("/api/sessions", "GET", "POST"),
        ("/api/sessions", "DELETE", "POST"),
        ("/api/sessions/x/result", "POST", "GET"),
    ):
        answer = shop.ask(path, method=method)
        assert (answer.status, answer.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize("wanted", ["x", "-1", "", "4.0", "9" * 30, "999999", "٤", "%ff"])
def test_a_goal_that_is_not_there_is_a_page_that_says_so(shop: Shop, wanted: str) -> None:
    from urllib.parse import quote

    address = f"/?goal={wanted if wanted.startswith('%') else quote(wanted)}"
    answer = shop.ask(address, follow=False)
    assert answer.status == 404
    assert "There is no" in answer.text
    assert "set-cookie" not in answer.headers


def test_keys_outlive_the_server_and_belong_to_their_store(little: Catalog, tmp_path: Path) -> None:
    with shop_served(little, tmp_path / "one.sqlite", most=1) as running:
        begun = begin(running, {"goal": 4})
        begin(running, {"goal": 5})  # The first one is no longer in memory.
        running.ask(purchase(begun["session"], little.goals("synthetic")[4]))
        first = result(running, begun["session"], begun["key"]).body
        assert json.loads(first)["reward"] == 1.0
    with shop_served(little, tmp_path / "one.sqlite") as running:
        assert result(running, begun["session"], begun["key"]).body == first
    with shop_served(little, tmp_path / "two.sqlite") as running:
        assert result(running, begun["session"], begun["key"]).status == 403


def test_there_are_only_so_many_unfinished_sessions(little: Catalog, tmp_path: Path) -> None:
    with shop_served(little, tmp_path / "log.sqlite", visitors=2) as running:
        begun = begin(running, {"goal": 4})
        begin(running)
        full = running.ask("/api/sessions", b'{"goal": 4}', method="POST")
        assert full.status == 503
        assert "Too many sessions are unfinished" in full.text
        assert running.ask("/?goal=4", follow=False).status == 503
        running.ask(purchase(begun["session"], little.goals("synthetic")[4]))
        begin(running, {"goal": 4})


def test_the_website_stays_open_where_programs_need_a_token(
    little: Catalog, tmp_path: Path
) -> None:
    with shop_served(little, tmp_path / "log.sqlite", token="s3cret") as running:
        begun = begin(running, {"goal": 4})
        assert result(running, begun["session"], begun["key"]).status == 200


def test_before_the_purchase_goals_cannot_be_told_apart(little: Catalog, tmp_path: Path) -> None:
    """Goals that agree in their words alone give the same results."""
    stored = little.goals("synthetic")
    told = []
    for place, target in enumerate((stored[1], stored[2])):
        goal = msgspec.structs.replace(target, instruction_text="something nice")
        goals = ListedGoals("own", [goal], stored.price)
        with shop_served(little, tmp_path / f"{place}.sqlite", goals=goals) as running:
            begun = begin(running, {"goal": 0})
            running.ask(begun["url"], {"search_query": "lamp"})
            answer = json.loads(result(running, begun["session"], begun["key"]).body)
            told.append({**answer, "session": ""})
    assert told[0] == told[1]


def test_the_original_addresses_are_as_before(shop: Shop) -> None:
    for name in ("fixed_4", "abc", "api"):
        assert shop.ask(f"/{name}").status == 200
    assert shop.ask("/api/else").status == 404
    assert "/api/sessions/{session}/result" in json.loads(shop.ask("/openapi.json").body)["paths"]


def test_a_shop_of_this_process_is_shopped_in_the_same_way(little: Catalog) -> None:
    address = serve_shop(ShopConfig(little, "synthetic", observation="html"))
    goal = little.goals("synthetic")[4]

    def ask(path: str, body: bytes | None = None, **headers: str) -> Any:
        request = urllib.request.Request(f"{address}{path}", body, headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read().decode()

    begun = json.loads(ask("/api/sessions", b'{"goal": 4}'))
    assert goal.instruction_text in html.unescape(ask(begun["url"]))
    ask(purchase(begun["session"], goal))
    place = f"/api/sessions/{begun['session']}/result"
    told = json.loads(ask(place, Authorization=f"Bearer {begun['key']}"))
    assert (told["done"], told["reward"]) == (True, 1.0)


def test_visitors_who_are_away_make_room(little: Catalog, tmp_path: Path) -> None:
    """Those who took steps, and not those who are in the middle of it."""
    place = tmp_path / "log.sqlite"
    step = {"search_query": "lamp"}
    with shop_served(little, place, visitors=4, idle_seconds=1000.0) as running:
        goal = little.goals("synthetic")[4]
        bought = begin(running, {"goal": 4})
        running.ask(purchase(bought["session"], goal))
        for name in ("first", "second", "third", "fourth"):
            assert running.ask(f"/{name}", step).status == 200
        # The one who came first took a step last.
        assert running.ask("/first", {"search_query": "sofa"}).status == 200
        assert running.ask("/one-more").status == 503, "all of them were here a moment ago"
        log = running.log
        assert log is not None
        with log._database.writing() as run:
            names = ("first", "second", "third")
            for age, name in zip((3500, 4000, 5000), names, strict=True):
                run(
                    "UPDATE steps SET at = at - ? WHERE session ="
                    " (SELECT number FROM sessions WHERE name = ?)",
                    (age, name),
                )
            run("UPDATE sessions SET began = began - 9000")
    with shop_served(little, place, visitors=4, idle_seconds=1000.0) as running:
        assert running.log is not None
        assert running.ask("/one-more").status == 200
        left = {session.name for session in running.log.sessions()}
        assert left == {bought["session"], "first", "second", "fourth", "one-more"}
        assert len(running.steps("first")) == 3


def test_visitors_who_take_no_step_make_room(little: Catalog, tmp_path: Path) -> None:
    place = tmp_path / "log.sqlite"

    def filled(shop: Shop, name: str) -> list[int]:
        return [shop.ask(f"/{name}{number}").status for number in range(4)]

    with shop_served(little, place, visitors=3, idle_seconds=1000.0) as running:
        assert running.ask("/walker", {"search_query": "lamp"}).status == 200
        assert filled(running, "a") == [200, 200, 503, 503]
    # All that are idle are forgotten, but for the last one.
    with shop_served(little, place, visitors=3, idle_seconds=0.0) as running:
        assert running.log is not None
        assert running.ask("/honest").status == 200
        names = [session.name for session in running.log.sessions()]
        assert names == ["walker", "a1", "honest"]
        assert len(running.steps("walker")) == 2
        numbers = [session.number for session in running.log.sessions()]
        assert numbers == [1, 3, 4], "no number is given twice"
