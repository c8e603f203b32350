"""The random baseline: valid, seeded, and blind to the labels."""

import random

import pytest

from errands.agents.random_agent import random_action
from errands.turk.pages.field import Field


@pytest.mark.parametrize("kind", ["radio", "select", "checkbox", "range", "number", "date", "text"])
def test_answers_are_valid_and_seeded(kind: str) -> None:
    options = ("a", "b", "c") if kind in ("radio", "select", "checkbox") else ()
    field = Field("f", kind, True, options)
    drawn = [random_action(field, random.Random(seed)) for seed in range(20)]
    assert drawn == [random_action(field, random.Random(seed)) for seed in range(20)]
    for action in filter(None, drawn):
        value = str(action.arguments["value"])
        if options:
            assert set(value.split("|")) <= set(options)
    assert len({str(action) for action in drawn}) > 1


def test_nothing_to_choose() -> None:
    assert random_action(Field("f", "radio", True), random.Random(0)) is None
    assert random_action(Field("f", "submit", True), random.Random(0)) is None
