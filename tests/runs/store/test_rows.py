"""Packed values: what others have packed is unpacked within bounds."""

import tracemalloc
import zlib

import pytest

from errands.runs.store.rows import MOST_UNPACKED, pack, unpack


def squeezed(body: bytes) -> bytes:
    return b"z" + zlib.compress(body, 9)


def bomb(size: int) -> bytes:
    """A packed text of so many bytes, made piece by piece."""
    packer = zlib.compressobj(9)
    head = b"m\xdb" + size.to_bytes(4, "big")
    pieces = [packer.compress(head)]
    pieces += [packer.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"z" + b"".join(pieces) + packer.flush()


def test_what_was_squeezed_comes_back() -> None:
    value = {"a": ["x" * 10_000]}
    assert unpack(squeezed(pack(value))) == value


def test_what_unpacks_to_too_much_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_UNPACKED == 256 << 20
    monkeypatch.setattr("errands.runs.store.rows.MOST_UNPACKED", 1 << 20)
    packed = bomb(64 << 20)
    assert len(packed) < 100_000
    tracemalloc.start()
    with pytest.raises(ValueError, match="unpacks to more than 1 MB"):
        unpack(packed)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 << 20


def test_what_is_damaged_says_so() -> None:
    whole = squeezed(pack(["x" * 1_000]))
    with pytest.raises(ValueError, match="cut off"):
        unpack(whole[:-6])
    with pytest.raises(ValueError, match="squeezed twice"):
        unpack(squeezed(squeezed(pack(1))))
