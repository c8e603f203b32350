"""What a careful person says to each thing that ever counted on goals 0-499 of the real products.

`synonym_judgements.tsv` has every credit of the runs of `rule`, `careful` and `random` that this
edition or the one before gave, judged once by hand with the product's texts at hand. Only the
judgements are kept; the products are read where they lie.
"""

import csv
from collections import defaultdict
from pathlib import Path

import pytest

from errands.shop.build.builder import build_catalog
from errands.shop.catalog.catalog import Catalog
from errands.shop.rewards.rules import Purchase
from errands.shop.rewards.synonym import second_look

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "webshop-1k"
JUDGED = Path(__file__).with_name("synonym_judgements.tsv")
LOST = 3
"""Right, and no longer given: two attributes, and `shoes` for `shoe` beside a credit that is."""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """The real products with the built-in tagger's nouns, as the documented runs have them."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the real products in {SHARED}, which are absent")
    out = tmp_path_factory.mktemp("judged") / "shop"
    build_catalog(
        out,
        items=SHARED / "items_shuffle_1000.json",
        attributes=SHARED / "items_ins_v2_1000.json",
    )
    return Catalog.open(out)


def test_what_counts_is_what_a_person_would_count(catalog: Catalog) -> None:
    goals = catalog.goals("synthetic")
    by_purchase: dict[tuple[int, str], list[bool]] = defaultdict(list)
    by_credit: dict[tuple[str, str, str], list[bool]] = defaultdict(list)
    lost = set()
    with JUDGED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    told: dict[tuple[int, str], set[tuple[str, str, str]]] = {}
    for row in rows:
        number, asin, right = int(row["goal"]), row["asin"], row["right"] == "yes"
        options = {row["option"]: row["found"]} if row["option"] else {}
        purchase = Purchase(catalog[asin], options, catalog[asin].price)
        given = {
            (one.part, one.wanted, one.found.lower())
            for one in second_look(purchase, goals[number])[1]
        }
        credit = (row["part"], row["wanted"], row["found"].lower())
        told.setdefault((number, asin), set()).update(given)
        if credit in given:
            by_purchase[number, asin].append(right)
            by_credit[credit].append(right)
        elif right:
            lost.add((asin, *credit))
    judged = {
        ((int(row["goal"]), row["asin"]), (row["part"], row["wanted"], row["found"].lower()))
        for row in rows
    }
    unjudged = {(key, one) for key, all in told.items() for one in all} - judged
    assert not unjudged, "judge these, and add them to the file"
    assert len(by_purchase) > 150
    assert len(by_credit) > 30
    for figure in (by_purchase, by_credit):
        assert sum(map(all, figure.values())) >= 0.95 * len(figure)
    assert len(lost) <= LOST
