"""Packed values: what others have packed is unpacked within bounds."""

import tracemalloc
import zlib

import msgspec
import numpy as np
import pytest

from errands.runs.episode import Episode, Step, Summary
from errands.runs.store.rows import (
    MOST_UNPACKED,
    MOST_VALUES,
    StoreError,
    _Body,
    _values,
    pack,
    pack_body,
    unpack,
    unpack_body,
)


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


@pytest.mark.parametrize(
    ("mark", "value"),
    [(b"m", b"\x91\xa0"), (b"s", b"\x80"), (b"s", b"\x81\xc4\x00\x80"), (b"m", b"\xc0")],
)
def test_more_values_than_an_episode_has_are_not_made(mark: bytes, value: bytes) -> None:
    """Each takes a byte or two here, and a hundred where it is made."""
    count = MOST_VALUES // len(value) + 1
    body = mark + b"\x93\xdd" + count.to_bytes(4, "big") + value * count + b"\xa0\xc0"
    packed = squeezed(body + b"\xc0" * (MOST_VALUES // 2))
    assert len(packed) < 100_000
    tracemalloc.start()
    with pytest.raises(ValueError, match="more than 10,000,000 values"):
        unpack(packed, _Body)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 64 << 20


def test_what_could_not_be_read_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    summary = Summary(
        number=3, key="goal", status="done", reward=1.0, success=True, steps=1, seconds=0.1
    )
    episode = Episode(summary=summary, steps=(Step("a", observation="x" * 2_000_000),))
    assert unpack_body(summary, pack_body(episode)) == episode
    for limit in ("MOST_UNPACKED", "MOST_VALUES"):
        with monkeypatch.context() as patched:
            patched.setattr(f"errands.runs.store.rows.{limit}", 5)
            with pytest.raises(StoreError, match=r"Episode 3 cannot be kept \(it .* more than"):
                pack_body(episode)


def test_values_are_counted_as_they_are_packed() -> None:
    numbers = [0, -1, 127, 128, -32, -33, *(s * 2**n for n in (8, 16, 31, 33) for s in (1, -1))]
    plain = [None, True, False, 1.5, 2**64 - 1, *numbers]
    texts = [kind * size for size in (0, 5, 31, 32, 255, 256, 70_000) for kind in ("a", b"b")]
    many = [list(range(n)) for n in (0, 15, 16, 70_000)]
    maps = [{str(k): k for k in range(n)} for n in (0, 15, 16, 70_000)]
    others = [msgspec.msgpack.Ext(3, b"x" * n) for n in (1, 2, 3, 4, 8, 16, 200, 300, 70_000)]
    count = 1 + len([*plain, *texts, *others])
    count += sum(1 + len(one) for one in many) + sum(1 + 2 * len(one) for one in maps)
    data = msgspec.msgpack.encode([*plain, *texts, *many, *maps, *others])
    assert _values(np.frombuffer(data, np.uint8), len(data), 1 << 30) == count
    assert _values(np.frombuffer(data, np.uint8), len(data), 100) == 101
    for cut in range(1, 400):
        assert 0 < _values(np.frombuffer(data[:cut], np.uint8), cut, 1 << 30) <= count


def test_what_is_damaged_says_so() -> None:
    whole = squeezed(pack(["x" * 1_000]))
    with pytest.raises(ValueError, match="cut off"):
        unpack(whole[:-6])
    with pytest.raises(ValueError, match="squeezed twice"):
        unpack(squeezed(squeezed(pack(1))))
