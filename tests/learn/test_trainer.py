"""What supervised trainings share."""

import pytest

from errands.learn.imitation import ImitationConfig
from errands.learn.trainer import order, samples


@pytest.mark.parametrize(("count", "batch"), [(7, 3), (6, 3), (2, 5)])
def test_examples_are_counted_as_they_are_taken(count: int, batch: int) -> None:
    pace = ImitationConfig(epochs=3, batch=batch)
    taken = 0
    for step, chosen in order(count, pace, 0):
        taken += len(chosen)
        assert samples(count, pace, step) == taken
    assert taken == 3 * count
