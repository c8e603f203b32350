"""What stands in a cell, and values inside values."""

import time
from typing import Any

import pytest

from errands.mining.table.cells import flat, is_nothing, paths, structured, unwrapped, values_at


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("['a', 'it\\'s']", ["a", "it's"]),
        ('{"colour": ["red"]}', {"colour": ["red"]}),
        ('{"spec"=>[{"key"=>"Fabric", "value"=>"a => b"}, {"value"=>nil}]}',
         {"spec": [{"key": "Fabric", "value": "a => b"}, {"value": None}]}),
        ("[not a list]", "[not a list]"),
        ("{broken", "{broken"),
        ("[1, __import__('os')]", "[1, __import__('os')]"),
        ("{1: (2, 'a')}", {"1": [2, "a"]}),
        ("{['a']: 1}", "{['a']: 1}"),
        ("[b'a', ...]", "[b'a', ...]"),
        ("[0x" + "f" * 5000 + "]", "[0x" + "f" * 5000 + "]"),
        ("plain", "plain"),
        (["a"], ["a"]),
        (None, None),
    ],
)  # fmt: skip
def test_what_a_text_spells_out(cell: Any, value: Any) -> None:
    assert structured(cell) == value


def test_hostile_cells_stay_texts_and_cost_little() -> None:
    begun = time.process_time()
    for cell in ("[" * 90_000 + "]" * 90_000, '{"' * 60_000 + "}", '{"a"=>' * 30_000 + "}"):
        assert structured(cell) == cell
    assert structured("[" + "1," * 200_000 + "]") == "[" + "1," * 200_000 + "]"
    assert time.process_time() - begun < 5


def test_nothing_is_nothing() -> None:
    assert all(map(is_nothing, (None, "", " NaN ", "null", [], {}, "[]", float("nan"))))
    assert not any(map(is_nothing, (0, "0", False, "x", [None])))


def test_an_object_is_called_by_its_name() -> None:
    assert flat([{"id": 3, "name": "Mice"}, "Cats"]) == "Mice Cats"
    assert flat({"id": 3}) == '{"id": 3}'


ROW = {
    "id": 1,
    "images": [{"src": "a", "size": {"w": 3}}, {"src": "b"}],
    "price": {"min": {"amount": "5"}},
    "tags": ["x", "y"],
}


def test_values_inside_values_are_columns() -> None:
    assert paths(ROW) == [
        "id",
        "images", "images[].src", "images[].size", "images[].size.w",
        "price", "price.min", "price.min.amount",
        "tags",
    ]  # fmt: skip
    assert values_at(ROW, "images[].src") == ["a", "b"]
    assert values_at(ROW, "price.min.amount") == ["5"]
    assert values_at(ROW, "tags[]") == ["x", "y"]
    assert values_at(ROW, "tags") == [["x", "y"]]
    assert values_at(ROW, "gone") == values_at(ROW, "images.src") == values_at(ROW, "") == []
    # A column that is called like a path is a column.
    assert values_at({"a.b": 1, "a": {"b": 2}}, "a.b") == [1]


def test_graphql_is_unwrapped() -> None:
    row = {"node": {"title": "A", "images": {"edges": [{"node": {"url": "u"}}]}}}
    assert unwrapped(row) == {"title": "A", "images": [{"url": "u"}]}
    assert unwrapped({"nodes": 3}) == {"nodes": 3}


def test_there_are_not_too_many_paths_but_all_columns() -> None:
    row = {f"c{n}": n for n in range(500)} | {"deep": {f"d{n}": n for n in range(500)}, "last": 1}
    found = paths(row)
    assert len(found) == 502 + 200
    assert found[-1] == "last"
