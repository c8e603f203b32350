"""The byte scanner: the same parts as json finds, in blocks of any size."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.shop.build.json_scan import MalformedJson, MemberScan

_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=15,
)


def parts(data: bytes, block: int, *, of_object: bool) -> list[tuple[bytes, bytes, bool]]:
    """Names (without quotes), values and plainness of all parts of a file."""
    scan = MemberScan(of_object=of_object)
    found = []
    for at in range(0, len(data), block):
        held = scan.feed(data[at : at + block])
        rows = zip(*(column.tolist() for column in held), strict=True)
        found += [(data[n:m], data[a:b], plain) for n, m, a, b, plain in rows]
    scan.finish()
    return found


@given(
    st.lists(_values), st.sampled_from([None, 2]), st.booleans(), st.booleans(), st.integers(1, 60)
)
def test_the_parts_are_those_that_json_finds(
    values: list[Any], indent: int | None, escape: bool, mark: bool, block: int
) -> None:
    start = b"\xef\xbb\xbf" if mark else b""
    # The mark is looked for in the first block.
    block = block + 3 if mark else block
    text = json.dumps(values, indent=indent, ensure_ascii=escape)
    data = start + text.encode("utf-8", "surrogatepass")
    found = parts(data, block, of_object=False)
    assert repr([json.loads(value) for _, value, _ in found]) == repr(values)
    named = {f'{number}"\\ é': value for number, value in enumerate(values)}
    data = start + json.dumps(named, indent=indent, ensure_ascii=escape).encode()
    members = parts(data, block, of_object=True)
    decoded = [(json.loads(b'"%b"' % name), json.loads(value)) for name, value, _ in members]
    assert repr(decoded) == repr(list(named.items()))
    assert not any(plain for _, _, plain in members)


@pytest.mark.parametrize("data", ["", "  ", "x", "{", "[1", "[1,]", "[,]", "[1,,2]", "[1]]", "[1}",
                                  '["a]', "[1] x", '{"a": 1}', "[[]", "[,1]"])  # fmt: skip
@pytest.mark.parametrize("block", [1, 100])
def test_odd_arrays(data: str, block: int) -> None:
    with pytest.raises(MalformedJson):
        parts(data.encode(), block, of_object=False)


@pytest.mark.parametrize("data", ["", "[]", "{,}", '{"a"}', '{"a" 1}', '{"a": }', '{"a": 1,}',
                                  '{"a": 1]', "{1: 2}", '{"a": 1} 2', '{"a": 1', '{x"a": 1}',
                                  '{"a"x: 1}'])  # fmt: skip
@pytest.mark.parametrize("block", [1, 100])
def test_odd_objects(data: str, block: int) -> None:
    with pytest.raises(MalformedJson):
        parts(data.encode(), block, of_object=True)


def test_nothing_in_it() -> None:
    assert parts(b" [ \n] ", 2, of_object=False) == []
    assert parts(b"{ } \n", 2, of_object=True) == []
