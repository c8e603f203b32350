"""The state machine: transitions of the specification's section 4.5."""

import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import (
    DETAILS,
    DONE,
    ITEM,
    RESULTS,
    SEARCH,
    Page,
    Shop,
    State,
    parse_action,
    special_hits,
)
from errands.shop.product import Product


@pytest.mark.parametrize(
    ("action", "parsed"),
    [
        ("search[red shoes]", ("search", "red shoes")),
        ("click[x] trailing", ("click", "x")),
        ("click[x]]", ("click", "x]")),
        ("search[]", ("search[]", None)),
        ("search[a] [b]", ("search[a] ", "b")),
        ("click[item [x]]", ("click[item ", "x]")),
        ("  click[x]", ("  click", "x")),
        ("search [x]", ("search ", "x")),
        ("search[[x]", ("search[", "x")),
        ("think", ("think", None)),
        ("", ("", None)),
        ("search[a\nb]", ("search[a\nb]", None)),
    ],
)
def test_actions_are_parsed_as_the_original_does(
    action: str, parsed: tuple[str, str | None]
) -> None:
    assert parse_action(action) == parsed


def walk(shop: Shop, *actions: str) -> Page:
    page = shop.look(State())
    for action in actions:
        page = shop.turn(page, action)
    return page


@pytest.fixture(scope="module")
def shop(little: Catalog) -> Shop:
    return Shop(little)


@pytest.fixture(scope="module")
def customisable(little: Catalog) -> Product:
    """A product with two option groups whose values are all different."""
    for product in little:
        values = [value for group in product.options.values() for value in group]
        if len(product.options) == 2 and len(set(values)) == len(values) > 3:
            return product
    raise AssertionError("the little catalogue has no such product")


def opened(shop: Shop, product: Product) -> Page:
    """The item page of a product, reached by searching for its title."""
    page = walk(shop, f"search[{product.title.lower().replace('[', ' ').replace(']', ' ')}]")
    assert product.asin.lower() in page.clicks
    return shop.turn(page, f"click[{product.asin}]")


def test_search_page(shop: Shop) -> None:
    page = walk(shop)
    assert page.has_search_bar
    assert list(page.clicks) == ["search"]
    assert shop.turn(page, "click[search]") is page


def test_results_and_page_turns(shop: Shop) -> None:
    first = walk(shop, "search[black cotton]")
    assert first.state.page == RESULTS
    assert len(first.cards) == 10
    assert list(first.clicks)[:2] == ["back to search", "next >"]
    second = shop.turn(first, "click[next >]")
    assert second.state.number == 2
    assert list(second.clicks)[:3] == ["back to search", "< prev", "next >"]
    assert not {card.asin for card in first.cards} & {card.asin for card in second.cards}
    assert shop.turn(second, "click[< prev]") == first
    assert shop.turn(first, "click[< prev]") is first


def test_pages_beyond_the_end_are_empty(shop: Shop) -> None:
    page = walk(shop, "search[black cotton]", *["click[next >]"] * 8)
    assert page.state.number == 9
    assert page.cards == []
    assert list(page.clicks) == ["back to search", "< prev", "next >"]


def test_nothing_found_is_a_page_too(shop: Shop) -> None:
    for query in ("zzzzz", " ", "the of"):
        page = walk(shop, f"search[{query}]")
        assert page.state.page == RESULTS
        assert list(page.clicks) == ["back to search", "next >"]


def test_item_and_options(shop: Shop, customisable: Product) -> None:
    page = opened(shop, customisable)
    assert page.state.page == ITEM
    assert page.product == customisable
    assert list(page.clicks)[:6] == [
        "back to search", "< prev", "description", "features", "reviews", "buy now",
    ]  # fmt: skip
    values = [value for group in customisable.options.values() for value in group]
    assert list(page.clicks)[6:] == values
    (one, ones), (other, others) = customisable.options.items()
    chosen = shop.turn(shop.turn(page, f"click[{others[0]}]"), f"click[{ones[0]}]")
    assert chosen.state.options == ((other, others[0]), (one, ones[0]))
    changed = shop.turn(chosen, f"click[{others[1].upper()}]")
    assert changed.state.options == ((other, others[1]), (one, ones[0]))


@pytest.mark.parametrize("name", DETAILS[:-1])
def test_details_keep_the_options(shop: Shop, customisable: Product, name: str) -> None:
    value = next(iter(customisable.options.values()))[0]
    chosen = shop.turn(opened(shop, customisable), f"click[{value}]")
    detail = shop.turn(chosen, f"click[{name}]")
    assert detail.state.page == name
    assert list(detail.clicks) == ["back to search", "< prev"]
    assert shop.turn(detail, "click[< prev]") == chosen


def test_going_back_to_results_forgets_the_options(shop: Shop, customisable: Product) -> None:
    value = next(iter(customisable.options.values()))[0]
    page = shop.turn(opened(shop, customisable), f"click[{value}]")
    results = shop.turn(page, "click[< prev]")
    assert results.state.page == RESULTS
    assert results.state.options == ()
    assert results.state.visited == (customisable.asin,)
    again = shop.turn(results, f"click[{customisable.asin.lower()}]")
    assert again.state.options == ()


def test_visits_are_forgotten_on_the_search_page_only(shop: Shop, customisable: Product) -> None:
    page = opened(shop, customisable)
    assert shop.turn(page, "search[lamp]").state.visited == (customisable.asin,)
    assert shop.turn(page, "click[back to search]").state == State()


def test_buying_is_the_end(shop: Shop, customisable: Product, little: Catalog) -> None:
    done = shop.turn(opened(shop, customisable), "click[buy now]")
    assert done.state.page == DONE
    assert done.clicks == {}
    for action in ("search[lamp]", "click[back to search]", "click[buy now]", "nonsense"):
        assert shop.turn(done, action) is done
    lively = Shop(little, locked_when_done=False)
    assert lively.turn(done, "search[lamp]").state.page == RESULTS


def test_search_only_on_the_search_page_if_so_wished(little: Catalog) -> None:
    strict = Shop(little, search_anywhere=False)
    page = walk(strict, "search[lamp]")
    assert strict.turn(page, "search[chair]") is page
    assert walk(strict, "search[lamp]", "click[back to search]", "search[chair]").cards


def test_the_attributes_page_is_off_unless_asked_for(
    shop: Shop, little: Catalog, customisable: Product
) -> None:
    page = opened(shop, customisable)
    assert shop.turn(page, "click[attributes]") is page
    open_shop = Shop(little, show_attrs=True)
    shown = open_shop.turn(opened(open_shop, customisable), "click[attributes]")
    assert shown.state.page == "attributes"


def test_names_win_over_what_they_name(shop: Shop) -> None:
    """An option called like a button does what the button's name says."""
    values = ("buy now", "next >", "description", "< prev", "search", "red")
    odd = Product(
        "B1", "t", "", (), (1.0,), {"color": values, "size": ("red",)}, {}, "", "", "", "", (), 1.0
    )
    page = shop.look(State(ITEM, "q", 1, (), 0), odd)
    assert shop.turn(page, "click[buy now]").state.page == DONE
    assert shop.turn(page, "click[description]").state.page == "description"
    assert shop.turn(page, "click[< prev]").state.page == RESULTS
    assert shop.turn(page, "click[search]") is page
    assert shop.turn(page, "click[next >]").state.options == (("color", "next >"),)
    # A value of two groups can set the last one only.
    assert shop.turn(page, "click[red]").state.options == (("size", "red"),)
    assert list(page.clicks).count("red") == 1


@given(st.lists(st.text(max_size=30) | st.sampled_from(["click[next >]", "search[lamp]"])))
@settings(max_examples=effort(20, 50), deadline=None)
def test_act_and_turn_agree_and_states_are_values(little: Catalog, actions: list[str]) -> None:
    shop = Shop(little)
    page, state = shop.look(State()), State()
    for action in actions:
        page, state = shop.turn(page, action), shop.act(state, action)
        assert page.state == state
        assert hash(state) == hash(page.state)
    assert state.page in (SEARCH, RESULTS, ITEM, DONE, *DETAILS)


def test_special_queries_list_in_load_order(little: Catalog) -> None:
    product = little.product_at(7)
    by_query = special_hits(little, f"<q> {product.query}")
    expected = [p.asin for p in little if p.query == product.query]
    assert by_query is not None
    assert [little.product(number).asin for number in by_query] == expected
    by_category = special_hits(little, f"<c> {product.category} more")
    assert by_category is not None
    assert len(by_category) == sum(p.category == product.category for p in little)
    attribute = next(p.attributes[0] for p in little if p.attributes)
    by_attribute = special_hits(little, f"<a> {attribute}")
    assert by_attribute is not None
    assert len(by_attribute) == sum(attribute in p.attributes for p in little)


def test_a_special_query_for_random_products_is_repeatable(little: Catalog) -> None:
    drawn = special_hits(little, "<r>")
    assert drawn == special_hits(little, "<r>")
    assert drawn is not None
    assert len(set(drawn)) == 50
    assert special_hits(little, "<r> again") != drawn


def test_edges_of_special_queries(little: Catalog) -> None:
    assert special_hits(little, "<c>") == ()
    assert special_hits(little, "<a> no such attribute") == ()
    assert special_hits(little, "<x> lamp") is None
    assert special_hits(little, "lamp <r>") is None
