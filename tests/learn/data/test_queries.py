"""Queries that a policy chooses among, and how pages show them."""

from errands.envs.shop import ShopEnv
from errands.learn.data.queries import candidates, own_words, with_queries
from errands.learn.data.view import EpisodeMemory, action_of


def test_numbers_are_joined_with_their_neighbours() -> None:
    first, *others = candidates("I need a 64 gb phone in blue, and price lower than 90.00 dollars")
    assert first == "64 gb phone blue 64gb"
    assert others == ["64 gb", "phone blue", "64 gb phone blue"]


def test_queries_are_different_and_never_empty() -> None:
    assert candidates("hat") == ["hat"]
    assert candidates("a [red] hat") == ["red hat", "red", "hat"]
    assert candidates("find me one") == own_words("find me one")
    assert candidates(" ") == []


def test_on_the_search_page_they_are_the_actions(shop: ShopEnv) -> None:
    page, info = shop.reset(options={"goal": 3})
    memory = EpisodeMemory()
    plain = memory.view(page)
    assert action_of(plain, "search") == "click[search]"
    view = with_queries(plain, info["instruction"])
    assert view.names == tuple(candidates(info["instruction"]))
    action = action_of(view, view.names[1])
    assert action == f"search[{view.names[1]}]"
    memory.record(view, action)
    page, _, _, _, info = shop.step(action)
    results = memory.view(page)
    assert results.kind == "results"
    assert with_queries(results, info["instruction"]) is results
    assert results.queries == (view.names[1],)
    assert {one.query for one in results.seen} == {view.names[1]}
