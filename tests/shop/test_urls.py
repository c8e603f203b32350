"""The website's addresses: both ways, and nothing but addresses."""

from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import DETAILS, DONE, ITEM, RESULTS, SEARCH, Page, State
from errands.shop.urls import BASE_URL, MAX_PATH, Address, build, page_url, parse

anything = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)
components = anything.filter(lambda part: part not in ("", ".", ".."))
choices = st.dictionaries(anything, anything, max_size=3).map(lambda all_: tuple(all_.items()))
numbers = st.integers(0, 999_999)
product_pages = st.sampled_from((ITEM, *DETAILS))
addresses = st.one_of(
    st.tuples(st.just(SEARCH), components),
    st.tuples(st.just(RESULTS), components, anything, numbers),
    st.tuples(product_pages, components, anything, numbers, components, choices),
    st.tuples(st.just(DONE), components, st.just(""), st.just(1), components, choices),
).map(lambda fields: Address(*fields))


@given(addresses)
@example(Address(ITEM, "a/b", "l'eau \"d'or\" /?#%", 1, "B/1", (("size", "5 | 6"), ("'", '"'))))
@example(Address(ITEM, "s", "\x00\n\\ \U0001f600 \ud800", 3, "B1", (("\r", "\\'"),)))
def test_an_address_is_read_as_it_was_built(address: Address) -> None:
    path = build(address)
    assert path.isascii()
    assert path.isprintable()
    assert not set(path) & set(" \"'<>&?#\\")
    assert parse(path) == address


def test_the_scheme_is_the_originals() -> None:
    chosen = (("color", "red"),)
    item = Address(ITEM, "abc", "red shoes", 2, "B01", chosen)
    words, options = quote("['red', 'shoes']", safe=""), quote("{'color': 'red'}", safe="")
    assert build(Address(SEARCH, "abc")) == "/abc"
    assert build(item._replace(page=RESULTS)) == f"/search_results/abc/{words}/2"
    assert build(item) == f"/item_page/abc/B01/{words}/2/{options}"
    assert (
        build(item._replace(page="features"))
        == f"/item_sub_page/abc/B01/{words}/2/Features/{options}"
    )
    assert build(item._replace(page=DONE)) == f"/done/abc/B01/{options}"


def test_other_spellings_that_the_original_reads() -> None:
    assert parse("/search_results/abc/red+shoes/1") == Address(RESULTS, "abc", "red+shoes")
    assert parse('/done/abc/B01/{"color": "red"}') == Address(
        DONE, "abc", asin="B01", options=(("color", "red"),)
    )


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "abc",
        "//",
        "/abc/",
        "/..",
        "/%2e",
        "/%ff",
        "/search_results/abc/x/-1",
        "/search_results/abc/x/1.0",
        "/search_results/abc/x/１",
        "/search_results/abc/x/1234567",
        "/search_results/abc//1",
        "/search_results/abc/x/1/more",
        "/search_results/abc/[1]/1",
        "/search_results/abc/['a'/1",
        "/search_results/abc/['a' 'b']/1",
        "/search_results/abc/['a'*9]/1",
        "/search_results/abc/[f'a']/1",
        "/search_results/abc/[['a']]/1",
        "/search_results/abc/['%5CU00110000']/1",
        "/search_results/abc/['%5Cd']/1",
        "/search_results/abc/" + "[" * 5000 + "/1",
        "/item_page/abc/B01/x/1/[]",
        "/item_page/abc/B01/x/1/{'a': 1}",
        "/item_page/abc/B01/x/1/{'a'}",
        "/item_page/abc/B01/x/1/{**{}}",
        "/item_page/abc/B01/x/1/__import__('os')",
        "/item_sub_page/abc/B01/x/1/Goal/{}",
        "/done/abc/B01/" + "-" * 9000 + "1",
        "/" + "a" * MAX_PATH,
    ],
)
def test_what_is_no_address(path: str) -> None:
    assert parse(path) is None


@given(st.text() | st.lists(st.text(), max_size=7).map(lambda parts: "/" + "/".join(parts)))
def test_reading_never_raises(path: str) -> None:
    address = parse(path)
    assert address is None or parse(build(address)) == address


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (State(), "/s"),
        (State("results", "red  shoes/x", 3), "/search_results/s/red++shoes/x/3"),
        (State("item", "a b", 1), "/item_page/s/{asin}/a+b/1/{{}}"),
        (
            State("item", "a", 2, options=(("size", 'é"'),)),
            '/item_page/s/{asin}/a/2/{{"size": "\\u00e9\\""}}',
        ),
        (
            State("features", "a", 2, options=(("size", "9"),)),
            "/item_sub_page/s/{asin}/a/2/Features/{{'size': '9'}}",
        ),
        (State("done", "a", 2, options=(("size", "9"),)), "/done/s/{asin}/{{'size': '9'}}"),
    ],
)
def test_the_text_environments_addresses(little: Catalog, state: State, expected: str) -> None:
    product = little.product(0)
    page = Page(state, [], product, {})
    assert page_url(page, "s") == BASE_URL + expected.format(asin=product.asin)
