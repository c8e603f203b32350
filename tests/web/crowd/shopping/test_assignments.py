"""Workers who are sent shopping: what they see, what is noted, what they cannot do."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from crowd_site import Visitor, admin, call, invited, text_of
from shop_served import Shop, shop_served
from shopping_served import ADMIN, OWN, begin, buy, goal_of, read

from errands.crowd.shopping.assignments import completion_code
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import DONE
from errands.shop.urls import Address, build
from errands.web.crowd.shopping.assignments import state_badge


@pytest.fixture(scope="module")
def shop(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop_served(little, tmp_path_factory.mktemp("office") / "site.sqlite") as running:
        yield running


def test_an_errand_from_the_link_to_the_pay(shop: Shop, little: Catalog) -> None:
    token = invited(shop, "Ann <b>")
    visitor, own = Visitor(shop), f"/work/{token}/shopping"
    assert own in visitor.get(f"/work/{token}").text
    first = visitor.get(own)
    assert "first 5 assignments are a trial" in text_of(first)
    assert "Do not paste the whole sentence" in text_of(first)
    assert read(call(shop, "GET", OWN, token=token))["errands"] == [], "looking begins nothing"
    out = visitor.post(own)
    [errand] = read(call(shop, "GET", OWN, token=token))["errands"]
    assert errand["instruction"] in text_of(out)
    assert f'href="{errand["address"]}"' in out.text
    name = errand["address"][1:]
    goal = little.goals("synthetic")[goal_of(shop, name)]
    assert goal.asin not in out.text
    assert "goal" not in errand
    assert visitor.post(own).status == 409, "one at a time"
    reward = buy(shop, little, name)
    assert reward == 1.0
    seen = visitor.get(own)
    assert "Recorded." in text_of(seen)
    assert "$0.70" in text_of(seen)
    wrong = visitor.post(f"{own}/code", {"code": "0123456789"})
    assert wrong.status == 400
    assert "not the code of one of your assignments" in text_of(wrong)
    done = visitor.post(f"{own}/code", {"code": f" {completion_code(name).lower()} "})
    assert "Your code was accepted." in text_of(done)
    again = visitor.post(f"{own}/code", {"code": completion_code(name)})
    assert again.status == 409
    assert "counts once" in text_of(again)
    told = read(call(shop, "GET", OWN, token=token))
    assert (told["done"], told["earned"], told["standing"]) == (1, 0.7, "trying")
    assert "1 done, $0.70 earned" in text_of(visitor.get(f"/work/{token}"))


def test_nothing_of_others(shop: Shop, little: Catalog) -> None:
    bea, eve = invited(shop, "Bea"), invited(shop, "Eve")
    name = begin(shop, bea)
    assert name not in call(shop, "GET", OWN, token=eve).text
    early = call(shop, "POST", f"{OWN}/code", {"code": completion_code(name)}, token=bea)
    assert early.status == 409
    assert "nothing has been bought" in early.text
    buy(shop, little, name)
    stolen = call(shop, "POST", f"{OWN}/code", {"code": completion_code(name)}, token=eve)
    assert stolen.status == 400
    assert call(shop, "POST", f"{OWN}/return", token=eve).status == 409
    assert read(call(shop, "GET", OWN, token=eve))["earned"] == 0
    assert call(shop, "POST", OWN, token="guess").status == 401
    assert call(shop, "POST", OWN).status == 403, "the admin is no worker"
    assert Visitor(shop).get("/work/guess/shopping").status == 404
    assert call(shop, "GET", ADMIN, token=eve).status == 403
    read(call(shop, "POST", f"{OWN}/code", {"code": completion_code(name)}, token=bea))


def test_no_stranger_learns_what_a_worker_is_out_for(shop: Shop, little: Catalog) -> None:
    """A worker might try out another session for the same goal, and read its score page."""
    token = invited(shop, "Sly")
    name = begin(shop, token)
    number = goal_of(shop, name)
    goal = little.goals("synthetic")[number]
    spy = build(Address(DONE, f"spy_fixed_{number}", asin=goal.asin))
    refused = shop.ask(spy)
    assert refused.status == 409
    assert "/" in refused.links("/")
    assert 'id="goal-asin"' not in refused.text
    assert shop.log is not None
    assert shop.log.find(f"spy_fixed_{number}").bought is None  # type: ignore[union-attr]
    buy(shop, little, name)
    assert 'id="goal-asin"' in shop.ask(spy).text, "afterwards it is no secret"


def test_given_back_and_never_again(shop: Shop, little: Catalog) -> None:
    token = invited(shop, "Gus")
    visitor, own = Visitor(shop), f"/work/{token}/shopping"
    name = begin(shop, token)
    assert visitor.post(f"{own}/return").status == 200
    again = visitor.post(f"{own}/return")
    assert again.status == 409
    assert again.links(f"/work/{token}"), "a refusal is no dead end"
    buy(shop, little, name)
    told = read(call(shop, "GET", OWN, token=token))
    assert (told["done"], told["earned"]) == (0, 0), "what was given back is not paid"
    code = {"code": completion_code(name)}
    assert call(shop, "POST", f"{OWN}/code", code, token=token).status == 409
    assert goal_of(shop, begin(shop, token)) != goal_of(shop, name)


def test_the_trial_decides_and_the_admin_may_overrule(little: Catalog, tmp_path: Path) -> None:
    with shop_served(little, tmp_path / "site.sqlite") as shop:
        good, bad = invited(shop, "Good"), invited(shop, "Bad")
        for _ in range(5):
            buy(shop, little, begin(shop, good))
            buy(shop, little, begin(shop, bad), well=False)
        refused = call(shop, "POST", OWN, token=bad)
        assert refused.status == 409
        assert "no more shopping" in refused.text
        told = read(call(shop, "GET", f"{ADMIN}?trials=1"))
        first, second = told["workers"]
        assert (first["standing"], first["is_expert"]) == ("qualified", True)
        assert (second["standing"], second["is_expert"]) == ("refused", False)
        assert (told["finished"], told["all"]["outings"]) == (10, 10)
        assert told["experts"]["score"] == 100.0
        assert told["paid"] == pytest.approx(7.0)
        assert read(call(shop, "GET", ADMIN))["all"]["outings"] == 0, "trials are left out"
        visitor = admin(shop)
        visitor.get("/office/demonstrations")
        visitor.post(f"/office/demonstrations/workers/{second['id']}", {"verdict": "granted"})
        assert "by hand" in text_of(visitor.get("/office/demonstrations"))
        begin(shop, bad)
        one = f"{ADMIN}/workers/{first['id']}"
        read(call(shop, "PATCH", one, {"verdict": "refused"}))
        assert call(shop, "POST", OWN, token=good).status == 409
        read(call(shop, "PATCH", one, {"verdict": "results"}))
        begin(shop, good)
        assert call(shop, "PATCH", one, {"verdict": "perhaps"}).status == 400
        assert call(shop, "PATCH", f"{ADMIN}/workers/1", {"verdict": "granted"}).status == 404


def test_the_admins_pages(shop: Shop, little: Catalog) -> None:
    token = invited(shop, "Flo <i>")
    name = begin(shop, token)
    buy(shop, little, name)
    visitor = admin(shop)
    page = visitor.get("/office/demonstrations")
    assert "Flo &lt;i&gt;" in page.text
    steps = visitor.get(f"/office/demonstrations/{name}")
    assert "click[buy now]" in text_of(steps)
    walk = read(call(shop, "GET", f"{ADMIN}/outings/{name}"))
    assert [step["action"] for step in walk["steps"]] == [s.action for s in shop.steps(name)]
    assert walk["outing"]["pay"] == 0.7
    assert visitor.get("/office/demonstrations/nobody").status == 404
    assert name not in visitor.get(f"/office/demonstrations?before={walk['outing']['number']}").text
    assert visitor.get("/office/demonstrations?before=x").status == 400
    listed = read(call(shop, "GET", f"{ADMIN}/outings?most=1"))["outings"]
    assert len(listed) == 1
    assert call(shop, "GET", f"{ADMIN}/outings?most=x").status == 400
    lines = visitor.get("/office/demonstrations/run.jsonl?trials=1").text.splitlines()
    episodes = [json.loads(line) for line in lines]
    assert {one["agent"] for one in episodes} == {"human"}
    assert episodes[-1]["steps"][-1]["action"] == "click[buy now]"
    assert "[button]" in episodes[-1]["steps"][-1]["observation"]
    assert call(shop, "GET", f"{ADMIN}/run.jsonl?trials=1").text.splitlines() != []
    for query in ("who=all", "min_reward=x", "min_reward=7", "worker=x", "worker=99999"):
        assert call(shop, "GET", f"{ADMIN}/run.jsonl?{query}").status == 400, query
    assert Visitor(shop).get("/office/demonstrations/run.jsonl", follow=False).status == 303


def test_settings(little: Catalog, tmp_path: Path) -> None:
    with shop_served(little, tmp_path / "site.sqlite") as shop:
        visitor = admin(shop)
        visitor.get("/office/demonstrations")
        form = {"split": "test", "trial_split": "test", "per_goal": "2", "hours": "0.5"}
        form |= {"pay": "1.25", "trials": "0", "bar": "0.5", "is_open": "1", "budget": "50"}
        assert visitor.post("/office/demonstrations/settings", form).status == 200
        held = read(call(shop, "GET", ADMIN))["settings"]
        assert (held["pay"], held["trials"], held["split"]) == (1.25, 0, "test")
        token = invited(shop, "Ida")
        assert goal_of(shop, begin(shop, token)) < 500
        assert read(call(shop, "GET", OWN, token=token))["errands"][0]["offered"] == 1.25
        for wrong in ({"pay": "x"}, {"hours": "0"}, {"split": "none"}, {"per_goal": "0"}):
            visitor.get("/office/demonstrations")
            answer = visitor.post("/office/demonstrations/settings", {**form, **wrong})
            assert answer.status == 400, wrong
        assert call(shop, "PUT", f"{ADMIN}/settings", {"pay": -1}).status == 400
        read(call(shop, "PUT", f"{ADMIN}/settings", {**held, "is_open": False}))
        closed = call(shop, "POST", OWN, token=invited(shop, "Jim"))
        assert closed.status == 409


@pytest.mark.parametrize(
    ("state", "reward", "is_green"),
    [("done", 1.0, True), ("done", 0.1, True), ("done", 0.0, False), ("open", None, False)],
)
def test_green_is_for_purchases_that_were_worth_something(
    state: str, reward: float | None, is_green: bool
) -> None:
    assert ("won" in state_badge(state, reward)) is is_green


def test_strangers_cannot_fill_the_store(little: Catalog, tmp_path: Path) -> None:
    place = tmp_path / "site.sqlite"
    with shop_served(little, place, visitors=3) as shop:
        for number in range(3):
            assert shop.ask(f"/s{number}").status == 200
        full = shop.ask("/s3")
        assert full.status == 503
        assert "no new one can begin" in text_of(full)
        name = begin(shop, invited(shop, "Kim"))
        assert shop.ask(f"/{name}").status == 200, "workers are not strangers"
        assert shop.ask("/s1").status == 200
        asin = next(iter(little)).asin
        assert shop.ask(build(Address(DONE, "s1", asin=asin))).status == 200
        assert shop.ask("/s3").status == 200
        assert shop.ask("/s4").status == 503
    with shop_served(little, place, visitors=3) as shop:
        assert shop.ask("/s4").status == 503
        assert shop.ask(f"/{name}").status == 200


def test_an_office_without_a_shop(little: Catalog, tmp_path: Path) -> None:
    with shop_served(little, tmp_path / "site.sqlite", has_site=False) as shop:
        assert "has no shop" in text_of(admin(shop).get("/office/demonstrations"))
        token = invited(shop, "Lou")
        assert "Shopping" not in Visitor(shop).get(f"/work/{token}").text
        assert call(shop, "POST", OWN, token=token).status == 404
