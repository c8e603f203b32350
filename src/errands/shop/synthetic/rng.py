"""Private random numbers that are the same on every machine, and cheap to seed.

A `Rng` unpacks the output of SHAKE-128 of its key, so that a new one costs a microsecond or two,
two keys are independent, and no version of Python or of a library changes the numbers.
"""

import struct
from collections.abc import Iterator, Sequence
from hashlib import shake_128
from itertools import chain, count
from typing import TypeVar

__all__ = ["Rng", "exp", "scatter"]

T = TypeVar("T")

_NUMBERS = 64
_unpack = struct.Struct(f"<{_NUMBERS}I").unpack


def _stream(key: str) -> Iterator[int]:
    """32-bit numbers without end."""

    def numbers(block: int) -> tuple[int, ...]:
        return _unpack(shake_128(f"{key}/{block}".encode()).digest(4 * _NUMBERS))

    return chain.from_iterable(map(numbers, count()))


class Rng:
    """A stream of random numbers that depends on its key only."""

    __slots__ = ("bits",)

    def __init__(self, key: str) -> None:
        self.bits = _stream(key).__next__
        """The next number below 2**32."""

    def below(self, limit: int) -> int:
        """A number in range(limit)."""
        return (self.bits() * limit) >> 32

    def low(self, limit: int) -> int:
        """A number in range(limit), small ones more often (rank r has a density like r ** -0.5)."""
        number = self.bits()
        return (number * number * limit) >> 64

    def between(self, first: int, last: int) -> int:
        """A number from first to last, both included."""
        return first + ((self.bits() * (last - first + 1)) >> 32)

    def bernoulli(self, share: float) -> bool:
        """True in this share of the cases."""
        return self.bits() < share * 4294967296.0

    def pick(self, choices: Sequence[T]) -> T:
        """One of the choices."""
        return choices[(self.bits() * len(choices)) >> 32]

    def bell(self) -> float:
        """A number from a bell curve of mean 0 and deviation 1 (a sum of three; no libm)."""
        total = self.bits() + self.bits() + self.bits()
        return total / 2147483648.0 - 3.0

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in a random order."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order


def exp(power: float) -> float:
    """e ** power for small powers, by multiplication only: the same bits on every machine."""
    result = 1.0 + power / 4096.0
    for _ in range(12):
        result *= result
    return result


def scatter(number: int, key: int) -> int:
    """A bijection of the 36-bit numbers that leaves no visible order (a Feistel network)."""
    left, right = number >> 18, number & 0x3FFFF
    for step in range(4):
        mixed = (right * 0x9E3779B1 + key * (step + 1) + 0x7F4A7C15 * step) & 0xFFFFFFFF
        mixed = ((mixed ^ (mixed >> 15)) * 0x85EBCA6B) & 0xFFFFFFFF
        left, right = right, left ^ (mixed >> 14)
    return left << 18 | right
