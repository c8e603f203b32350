"""Squeezed records: what is read is what was written, by any number of threads."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from errands.shop.catalog.compression import CompressedRecords, compressor, train, write_dictionary
from errands.shop.records import RecordsWriter

RECORDS = [
    b"a product of the number %d, easy to clean, made by %d hands" % (number, number * 7919)
    for number in range(1000)
]


@pytest.mark.parametrize("count", [0, 3, 1000])
def test_records_come_back(tmp_path: Path, count: int) -> None:
    dictionary = train(RECORDS[:count])
    assert bool(dictionary) == (count == 1000)
    squeeze = compressor(dictionary)
    squeezed = [squeeze(record) for record in RECORDS]
    writer = RecordsWriter(tmp_path / "held")
    for record in squeezed:
        writer.append(record)
    writer.finish()
    write_dictionary(tmp_path / "held", dictionary)
    records = CompressedRecords(tmp_path / "held")
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(records.__getitem__, range(len(records)))) == RECORDS


def test_a_dictionary_makes_small_records_smaller() -> None:
    plain, helped = compressor(b""), compressor(train(RECORDS))
    assert sum(map(len, map(helped, RECORDS))) < 0.5 * sum(map(len, map(plain, RECORDS)))
