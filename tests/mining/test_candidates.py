"""Candidates by TF-IDF."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from errands.errors import DataError, SettingError
from errands.extras import install_command
from errands.mining.candidates import Candidates, mine, read_candidates, sampled, stream_items
from errands.mining.phrases import cut, parts, phrases

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'errands[mine]'")

MUGS = [
    {"asin": asin, "name": title, "full_description": text, "category": category}
    for asin, title, text, category in (
        ("A", "Blue mug", "Easy to clean, lead free.", "Kitchen"),
        ("B", "Red mug", "Easy to clean glass.", "kitchen "),
        ("C", "Oak desk", "Solid wood. Easy to clean.", "office"),
        ("D", "Pine desk", "Solid wood.", "office"),
        ("E", "Alone", "Solid wood.", "attic"),
    )
]


def test_the_best_phrases_of_each_group() -> None:
    made = mine(MUGS)
    assert made.groups == {"attic": 1, "kitchen": 2, "office": 2}
    assert made.thin == 1
    found = {one.phrase: one for one in made.candidates}
    assert set(found) == {"easy clean", "solid wood"}
    assert found["easy clean"].products == 3
    assert [one.name for one in found["easy clean"].groups] == ["kitchen"]
    assert found["easy clean"].groups[0].products == 2
    assert found["easy clean"].examples == (
        "Easy to clean",
        "Easy to clean glass",
        "Easy to clean",
    )
    assert found["solid wood"].products == 3


def test_one_phrase_of_several_groups_is_one_candidate() -> None:
    made = mine(MUGS, least=1)
    groups = {one.phrase: [held.name for held in one.groups] for one in made.candidates}
    assert sorted(groups["solid wood"]) == ["attic", "office"]
    assert groups["lead free"] == ["kitchen"]


def test_a_mean_of_tf_idf_is_the_score() -> None:
    # One phrase in each product: its weight is 1 wherever it is, so its mean is its share.
    records = [
        {"asin": str(n), "name": text, "category": "x"}
        for n, text in enumerate(("aa bb", "aa bb", "aa bb", "cc dd"))
    ]
    assert {one.phrase: one.score for one in mine(records, least=1).candidates} == {
        "aa bb": 0.75,
        "cc dd": 0.25,
    }


def test_a_copied_sentence_counts_once() -> None:
    copied = "Our friendly team answers questions every day"
    said = ["Lead free glass", "Lead free clay", "Friendly team", "Lead free tin"]
    records = [
        {
            "asin": str(n),
            "name": text,
            "full_description": f"{copied}. Easy to clean.",
            "category": "x",
        }
        for n, text in enumerate(said)
    ]
    found = {one.phrase: one for one in mine(records).candidates}
    assert set(found) == {"lead free", "easy clean", "friendly team"}
    assert found["friendly team"].groups[0].products == found["friendly team"].products == 4
    assert found["lead free"].score > found["friendly team"].score


def test_the_same_products_give_the_same_candidates(
    records: list[dict[str, Any]], mined: Candidates
) -> None:
    again = mine(records, top=40)
    assert msgspec.json.encode(again) == msgspec.json.encode(mined)


def test_candidates_are_ordered_and_bounded(mined: Candidates) -> None:
    scores = [one.score for one in mined.candidates]
    assert scores == sorted(scores, reverse=True)
    for name in mined.groups:
        held = [one.rank for each in mined.candidates for one in each.groups if one.name == name]
        assert sorted(held) == list(range(1, len(held) + 1))
        assert len(held) <= 40
    for one in mined.candidates:
        assert 1 <= len(one.examples) <= 3
        assert one.products >= max(held.products for held in one.groups)
        assert all(held.products >= 2 for held in one.groups)


def test_by_query_and_other_sizes(records: list[dict[str, Any]]) -> None:
    narrow = mine(records, by="query", top=5, least=1)
    assert set(narrow.groups) == {record["query"].strip().lower() for record in records}
    for size in (1, 3):
        made = mine(records, size=size, top=10)
        assert {len(one.phrase.split(" ")) for one in made.candidates} == {size}


def test_wrong_wishes() -> None:
    with pytest.raises(SettingError, match="category or query"):
        mine(MUGS, by="brand")
    with pytest.raises(DataError, match="no products to mine"):
        mine([])


def test_products_that_say_nothing() -> None:
    made = mine([{"asin": "A"}, {"asin": "B", "name": 5, "small_description": None}])
    assert made.candidates == ()
    assert made.thin == 1


def test_a_sample_is_drawn_evenly_and_always_the_same() -> None:
    numbered = [{"asin": str(number)} for number in range(1_000)]
    drawn = sampled(iter(numbered), 100, seed=3)
    assert drawn == sampled(iter(numbered), 100, seed=3)
    assert drawn != sampled(iter(numbered), 100, seed=4)
    places = [int(one["asin"]) for one in drawn]
    assert places == sorted(set(places))
    assert 350 < sum(places) / 100 < 650
    assert sampled(iter(numbered), 5_000, seed=3) == numbered


def test_what_was_written_is_read(tmp_path: Path, mined: Candidates) -> None:
    path = tmp_path / "candidates.json"
    mined.write(path)
    assert read_candidates(path) == mined


@pytest.mark.parametrize("data", [b"", b"[]", b'{"by": 3}', b"\xff", b"[" * 100_000])
def test_damaged_files_of_candidates(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "candidates.json"
    path.write_bytes(data)
    with pytest.raises(DataError, match="errands mine attributes"):
        read_candidates(path)
    with pytest.raises(DataError, match="errands mine attributes"):
        read_candidates(tmp_path / "none.json")


def test_items_that_are_none_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_text('[3, {"name": "no id"}, {"asin": 5}, {"asin": "A"}]')
    assert list(stream_items(path)) == [{"asin": "A"}]
    with pytest.raises(DataError, match="errands mine products"):
        list(stream_items(tmp_path / "none.json"))


def test_a_candidate_is_found_again_where_it_was_mined(
    records: list[dict[str, Any]], mined: Candidates
) -> None:
    said = [set(phrases(cut(parts(record)))) for record in records]
    for one in mined.candidates:
        assert sum(one.phrase in held for held in said) == one.products


def test_without_scikit_learn_there_is_a_sentence() -> None:
    code = (
        "import sys; sys.modules['sklearn.feature_extraction.text'] = None\n"
        "from errands.mining.candidates import mine\n"
        "from errands.errors import ErrandsError\n"
        "try: mine([{'asin': 'A', 'name': 'a b'}], least=1)\n"
        "except ErrandsError as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)
    assert install_command("mine") in said.stdout


def test_words_that_say_alone_what_a_product_is_like() -> None:
    records = [
        {"asin": n, "name": f"Rechargeable lamp {n}", "small_description": ["easy to clean"]}
        for n in "AB"
    ]
    assert [one.phrase for one in mine(records).candidates] == ["easy clean", "rechargeable lamp"]
    lone = {one.phrase: one for one in mine(records, lone=True).candidates}
    assert lone.keys() == {"easy clean", "rechargeable lamp", "rechargeable"}
    assert lone["rechargeable"].products == 2
    assert lone["rechargeable"].proposal.use == "which is"
