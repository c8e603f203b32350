"""What a table seems to have and no product has is told, before anything is built."""

from pathlib import Path

import pytest

from errands.errors import DataError
from errands.mining.own_shop import make_shop
from errands.mining.product_file import ProductFile

ROWS = "\n".join(
    f'Mug {n},"Easy to clean, oven safe.",{n}.50,https://a.example/{n}.jpg,{colour}'
    for n, colour in enumerate(("red", "blue", "green", "red", "blue", "white"), 1)
)


def _table(tmp_path: Path, header: str, rows: str = ROWS) -> Path:
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n{rows}\n")
    return path


def _doubts(path: Path) -> dict[str, str | None]:
    file = ProductFile(path)
    list(file.items())
    return {one.field: one.column for one in file.taken.doubts}


def test_columns_of_other_names_are_told_by_what_they_hold(tmp_path: Path) -> None:
    path = _table(tmp_path, "title,description,betrag,foto,frame colour")
    assert _doubts(path) == {"price": "betrag", "images": "foto", "options": "frame colour"}
    file = ProductFile(path)
    list(file.items())
    said = {one.field: one.sentence for one in file.taken.doubts}
    assert said["price"] == (
        "All 6 products cost $100.00, but the column 'betrag' seems to hold prices (such as"
        " '1.50'): write price = 'betrag' below [columns] in a map (errands mine map FILE --out"
        " map.toml) and give it with --map."
    )
    assert "write \"frame colour\" = 'frame colour' below [options]" in said["options"]


def test_where_all_is_read_nothing_is_doubted(tmp_path: Path) -> None:
    assert _doubts(_table(tmp_path, "title,description,price,image,color")) == {}


def test_one_price_for_all_is_odd_even_without_another_column(tmp_path: Path) -> None:
    rows = "\n".join(f"Mug {n},5,https://a.example/{n}.jpg,red" for n in range(6))
    assert _doubts(_table(tmp_path, "title,price,image,color", rows)) == {"price": None}
    few = "\n".join(f"Mug {n},5,https://a.example/{n}.jpg,red" for n in range(3))
    assert _doubts(_table(tmp_path, "title,price,image,color", few)) == {}


def test_numbers_that_are_no_prices_are_not_taken_for_some(tmp_path: Path) -> None:
    rows = "\n".join(f"Mug {n},{n}.25,{n}.75,{n},{n}" for n in range(6))
    path = _table(tmp_path, "title,rating,weight_kg,stock,variant_qty", rows)
    assert _doubts(path) == {"price": None}


def test_no_shop_is_built_of_a_table_that_was_not_read(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'errands[mine]'")
    path = _table(tmp_path, "title,description,betrag,image,color")
    with pytest.raises(DataError, match=r"Nothing was built: .*'betrag'.*--as-is") as raised:
        make_shop(path, tmp_path / "own")
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "own").exists()
    told: list[str] = []
    made = make_shop(path, tmp_path / "own", as_is=True, warn=told.append)
    assert made.manifest.products == 6
    assert len(told) == len(made.taken.doubts) == 1


def test_one_value_in_each_cell_may_be_a_fact_and_several_are_a_choice(tmp_path: Path) -> None:
    header = "title,description,price,image,frame colour"
    for several, sure in (("red", False), ("red|blue", True)):
        file = ProductFile(_table(tmp_path, header, ROWS.replace("red", several)))
        list(file.items())
        assert [(one.field, one.sure) for one in file.taken.doubts] == [("options", sure)]


def test_what_stands_inside_values_is_told_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '[{"title": "A mug", "skus": [{"cost": {"value": 9}, "colour": "red"}]},'
        ' {"title": "A jug", "skus": [{"cost": {"value": 12}, "colour": "blue"}]}]'
    )
    assert _doubts(path) == {"price": "skus[].cost.value", "options": "skus[].colour"}


def test_a_title_that_only_names_a_series_is_told(tmp_path: Path) -> None:
    rows = "\n".join(f'N{n},HOLM,"Shelf, {n} cm",{n}.50' for n in range(12))
    path = _table(tmp_path, "item_id,name,short_description,price", rows)
    file = ProductFile(path)
    assert len(list(file.items())) == 1
    series = "\n".join([*rows.split("\n"), "X,OAK,Chair,9.00"])
    file = ProductFile(_table(tmp_path, "item_id,name,short_description,price", series))
    assert len(list(file.items())) == 2
    (said,) = [one.sentence for one in file.taken.doubts if one.field == "title"]
    assert "11 rows with ids of their own are left out" in said
    assert "'HOLM', 12 times" in said
    assert "write title = ['name', '...']" in said


def test_a_table_in_which_nearly_nothing_has_a_price(tmp_path: Path) -> None:
    rows = "\n".join(f"Mug {n},{n if n == 1 else ''},{n}.50" for n in range(20))
    path = _table(tmp_path, "title,price,betrag", rows)
    file = ProductFile(path)
    list(file.items())
    said = {one.field: one.sentence for one in file.taken.doubts}
    assert said["price"].startswith("19 of 20 products have no price, but the column 'betrag'")


def test_whether_there_are_other_colours_is_no_colour(tmp_path: Path) -> None:
    rows = "\n".join(f"Mug {n},{n}.50,{'Yes' if n % 2 else 'No'}" for n in range(6))
    assert _doubts(_table(tmp_path, "title,price,other_colors", rows)) == {}


def test_without_a_column_of_ids_a_title_that_comes_again_is_a_title(tmp_path: Path) -> None:
    file = ProductFile(_table(tmp_path, "title,price", "Mug,1\nBowl,2\nMug,3"))
    list(file.items())
    assert file.taken.dropped == {"title was there before": 1}
