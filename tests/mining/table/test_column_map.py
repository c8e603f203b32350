"""Maps of columns."""

import tomllib
from pathlib import Path

import pytest

from errands.errors import DataError, SettingError
from errands.mining.table.column_map import ColumnMap, guessed, read_map, starter


def _read(tmp_path: Path, text: str) -> ColumnMap:
    path = tmp_path / "map.toml"
    path.write_text(text)
    return read_map(path)


def test_common_names_are_recognised() -> None:
    made = guessed(["SKU", "Product Name", "Sale-Price", "Body (HTML)", "Colour", "Stock"])
    assert made.columns == {
        "id": ("SKU",),
        "title": ("Product Name",),
        "price": ("Sale-Price",),
        "description": ("Body (HTML)",),
    }
    assert made.options == {"color": "Colour"}


def test_the_originals_items_are_recognised() -> None:
    header = "asin name pricing category query product_category full_description".split()
    made = guessed([*header, "small_description", "customization_options", "images"])
    assert list(made.columns) == (
        "id title price category query path description features options images".split()
    )


def test_what_is_said_is_not_guessed(tmp_path: Path) -> None:
    given = _read(tmp_path, '[columns]\ntitle = "label"\n[defaults]\ncategory = "toys"\n')
    made = guessed(["title", "label", "category"], given)
    assert made.columns == {"title": ("label",)}
    assert made.defaults == {"category": "toys"}


def test_everything_can_be_said(tmp_path: Path) -> None:
    made = _read(
        tmp_path,
        """
        [columns]
        title = "t"
        description = ["a", "b"]
        [options]
        Color = "c"
        "Shoe Size" = "s"
        [split]
        options = ";"
        "Shoe Size" = "/"
        [reading]
        encoding = "cp1252"
        delimiter = "|"
        decimal = ","
        missing_price = "drop"
        """,
    )
    assert made.columns["description"] == ("a", "b")
    assert made.options == {"color": "c", "shoe size": "s"}
    assert made.split["options"] == ";"
    assert made.split["shoe size"] == "/"
    assert made.split["features"] == "|"
    assert (made.encoding, made.delimiter, made.decimal) == ("cp1252", "|", ",")
    assert made.missing_price == "drop"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[colums]\ntitle = "t"', "no section"),
        ('columns = "t"', "not a section"),
        ('[columns]\ntitel = "t"', "Did you mean 'title'"),
        ("[columns]\ntitle = 3", "not the name of a column"),
        ("[columns]\ntitle = []", "not the name of a column"),
        ("[options]\ncolor = 3", "not a text in quotes"),
        ('[split]\ntitle = "|"', "knows no 'title'"),
        ('[defaults]\ntitle = "x"', "knows no 'title'"),
        ('[reading]\nencoding = "klingon"', "klingon"),
        ('[reading]\nencoding = "base64"', "base64"),
        ('[reading]\nencoding = "a\\u0000b"', "there is no"),
        ('[reading]\ndelimiter = "::"', "one character"),
        ('[reading]\ndecimal = ";"', "auto or . or ,"),
        ('[reading]\nmissing_price = "guess"', "assume or drop"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SettingError, match=r"map\.toml") as raised:
        _read(tmp_path, text)
    assert says in str(raised.value)


def test_a_file_that_is_no_toml(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not TOML"):
        _read(tmp_path, "[columns")
    with pytest.raises(DataError, match="is not TOML"):
        _read(tmp_path, "[columns]\nprice = " + "9" * 5_000)
    (tmp_path / "map.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="is not TOML"):
        read_map(tmp_path / "map.toml")
    with pytest.raises(DataError, match="errands mine map"):
        read_map(tmp_path / "none.toml")


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    given = _read(tmp_path, '[columns]\ntitle = "lable"\n')
    with pytest.raises(SettingError, match="Did you mean 'label'"):
        guessed(["label"], given)
    with pytest.raises(SettingError, match="No column is known to hold the titles"):
        guessed(["a", "b"])
    given = _read(tmp_path, '[columns]\ntitle = "a"\n[options]\nsize = "gone"\n')
    with pytest.raises(SettingError, match="option size"):
        guessed(["a"], given)


def test_a_starter_says_what_was_found(tmp_path: Path) -> None:
    header = ['na"me\\', "price", "Größe", "color"]
    made = guessed(header, ColumnMap(columns={"title": ('na"me\\',)}))
    text = starter(made, header)
    assert tomllib.loads(text)["columns"] == {"title": 'na"me\\', "price": "price"}
    assert guessed(header, _read(tmp_path, text)).told() == made.told()
    assert '# Not used: "Größe"' in text


def test_names_of_options_that_stand_in_columns(tmp_path: Path) -> None:
    header = ["Handle", "Title", "Option1 Name", "Option1 Value", "Attribute 2 name"]
    made = guessed([*header, "Attribute 2 value(s)", "Variant Price", "Compare At Price"])
    assert made.options == {
        "{Option1 Name}": "Option1 Value",
        "{Attribute 2 name}": "Attribute 2 value(s)",
    }
    assert made.columns["price"] == ("Variant Price", "Compare At Price")
    text = starter(made, header)
    again = _read(tmp_path, text)
    assert again.options == made.options
    given = _read(tmp_path, '[columns]\ntitle = "a"\n[options]\n"{gone}" = "a"\n')
    with pytest.raises(SettingError, match="gone"):
        guessed(["a"], given)


def test_prices_that_are_paid_come_before_those_that_were_asked() -> None:
    made = guessed(["title", "retail_price", "discounted_price"])
    assert made.columns["price"] == ("discounted_price", "retail_price")
    assert guessed(["title", "regularPrice", "salePrice"]).columns["price"] == (
        "salePrice",
        "regularPrice",
    )
    # A price inside values is another one than the product's own.
    assert guessed(["title", "price", "variants[].price"]).columns["price"] == ("price",)
    assert guessed(["title", "variants[].price"]).columns["price"] == ("variants[].price",)


def test_a_sample_of_rows_tells_which_columns_are_of_use() -> None:
    header = ["title", "type", "category", "sku", "asin"]
    rows = [{"title": "A", "type": "simple", "category": "Mugs", "sku": "1", "asin": ""}] * 3
    made = guessed(header, sample=rows)
    assert made.columns == {"id": ("sku",), "title": ("title",), "category": ("Mugs",)} | {
        "category": ("category",)
    }
    kinds = [
        {**row, "type": kind} for row, kind in zip(rows, ("mugs", "jugs", "pots"), strict=True)
    ]
    assert guessed(header, sample=kinds).columns["query"] == ("type",)


def test_a_guessed_kind_is_no_order(tmp_path: Path) -> None:
    header = ["title", "type"]
    text = starter(guessed(header), header)
    assert '# query = "type"' in text
    assert "query" not in guessed(header, _read(tmp_path, text)).given
    assert "query" in guessed(header, _read(tmp_path, '[columns]\nquery = "type"\n')).given
