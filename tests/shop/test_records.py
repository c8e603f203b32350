"""Mapped storage: what is written is what is read."""

from array import array
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.shop.records import ArrayWriter, Records, RecordsWriter, map_array, write_array


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
    mapped = map_array(tmp_path / "a.npy")
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
