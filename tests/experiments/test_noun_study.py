import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from errands.experiments.noun_study import expectations, pair_shares, run_study, type_reward
from errands.shop.product import parse_product
from errands.shop.rewards.nouns import nouns_from_file, tagger, title_score

SHARED = Path(__file__).parents[2].parent / "shared"

RECORDED = {
    ("lexicon-1", "sneakers"): 3 / 9,
    ("lexicon-1", "cord, long"): 5 / 17,
    ("lexicon-1", "cord, short"): 2 / 13,
    ("lexicon-1", "knob"): 0.0,
    ("lexicon-lower-1", "sneakers"): 3 / 6,
    ("lexicon-lower-1", "cord, long"): 5 / 15,
    ("lexicon-lower-1", "cord, short"): 2 / 11,
    ("lexicon-lower-1", "knob"): 0.0,
}
NOT_MET = {("lexicon-lower-1", pair) for pair in ("sneakers", "cord, long", "cord, short")}


def test_title_scores_expected_of_spacy_are_met_but_for_the_recorded_deviations() -> None:
    rows = expectations([tagger("lexicon"), tagger("lexicon-lower")])
    assert {(row.tagger, row.pair): row.got for row in rows} == RECORDED
    assert {(row.tagger, row.pair) for row in rows if not row.met} == NOT_MET


@pytest.mark.parametrize(
    ("score", "match", "reward"),
    [
        (0.0, True, 0.0),
        (0.05, True, 0.1),
        (0.1, False, 0.5),
        (0.1, True, 1.0),
        (0.2, False, 0.5),
        (0.2, True, 1.0),
        (0.21, False, 1.0),
    ],
)
def test_type_reward_table(score: float, match: bool, reward: float) -> None:
    assert type_reward(np.array([score]), np.array([match])).tolist() == [reward]


def _product(asin: str, title: str, query: str, category: str) -> Any:
    return SimpleNamespace(asin=asin, title=title, query=query, product_category=category)


PRODUCTS = [
    _product("A", "Oak Table Lamp", "lamp", "Home › Light"),
    _product("B", "Oak Chair", "chair", "Light › Home › Seat"),
    _product("C", "Wool Hat", "lamp", "Clothes"),
    _product("D", "Table", "chair", "Clothes › Clothes"),
]
FIRST = [["oak", "table", "lamp"], ["oak", "chair"], ["wool", "hat"], []]
OTHER = [["table", "lamp"], ["oak", "chair"], ["hat"], ["table"]]


def _reward(nouns: list[list[str]], goal: int, bought: int) -> float:
    a, b = PRODUCTS[goal], PRODUCTS[bought]
    paths = [{entry.strip() for entry in p.product_category.split("›")} for p in (a, b)]
    match = a.query == b.query or len(paths[0] & paths[1]) >= 2
    score = title_score(nouns[bought], nouns[goal])
    return float(type_reward(np.array([score]), np.array([match]))[0])


def test_shares_agree_with_counting_pair_by_pair() -> None:
    shares = pair_shares(PRODUCTS, {"first": FIRST, "other": OTHER}, 0.01)
    pairs = [(g, b) for g in range(4) for b in range(4) if g != b]
    changed = [_reward(FIRST, g, b) != _reward(OTHER, g, b) for g, b in pairs]
    by = {(share.change, share.among): share for share in shares}
    assert by["first → other", "all pairs"].pairs == 12
    assert by["first → other", "all pairs"].share == pytest.approx(sum(changed) / 12)
    assert by["first → other", "same query"].pairs == 4
    assert by["first → other", "same category"].pairs == 2
    assert by["first → other", "neither"].pairs == 6


@pytest.mark.parametrize(
    ("size", "deviation", "moves"),
    [(10, 0.01, True), (11, 0.001, False), (5, 0.001, True), (4, 0.01, False)],
)
def test_only_a_score_near_a_threshold_could_move(size: int, deviation: float, moves: bool) -> None:
    goal = [f"noun{i}" for i in range(size)]
    products = [_product("A", "", "a", ""), _product("B", "", "b", "")]
    shares = pair_shares(products, {"first": [goal, ["noun0"]]}, deviation)
    # The pair the other way round has score 1 and never moves.
    assert shares[0].share == (0.5 if moves else 0.0)


def test_no_common_noun_stays_so_unless_one_noun_is_within_the_deviation() -> None:
    products = [_product("A", "", "a", ""), _product("B", "", "b", "")]
    nouns = [["x", "y"], ["z", "u"]]
    assert pair_shares(products, {"first": nouns}, 0.4)[0].share == 0.0
    assert pair_shares(products, {"first": nouns}, 0.6)[0].share == 1.0


def test_products_missing_in_a_nouns_file_have_no_noun() -> None:
    study = run_study(PRODUCTS, [tagger("lexicon")], {"file": {"A": ["oak"]}})
    assert study.products == 4
    assert study.largest_deviation == pytest.approx(0.3 - 5 / 17)
    assert {share.change for share in study.shares} >= {"lexicon-1 → file"}


@pytest.mark.shared
@pytest.mark.skipif(
    not (SHARED / "fixtures/webshop/nouns.json").is_file(),
    reason=f"needs the WebShop data and fixtures of {SHARED}, which are not here",
)
def test_the_shares_of_the_small_set_are_those_of_the_page() -> None:
    items = json.loads((SHARED / "data/webshop-1k/items_shuffle_1000.json").read_bytes())
    study = run_study(
        [parse_product(item, None) for item in items],
        [tagger("lexicon"), tagger("lexicon-lower")],
        {"nouns.json": nouns_from_file(SHARED / "fixtures/webshop/nouns.json")},
    )
    page = (Path(__file__).parents[2] / "docs/explanation/nouns.md").read_text(encoding="utf-8")
    for share in study.shares:
        row = f"| {share.change} | {share.among} | {share.pairs:,} | {share.share:.2%} |"
        assert row in page
