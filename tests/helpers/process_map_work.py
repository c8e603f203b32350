"""Work for the crew's tests: worker processes find it by name."""

import os
import signal
import time

from errands.errors import DataError


def double(piece: int) -> tuple[int, int]:
    # Later pieces are done sooner: the order is not that of the clock.
    time.sleep(0.02 * (5 - piece % 5))
    return piece * 2, os.getpid()


def refuse_three(piece: int) -> int:
    if piece == 3:
        raise DataError("three is refused")
    return piece


def divide(piece: int) -> float:
    return 1 / piece


def die_at_two(piece: int) -> int:
    if piece == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return piece


def big(piece: int) -> bytes:
    return bytes([piece]) * 5_000_000


def doze(piece: int) -> int:
    time.sleep(60)
    return piece
