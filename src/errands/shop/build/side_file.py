"""A file beside the items file: one JSON object by asin that stays on disk.

`SideFile.scan` reads it once and writes a table, in asin order, of where each value lies; whoever
has the table looks up many asins at once and decodes their values only. The table is mapped, so
worker processes share it.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from errands.errors import DataError
from errands.shop.build.items_file import BLOCK, complain
from errands.shop.build.json_scan import MalformedJson, Members, MemberScan
from errands.shop.build.json_stream import JsonStream, decode_json, open_binary, stream_object
from errands.shop.catalog.catalog import SourceFile
from errands.shop.product import LONGEST_ASIN
from errands.shop.records import map_array, write_array
from errands.shop.rewards.nouns import nouns_from_file

__all__ = ["SideFile", "scan_nouns", "scan_side"]

_WIDEST: Final = 4 * LONGEST_ASIN
"""Bytes of the longest name that can be an asin."""


class _Anything(msgspec.Struct):
    """Any JSON object: decoding one checks it and keeps nothing."""


@dataclass(frozen=True, slots=True)
class SideFile:
    """A scanned file; cheap to send to another process."""

    path: Path
    table: Path
    """The stem of the table's files."""

    def find(self, asins: Sequence[str]) -> list[Any]:
        """What the file says of each of these asins; None where nothing."""
        names, starts, ends = _table(self.table)
        if not len(names):
            return [None] * len(asins)
        # What is too long to be an asin would make all keys as long.
        fitting = (asin if len(asin) <= LONGEST_ASIN else "" for asin in asins)
        keys = np.array([asin.encode("utf-8", "surrogatepass") for asin in fitting], np.bytes_)
        # Of equal names the last counts, as in JSON.
        places = np.searchsorted(names, keys, "right") - 1
        known = (places >= 0) & (names[places] == keys)
        found: list[Any] = [None] * len(asins)
        with open_binary(self.path) as file:
            handle = file.fileno()
            for number in np.flatnonzero(known).tolist():
                start, end = int(starts[places[number]]), int(ends[places[number]])
                try:
                    found[number] = decode_json(os.pread(handle, end - start, start))
                except ValueError:
                    raise DataError(f"{self.path} changed while it was read; try again.") from None
        return found


@lru_cache(maxsize=8)
def _table(stem: Path) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    names, starts, ends = (
        map_array(stem.with_name(f"{stem.name}-{part}.npy")) for part in ("names", "starts", "ends")
    )
    return names, starts, ends


def scan_side(path: Path, table: Path) -> tuple[SideFile, SourceFile]:
    """Read the file of attributes or of human instructions."""

    def check(members: bytes) -> bool:
        try:
            members.decode()
            msgspec.json.decode(members, type=_Anything)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        return True

    side, source, checked = _scan(path, table, check)
    if not checked:
        # Either json takes what the fast check does not, or it says what is wrong.
        for _ in stream_object(JsonStream(path)):
            pass
    if side is None:
        complain(path, stream_object)
        raise AssertionError("complain always raises")
    return side, source


def scan_nouns(path: Path, table: Path) -> tuple[SideFile, SourceFile]:
    """Read a nouns file, as `nouns_from_file` would take it."""

    def check(members: bytes) -> bool:
        try:
            msgspec.json.decode(members, type=dict[str, list[str]])
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
        return True

    side, source, checked = _scan(path, table, check)
    if side is None or not checked:
        nouns_from_file(path)
        raise DataError(f"{path} changed while it was read; try again.")
    return side, source


def _scan(
    path: Path, table: Path, check: Callable[[bytes], bool]
) -> tuple[SideFile | None, SourceFile, bool]:
    """Write the table; None for a file whose members cannot be told apart."""
    scan = MemberScan(of_object=True)
    digest, size, checked = hashlib.sha256(), 0, True
    names: list[NDArray[Any]] = []
    starts: list[NDArray[Any]] = []
    ends: list[NDArray[Any]] = []
    kept, begun = b"", 0
    odd = False
    with open_binary(path) as file:
        while block := file.read(BLOCK):
            digest.update(block)
            size += len(block)
            if odd:
                continue
            try:
                found = scan.feed(block)
            except MalformedJson:
                odd = True
                continue
            kept += block
            if len(found.ends):
                first, last = int(found.names[0]) - 1, int(found.ends[-1])
                checked = checked and check(b"{%b}" % kept[first - begun : last - begun])
                keys, usable = _names(kept, begun, found)
                names.append(keys)
                starts.append(found.starts[usable])
                ends.append(found.ends[usable])
            rest = max(scan.begun - 1, begun)
            kept, begun = kept[rest - begun :], rest
    try:
        scan.finish()
    except MalformedJson:
        odd = True
    source = SourceFile(path.name, size, digest.hexdigest())
    if odd:
        return None, source, checked
    held = np.concatenate(names) if names else np.empty(0, "S1")
    order = np.argsort(held, kind="stable")
    for part, values in (("names", [held]), ("starts", starts), ("ends", ends)):
        column = np.concatenate(values) if values else np.empty(0, np.int64)
        write_array(table.with_name(f"{table.name}-{part}.npy"), column[order])
    return SideFile(path, table), source, checked


def _names(kept: bytes, begun: int, found: Members) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The names that can be asins, and which of the members they belong to."""
    usable = np.ones(len(found.names), np.bool_)
    names: list[bytes] = []
    spans = zip(
        (found.names - begun).tolist(),
        (found.name_ends - begun).tolist(),
        found.plain.tolist(),
        strict=True,
    )
    for number, (start, end, plain) in enumerate(spans):
        name = kept[start:end] if plain else _unescaped(kept[start:end])
        if not 0 < len(name) <= _WIDEST or b"\0" in name:
            usable[number] = False
        else:
            names.append(name)
    return np.array(names, np.bytes_) if names else np.empty(0, "S1"), usable


def _unescaped(name: bytes) -> bytes:
    """A name that is spelled with escapes, as text; what is no name becomes one of no product."""
    try:
        text: str = decode_json(b'"%b"' % name)
    except ValueError:
        return b"\0"
    return text.encode()
