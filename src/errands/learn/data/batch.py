"""Views as numbers: what a choice model takes, and many of them at once.

Beside its word, every token says where it stands (instruction, past, page, action) and
whether the instruction has the same word: what a person sees at a glance.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from errands.learn.data.pictures import Pictures
from errands.learn.data.view import ChoiceView
from errands.learn.data.vocabulary import END, Tokenizer

__all__ = ["ChoiceBatch", "EncodedView", "TextReader", "TokenLimits", "encode", "pack"]

INSTRUCTION, PAST, PAGE, ACTION = range(4)
PLACES: Final = 8
"""Four places, each with and without the same word in the instruction."""


class TokenLimits(msgspec.Struct, frozen=True, rename={"instruction": "wish"}):
    """Tokens that are kept of each part."""

    instruction: int = 40
    past: int = 24
    page: int = 96
    action: int = 12


class EncodedView(NamedTuple):
    """A view in numbers."""

    observed: NDArray[np.int64]
    places: NDArray[np.int64]
    actions: tuple[tuple[int, ...], ...]
    action_places: tuple[tuple[int, ...], ...]
    picture: NDArray[np.float32] | None = None
    """What is to be seen, where something is."""


class ChoiceBatch(NamedTuple):
    """Views side by side. Actions of the same words are encoded once."""

    observed: Tensor
    """B x I."""
    observed_places: Tensor
    actions: Tensor
    """U x J: every different action."""
    action_places: Tensor
    which: Tensor
    """B x K: which of them; -1 where a view has fewer actions."""
    pictures: Tensor
    """B x their width, which is 0 if nobody sees any."""
    pictured: Tensor
    """B: whether there is one."""


class TextReader(NamedTuple):
    """Encodes views for a model that reads their words."""

    tokenizer: Tokenizer
    limits: TokenLimits
    pictures: Pictures | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Those that `about.json` has to keep."""
        return self.tokenizer.words

    def encode(self, view: ChoiceView) -> EncodedView:
        return encode(view, self.tokenizer, self.limits, self.pictures)

    def pack(self, views: Sequence[EncodedView]) -> ChoiceBatch:
        return pack(views)


def encode(
    view: ChoiceView, tokenizer: Tokenizer, limits: TokenLimits, pictures: Pictures | None = None
) -> EncodedView:
    instruction = tokenizer.encode(view.instruction)[: limits.instruction]
    past = tokenizer.encode(" > ".join(view.past))[-limits.past :]
    page = tokenizer.encode(view.page)[: limits.page]
    said = set(instruction)
    observed = [*instruction, END, *past, END, *page][: tokenizer.max_tokens]
    places = [
        *[INSTRUCTION] * (len(instruction) + 1),
        *[PAST] * (len(past) + 1),
        *[PAGE] * len(page),
    ][: tokenizer.max_tokens]
    marked = [2 * place + (token in said) for place, token in zip(places, observed, strict=True)]
    longest = min(limits.action, tokenizer.max_tokens)
    actions = tuple(tokenizer.encode(action)[:longest] or (END,) for action in view.actions)
    return EncodedView(
        np.array(observed, np.int64),
        np.array(marked, np.int64),
        actions,
        tuple(tuple(2 * ACTION + (token in said) for token in action) for action in actions),
        None if pictures is None else pictures.of(view.product),
    )


def pack(views: Sequence[EncodedView]) -> ChoiceBatch:
    """Many views as tensors."""
    longest = max(len(view.observed) for view in views)
    most = max(len(view.actions) for view in views)
    observed = np.zeros((len(views), longest), np.int64)
    places = np.zeros_like(observed)
    which = np.full((len(views), most), -1, np.int64)
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    for row, view in enumerate(views):
        observed[row, : len(view.observed)] = view.observed
        places[row, : len(view.places)] = view.places
        for column, action in enumerate(zip(view.actions, view.action_places, strict=True)):
            which[row, column] = known.setdefault(action, len(known))
    width = max(len(tokens) for tokens, _ in known)
    actions = np.zeros((len(known), width), np.int64)
    action_places = np.zeros_like(actions)
    for row, (tokens, marks) in enumerate(known):
        actions[row, : len(tokens)] = tokens
        action_places[row, : len(marks)] = marks
    tensors = map(torch.from_numpy, (observed, places, actions, action_places, which))
    return ChoiceBatch(*tensors, *map(torch.from_numpy, _pictures(views)))


def _pictures(views: Sequence[EncodedView]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    seen = {row: view.picture for row, view in enumerate(views) if view.picture is not None}
    width = len(next(iter(seen.values()))) if seen else 0
    pictures = np.zeros((len(views), width), np.float32)
    pictured = np.zeros(len(views), np.bool_)
    for row, picture in seen.items():
        pictures[row] = picture
        pictured[row] = True
    return pictures, pictured
