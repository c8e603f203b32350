"""What every choice model gives: scores of actions, and what pages are worth."""

from typing import Final, NamedTuple

from torch import Tensor

__all__ = ["NEVER", "ChoiceOutput"]

NEVER: Final = -1e9
"""In place of minus infinity, so that an action without any token is no NaN."""


class ChoiceOutput(NamedTuple):
    """Scores of actions (B x K, absent ones far below all others) and values of pages (B)."""

    scores: Tensor
    values: Tensor
    worths: Tensor | None = None
    """What each thing on a page could earn (B x E), of models that tell things apart."""
