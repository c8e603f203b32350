"""The space of all texts."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from errands.envs.spaces import LONGEST, ActionText, AnyText


@given(st.text())
def test_holds_any_text(text: str) -> None:
    assert text in AnyText()
    assert text in ActionText()


def test_holds_nothing_else() -> None:
    assert 1 not in AnyText()
    assert b"x" not in AnyText()
    assert None not in AnyText()
    assert "x" * (LONGEST + 1) not in AnyText()


def test_samples_are_seeded_actions() -> None:
    one, other = ActionText(seed=1), ActionText(seed=1)
    samples = [one.sample() for _ in range(50)]
    assert samples == [other.sample() for _ in range(50)]
    assert all(sample.startswith(("search[", "click[")) for sample in samples)
    assert AnyText(seed=1).sample().isalpha()


def test_equality_and_copies() -> None:
    assert AnyText() == AnyText() != ActionText()
    assert copy.deepcopy(AnyText()) == AnyText()
    assert repr(ActionText()) == "ActionText()"
