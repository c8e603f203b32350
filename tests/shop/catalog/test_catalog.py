"""An open catalogue: looking up, sharing, verifying, and clear words for broken ones."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from errands.errors import CatalogError, GoalError, SettingError
from errands.shop.catalog.catalog import Catalog, Hit
from errands.shop.catalog.manifest import FORMAT


def test_products_by_asin_number_and_row(little: Catalog) -> None:
    assert len(list(little)) == len(little) == 300
    asins = [product.asin for product in little]
    assert len(set(asins)) == 300
    for asin in asins:
        assert little[asin].asin == asin
        assert little.product(little.number(asin)).asin == asin
        assert little.card(little.number(asin)).asin == asin
    numbered = [little.product(number).asin for number in range(300)]
    assert numbered == sorted(asins)
    assert "B000000000" not in little
    assert "x" * 50 not in little
    assert 5 not in little
    with pytest.raises(KeyError):
        little["nothing"]


@pytest.mark.parametrize(
    ("query", "k", "why"),
    [
        (None, 5, "query=None: expected the words to search for"),
        (["lamp"], 5, "query=.'lamp'.: expected"),
        ("lamp", 2.5, "k=2.5: expected how many products"),
        ("lamp", "5", "k='5': expected"),
        ("lamp", -1, "k=-1: expected"),
    ],
)
def test_search_says_what_it_cannot_search_for(
    little: Catalog, query: Any, k: Any, why: str
) -> None:
    with pytest.raises(SettingError, match=why) as caught:
        little.search(query, k)
    assert "\n" not in str(caught.value)


def test_search_gives_hits_with_asin_and_score(little: Catalog) -> None:
    title = little.product_at(0).title
    hits = little.search(title, k=5)
    assert isinstance(hits[0], Hit)
    assert little.product_at(0).asin in [hit.asin for hit in hits]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert little.find(title, 5) == tuple(little.number(hit.asin) for hit in hits)
    assert len(little.search("for", k=50)) == 0


def test_one_directory_is_one_object(little: Catalog) -> None:
    assert Catalog.open(little.path) is little
    assert Catalog.open(str(little.path)) is little
    assert Catalog.open(little) is little


def test_a_rebuilt_directory_is_opened_anew(little: Catalog, tmp_path: Path) -> None:
    from errands.shop.build.builder import generate_catalog

    generate_catalog(tmp_path / "c", products=20, seed=1)
    first = Catalog.open(tmp_path / "c")
    generate_catalog(tmp_path / "c", products=30, seed=1, replace=True)
    assert len(Catalog.open(tmp_path / "c")) == 30
    assert len(first) == 20
    assert first.product_at(3).asin


def test_opening_does_not_read_the_products(little: Catalog) -> None:
    """With the product files cut off from reading, opening and counting still work."""
    script = (
        "import sys, mmap; import errands.shop.records as r;"
        "from errands.shop import Catalog;"
        "real = r.Records.__getitem__;"
        "r.Records.__getitem__ = lambda *a: sys.exit('a record was read');"
        "c = Catalog(__import__('pathlib').Path(sys.argv[1])); len(c); c.goals('human');"
        "r.Records.__getitem__ = real; c.search('red')"
    )
    subprocess.run([sys.executable, "-c", script, str(little.path)], check=True)


def test_verify_finds_every_kind_of_damage(little: Catalog, tmp_path: Path) -> None:
    assert little.verify() == []
    folder = tmp_path / "copy"
    shutil.copytree(little.path, folder)
    copied = Catalog.open(folder)
    raw = bytearray((folder / "cards.bin").read_bytes())
    raw[10] ^= 1
    (folder / "cards.bin").write_bytes(raw)
    (folder / "rows.npy").write_bytes(b"short")
    (folder / "index" / "norms.npy").unlink()
    problems = copied.verify()
    assert len(problems) == 3
    assert any("cards.bin has another checksum" in problem for problem in problems)
    assert any("rows.npy has 5 bytes" in problem for problem in problems)
    assert any("norms.npy is missing" in problem for problem in problems)
    with pytest.raises(CatalogError, match=r"is damaged.*verify"):
        Catalog(folder)


@pytest.mark.parametrize(
    ("manifest", "complaint"),
    [
        (None, "is not a catalogue"),
        ("{", "is damaged"),
        ("[]", "is damaged"),
        (f'{{"format": {FORMAT}}}', "is damaged"),
        ('{"format": 99}', f"has catalogue format 99, this version reads {FORMAT}"),
    ],
)
def test_what_is_no_catalogue_is_one_sentence(
    tmp_path: Path, manifest: str | None, complaint: str
) -> None:
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(CatalogError, match=complaint):
        Catalog.open(tmp_path)


def test_no_human_goals_is_one_sentence(tmp_path: Path, little: Catalog) -> None:
    from errands.shop.build.builder import build_catalog

    record = {
        "asin": "B1", "name": "Lamp", "full_description": "", "small_description": [],
        "customization_options": "", "category": "c", "query": "q", "product_category": "",
        "images": ["x"],
    }  # fmt: skip
    (tmp_path / "i.json").write_text(json.dumps([record]))
    (tmp_path / "a.json").write_text("{}")
    build_catalog(tmp_path / "c", items=tmp_path / "i.json", attributes=tmp_path / "a.json")
    with pytest.raises(GoalError, match="has no human goals"):
        Catalog.open(tmp_path / "c").goals("human")


@pytest.mark.parametrize(
    "name", ["products.bin", "cards.bin", "index/terms.bin", "goals/human-order.npy"]
)
def test_a_file_cut_in_half_is_noticed_on_opening(
    little: Catalog, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(little.path, folder)
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CatalogError, match=f"is damaged .{name} has"):
        Catalog.open(folder)


def test_more_results_than_products(little: Catalog) -> None:
    assert 0 < len(little.search("with for black cotton", k=10**12)) <= len(little)
