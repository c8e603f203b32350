"""Encoders: token numbers to a vector for each token, in its context."""

import torch
from torch import Tensor, nn

from errands.learn.data.batch import PLACES
from errands.learn.data.vocabulary import PAD

__all__ = ["BiGru", "SmallTransformer"]

_LONGEST = 512


class _WordEmbedding(nn.Module):
    """Vectors of words, where they stand and whether the instruction has them."""

    def __init__(self, count: int, width: int) -> None:
        super().__init__()
        self.word = nn.Embedding(count, width, padding_idx=PAD)
        self.place = nn.Embedding(PLACES, width)
        nn.init.normal_(self.word.weight, std=0.3)
        nn.init.normal_(self.place.weight, std=0.3)

    def forward(self, tokens: Tensor, places: Tensor) -> Tensor:
        vectors: Tensor = self.word(tokens) + self.place(places)
        return vectors


class SmallTransformer(nn.Module):
    """A transformer that is trained from scratch in minutes."""

    def __init__(
        self, words: int, width: int = 64, layers: int = 1, heads: int = 4, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.words = _WordEmbedding(words, width)
        self.order = nn.Embedding(_LONGEST, width)
        nn.init.normal_(self.order.weight, std=0.1)
        layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, dropout, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, tokens: Tensor, places: Tensor) -> Tensor:
        order = torch.arange(tokens.shape[1], device=tokens.device)
        vectors = self.words(tokens, places) + self.order(order)
        encoded: Tensor = self.layers(vectors, src_key_padding_mask=tokens == PAD)
        return encoded


class BiGru(nn.Module):
    """One layer of gated recurrent units, in both directions: the paper's RNN."""

    def __init__(self, words: int, width: int = 64, hidden: int = 512) -> None:
        super().__init__()
        self.words = _WordEmbedding(words, width)
        self.units = nn.GRU(width, hidden, batch_first=True, bidirectional=True)
        self.narrow = nn.Linear(2 * hidden, width)

    def forward(self, tokens: Tensor, places: Tensor) -> Tensor:
        vectors = self.words(tokens, places)
        lengths = (tokens != PAD).sum(dim=1).clamp(min=1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(
            vectors, lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = self.units(packed)
        encoded, _ = nn.utils.rnn.pad_packed_sequence(
            states, batch_first=True, total_length=tokens.shape[1]
        )
        narrowed: Tensor = self.narrow(encoded) + vectors
        return narrowed
