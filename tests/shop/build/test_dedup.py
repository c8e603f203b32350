"""The ledger of ids: as a set that keeps the order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.shop.build.dedup import SeenIds

_id = st.text(st.sampled_from("abcé\u20ac"), min_size=1, max_size=6).map(str.encode)


@given(st.lists(st.lists(_id, max_size=20), max_size=8))
def test_each_id_is_new_once(chunks: list[list[bytes]]) -> None:
    ledger, seen = SeenIds(), dict[bytes, None]()
    for chunk in chunks:
        expected = []
        for name in chunk:
            expected.append(name not in seen)
            seen[name] = None
        held = np.array(chunk, np.bytes_) if chunk else np.empty(0, "S1")
        assert ledger.add(held).tolist() == expected
    assert ledger.names().tolist() == list(seen)
    assert len(ledger) == len(seen)


@pytest.mark.parametrize("size", [100, 20_000])
def test_it_grows(size: int) -> None:
    ledger = SeenIds()
    names = np.array([f"B{number}".encode() for number in range(size)])
    for part in np.array_split(names, 7):
        assert ledger.add(part).all()
        assert not ledger.add(part[::2]).any()
    assert ledger.names().tolist() == names.tolist()
    wide = np.array([b"x" * 40])
    assert ledger.add(wide).all()
    assert not ledger.add(names[:5]).any()
    assert ledger.names().dtype == np.dtype("S40")
