"""Mapped storage: what is written is what is read."""

import errno
import os
import resource
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.shop.records import (
    ArrayWriter,
    Records,
    RecordsWriter,
    map_array,
    new_array,
    write_array,
)


@given(st.lists(st.binary(max_size=50), max_size=20))
def test_records(tmp_path_factory: pytest.TempPathFactory, held: list[bytes]) -> None:
    stem = tmp_path_factory.mktemp("records") / "held"
    writer = RecordsWriter(stem)
    for record in held:
        writer.append(record)
    writer.finish()
    records = Records(stem)
    assert [records[number] for number in range(len(records))] == held


def test_an_unfinished_writer_leaves_no_list(tmp_path: Path) -> None:
    writer = RecordsWriter(tmp_path / "held")
    writer.append(b"x")
    writer.close()
    assert not (tmp_path / "held.npy").exists()


def test_arrays_are_mapped_read_only(tmp_path: Path) -> None:
    write_array(tmp_path / "a.npy", np.arange(5, dtype=np.uint32))
    mapped = map_array(tmp_path / "a.npy", np.uint32)
    assert type(mapped) is np.ndarray
    assert mapped.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="read-only"):
        mapped[0] = 1


def test_array_writer(tmp_path: Path) -> None:
    writer = ArrayWriter(tmp_path / "scratch", np.uint16)
    writer.extend(array("H", [1, 2]))
    writer.extend(array("H", []))
    writer.extend(array("H", [65535]))
    assert writer.array().tolist() == [1, 2, 65535]
    writer.close()
    empty = ArrayWriter(tmp_path / "none", np.uint16)
    assert empty.array().tolist() == []
    empty.close()


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="not on this system")
def test_a_new_array_has_its_room_on_the_disk(tmp_path: Path) -> None:
    """A page that is mapped but finds no room would end the process."""
    new_array(tmp_path / "a.npy", np.uint8, 1 << 20)
    assert (tmp_path / "a.npy").stat().st_blocks * 512 >= 1 << 20


@pytest.mark.parametrize(
    "values",
    [
        np.arange(7, dtype=np.uint32),
        np.array([b"ab", b"c"]),
        np.empty((2, 0), np.float64),
        np.array([[1.5, 2], [3, 4]]).T,
        np.array([True, False]),
    ],
)
def test_an_array_is_saved_as_numpy_saves_it(tmp_path: Path, values: Any) -> None:
    write_array(tmp_path / "ours.npy", values)
    np.save(tmp_path / "theirs.npy", np.ascontiguousarray(values))
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()


@pytest.mark.parametrize("count", [5000, 100_000])
def test_an_array_that_finds_no_room_says_why(tmp_path: Path, count: int) -> None:
    """NumPy itself says nothing of a few bytes that were not written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as refused:
            write_array(tmp_path / "a.npy", np.zeros(count, np.uint8))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert refused.value.errno == errno.EFBIG
