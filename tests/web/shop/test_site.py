"""The shop's website over HTTP: the pages, the errand, the purchase, the log of it."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import gymnasium
import pytest
from shop_served import Shop, shop_served

import errands.envs  # noqa: F401
from errands.crowd.database import open_database
from errands.crowd.shopping.assignments import completion_code
from errands.crowd.store.sqlite import SqliteDatabase
from errands.errors import ErrandsError
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import DETAILS, DONE, ITEM, RESULTS, SEARCH
from errands.shop.product import Product
from errands.shop.urls import Address, build, parse
from errands.web.server import SiteConfig, open_log, open_shop


@pytest.fixture(scope="module")
def shop(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop_served(little, tmp_path_factory.mktemp("site") / "log.sqlite") as running:
        yield running


@pytest.fixture(scope="module")
def wanted(little: Catalog) -> Product:
    """A product with two groups of options or more."""
    return next(product for product in little if len(product.options) >= 2)


def chosen(product: Product) -> tuple[tuple[str, str], ...]:
    return tuple((name, values[-1]) for name, values in product.options.items())


def words(product: Product) -> str:
    return re.sub(r"[^a-z ]", "", product.title.lower())


def test_a_new_session_each_time(shop: Shop) -> None:
    doors = [
        shop.ask(path, method=method, follow=False)
        for path, method in (("/shop/new", "GET"), ("/shop/new", "POST"), ("/", "POST"))
    ]
    assert [answer.status for answer in doors] == [303, 303, 303]
    first, *others = (answer.headers["location"] for answer in doors)
    assert len({first, *others}) == 3
    page = shop.ask(first)
    assert page.status == 200
    assert 'id="search_input"' in page.text


def test_a_fixed_session_has_its_goal_and_keeps_it(shop: Shop, little: Catalog) -> None:
    goals = little.goals("synthetic")
    for index in (0, 7, len(goals) - 1):
        for _ in range(2):
            page = shop.ask(f"/fixed_{index}").text
            assert goals[index].instruction_text.replace("&", "&amp;") in page.replace(
                "&#x27;", "'"
            ).replace("&quot;", '"')
    for name in (f"fixed_{len(goals)}", "fixed", "fixed_", "fixed_x", "fixed_99999999999"):
        answer = shop.ask(f"/{name}")
        assert answer.status == 404
        assert f"fixed_{len(goals) - 1}" in answer.text


def test_other_sessions_draw_by_the_seed_in_their_order(little: Catalog, tmp_path: Path) -> None:
    def drawn(name: str, seed: int, cut: bool) -> list[int]:
        path = tmp_path / f"{name}.sqlite"
        names = [f"{name}-{place}" for place in range(8)]
        for some in (names[:3], names) if cut else (names,):
            with shop_served(little, path, seed=seed) as running:
                for session in some:
                    assert running.ask(f"/{session}").status == 200
                assert running.log is not None
                goals = [session.goal for session in running.log.sessions()]
        return goals

    assert drawn("a", 3, cut=False) == drawn("b", 3, cut=True) != drawn("c", 4, cut=False)


def test_asking_for_the_head_does_nothing(shop: Shop, wanted: Product) -> None:
    assert shop.log is not None
    before = len(shop.log.sessions())
    for path, status in (
        ("/head", 200),
        (build(Address(RESULTS, "head", "lamp")), 200),
        (build(Address(DONE, "head", asin=wanted.asin, options=chosen(wanted))), 200),
        ("/shop/new", 303),
        ("/?goal=4", 303),
        ("/fixed_999999", 404),
        ("/é%20", 404),
        (build(Address(DONE, "head", asin="B000000000")), 404),
    ):
        answer = shop.ask(path.replace("é", "%C3%A9"), method="HEAD", follow=False)
        assert (answer.status, answer.body) == (status, b""), path
        # A page's length is not known before it is made.
        assert ("content-length" in answer.headers) is (status == 404)
    assert len(shop.log.sessions()) == before
    [sheet] = re.findall(r'<link rel="stylesheet" href="([^"]+)"', shop.ask("/x11").text)
    length = shop.ask(sheet, method="HEAD").headers["content-length"]
    assert int(length) == len(shop.ask(sheet).body)


def test_a_slash_too_many_is_taken_away(shop: Shop) -> None:
    answer = shop.ask("/somebody/", follow=False)
    assert (answer.status, answer.headers["location"]) == (303, "/somebody")
    odd = shop.ask("/\\example.org/", follow=False)
    assert odd.headers["location"] == "/%5Cexample.org"
    assert shop.ask("//example.org//", follow=False).status == 404


def test_people_see_prices_with_two_decimals_and_programs_the_originals(
    shop: Shop, little: Catalog
) -> None:
    product = next(one for one in little if one.price_tag.endswith(".0"))
    page = shop.ask(build(Address(ITEM, "x12", "a", 1, product.asin))).text
    label = f"${product.prices[-1]:,.2f}"
    assert f'{label}">Price: {product.price_tag}</p>' in page
    found = shop.ask("/x12", {"search_query": words(product)}).text
    assert f'data-label="{label}">{product.price_tag}</h5>' in found
    done = shop.ask(build(Address(DONE, "x12", asin=product.asin))).text
    assert f'data-label="{label}">{product.price_tag}</p>' in done


def test_an_errand_from_door_to_score(shop: Shop, little: Catalog, wanted: Product) -> None:
    name = "fixed_3"
    found = shop.ask(f"/{name}", {"search_query": words(wanted).upper()})
    assert found.status == 200
    assert "Total results" in found.text
    item = shop.ask(next(link for link in found.links("/item_page/") if wanted.asin in link))
    assert wanted.asin in item.links("/done/")[0]
    address = None
    for group, value in chosen(wanted):
        links = [parse(link) for link in item.links("/item_page/")]
        address = next(
            link for link in links if link is not None and dict(link.options).get(group) == value
        )
        item = shop.ask(build(address))
        assert item.status == 200
    for detail in ("Description", "Features", "Reviews"):
        [link] = [link for link in item.links("/item_sub_page/") if f"/{detail}/" in link]
        assert shop.ask(link).status == 200
        assert shop.ask(build(address)).status == 200  # type: ignore[arg-type]
    [buy] = item.links("/done/")
    assert parse(buy) == Address(DONE, name, asin=wanted.asin, options=chosen(wanted))
    done = shop.ask(buy, {})
    assert done.status == 200

    env = gymnasium.make("errands/Shop-v0", catalog=little)
    env.reset(options={"goal": 3})
    steps = shop.steps(name)
    assert [step.number for step in steps] == list(range(len(steps)))
    for step in steps[1:]:
        assert step.exact
        assert step.source == step.number - 1
        _, reward, terminated, _, info = env.step(step.action)
    assert terminated
    assert steps[1].action == f"search[{words(wanted)}]"
    assert steps[-1].action == "click[buy now]"
    assert f"<pre>{reward!r}</pre>" in done.text
    assert shop.log is not None
    session = shop.log.find(name)
    assert session is not None
    assert session.bought is not None
    assert (session.bought.reward, session.bought.parts) == (reward, info["reward_parts"])
    assert [at.at for at in steps] == sorted(at.at for at in steps)


def test_every_part_of_the_score_is_explained_and_the_goal_told(
    shop: Shop, little: Catalog, wanted: Product
) -> None:
    goal = little.goals("synthetic")[5]
    target = little[goal.asin]
    options = goal.goal_options
    assert isinstance(options, dict)
    path = build(Address(DONE, "fixed_5", asin=target.asin, options=tuple(options.items())))
    page = shop.ask(path).text
    assert "<pre>1.0</pre>" in page
    for part in ("Kind of product", "Properties", "Options", "Price", "Together"):
        assert f"<dt>{part}</dt>" in page
    assert f'<dd id="goal-asin">{goal.asin}</dd>' in page
    assert completion_code("fixed_5") in page
    # Again and again the same page, and it counts once.
    bought = shop.metric("errands_site_purchases_total")
    assert shop.ask(path).text == page
    assert shop.ask(path, {}).text == page
    other = build(Address(DONE, "fixed_5", asin=wanted.asin))
    for form in (None, {}):
        refused = shop.ask(other, form)
        assert refused.status == 409
        assert path in refused.links("/done/")
    assert shop.metric("errands_site_purchases_total") == bought
    steps = shop.steps("fixed_5")
    assert shop.ask("/fixed_5").status == 200
    assert shop.steps("fixed_5") == steps


def test_what_does_not_exist_cannot_be_bought(shop: Shop, wanted: Product) -> None:
    name, value = chosen(wanted)[0]
    cases = [
        (Address(DONE, "x1", asin="B000000000"), 404),
        (Address(DONE, "x1", asin=wanted.asin, options=((name, "no such value"),)), 400),
        (Address(DONE, "x1", asin=wanted.asin, options=(("no such option", value),)), 400),
        (Address(ITEM, "x1", "a", 1, wanted.asin, ((name, "no such value"),)), 400),
        (Address(ITEM, "x1", "a", 1, "B000000000"), 404),
        (Address("attributes", "x1", "a", 1, wanted.asin), 404),
        (Address(RESULTS, "x1", "a", 0), 404),
    ]
    for address, status in cases:
        for form in (None, {}):
            answer = shop.ask(build(address), form)
            assert answer.status == status, address
            assert answer.headers["content-type"].startswith("text/html")
            assert "/x1" in answer.links("/x1")
    assert [step.action for step in shop.steps("x1")] == [""]
    assert shop.log is not None
    assert shop.log.find("x1").bought is None  # type: ignore[union-attr]


def test_attributes_only_where_they_are_allowed(
    little: Catalog, wanted: Product, tmp_path: Path, shop: Shop
) -> None:
    item = build(Address(ITEM, "x2", "a", 1, wanted.asin))
    assert "Attributes" not in shop.ask(item).text
    with shop_served(little, tmp_path / "log.sqlite", attrs=True) as showing:
        [link] = showing.ask(item).links("/Attributes/")
        assert wanted.attributes[0] in showing.ask(link).text


def test_get_and_post_are_alike(shop: Shop, wanted: Product) -> None:
    here = Address(SEARCH, "x3", "lamp", 1, wanted.asin)
    for page in (SEARCH, RESULTS, ITEM, *DETAILS[:-1]):
        path = build(here._replace(page=page))
        assert shop.ask(path).text == shop.ask(path, {"anything": "else"}).text
    # A form without words shows the search page.
    assert "search_input" in shop.ask("/x3", {"search_query": " "}).text


def test_other_methods_and_unknown_addresses_get_a_page(shop: Shop) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        answer = shop.ask("/x4", method=method)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, POST")
        assert "<h1>" in answer.text
    for path in ("/favicon.ico", "/a/b", "/search_results/x4/a/x", "//", "/%ff", "/a%00b"):
        answer = shop.ask(path)
        assert answer.status == 404, path
        assert "<h1>There is no such page</h1>" in answer.text
    assert shop.log is not None
    assert shop.log.find("x4") is None


def test_a_query_may_hold_anything(shop: Shop) -> None:
    for place, query in enumerate(["a/b", "?#%2f", "l'eau \"d'or\"", "[lamp]", "ü 灯 🛋", "a+b"]):
        name = f"x5-{place}"
        answer = shop.ask(f"/{name}", {"search_query": query}, follow=False)
        address = parse(answer.headers["location"])
        assert address == Address(RESULTS, name, query)
        assert shop.ask(answer.headers["location"]).status == 200
        step = shop.steps(name)[-1]
        assert step.action == f"search[{query}]"
        # The environment's actions have no way to say a bracket.
        assert step.exact == ("[" not in query)


class Texts(HTMLParser):
    """The text nodes of a document's body."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.nodes: list[str] = []
        self.feed(source.partition("<body")[2].partition(">")[2])

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.nodes.append(data.strip())


def test_people_who_click_about_see_what_agents_see(shop: Shop, little: Catalog) -> None:
    dice = random.Random(8)
    env = gymnasium.make("errands/Shop-v0", catalog=little, show_attrs=False)
    queries = [words(little.product_at(place)) for place in range(20)]
    kinds: Counter[str] = Counter()
    for goal in range(30, 36):
        name = f"fixed_{goal}"
        page = shop.ask(f"/{name}")
        observation, _ = env.reset(options={"goal": goal})
        for number in range(1, 26):
            seen = [node.strip() for node in observation.split(" [SEP] ") if node.strip()]
            assert Texts(page.text).nodes == seen
            before = shop.steps(name)[-1]
            links = [link for link in page.links("/") if link.startswith(("/item", "/search"))]
            links = [link for link in links if link != before.address]
            if not links or dice.random() < 0.15:
                page = shop.ask(f"/{name}", {"search_query": f"{dice.choice(queries)} {number}"})
            else:
                page = shop.ask(dice.choice(links))
            assert page.status == 200
            for step in shop.steps(name)[before.number + 1 :]:
                assert (step.exact, step.source) == (True, step.number - 1)
                observation, *_ = env.step(step.action)
                kinds[step.page] += 1
    assert kinds.keys() >= {RESULTS, ITEM, *DETAILS[:-1]}
    assert kinds.total() > 6 * 25  # some links lead over two pages


def test_going_back_and_other_tabs_are_told_from_clicks(shop: Shop, wanted: Product) -> None:
    name = "x6"
    results = Address(RESULTS, name, words(wanted))
    item = results._replace(page=ITEM, asin=wanted.asin)
    (group, value), *_ = chosen(wanted)
    customised = item._replace(options=((group, value),))

    def come(address: Address, clicked_on: Address | None = None) -> None:
        sent = {"Referer": shop.url + build(clicked_on)} if clicked_on else {}
        assert shop.ask(build(address), headers=sent).status == 200

    come(Address(SEARCH, name))
    come(results)
    come(results)  # a reload
    come(item, results)
    come(customised, item)
    come(item, results)  # Back: no action takes a choice away, but the link of step 1 led there
    come(results._replace(number=2), results)  # clicked in another tab
    come(customised)  # typed
    told = [(s.number, s.action, s.source, s.exact) for s in shop.steps(name)]
    assert told == [
        (0, "", 0, True),
        (1, f"search[{words(wanted)}]", 0, True),
        (2, f"click[{wanted.asin.lower()}]", 1, True),
        (3, f"click[{value}]", 2, True),
        (4, f"click[{wanted.asin.lower()}]", 1, True),
        (5, "click[next >]", 1, True),
        (6, f"go[{build(customised)}]", 5, False),
    ]


def test_opened_products_are_marked_until_the_next_search_page(shop: Shop, wanted: Product) -> None:
    results = build(Address(RESULTS, "x7", words(wanted)))
    item = build(Address(ITEM, "x7", words(wanted), 1, wanted.asin))
    assert "data-seen" not in shop.ask(results).text
    shop.ask(item)
    assert shop.ask(results).text.count("data-seen") == 1
    shop.ask("/x7")
    assert "data-seen" not in shop.ask(results).text


def test_the_forgotten_go_on_from_the_log(little: Catalog, wanted: Product, tmp_path: Path) -> None:
    with shop_served(little, tmp_path / "log.sqlite", most=2) as shop:
        item = Address(ITEM, "first", "lamp", 1, wanted.asin)
        shop.ask(build(item._replace(page=RESULTS)))
        shop.ask(build(item))
        before = shop.ask("/first").text
        for place in range(5):
            shop.ask(f"/other-{place}")
        assert shop.metric("errands_site_shoppers ") == 2
        assert shop.ask("/first").text == before
        shop.ask(build(Address(DONE, "first", asin=wanted.asin)))
        done = shop.ask(build(Address(DONE, "first", asin=wanted.asin))).text
        for place in range(5):
            shop.ask(f"/other-{place}")
        assert shop.ask(build(Address(DONE, "first", asin=wanted.asin))).text == done
        assert shop.ask(build(Address(DONE, "first", asin=little.product_at(0).asin))).status in (
            200 if little.product_at(0).asin == wanted.asin else 409,
        )
        assert [step.number for step in shop.steps("first")] == [0, 1, 2, 3, 4]


def test_tidying_up_loses_nothing(little: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with shop_served(little, path) as shop:
        assert shop.database is not None
        shop.ask("/first")
        size = path.stat().st_size
        for number in range(1, 40):
            shop.ask(build(Address(RESULTS, "first", "lamp", number)))
        shop.database.tidy()
        assert path.stat().st_size > size
        assert len(shop.steps("first")) == 40


def test_what_cannot_be_logged_does_not_happen(
    little: Catalog, wanted: Product, tmp_path: Path
) -> None:
    with shop_served(little, tmp_path / "log.sqlite") as shop:
        assert shop.log is not None
        assert shop.ask("/first").status == 200
        assert isinstance(shop.database, SqliteDatabase)
        full = shop.database._connection
        full.execute("PRAGMA query_only = ON")
        buy = build(Address(DONE, "first", asin=wanted.asin))
        for path in (build(Address(RESULTS, "first", "lamp")), buy, "/second"):
            answer = shop.ask(path)
            assert answer.status == 503
            assert "closed for a moment" in answer.text
        # Nothing new is needed to see the same page again.
        assert shop.ask("/first").status == 200
        full.execute("PRAGMA query_only = OFF")
        assert shop.metric("errands_site_purchases_total") == 0
        assert [session.name for session in shop.log.sessions()] == ["first"]
        assert "Your score" in shop.ask(buy).text
        assert [step.number for step in shop.steps("first")] == [0, 1]


def test_pictures_and_the_style_sheet_may_be_kept_for_ever(shop: Shop, wanted: Product) -> None:
    page = shop.ask(build(Address(ITEM, "x8", "a", 1, wanted.asin))).text
    [source] = re.findall(r'<img id="product-image" src="([^"]+)"', page)
    [sheet] = re.findall(r'<link rel="stylesheet" href="([^"]+)"', page)
    assert source.startswith("/pictures/")
    drawings = re.findall(r'url\("([^"]+)"\)', shop.ask(sheet).text)
    for path in (source, sheet, *drawings):
        answer = shop.ask(path)
        assert answer.status == 200
        assert "immutable" in answer.headers["cache-control"]
    assert "<style" not in page
    assert "data:" not in page + shop.ask(sheet).text
    assert shop.ask("/pictures/nothing/1f6f8b/7.svg").status == 404
    assert shop.ask("/pictures/../../etc/passwd").status == 404


def test_an_option_changes_the_picture(shop: Shop, little: Catalog) -> None:
    product, name, value = next(
        (product, name, value)
        for product in little
        for name, values in product.options.items()
        for value in values
        if product.option_images.get(value) not in (None, product.image)
    )
    sources = [
        re.findall(r'<img id="product-image" src="([^"]+)"', shop.ask(build(address)).text)
        for address in (
            Address(ITEM, "x9", "a", 1, product.asin),
            Address(ITEM, "x9", "a", 1, product.asin, ((name, value),)),
        )
    ]
    assert sources[0] != sources[1]


def test_it_is_described_and_counted(shop: Shop) -> None:
    described = json.loads(shop.ask("/openapi.json").body)
    for path, item in described["paths"].items():
        names = {parameter["name"] for parameter in item.get("parameters", [])}
        assert names == set(re.findall(r"{(\w+)}", path))
    assert "/done/{session}/{asin}/{options}" in described["paths"]
    before = shop.metric('errands_site_pages_total{kind="search"}')
    shop.ask("/x10")
    assert shop.metric('errands_site_pages_total{kind="search"}') == before + 1
    assert shop.ask("/ready").status == shop.ask("/health").status == 200


def test_a_token_keeps_programs_out_and_lets_people_in(little: Catalog, tmp_path: Path) -> None:
    with shop_served(little, tmp_path / "log.sqlite", token="t0ken") as shop:
        assert shop.ask("/").status == 200
        assert shop.ask("/metrics").status == shop.ask("/v1/sessions").status == 401


def test_a_store_belongs_to_one_shop(little: Catalog, tmp_path: Path) -> None:
    path = str(tmp_path / "site.sqlite")
    setting = open_shop(little, "synthetic", SiteConfig())
    with open_database(path) as database:
        open_log(setting, database)
        open_log(setting, database)
        database.run("UPDATE about SET value = 'x' WHERE name = 'shop.catalogue'")
        with pytest.raises(ErrandsError, match="another shop"):
            open_log(setting, database)
