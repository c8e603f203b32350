"""What is known of the data sets."""

import re
from pathlib import Path

import pytest

from errands.data import DATASETS, KnownFile, Version, find_dataset
from errands.data.sets import Fingerprint, fingerprint, known_tasks
from errands.errors import DataError


def test_names_are_found_and_the_nearest_is_suggested() -> None:
    assert find_dataset("webshop-1k").name == "webshop-1k"
    for typo, meant in (("webshop1k", "webshop-1k"), ("Turking", "turkingbench")):
        with pytest.raises(DataError, match=f"did you mean '{meant}'"):
            find_dataset(typo)
    with pytest.raises(DataError, match="There are webshop-1k, webshop, turkingbench") as caught:
        find_dataset("qqq")
    assert "did you mean" not in str(caught.value)


def test_the_facts_are_well_formed() -> None:
    for dataset in DATASETS:
        assert dataset.elsewhere
        assert bool(dataset.files) != bool(dataset.tasks)
        for file in dataset.files:
            assert file.limit > 0
            for version in file.versions:
                assert version.sha256 is None or re.fullmatch("[0-9a-f]{64}", version.sha256)
                assert version.git_blob is None or re.fullmatch("[0-9a-f]{40}", version.git_blob)
    tasks = known_tasks()
    assert len(tasks) == 2 * 108
    for path, sha256 in tasks.items():
        assert re.fullmatch(r"tasks/[^/]+/(batch\.csv|template\.html)", path)
        assert re.fullmatch("[0-9a-f]{64}", sha256)


def test_the_full_shop_is_known_as_specified() -> None:
    items, attributes, human = find_dataset("webshop").files
    assert items.sizes == (5_479_720_229,)
    assert human.versions[0].git_blob == "b2ab7479b9798e0b62ea394e065f3d506875f090"
    assert attributes.versions == ()
    assert items.has_checksum
    assert not attributes.has_checksum
    assert not find_dataset("webshop-1k").files[0].has_checksum


def test_judging_a_file() -> None:
    file = KnownFile(
        "f", "--items", (Version(3, sha256="s" * 64), Version(4, git_blob="g" * 40), Version(5))
    )
    assert file.judge(Fingerprint(3, "s" * 64, "")) == "sha256"
    assert file.judge(Fingerprint(3, "x" * 64, "")) is None
    assert file.judge(Fingerprint(4, "", "g" * 40)) == "git-blob"
    assert file.judge(Fingerprint(4, "", "x" * 40)) is None
    assert file.judge(Fingerprint(5, "", "")) == "size"
    assert file.judge(Fingerprint(6, "s" * 64, "g" * 40)) is None
    rough = KnownFile("f", "--items", about=1000)
    assert rough.judge(Fingerprint(1099, "", "")) == "unknown"
    assert rough.judge(Fingerprint(1101, "", "")) is None
    assert rough.limit == 1100


def test_a_fingerprint_is_what_sha256sum_and_git_say(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"hello\n")
    steps: list[tuple[str, int, int | None]] = []
    found = fingerprint(tmp_path / "f", progress=lambda *step: steps.append(step))
    assert found == Fingerprint(
        6,
        "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
        "ce013625030ba8dba906f756967f9e9ca394464a",
    )
    assert steps == [("checking f", 6, 6)]
