"""Streaming JSON: the same values as json, in small steps, and errors with a position."""

import json
from pathlib import Path
from typing import Any

import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.errors import DataError
from errands.shop.build import json_stream as source
from errands.shop.build.json_stream import stream_array, stream_object

_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.fixture(params=[1, 7, 1 << 20])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(source, "CHUNK", request.param)
    return int(request.param)


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "file.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@given(values=st.lists(_values), indent=st.sampled_from([None, 1]), data=st.data())
@settings(max_examples=effort(20, 60), deadline=None)
def test_arrays_and_objects_are_read_whole(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any], indent: int | None, data: Any
) -> None:
    folder = tmp_path_factory.mktemp("json")
    path = write(folder, json.dumps(values, indent=indent))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "CHUNK", data.draw(st.integers(1, 40)))
        assert list(stream_array(path)) == values
        named = {str(number): value for number, value in enumerate(values)}
        path = write(folder, json.dumps(named, indent=indent, ensure_ascii=False))
        assert dict(stream_object(path)) == named


def test_progress_ends_at_the_size_of_the_file(tmp_path: Path, chunk: int) -> None:
    path = write(tmp_path, "  [1, 22, 333 ]\n\n")
    seen: list[int] = []
    assert list(stream_array(path, seen.append)) == [1, 22, 333]
    assert seen[-1] == path.stat().st_size


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", "0"),
        ("not json", "0"),
        ('[{"a": 1}, {"b" 2}]', "16"),
        ('[{"a": 1} {"b": 2}]', "10"),
        ("[1, 2", "5"),
        ("[1, 2] 3", "7"),
        ('{"a": 1}', "0"),
        ("[tru]", "1"),
    ],
)
def test_what_is_not_an_array_is_one_sentence(
    tmp_path: Path, chunk: int, text: str, position: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(DataError, match=rf"file\.json is not .* at character {position}\."):
        list(stream_array(path))


def test_what_is_not_an_object_is_one_sentence(tmp_path: Path) -> None:
    for text in ("[]", "{1: 2}", '{"a" 1}', '{"a": 1,}'):
        with pytest.raises(DataError, match="at character"):
            list(stream_object(write(tmp_path, text)))


def test_missing_files_and_deep_nesting(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot be read .No such file"):
        list(stream_array(tmp_path / "absent.json"))
    with pytest.raises(DataError, match="nested too deeply"):
        list(stream_array(write(tmp_path, "[" * 100_000)))


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    assert list(stream_array(write(tmp_path, b"\xef\xbb\xbf[1]"))) == [1]


def test_halves_of_surrogate_pairs_are_replaced(tmp_path: Path, chunk: int) -> None:
    path = write(tmp_path, r'[{"a\ud800": ["x\uDFFFy", 1]}, "\ud83d\ude00", "\\ud800"]')
    assert list(stream_array(path)) == [
        {"a\ufffd": ["x\ufffdy", 1]},
        "\U0001f600",
        "\\ud800",
    ]


def test_bad_bytes_have_a_position(tmp_path: Path, chunk: int) -> None:
    path = write(tmp_path, b'["abc", "d\xffe"]')
    with pytest.raises(DataError, match="byte 10 is not UTF-8"):
        list(stream_array(path))


def test_monstrous_numbers_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="at character"):
        list(stream_array(write(tmp_path, "[" + "1" * 5000 + "]")))
