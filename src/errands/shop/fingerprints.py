"""Fingerprints of goals: what a model was made from, so that it is not tested on the same.

Two goals overlap if they want the same product or say the same words, price and spaces apart: the
line that the disjoint splits draw. A checkpoint keeps two sorted lists of 8-byte hashes in a file
beside it, which tell nothing of a goal to whoever does not have it.
"""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.atomic import atomic_write
from errands.errors import DataError

__all__ = ["FILE", "GoalFingerprints", "read_fingerprints", "write_fingerprints"]

FILE: Final = "goals.fingerprints"
_MAGIC: Final = b"errands goals 1\n"
_PRICE: Final = re.compile(r",? and price lower than [\d.]+ dollars?\s*$")
_MOST_BYTES: Final = 1 << 30

Hashes = NDArray[np.uint64]


class GoalFingerprints(NamedTuple):
    """Hashes of products and of wordings, each sorted and without repeats."""

    products: Hashes
    wordings: Hashes

    @classmethod
    def of(cls, goals: Iterable[tuple[str, str]]) -> "GoalFingerprints":
        """Of goals as product id and instruction; either is empty where nobody knows it."""
        products, wordings = set(), set()
        for asin, instruction in goals:
            if asin:
                products.add(_hash(asin))
            if words := _words(instruction):
                wordings.add(_hash(words))
        return cls(_sorted(products), _sorted(wordings))

    def __or__(self, other: "GoalFingerprints") -> "GoalFingerprints":
        """Those of both."""
        return GoalFingerprints(*map(np.union1d, self, other))

    def overlap(self, goals: Iterable[tuple[str, str]]) -> int:
        """How many of these goals want a product or say words that are among the fingerprints."""
        pairs = list(goals)
        products = np.array([_hash(asin) for asin, _ in pairs], np.uint64)
        wordings = np.array([_hash(_words(text)) for _, text in pairs], np.uint64)
        known = np.isin(products, self.products) | np.isin(wordings, self.wordings)
        return int(known.sum())


def write_fingerprints(folder: Path, goals: GoalFingerprints) -> None:
    """Into a checkpoint's folder."""
    counts = np.array([len(goals.products), len(goals.wordings)], "<u8").tobytes()
    lists = b"".join(part.astype("<u8").tobytes() for part in goals)
    atomic_write(folder / FILE, lambda path: path.write_bytes(_MAGIC + counts + lists))


def read_fingerprints(folder: Path) -> GoalFingerprints | None:
    """Of a checkpoint's folder; None where it was made before there were any."""
    path = folder / FILE
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise DataError(f"{path} is too large to be a list of fingerprints.")
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as failure:
        raise DataError(f"{path} cannot be read ({failure.strerror}).") from None
    body = data[len(_MAGIC) :]
    if not data.startswith(_MAGIC) or len(body) < 16 or len(body) % 8:
        raise DataError(f"{path} is damaged; train the model anew.")
    numbers = np.frombuffer(body, "<u8").astype(np.uint64)
    first, second = int(numbers[0]), int(numbers[1])
    if len(numbers) != 2 + first + second:
        raise DataError(f"{path} is damaged; train the model anew.")
    return GoalFingerprints(numbers[2 : 2 + first], numbers[2 + first :])


def _words(instruction: str) -> str:
    return " ".join(_PRICE.sub("", instruction).split())


def _hash(text: str) -> int:
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest())


def _sorted(values: set[int]) -> Hashes:
    return np.array(sorted(values), np.uint64)
