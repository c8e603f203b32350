"""Where time goes, and how fast a training is without its evaluations."""

import time

import pytest

from errands.learn.timing import EVALUATION, Speed, Stopwatch


def _busy(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def test_shares_add_up_to_one() -> None:
    watch = Stopwatch()
    assert watch.shares() == {}
    with watch.on("waiting"):
        time.sleep(0.02)
    with watch.on("working"):
        _busy(0.02)
    assert sum(watch.shares().values()) == pytest.approx(1)
    assert watch.spent("waiting")[1] < 0.01 < 0.02 <= watch.spent("working")[1] + 1e-6
    assert watch.spent("never") == (0, 0)


def test_an_evaluation_does_not_slow_a_training_down() -> None:
    watch = Stopwatch()
    speed = Speed(watch)
    _busy(0.05)
    with watch.on(EVALUATION):
        _busy(0.2)
    assert 100 / speed.whole(100).per_cpu_second == pytest.approx(0.05, abs=0.04)


def test_lately_is_since_it_was_last_asked() -> None:
    speed = Speed(Stopwatch())
    _busy(0.1)
    first = speed.lately(10)
    _busy(0.02)
    second = speed.lately(20)
    assert second.per_cpu_second > 2 * first.per_cpu_second
    assert first.per_cpu_second < speed.whole(20).per_cpu_second < second.per_cpu_second
