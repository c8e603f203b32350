"""Fingerprints of goals: by product and by wording, small, and safe to read."""

from pathlib import Path

import numpy as np
import pytest

from errands.errors import DataError
from errands.shop.catalog.catalog import Catalog
from errands.shop.fingerprints import (
    FILE,
    GoalFingerprints,
    read_fingerprints,
    write_fingerprints,
)
from errands.shop.splits import DISJOINT, split_indices


def test_a_product_or_the_same_words_overlap() -> None:
    known = GoalFingerprints.of([("A1", "a red hat"), ("A2", "two  chairs"), ("", "only words")])
    assert known.overlap([("A1", "something else")]) == 1
    assert known.overlap([("B1", "a red hat")]) == 1
    assert known.overlap([("B1", "a red hat, and price lower than 20.00 dollars")]) == 1
    assert known.overlap([("B1", " two chairs\n")]) == 1
    assert known.overlap([("B1", "only words"), ("A1", "a red hat"), ("B2", "new")]) == 2
    assert known.overlap([("B1", "a blue hat")]) == 0
    assert known.overlap([]) == 0
    assert GoalFingerprints.of(()).overlap([("A1", "a red hat")]) == 0
    assert GoalFingerprints.of([("", "")]).overlap([("", "")]) == 0


def test_of_two_trainings_both_count() -> None:
    both = GoalFingerprints.of([("A1", "x")]) | GoalFingerprints.of([("A2", "y"), ("A1", "x")])
    assert [len(part) for part in both] == [2, 2]
    assert both.overlap([("A1", ""), ("A2", ""), ("A3", "y")]) == 3


@pytest.mark.parametrize("kind", ["human", "synthetic"])
@pytest.mark.parametrize("name", ["demo", "demo-easy"])
def test_the_disjoint_splits_do_not_overlap(name: str, kind: str) -> None:
    goals = Catalog.open(name).goals(kind)
    wanted = {
        split: [(goals[i].asin, goals[i].instruction_text) for i in split_indices(split, goals)]
        for split in DISJOINT
    }
    train = GoalFingerprints.of(wanted["disjoint-train"])
    assert train.overlap(wanted["disjoint-test"]) == 0
    assert train.overlap(wanted["disjoint-eval"]) == 0
    assert train.overlap(wanted["disjoint-train"]) == len(wanted["disjoint-train"])


def test_they_are_kept_in_a_small_file(tmp_path: Path) -> None:
    goals = GoalFingerprints.of((f"A{n}", f"words {n} \ud800") for n in range(1000))
    write_fingerprints(tmp_path, goals)
    assert (tmp_path / FILE).stat().st_size < 17_000
    found = read_fingerprints(tmp_path)
    assert found is not None
    assert all(map(np.array_equal, found, goals))
    assert read_fingerprints(tmp_path / "none") is None


@pytest.mark.parametrize(
    "data", [b"", b"errands goals 1\n", b"errands goals 1\n" + b"\xff" * 32, b"x" * 100]
)
def test_damaged_files_are_one_sentence(tmp_path: Path, data: bytes) -> None:
    (tmp_path / FILE).write_bytes(data)
    with pytest.raises(DataError, match="is damaged; train the model anew"):
        read_fingerprints(tmp_path)


def test_a_folder_in_its_place_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(DataError, match="cannot be read"):
        read_fingerprints(tmp_path)
