"""Mined candidates beside an existing list; beside the original's, on its own products."""

import json
from pathlib import Path
from typing import Any

import pytest

from errands.errors import DataError
from errands.mining.candidates import Candidates, mine, stream_items
from errands.mining.comparison import ListComparison, compare, read_listed
from errands.mining.own_shop import mine_file

SHARED_1K = Path(__file__).resolve().parents[3] / "shared" / "data" / "webshop-1k"

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'errands[mine]'")


def test_every_figure_on_a_small_list(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {"asin": "A", "name": "Easy to clean, solid wood", "category": "x"},
        {"asin": "B", "name": "Easy to clean, solid wood, oz ml", "category": "x"},
        {"asin": "C", "name": "Solid wood, oz ml", "category": "x"},
    ]
    path = tmp_path / "list.json"
    entries = {
        "A": {"attributes": ["easy clean", "oz ml"], "instruction_attributes": ["easy clean"]},
        "B": {"attributes": ["easy clean", "never said"]},
        "D": {"attributes": []},
    }
    path.write_text(json.dumps(entries))
    found = compare(mine(records), records, read_listed(path), least=2)
    assert found == ListComparison(
        least=2,
        common=1,
        common_found=1,
        listed=3,
        listed_found=2,
        asked=1,
        asked_found=1,
        candidates=3,
        dropped=1,
        listed_dropped=1,
        asked_dropped=0,
        common_kept=1,
        uses_compared=1,
        uses_same=1,
        pairs=4,
        pairs_given=3,
        pairs_same=2,
    )
    rows = {name: (number, share) for name, number, share in found.table()}
    assert rows["candidates that are listed"] == ("2 of 3", "66.7%")
    assert len(rows) == 12


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("[]", "not the JSON file"),
        ('{"A": 3}', "attributes of 'A'"),
        ('{"A": {"attributes": [3]}}', "attributes of 'A'"),
        ("{}", "lists no attributes"),
        ('{"A": {"attributes": []}}', "lists no attributes"),
    ],
)
def test_lists_that_are_none(tmp_path: Path, data: str, says: str) -> None:
    path = tmp_path / "list.json"
    path.write_text(data)
    with pytest.raises(DataError, match=says):
        read_listed(path)


@pytest.fixture(scope="module")
def real() -> tuple[Candidates, ListComparison]:
    items = SHARED_1K / "items_shuffle_1000.json"
    mined = mine_file(items, lone=False)
    listed = read_listed(SHARED_1K / "items_ins_v2_1000.json")
    return mined, compare(mined, stream_items(items), listed)


@pytest.mark.shared
def test_the_originals_attributes_are_found(real: tuple[Candidates, ListComparison]) -> None:
    mined, found = real
    assert mined.products == 1000
    assert found.common == 205
    assert found.common_found / found.common >= 0.85
    # docs/guides/mining.md has the figures of this very comparison.
    assert found.listed_found / found.candidates > 0.33


@pytest.mark.shared
def test_the_filter_drops_little_of_theirs(real: tuple[Candidates, ListComparison]) -> None:
    _, found = real
    assert found.dropped / found.candidates > 0.2
    assert found.listed_dropped / found.listed_found < 0.1
    assert found.common_kept / found.common >= 0.8
    assert found.uses_same / found.uses_compared > 0.8


@pytest.mark.shared
def test_given_out_their_attributes_reach_their_products(
    real: tuple[Candidates, ListComparison],
) -> None:
    _, found = real
    assert found.pairs_same / found.pairs > 0.9


@pytest.mark.shared
def test_the_documentation_has_these_figures(real: tuple[Candidates, ListComparison]) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "mining.md").read_text()
    for name, number, share in real[1].table():
        assert f"| {name} | {number} | {share.replace('%', ' %')} |" in page
