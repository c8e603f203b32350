"""Any table as products of the original's format."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from errands.mining.product_file import MOST_CHOICES, MOST_VALUES, PICTURE, ProductFile, item_of
from errands.mining.table.column_map import ColumnMap, guessed
from errands.shop.product import parse_product


def _item(row: dict[str, Any], **more: Any) -> tuple[dict[str, Any], list[str]]:
    remarks: list[str] = []
    held = {"title": "Mug", "price": "5", **row}
    return item_of(held, guessed(list(held), ColumnMap(columns={}, **more)), remarks), remarks


def _file(
    tmp_path: Path, rows: list[dict[str, Any]], given: ColumnMap | None = None
) -> ProductFile:
    path = tmp_path / "products.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return ProductFile(path, given)


def test_equal_ids_and_titles_are_dropped_and_counted(tmp_path: Path) -> None:
    rows = [
        {"sku": "a1", "title": "Blue mug"},
        {"sku": "A1", "title": "Red mug"},
        {"sku": "a2", "title": " BLUE  Mug "},
        {"sku": "a3", "title": ""},
        {"sku": "a4", "title": "Red mug"},
    ]
    file = _file(tmp_path, rows)
    assert [(one["asin"], one["name"]) for one in file.items()] == [
        ("A1", "Blue mug"),
        ("A4", "Red mug"),
    ]
    assert file.taken.rows == 5
    assert file.taken.dropped == {
        "id was there before": 1,
        "title was there before": 1,
        "no title": 1,
    }


def test_ids_that_the_shop_cannot_use_are_made_anew_and_stay_the_same() -> None:
    given = "sku-with/strange signs and far too long"
    made = [_item({"id": one})[0]["asin"] for one in (given, given, given + "!", "", "nan")]
    assert made[0] == made[1] != made[2]
    assert made[3] == made[4] != made[0]
    for asin in made:
        assert len(asin) == 10
        assert asin.isalnum()
    assert _item({"id": "b07-x"})[0]["asin"] == "B07-X"
    assert _item({"id": 1234})[0]["asin"] == "1234"


def test_prices() -> None:
    assert _item({"price": "12,50 €"})[0]["pricing"] == "$12.50"
    assert _item({"price": "5 - 20.5"})[0]["pricing"] == "$5.00 - $20.50"
    assert _item({"price": 3})[0]["pricing"] == "$3.00"
    item, remarks = _item({"price": ""})
    assert item["pricing"] == ""
    assert "no price: 100 dollars assumed" in remarks
    assert "price is not a number: 100 dollars assumed" in _item({"price": "ask"})[1]
    assert _item({"price": ""}, defaults={"price": "7"})[0]["pricing"] == "$7.00"


def test_products_without_a_price_can_be_dropped(tmp_path: Path) -> None:
    rows = [
        {"title": "A", "price": ""},
        {"title": "B", "price": "ask"},
        {"title": "C", "price": "5000000"},
        {"title": "D", "price": "5"},
    ]
    file = _file(tmp_path, rows, ColumnMap(columns={}, missing_price="drop"))
    assert [one["name"] for one in file.items()] == ["D"]
    assert file.taken.dropped == {
        "no price": 1,
        "price is not a number": 1,
        "price is above a million": 1,
    }


def test_too_dear_for_any_goal_is_dropped_anyway(tmp_path: Path) -> None:
    file = _file(tmp_path, [{"title": "C", "price": "5000000"}, {"title": "D", "price": "1"}])
    assert [one["name"] for one in file.items()] == ["D"]


def test_a_monstrous_row_is_dropped_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    deep = "[" * 700 + "1" + "]" * 700
    objects = '{"a":' * 700 + "1" + "}" * 700
    lines = [
        '{"title": "A", "price": 5, "description": "", "options": ""}',
        f'{{"title": "B", "price": 1{"0" * 400}}}',
        f'{{"title": {deep}}}',
        f'{{"title": {objects}}}',
        f'{{"title": "E", "price": {deep}}}',
        f'{{"title": "F", "description": {deep}}}',
        f'{{"title": "G", "options": {objects}}}',
        '{"title": "Z", "price": 5}',
    ]
    path.write_text("\n".join(lines))
    file = ProductFile(path)
    names = [one["name"] for one in file.items()]
    assert (names[0], names[-1]) == ("A", "Z")
    assert file.taken.rows == 8
    assert file.taken.dropped["price is above a million"] == 1
    assert file.taken.dropped["values are nested too deeply"] == 8 - 1 - len(names) >= 1
    assert "B" not in names


def test_html_and_its_lists() -> None:
    text = "<p>A <b>big</b> mug</p><ul><li>easy to clean</li><li>BPA &amp; lead free</li></ul>"
    item, remarks = _item({"description": text})
    assert item["full_description"] == "A big mug\neasy to clean\nBPA & lead free"
    assert item["small_description"] == ["easy to clean", "BPA & lead free"]
    assert "HTML taken out of the description" in remarks
    assert _item({"description": text, "features": "one|two"})[0]["small_description"] == [
        "one",
        "two",
    ]


def test_pictures() -> None:
    item, remarks = _item({"images": "https://a.example/1.jpg|javascript:alert(1)"})
    assert item["images"] == ["https://a.example/1.jpg"]
    assert not any("picture" in one for one in remarks)
    item, remarks = _item({"image": "javascript:alert(1)"})
    assert item["images"] == [PICTURE]
    assert "picture is no web address: a drawn one" in remarks
    assert "no picture: a drawn one" in _item({})[1]
    # Objects may have the name of an address and nothing in it.
    item, remarks = _item({"images": [{"src": None}, {"url": ""}, {"link": "https://a.example/2"}]})
    assert item["images"] == ["https://a.example/2"]


@pytest.mark.parametrize(
    "cell",
    [
        {"Color": ["Red", "Blue", "Red"], "size": None},
        {"Color": [{"value": "Red"}, {"value": "Blue", "image": None}]},
        '{"color": ["Red", "Blue"]}',
        "color: Red | Blue; nonsense",
    ],
)
def test_options_in_one_cell(cell: Any) -> None:
    options = _item({"options": cell})[0]["customization_options"]
    assert {name: [one["value"] for one in held] for name, held in options.items()} == {
        "color": ["Red", "Blue"]
    }


def test_options_keep_their_pictures() -> None:
    cell = {"color": [{"value": "a", "image": "https://a.example/a.jpg"},
                      {"value": "b", "image": "javascript:alert(1)"}]}  # fmt: skip
    assert _item({"options": cell})[0]["customization_options"]["color"] == [
        {"value": "a", "image": "https://a.example/a.jpg"},
        {"value": "b", "image": None},
    ]


def test_options_in_columns() -> None:
    item, _ = _item(
        {"Colour": "red;blue", "sizes": ""}, split={**ColumnMap(columns={}).split, "options": ";"}
    )
    assert [one["value"] for one in item["customization_options"]["color"]] == ["red", "blue"]
    assert "size" not in item["customization_options"]
    assert _item({"options": "{broken"})[0]["customization_options"] == ""


def test_far_too_many_options() -> None:
    many = "|".join(f"v{number}" for number in range(300))
    item, remarks = _item({"color": many})
    assert len(item["customization_options"]["color"]) == MOST_VALUES
    assert any("values of an option" in one for one in remarks)
    item, remarks = _item({"color": many, "size": many, "style": "a|b"})
    choices = 1
    for held in item["customization_options"].values():
        choices *= len(held)
    assert choices <= MOST_CHOICES
    assert any("combinations" in one for one in remarks)


def test_huge_fields_are_cut() -> None:
    item, remarks = _item({"title": "word " * 1_000, "description": "word " * 100_000})
    assert len(item["name"]) <= 400
    assert len(item["full_description"]) <= 20_000
    assert {"title cut to 400 characters", "description cut to 20,000 characters"} <= set(remarks)


def test_categories() -> None:
    item, _ = _item({"category": "Kitchen", "type": "Coffee Mugs", "breadcrumb": "Home > Mugs"})
    assert (item["category"], item["query"], item["product_category"]) == (
        "Kitchen",
        "coffee mugs",
        "Home › Mugs",
    )
    item, _ = _item({"breadcrumb": "Home > Mugs"})
    assert (item["category"], item["query"]) == ("Mugs", "mugs")
    item, _ = _item({"category": "Kitchen"})
    assert (item["query"], item["product_category"]) == ("mugs", "Kitchen › mugs")


def test_every_item_is_a_product_of_the_shop(tmp_path: Path) -> None:
    values: list[Any] = [
        None,
        "",
        "x",
        3,
        2.5,
        True,
        [],
        {},
        ["a", None, 3],
        {"a": 1},
        "nan",
        "\ud800",
    ]
    rows = [
        {"title": title, "price": value, "category": value, "description": value, "options": value,
         "images": value, "id": value, "features": value, "color": value}
        for value in values
        for title in ("A", 7, ["b"], "<b>bold</b>")
    ]  # fmt: skip
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    file = ProductFile(path)
    made = list(file.items())
    assert made
    assert file.taken.products + sum(file.taken.dropped.values()) == len(rows)
    for item in made:
        assert parse_product(item, None).title
        json.dumps(item, ensure_ascii=False).encode()


def test_a_product_has_only_so_many_rows(tmp_path: Path) -> None:
    rows = [{"id": "a", "title": "Mug", "color": f"c{n % 3}", "price": "1"} for n in range(2_100)]
    file = _file(tmp_path, rows)
    (mug,) = file.items()
    assert len(mug["customization_options"]["color"]) == 3
    assert file.taken.rows == 2_100
    assert file.taken.variants == 1_999
    assert file.taken.dropped == {"more than 2,000 rows of one product": 100}


def test_a_map_that_names_the_kind_is_obeyed(tmp_path: Path) -> None:
    rows = [{"title": "Tin mug", "sort": "Camping Gear"}]
    given = ColumnMap(columns={"query": ("sort",)})
    assert next(_file(tmp_path, rows, given).items())["query"] == "camping gear"


def test_a_kind_that_a_product_does_not_say_is_put_where_a_search_finds_it() -> None:
    item, remarks = _item({"title": "Moon Cycle", "category": "Womens", "tags": "new, Shirts"})
    assert item["query"] == "shirts"
    assert item["full_description"] == "Shirts"
    assert "kind that its texts do not say: put below the description" in remarks


def test_paths_inside_values_in_a_map(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '[{"title": "Mug", "media": [{"src": "https://a.example/1.jpg"}], "cost": {"net": "3.50"},'
        ' "skus": [{"colour": "red"}, {"colour": "blue"}]}]'
    )
    given = ColumnMap(
        columns={"images": ("media[].src",), "price": ("cost.net",)},
        options={"color": "skus[].colour"},
    )
    (mug,) = ProductFile(path, given).items()
    assert [one["value"] for one in mug["customization_options"]["color"]] == ["red", "blue"]
    assert mug["images"] == ["https://a.example/1.jpg"]
    assert mug["pricing"] == "$3.50"
