"""What supervised trainings share."""

import pytest

from errands.learn.imitation import ImitationConfig
from errands.learn.trainer import batch_order, samples_seen


@pytest.mark.parametrize(("count", "batch"), [(7, 3), (6, 3), (2, 5)])
def test_examples_are_counted_as_they_are_taken(count: int, batch: int) -> None:
    config = ImitationConfig(epochs=3, batch_size=batch)
    taken = 0
    for step, chosen in batch_order(count, config, 0):
        taken += len(chosen)
        assert samples_seen(count, config, step) == taken
    assert taken == 3 * count
