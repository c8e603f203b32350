"""Exported files: a catalogue built from them is the catalogue they came from."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.errors import CatalogError
from errands.shop.build.builder import build_catalog
from errands.shop.build.export import export_catalog, item_record, spelled_price, spelled_value
from errands.shop.catalog.catalog import Catalog
from errands.shop.product import normalize_value, parse_price, parse_product

NAMES = ("items", "attributes", "human", "nouns")


def files_in(folder: Path) -> dict[str, Path]:
    folder.mkdir(exist_ok=True)
    return {name: folder / f"{name}.json" for name in NAMES}


def again(catalog: Catalog, folder: Path, *names: str) -> Catalog:
    """The catalogue, exported and built again from some of the files."""
    files = files_in(folder)
    export_catalog(catalog, **files)
    build_catalog(
        folder / "again",
        **{name: files[name] for name in names},  # type: ignore[arg-type]
        seed=catalog.manifest.seed,
    )
    return Catalog.open(folder / "again")


def written(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in files_in(folder).values()]


def assert_same(one: Catalog, other: Catalog) -> None:
    assert list(one) == list(other)
    assert [[*p.options] for p in one] == [[*p.options] for p in other], "order counts"
    for kind, count in one.manifest.goals.items():
        assert other.manifest.goals[kind] == count
        if count:
            mine, theirs = one.goals(kind), other.goals(kind)
            assert [mine[i] for i in range(count)] == [theirs[i] for i in range(count)]
            assert list(mine.cumulative) == list(theirs.cumulative)
    for product in list(one)[::9]:
        assert one.search(product.title) == other.search(product.title)
    assert one.manifest.checksum == other.manifest.checksum


def test_a_generated_catalogue_comes_back(little: Catalog, tmp_path: Path) -> None:
    rebuilt = again(little, tmp_path / "one", "items", "attributes", "human")
    assert_same(little, rebuilt)
    export_catalog(rebuilt, **files_in(tmp_path / "two"))
    assert written(tmp_path / "one") == written(tmp_path / "two")


def test_the_real_catalogue_comes_back(catalog_1k: Catalog, tmp_path: Path) -> None:
    rebuilt = again(catalog_1k, tmp_path / "one", *NAMES)
    assert_same(catalog_1k, rebuilt)
    export_catalog(rebuilt, **files_in(tmp_path / "two"))
    assert written(tmp_path / "one") == written(tmp_path / "two")


RECORD: dict[str, Any] = {
    "asin": "B1",
    "name": "A \x00 “shoe” \U0001f45f",
    "full_description": "",
    "small_description": "not a list",
    "pricing": None,
    "customization_options": "",
    "category": "fashion",
    "query": "  Running SHOES ",
    "product_category": "",
    "images": [None, "second"],
}
ODD: list[dict[str, Any]] = [
    {},
    {"small_description": []},
    {"small_description": [""]},
    {"pricing": "$5.00 - $20.50 and $9"},
    {"pricing": "$0.125"},
    {"pricing": "$" + "9" * 25},
    {"pricing": "$" + "9" * 400},
    {"pricing": "$0.00000000012"},
    {"pricing": "$12 - $3"},
    {"customization_options": {"Size": None}},
    {"customization_options": {"Size": []}},
    {"customization_options": {"Size": [], "Fit": [{"value": "x", "image": 5}]}},
    {"customization_options": {"ΑΣ": [{"value": " Red/ ", "image": "i"}, {"value": "red/"}]}},
    {"customization_options": {"a": [{"value": v} for v in ("/", "//x", "a |/", "a | b", "/|")]}},
    {"customization_options": {"a": [{"value": "V", "image": "1"}], "b": [{"value": "v"}]}},
    {
        "customization_options": {
            "Color": [{"value": "hidden", "image": "h"}, {"value": "both", "image": "old"}],
            "size": [{"value": "9"}],
            "color": [{"value": "seen"}, {"value": "both", "image": "new"}],
        }
    },
]


def test_every_loading_rule_is_undone(tmp_path: Path) -> None:
    records = [{**RECORD, **odd, "asin": f"B{place}"} for place, odd in enumerate(ODD)]
    records += [records[0], {**RECORD, "asin": "bad", "pricing": "free"}]
    mined = {
        "B0": {},
        "B1": {"attributes": []},
        "B2": {"attributes": ["b", "a"], "instruction": "", "instruction_attributes": ["z"]},
        "B3": {"attributes": ["DUMMY_ATTR"]},
        "B4": {"instruction": "Find me", "instruction_attributes": ["unmined"]},
        # No combination of options, so no goal, but a price cap is drawn for it.
        "B10": {"attributes": ["a"], "instruction": "no goal", "instruction_attributes": ["a"]},
        "B13": {"attributes": ["a"], "instruction": "many", "instruction_attributes": ["a"]},
        "B14": {"attributes": ["a"], "instruction": "dropped", "instruction_attributes": []},
        "elsewhere": {"attributes": ["a"]},
    }
    said = {"instruction": "..i want. one...", "instruction_attributes": ["a"]}
    human = {
        "B3": [{**said, "instruction_options": ["9"]}, {**said, "instruction_options": ["9"]}],
        "B5": [{**said, "instruction_options": [], "instruction_attributes": []}],
        "B13": [{**said, "instruction_options": ["/"]}],
    }
    sources = {"items": records, "attributes": mined, "human": human}
    for name, value in sources.items():
        (tmp_path / name).write_text(json.dumps(value))
    build_catalog(
        tmp_path / "made",
        **{name: tmp_path / name for name in sources},
        seed=4,  # type: ignore[arg-type]
    )
    made = Catalog.open(tmp_path / "made")
    assert len(made) == len(ODD)
    assert made.manifest.goals == {"synthetic": 7, "human": 3}
    rebuilt = again(made, tmp_path / "one", "items", "attributes", "human")
    assert list(made) == list(rebuilt)
    for kind in ("synthetic", "human"):
        mine, theirs = made.goals(kind), rebuilt.goals(kind)
        assert [mine[i] for i in range(len(mine))] == [theirs[i] for i in range(len(theirs))]
    export_catalog(rebuilt, **files_in(tmp_path / "two"))
    assert written(tmp_path / "one") == written(tmp_path / "two")
    attributes = json.loads((tmp_path / "one" / "attributes.json").read_bytes())
    assert "B0" not in attributes, "of whom nothing was mined, nothing is said"
    assert attributes["B4"] == mined["B4"]


@given(st.text(alphabet="/ |aÀΣİ\t", max_size=8))
def test_every_value_can_be_spelled(raw: str) -> None:
    value = normalize_value(raw)
    assert normalize_value(spelled_value(value)) == value


@given(st.floats(min_value=0, allow_nan=False), st.floats(min_value=0, max_value=2000))
def test_every_price_can_be_spelled(low: float, high: float) -> None:
    pricing = f"{spelled_price(low)} - {spelled_price(high)}"
    assert parse_price(pricing) == (low, high)


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
entries = st.fixed_dictionaries({"value": texts}, optional={"image": texts | st.none()})


@given(
    st.fixed_dictionaries(
        {
            "asin": st.text("AB0", min_size=1, max_size=10),
            "name": texts,
            "full_description": texts,
            "small_description": st.lists(texts, max_size=3) | texts,
            "pricing": st.none() | st.decimals(0, 9999, places=3).map(lambda price: f"${price}"),
            "customization_options": st.dictionaries(
                texts, st.none() | st.lists(entries, max_size=4), max_size=3
            ),
            "category": texts,
            "query": texts,
            "product_category": texts,
            "images": st.lists(texts, min_size=1, max_size=2),
        }
    ),
    st.none() | st.lists(texts, max_size=3),
)
def test_any_product_comes_back(record: dict[str, Any], attributes: list[str] | None) -> None:
    product = parse_product(record, attributes)
    encoded = msgspec.json.encode(item_record(product))
    assert parse_product(json.loads(encoded), attributes) == product


def test_a_catalogue_without_side_files(tmp_path: Path) -> None:
    (tmp_path / "i").write_text(json.dumps([{**RECORD, "asin": "B1"}]))
    (tmp_path / "a").write_text("{}")
    build_catalog(tmp_path / "made", items=tmp_path / "i", attributes=tmp_path / "a")
    made = Catalog.open(tmp_path / "made")
    assert_same(made, again(made, tmp_path / "one", "items", "attributes", "human"))
    assert (tmp_path / "one" / "attributes.json").read_text() == "{}"


def test_mistakes_leave_nothing_behind(little: Catalog, tmp_path: Path) -> None:
    items, other = tmp_path / "items.json", tmp_path / "other.json"
    items.write_text("mine")
    for files, problem in (
        ({"items": items, "attributes": other}, "items.json exists already; .* --force"),
        ({"items": other, "attributes": tmp_path / "." / "other.json"}, "named for two files"),
        ({"items": tmp_path, "attributes": other}, "is not a file"),
        ({"items": Path(os.devnull), "attributes": other}, "is not a file"),
        ({"items": items / "below.json", "attributes": other}, "below.json cannot be written"),
        ({"items": other, "attributes": little.path / "a.json"}, "inside the catalogue"),
    ):
        with pytest.raises(CatalogError, match=problem):
            export_catalog(little, **files)
    assert [path.name for path in tmp_path.iterdir()] == ["items.json"]
    assert items.read_text() == "mine"
    export_catalog(little, items=items, attributes=other, replace=True)
    assert len(json.loads(items.read_bytes())) == len(little)


def test_a_failure_half_way_keeps_what_was_there(little: Catalog, tmp_path: Path) -> None:
    files = {"items": tmp_path / "i", "attributes": tmp_path / "a"}
    export_catalog(little, **files)
    before = [path.read_bytes() for path in files.values()]

    def stop(stage: str, done: int, total: int | None) -> None:
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_catalog(little, **files, replace=True, progress=stop)
    assert [path.read_bytes() for path in files.values()] == before
    assert len(list(tmp_path.iterdir())) == 2
