"""A file beside the items file: one JSON object by asin that stays on disk.

`SideFile.scan` reads it once and writes a table, in asin order, of where each value lies; whoever
has the table looks up many asins at once and decodes their values only. The table is mapped, so
worker processes share it.
"""

import contextlib
import hashlib
import os
from collections.abc import Sequence
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
from errands.shop.build.json_stream import decode_json, open_binary, stream_object
from errands.shop.catalog.manifest import SourceFile
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
        values: list[Any] = [None] * len(asins)
        with open_binary(self.path) as file:
            handle = file.fileno()
            for number in np.flatnonzero(known).tolist():
                start, end = int(starts[places[number]]), int(ends[places[number]])
                try:
                    values[number] = decode_json(os.pread(handle, end - start, start))
                except ValueError:
                    raise DataError(f"{self.path} changed while it was read; try again.") from None
        return values


@lru_cache(maxsize=8)
def _table(stem: Path) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    names, starts, ends = (
        map_array(stem.with_name(f"{stem.name}-{part}.npy"), kind)
        for part, kind in (("names", "S"), ("starts", np.int64), ("ends", np.int64))
    )
    return names, starts, ends


def scan_side(path: Path, table: Path) -> tuple[SideFile, SourceFile]:
    """Read the file of attributes or of human instructions."""
    try:
        side, source, checked = _scan(path, table, _Anything)
    except MalformedJson:
        complain(path, stream_object)
    if not checked:
        # Either json takes what the fast check does not, or it says what is wrong.
        for _ in stream_object(path):
            pass
    return side, source


def scan_nouns(path: Path, table: Path) -> tuple[SideFile, SourceFile]:
    """Read a nouns file, as `nouns_from_file` would take it."""
    with contextlib.suppress(MalformedJson):
        side, source, checked = _scan(path, table, dict[str, list[str]])
        if checked:
            return side, source
    nouns_from_file(path)
    raise DataError(f"{path} changed while it was read; try again.")


def _scan(path: Path, table: Path, kind: Any) -> tuple[SideFile, SourceFile, bool]:
    """Write the table; says, too, whether all members can be decoded as this kind of object."""
    scan = MemberScan(of_object=True)
    digest, size, checked = hashlib.sha256(), 0, True
    names: list[NDArray[Any]] = [np.empty(0, "S1")]
    starts: list[NDArray[Any]] = [np.empty(0, np.int64)]
    ends: list[NDArray[Any]] = [np.empty(0, np.int64)]
    rest, begun = b"", 0
    with open_binary(path) as file:
        while block := file.read(BLOCK):
            digest.update(block)
            size += len(block)
            members = scan.feed(block)
            rest += block
            if len(members.ends):
                first, last = int(members.names[0]) - 1, int(members.ends[-1])
                checked = checked and _fits(b"{%b}" % rest[first - begun : last - begun], kind)
                keys, usable = _names(rest, begun, members)
                names.append(keys)
                starts.append(members.starts[usable])
                ends.append(members.ends[usable])
            following = max(scan.begun - 1, begun)
            rest, begun = rest[following - begun :], following
    scan.finish()
    order = np.argsort(np.concatenate(names), kind="stable")
    for part, values in (("names", names), ("starts", starts), ("ends", ends)):
        write_array(table.with_name(f"{table.name}-{part}.npy"), np.concatenate(values)[order])
    return SideFile(path, table), SourceFile(path.name, size, digest.hexdigest()), checked


def _fits(members: bytes, kind: Any) -> bool:
    try:
        members.decode()
        msgspec.json.decode(members, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _names(data: bytes, begun: int, members: Members) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The names that can be asins, and which of the members they belong to."""
    usable = np.ones(len(members.names), np.bool_)
    names: list[bytes] = []
    spans = zip(
        (members.names - begun).tolist(),
        (members.name_ends - begun).tolist(),
        members.plain.tolist(),
        strict=True,
    )
    for number, (start, end, plain) in enumerate(spans):
        name = data[start:end] if plain else _unescaped(data[start:end])
        if not 0 < len(name) <= _WIDEST or b"\0" in name:
            usable[number] = False
        else:
            names.append(name)
    return np.array(names, np.bytes_), usable


def _unescaped(name: bytes) -> bytes:
    """A name that is spelled with escapes, as text; what is no name becomes one of no product."""
    try:
        text: str = decode_json(b'"%b"' % name)
    except ValueError:
        return b"\0"
    return text.encode()
