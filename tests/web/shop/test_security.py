"""What others might try on the shop's website."""

import json
import os
import re
import socket
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from effort import effort
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shop_served import Answer, Shop, shop_served

from errands.shop.build.builder import build_catalog
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import ListedGoals
from errands.shop.navigation import DETAILS, DONE, ITEM, RESULTS, SEARCH
from errands.shop.urls import Address, build

EVIL = "<script>alert(1)</script>"
QUOTE = "\" onmouseover='alert(2)' x=\""
IMAGE = "javascript:alert(3)"


class Reader(HTMLParser):
    """Fails on whatever could run."""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag not in ("iframe", "object", "embed", "base", "style"), tag
        if tag == "script":
            assert re.fullmatch(r"/style/[0-9a-f]{16}\.js", dict(attrs)["src"])
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            assert name != "style"
            if name in ("href", "src", "action", "data-url"):
                assert re.match(r"/(?!/)|https://", value), value


def check(answer: Answer) -> None:
    """No page holds anything that runs, and every page forbids it."""
    assert answer.status < 500
    Reader().feed(answer.text)
    policy = answer.headers["content-security-policy"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives == {
        "default-src": "'none'",
        "style-src": "'self'",
        "script-src": "'self'",
        "img-src": "'self' https:",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"


@pytest.fixture(scope="module")
def evil_catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Products whose every text is an attack."""
    folder = tmp_path_factory.mktemp("evil")
    items = [
        {
            "asin": f"B00000000{number}",
            "name": f"lamp {EVIL} {QUOTE}",
            "full_description": f"{EVIL}{QUOTE}</p></main>",
            "small_description": [EVIL, QUOTE, "<!--"],
            "pricing": "$10.00",
            "customization_options": {
                f"Color {QUOTE}": [
                    {"value": f"red {EVIL}", "image": IMAGE},
                    {"value": f"blue {QUOTE}", "image": 'https://example.org/x.jpg" onerror="x'},
                ]
            },
            "category": "garden",
            "query": "lamps",
            "product_category": "Home › Lamps",
            "images": [IMAGE if number % 2 else "//example.org/x.svg"],
        }
        for number in range(3)
    ]
    mined = {
        item["asin"]: {
            "attributes": [f"bright {EVIL}"],
            "instruction": f"find lamps {EVIL} {QUOTE}",
            "instruction_attributes": [f"bright {EVIL}"],
        }
        for item in items
    }
    (folder / "items.json").write_text(json.dumps(items))
    (folder / "ins.json").write_text(json.dumps(mined))
    build_catalog(
        folder / "out", items=folder / "items.json", attributes=folder / "ins.json", workers=1
    )
    return Catalog.open(folder / "out")


@pytest.fixture(scope="module")
def shop(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop_served(little, tmp_path_factory.mktemp("site") / "log.sqlite") as running:
        yield running


def test_no_text_of_others_runs(evil_catalog: Catalog, tmp_path: Path) -> None:
    with shop_served(evil_catalog, tmp_path / "log.sqlite", attrs=True) as shop:
        check(shop.ask("/fixed_0"))
        found = shop.ask("/fixed_0", {"search_query": f"lamp {EVIL} {QUOTE}"})
        check(found)
        assert "&lt;script&gt;" in found.text
        product = evil_catalog.product_at(0)
        [(name, values)] = product.options.items()
        for value in values:
            here = Address(ITEM, "fixed_0", EVIL + QUOTE, 1, product.asin, ((name, value),))
            for page in (RESULTS, ITEM, *DETAILS):
                answer = shop.ask(build(here._replace(page=page)))
                assert answer.status == 200
                check(answer)
        done = shop.ask(build(Address(DONE, "fixed_0", asin=product.asin, options=here.options)))
        assert done.status == 200
        assert "&lt;script&gt;" in done.text
        check(done)


def test_no_refusal_runs_either(shop: Shop, little: Catalog) -> None:
    asin = little.product_at(0).asin
    for path in (
        f"/{EVIL}",
        build(Address(ITEM, "e", "a", 1, asin, ((EVIL, QUOTE),))),
        build(Address(DONE, "e", asin=asin, options=((EVIL, QUOTE),))),
        build(Address(DONE, "e", asin=EVIL[:10])),
        build(Address(SEARCH, f"fixed_{EVIL}")),
    ):
        answer = shop.ask(path.replace(" ", "%20"))
        assert answer.status in (400, 404)
        check(answer)


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/style/../../errands/__init__.py",
        "/style/%2e%2e%2f%2e%2e%2fshop.css",
        "/pictures/..%2f..%2f..%2fetc/passwd/1.svg",
        "/pictures/shoe/1f6f8b/..%2f7.svg",
        "/item_page/x/..%2F..%2Fetc%2Fpasswd/a/1/%7B%7D",
        "//example.org/",
        "/\\example.org",
    ],
)
def test_no_path_leads_out(shop: Shop, path: str) -> None:
    answer = shop.ask(path, follow=False)
    assert answer.status == 404
    assert "root:" not in answer.text
    check(answer)


def test_what_is_too_long_is_refused(shop: Shop) -> None:
    for path, form, status in (
        ("/" + "a" * 20_000, None, 414),
        ("/search_results/s/" + "a" * 20_000 + "/1", None, 414),
        ("/" + "a" * 65, None, 404),
        ("/s", {"search_query": "a" * 1001}, 413),
        ("/s", {"search_query": "a" * 20_000}, 413),
        ("/s", b"&".join(b"a=1" for _ in range(1000)), 400),
    ):
        answer = shop.ask(path, form)
        assert answer.status == status
        check(answer)
    assert shop.ask("/s", {"search_query": "ü" * 1000}).status == 200
    assert shop.ask("/s", {"search_query": "🛋 " * 500}).status == 200


def test_a_page_from_elsewhere_cannot_buy(shop: Shop, little: Catalog) -> None:
    path = build(Address(DONE, "victim", asin=little.product_at(0).asin))
    for origin in ("https://example.org", "null"):
        assert shop.ask(path, {}, headers={"Origin": origin}).status == 403
    assert shop.log is not None
    assert shop.log.find("victim") is None
    assert shop.ask(path, {}, headers={"Origin": shop.url}).status == 200


def test_bytes_that_are_no_http_do_not_hurt(shop: Shop) -> None:
    for sent in (b"\x00" * 100 + b"\r\n\r\n", b"GET /\xff\xfe HTTP/1.1\r\nhost: localhost\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", shop.port), 30) as plain:
            plain.sendall(sent)
            assert b" 500 " not in plain.recv(4096)
    for body in (os.urandom(200), b"search_query=%ff%fe%00", b"search_query=\xff&=&&="):
        check(shop.ask("/random", body))


anything = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)
parts = anything.filter(lambda part: part not in ("", ".", ".."))
names = st.sampled_from(["a", "fixed_1", "fixed_9999999", "é"]) | parts
asins = st.sampled_from(["B000000000"]) | parts
choices = st.dictionaries(anything, anything, max_size=2).map(lambda all_: tuple(all_.items()))
addresses = st.builds(
    Address,
    st.sampled_from((SEARCH, RESULTS, ITEM, *DETAILS, DONE)),
    names,
    anything,
    st.integers(0, 999_999),
    asins,
    choices,
).map(build)
raw = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#?"))


@settings(max_examples=effort(50, 200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(addresses | raw.map("/{}".format), st.none() | st.binary(max_size=50))
def test_no_address_breaks_it(shop: Shop, path: str, form: bytes | None) -> None:
    assert shop.ask(path, form, follow=False).status < 500


def twins(catalog: Catalog, which: int) -> ListedGoals:
    """Goals that differ from their twins' in everything but the words."""
    stored = catalog.goals("synthetic")
    goals = [
        msgspec.structs.replace(
            stored[place + 50 * which], instruction_text=f"something nice {place}"
        )
        for place in range(5)
    ]
    return ListedGoals("twins", goals, lambda product: product.price)


def test_before_the_purchase_nothing_tells_goals_apart(little: Catalog, tmp_path: Path) -> None:
    product = next(product for product in little if product.options)
    words = re.sub(r"[^a-z ]", "", product.title.lower())
    options = tuple((name, values[0]) for name, values in product.options.items())

    def walk(shop: Shop, name: str) -> Iterator[bytes]:
        here = Address(ITEM, name, words, 1, product.asin)
        asked: list[tuple[str, Any]] = [(f"/{name}", None), (f"/{name}", {"search_query": words})]
        asked += [(build(here._replace(page=RESULTS, number=n)), None) for n in (1, 2, 9)]
        asked += [(build(here._replace(page=page)), None) for page in (ITEM, *DETAILS)]
        asked += [(build(here._replace(options=options[:n])), None) for n in range(3)]
        asked += [
            (build(here._replace(options=(("no", "such"),))), None),
            (build(Address(DONE, name, asin="B000000000")), None),
            ("/fixed_99", None),
        ]
        for path, form in asked:
            answer = shop.ask(path, form)
            whole = f"{answer.status} {sorted(answer.headers.items())}\n".encode() + answer.body
            yield whole.replace(name.encode(), b"NAME")

    with (
        shop_served(little, tmp_path / "one.sqlite", goals=twins(little, 0)) as one,
        shop_served(little, tmp_path / "two.sqlite", goals=twins(little, 1)) as other,
    ):
        for place in range(5):
            name = f"fixed_{place}"
            assert list(walk(one, name)) == list(walk(other, name))
        path = build(Address(DONE, "fixed_0", asin=product.asin))
        assert one.ask(path).body != other.ask(path).body
        # Within one shop, a session's name is all that differs.
        same = [list(walk(one, f"fixed_a_{letter}_4")) for letter in "bc"]
        assert same[0] == same[1]
