import msgspec
import pytest
from played import MemoryStore, made, run_info

from errands.reports.statistics import ranks as module
from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.ranks import Ranks, goal_numbers, query_of, rank_goals, run_ranks
from errands.shop.catalog.catalog import Catalog


def ranks_of(store: MemoryStore) -> Ranks:
    return run_ranks(store, read_columns(store))


def test_the_query_says_nothing_about_the_price(little: Catalog) -> None:
    goals = little.goals("synthetic")
    for number in range(20):
        query = query_of(goals[number])
        assert "price lower than" not in query
        assert goals[number].instruction_text.startswith(query)


def test_goals_are_read_from_keys() -> None:
    assert goal_numbers(["goal 3", "goal 1", "goal 3", "task/1", "goal x"]) == (1, 3)


def test_a_rank_is_the_place_in_the_search_results(little: Catalog) -> None:
    goals = little.goals("synthetic")
    for number, rank in enumerate(rank_goals(little, "synthetic", range(15))):
        asins = [hit.asin for hit in little.search(query_of(goals[number]), 50)]
        wanted = goals[number].asin
        assert rank == (asins.index(wanted) + 1 if wanted in asins else None)


def test_the_bins_of_a_run_hold_all_its_goals(careful: MemoryStore) -> None:
    found = ranks_of(careful)
    assert found.remark == ""
    assert [held.title for held in found.bins] == [
        "1-10", "11-20", "21-30", "31-40", "41-50", "50+",
    ]  # fmt: skip
    assert sum(held.count for held in found.bins) == found.counted == 12
    assert found.not_found == found.bins[-1].share
    assert not found.drawn


def test_of_many_goals_some_are_drawn(
    careful: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_GOALS", 3)
    found = ranks_of(careful)
    assert (found.counted, found.drawn) == (3, True)
    assert ranks_of(careful) == found


@pytest.mark.parametrize(
    ("data", "said"), [("no-such-catalogue", "is not on this machine"), ("little", "run's goals")]
)
def test_without_the_catalogue_or_its_goals_there_is_a_remark(
    data: str, said: str, little: Catalog
) -> None:
    info = run_info("shop", "x", 1)
    place = str(little.path) if data == "little" else data
    protocol = {**info.protocol, "data": place, "goals": "synthetic"}
    info = msgspec.structs.replace(info, protocol=protocol)
    found = ranks_of(MemoryStore(info, [made(0, 1.0, key="goal 99999999")]))
    assert said in found.remark
    assert found.bins == ()
