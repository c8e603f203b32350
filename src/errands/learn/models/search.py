"""The search model: what to search for, given an instruction.

A small transformer reads the instruction and writes a query word by word. At each word it
weighs two ways: a word of its own vocabulary, or one copied from the instruction, so that a
product's name that it has never seen can be part of a query.

    Searcher(model, words).queries("i need a red hat from jolvo") -> ["red hat jolvo", ...]
"""

import random
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from errands.agents.page_reading import read_instruction
from errands.agents.page_reading import words as split
from errands.learn.data.vocabulary import PAD, STRANGERS, Vocabulary
from errands.learn.models.beam import beam_search

__all__ = [
    "QueryModel",
    "SearchConfig",
    "SearchModel",
    "Searcher",
    "Sources",
    "Written",
    "disguise",
    "pack_sources",
    "read",
    "write",
]

END: Final = 0
"""The end of a query; the vocabulary's words are counted from 1, the instruction's others after."""
_BEGIN: Final = 1
"""What stands before a query, as a number of the vocabulary: `[begin]`."""
UNSAYABLE: Final = -1
_LEAST: Final = 1e-9


class QueryModel(Protocol):
    """Whatever gives queries: the small model, or one of Hugging Face's."""

    def queries(self, instruction: str, beams: int = 5) -> list[str]:
        """Different queries, the best first; at most `beams`, never an empty one."""
        ...


class SearchConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a small search model is made of."""

    width: int = 64
    layers: int = 2
    heads: int = 4
    dropout: float = 0.1
    longest_wish: int = 64
    """Words of an instruction that are read."""
    longest_query: int = 24
    """Words of a query."""


class Sources(NamedTuple):
    """Instructions side by side."""

    words: Tensor
    """B x S: numbers of the vocabulary."""
    sayable: Tensor
    """B x S: what a copy of each word is called among all that can be said."""
    strangers: int
    """How many words besides the vocabulary's can be said in any of them."""


class Written(NamedTuple):
    """Beginnings of queries, one for each instruction."""

    words: Tensor
    """B x T: numbers of the vocabulary, from `[begin]` on."""
    places: Tensor
    """B x T: from where in the instruction each was copied, from 1; 0 from nowhere."""


class Wish(NamedTuple):
    """An instruction's words, and how each can be said."""

    words: tuple[str, ...]
    numbers: tuple[int, ...]
    """As the vocabulary counts them."""
    sayable: tuple[int, ...]
    strangers: tuple[str, ...]
    """Those that are not in the vocabulary."""


class SearchModel(nn.Module):
    """An encoder, a decoder and a pointer."""

    def __init__(self, config: SearchConfig, words: Vocabulary) -> None:
        super().__init__()
        width = config.width
        self.config = config
        self.sayable = 1 + len(words.words)
        self.word = nn.Embedding(len(words), width, padding_idx=PAD)
        self.order = nn.Embedding(config.longest_wish + 1, width)
        self.turn = nn.Embedding(config.longest_query + 1, width)
        for table in (self.word, self.order, self.turn):
            nn.init.normal_(table.weight, std=0.3)
        shape = (width, config.heads, 2 * width, config.dropout)
        encoder = nn.TransformerEncoderLayer(*shape, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(encoder, config.layers, enable_nested_tensor=False)
        decoder = nn.TransformerDecoderLayer(*shape, batch_first=True, norm_first=True)
        self.decoder = nn.TransformerDecoder(decoder, config.layers, nn.LayerNorm(width))
        self.point = nn.Linear(width, width)
        self.say = nn.Linear(width, self.sayable)
        self.own = nn.Linear(width, 1)

    def encode(self, sources: Sources) -> Tensor:
        """B x S x width."""
        order = torch.arange(1, sources.words.shape[1] + 1, device=sources.words.device)
        vectors = self.word(sources.words) + self.order(order)
        encoded: Tensor = self.encoder(vectors, src_key_padding_mask=sources.words == PAD)
        return encoded

    def decode(self, encoded: Tensor, sources: Sources, written: Written) -> Tensor:
        """Log-probabilities of what comes after each word: B x T x all that can be said."""
        padding = sources.words == PAD
        length = written.words.shape[1]
        turns = torch.arange(length, device=encoded.device).clamp(max=self.config.longest_query)
        vectors = self.word(written.words) + self.order(written.places) + self.turn(turns)
        # What stands around the word that was copied last tells how to go on.
        places = (written.places - 1).clamp(min=0).unsqueeze(2).expand(-1, -1, encoded.shape[2])
        vectors = vectors + encoded.gather(1, places) * (written.places > 0).unsqueeze(2)
        later = torch.ones(length, length, dtype=torch.bool, device=encoded.device).triu(1)
        states = self.decoder(
            vectors, encoded, tgt_mask=later, memory_key_padding_mask=padding, tgt_is_causal=True
        )
        scores = self.point(states) @ encoded.transpose(1, 2) * self.config.width**-0.5
        copied = torch.softmax(scores.masked_fill(padding.unsqueeze(1), -1e9), dim=2)
        own = torch.sigmoid(self.own(states))
        said = own * torch.softmax(self.say(states), dim=2)
        said = nn.functional.pad(said, (0, sources.strangers))
        where = sources.sayable.unsqueeze(1).expand_as(copied)
        # Padding is given to END with a weight of 0.
        said = said.scatter_add(2, where, (1 - own) * copied)
        return said.clamp(min=_LEAST).log()

    def forward(self, sources: Sources, written: Written) -> Tensor:
        return self.decode(self.encode(sources), sources, written)


def read(instruction: str, words: Vocabulary, longest: int) -> Wish:
    """An instruction, with or without its price phrase, as words that can be said."""
    found = tuple(split(read_instruction(instruction).text))[:longest]
    known = words.places
    strangers = tuple(dict.fromkeys(word for word in found if word not in known))
    first = 1 + len(words.words)
    new = {word: first + place for place, word in enumerate(strangers)}
    sayable = tuple(new[word] if word in new else 1 + known[word] for word in found)
    return Wish(found, tuple(map(words.number, found)), sayable, strangers)


def disguise(wished: Wish, words: Vocabulary, share: float, dice: random.Random) -> Wish:
    """The same with other numbers for its strangers, and for a share of the words that are known.

    A model that is shown names under ever other numbers learns where to copy from, not which
    names there are.
    """
    others = {
        word: words.stranger(dice.randrange(STRANGERS))
        for word in dict.fromkeys(wished.words)
        if word not in words.places or dice.random() < share
    }
    numbers = (
        others.get(word, number) for word, number in zip(wished.words, wished.numbers, strict=True)
    )
    return wished._replace(numbers=tuple(numbers))


def write(wished: Wish, query: Sequence[str], words: Vocabulary) -> tuple[list[int], list[int]]:
    """Numbers and places of a query's words, from `[begin]` on.

    A place is the next one after the last where the instruction has the word, else its first.
    """
    numbers, places = [_BEGIN], [0]
    known = dict(zip(wished.words, wished.numbers, strict=True))
    last = 0
    for word in query:
        at = [place for place, said in enumerate(wished.words, 1) if said == word]
        place = next((place for place in at if place > last), at[0] if at else 0)
        last = place or last
        numbers.append(known[word] if word in known else words.number(word))
        places.append(place)
    return numbers, places


def pack_sources(wishes: Sequence[Wish]) -> Sources:
    """Many instructions as tensors."""
    longest = max(1, *(len(wished.words) for wished in wishes))
    numbers = np.zeros((len(wishes), longest), np.int64)
    sayable = np.full_like(numbers, END)
    for row, wished in enumerate(wishes):
        numbers[row, : len(wished.words)] = wished.numbers
        sayable[row, : len(wished.words)] = wished.sayable
    strangers = max(len(wished.strangers) for wished in wishes)
    return Sources(torch.from_numpy(numbers), torch.from_numpy(sayable), strangers)


class Searcher:
    """A small search model in use."""

    def __init__(self, model: SearchModel, words: Vocabulary) -> None:
        self._model = model.eval()
        self._words = words

    def queries(self, instruction: str, beams: int = 5) -> list[str]:
        """Different queries, the most probable first."""
        config = self._model.config
        wished = read(instruction, self._words, config.longest_wish)
        if not wished.words:
            return []
        names = ("", *self._words.words, *wished.strangers)
        with torch.inference_mode():
            sources = pack_sources([wished])
            encoded = self._model.encode(sources)

            def ahead(prefixes: Sequence[tuple[int, ...]]) -> Tensor:
                count = len(prefixes)
                rows = [
                    write(wished, [names[number] for number in prefix], self._words)
                    for prefix in prefixes
                ]
                written = Written(*(torch.tensor(part) for part in zip(*rows, strict=True)))
                many = Sources(
                    sources.words.expand(count, -1),
                    sources.sayable.expand(count, -1),
                    sources.strangers,
                )
                said = self._model.decode(encoded.expand(count, -1, -1), many, written)
                return said[:, -1]

            found = beam_search(ahead, end=END, beams=beams, longest=config.longest_query)
        return [" ".join(names[number] for number in one.sequence) for one in found]
