"""The search model: what to search for, given an instruction.

A small transformer reads the instruction and writes a query word by word. At each word it
weighs two ways: a word of its own vocabulary, or one copied from the instruction, so that a
product's name that it has never seen can be part of a query.

    Searcher(model, words).queries("i need a red hat from jolvo") -> ["red hat jolvo", ...]
"""

import random
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from errands.agents.page_reading import read_instruction
from errands.agents.page_reading import words as split
from errands.learn.data.vocabulary import HASH_BUCKETS, PAD, Vocabulary

__all__ = [
    "Hypothesis",
    "QueryModel",
    "QueryPrefixes",
    "SearchConfig",
    "SearchModel",
    "Searcher",
    "SourceBatch",
    "beam_search",
    "encode_instruction",
    "encode_query",
    "pack_sources",
    "word_dropout",
]

END: Final = 0
"""The end of a query; the vocabulary's words are counted from 1, the instruction's others after."""
_BEGIN: Final = 1
"""What stands before a query, as a number of the vocabulary: `[begin]`."""
IGNORED: Final = -1
_LEAST: Final = 1e-9

Prefix = tuple[int, ...]


class QueryModel(Protocol):
    """Whatever gives queries: the small model, or one of Hugging Face's."""

    def queries(self, instruction: str, beams: int = 5) -> list[str]:
        """Different queries, the best first; at most `beams`, never an empty one."""
        ...


class SearchConfig(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"max_instruction_words": "longest_wish", "max_query_words": "longest_query"},
):
    """What a small search model is made of."""

    width: int = 64
    layers: int = 2
    heads: int = 4
    dropout: float = 0.1
    max_instruction_words: int = 64
    """Words of an instruction that are read."""
    max_query_words: int = 24
    """Words of a query."""


class SourceBatch(NamedTuple):
    """Instructions side by side."""

    words: Tensor
    """B x S: numbers of the vocabulary."""
    output_ids: Tensor
    """B x S: the number of a copy of each word among all outputs."""
    unknown: int
    """How many unknown words any of them has."""


class QueryPrefixes(NamedTuple):
    """Beginnings of queries, one for each instruction."""

    words: Tensor
    """B x T: numbers of the vocabulary, from `[begin]` on."""
    places: Tensor
    """B x T: from where in the instruction each was copied, from 1; 0 from nowhere."""


class EncodedInstruction(NamedTuple):
    """An instruction's words as numbers of inputs and outputs."""

    words: tuple[str, ...]
    numbers: tuple[int, ...]
    """As the vocabulary counts them."""
    output_ids: tuple[int, ...]
    unknown: tuple[str, ...]
    """Those that are not in the vocabulary."""


class SearchModel(nn.Module):
    """An encoder, a decoder and a pointer."""

    def __init__(self, config: SearchConfig, words: Vocabulary) -> None:
        super().__init__()
        width = config.width
        self.config = config
        self.outputs = 1 + len(words.words)
        self.word = nn.Embedding(len(words), width, padding_idx=PAD)
        self.order = nn.Embedding(config.max_instruction_words + 1, width)
        self.turn = nn.Embedding(config.max_query_words + 1, width)
        for table in (self.word, self.order, self.turn):
            nn.init.normal_(table.weight, std=0.3)
        shape = (width, config.heads, 2 * width, config.dropout)
        encoder = nn.TransformerEncoderLayer(*shape, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(encoder, config.layers, enable_nested_tensor=False)
        decoder = nn.TransformerDecoderLayer(*shape, batch_first=True, norm_first=True)
        self.decoder = nn.TransformerDecoder(decoder, config.layers, nn.LayerNorm(width))
        self.point = nn.Linear(width, width)
        self.say = nn.Linear(width, self.outputs)
        self.own = nn.Linear(width, 1)

    def encode(self, sources: SourceBatch) -> Tensor:
        """B x S x width."""
        order = torch.arange(1, sources.words.shape[1] + 1, device=sources.words.device)
        vectors = self.word(sources.words) + self.order(order)
        encoded: Tensor = self.encoder(vectors, src_key_padding_mask=sources.words == PAD)
        return encoded

    def decode(self, encoded: Tensor, sources: SourceBatch, prefixes: QueryPrefixes) -> Tensor:
        """Log-probabilities of what comes after each word: B x T x outputs."""
        padding = sources.words == PAD
        length = prefixes.words.shape[1]
        turns = torch.arange(length, device=encoded.device).clamp(max=self.config.max_query_words)
        vectors = self.word(prefixes.words) + self.order(prefixes.places) + self.turn(turns)
        # What stands around the word that was copied last tells how to go on.
        places = (prefixes.places - 1).clamp(min=0).unsqueeze(2).expand(-1, -1, encoded.shape[2])
        vectors = vectors + encoded.gather(1, places) * (prefixes.places > 0).unsqueeze(2)
        later = torch.ones(length, length, dtype=torch.bool, device=encoded.device).triu(1)
        states = self.decoder(
            vectors, encoded, tgt_mask=later, memory_key_padding_mask=padding, tgt_is_causal=True
        )
        scores = self.point(states) @ encoded.transpose(1, 2) * self.config.width**-0.5
        copied = torch.softmax(scores.masked_fill(padding.unsqueeze(1), -1e9), dim=2)
        own = torch.sigmoid(self.own(states))
        said = own * torch.softmax(self.say(states), dim=2)
        said = nn.functional.pad(said, (0, sources.unknown))
        where = sources.output_ids.unsqueeze(1).expand_as(copied)
        # Padding is given to END with a weight of 0.
        said = said.scatter_add(2, where, (1 - own) * copied)
        return said.clamp(min=_LEAST).log()

    def forward(self, sources: SourceBatch, prefixes: QueryPrefixes) -> Tensor:
        return self.decode(self.encode(sources), sources, prefixes)


def encode_instruction(instruction: str, words: Vocabulary, longest: int) -> EncodedInstruction:
    """An instruction, with or without its price phrase."""
    found = tuple(split(read_instruction(instruction).text))[:longest]
    known = words.places
    unknown = tuple(dict.fromkeys(word for word in found if word not in known))
    first = 1 + len(words.words)
    new = {word: first + place for place, word in enumerate(unknown)}
    output_ids = tuple(new[word] if word in new else 1 + known[word] for word in found)
    return EncodedInstruction(found, tuple(map(words.number, found)), output_ids, unknown)


def word_dropout(
    instruction: EncodedInstruction, words: Vocabulary, share: float, rng: random.Random
) -> EncodedInstruction:
    """The same with other numbers for its unknown words, and for a share of its known ones.

    A model that is shown names under ever other numbers learns where to copy from, not which
    names there are.
    """
    others = {
        word: words.hash_bucket(rng.randrange(HASH_BUCKETS))
        for word in dict.fromkeys(instruction.words)
        if word not in words.places or rng.random() < share
    }
    numbers = (
        others.get(word, number)
        for word, number in zip(instruction.words, instruction.numbers, strict=True)
    )
    return instruction._replace(numbers=tuple(numbers))


def encode_query(
    instruction: EncodedInstruction, query: Sequence[str], words: Vocabulary
) -> tuple[list[int], list[int]]:
    """Numbers and places of a query's words, from `[begin]` on.

    A place is the next one after the last where the instruction has the word, else its first.
    """
    numbers, places = [_BEGIN], [0]
    known = dict(zip(instruction.words, instruction.numbers, strict=True))
    last = 0
    for word in query:
        at = [place for place, other in enumerate(instruction.words, 1) if other == word]
        place = next((place for place in at if place > last), at[0] if at else 0)
        last = place or last
        numbers.append(known[word] if word in known else words.number(word))
        places.append(place)
    return numbers, places


def pack_sources(instructions: Sequence[EncodedInstruction]) -> SourceBatch:
    """Many instructions as tensors."""
    longest = max(1, *(len(instruction.words) for instruction in instructions))
    numbers = np.zeros((len(instructions), longest), np.int64)
    output_ids = np.full_like(numbers, END)
    for row, instruction in enumerate(instructions):
        numbers[row, : len(instruction.words)] = instruction.numbers
        output_ids[row, : len(instruction.words)] = instruction.output_ids
    unknown = max(len(instruction.unknown) for instruction in instructions)
    return SourceBatch(torch.from_numpy(numbers), torch.from_numpy(output_ids), unknown)


class Hypothesis(NamedTuple):
    """A sequence without its end, and the logarithm of its probability."""

    sequence: Prefix
    score: float


def beam_search(
    ahead: Callable[[Sequence[Prefix]], Tensor], *, end: int, beams: int, longest: int
) -> list[Hypothesis]:
    """Up to `beams` different sequences of 1 to `longest` members, the most probable first.

    `ahead` gives the log-probabilities of what comes next, a row for each of some prefixes of
    one length. The search ends as soon as nothing that is open can become better than what was
    found; with as many beams as there are prefixes it is exhaustive.
    """
    opened = [Hypothesis((), 0.0)]
    found: list[Hypothesis] = []
    for length in range(longest + 1):
        scores = ahead([path.sequence for path in opened]).double()
        if length == 0:
            scores[:, end] = -torch.inf
        else:
            found += [
                Hypothesis(path.sequence, path.score + float(scores[row, end]))
                for row, path in enumerate(opened)
            ]
            found = _best(found, beams)
        if length == longest:
            break
        scores[:, end] = -torch.inf
        totals = (scores + scores.new_tensor([[path.score] for path in opened])).flatten()
        # Equally probable ones stay in their order, so that the outcome is always the same.
        ranked, places = torch.sort(totals, descending=True, stable=True)
        width = scores.shape[1]
        opened = [
            Hypothesis((*opened[place // width].sequence, place % width), score)
            for score, place in zip(ranked[:beams].tolist(), places[:beams].tolist(), strict=True)
            if score > -torch.inf
        ]
        if not opened or (len(found) == beams and found[-1].score >= opened[0].score):
            break
    return found


def _best(found: list[Hypothesis], count: int) -> list[Hypothesis]:
    usable = [one for one in found if one.score > -torch.inf]
    return sorted(usable, key=lambda one: (-one.score, one.sequence))[:count]


class Searcher:
    """A small search model in use."""

    def __init__(self, model: SearchModel, words: Vocabulary) -> None:
        self._model = model.eval()
        self._words = words

    def queries(self, instruction: str, beams: int = 5) -> list[str]:
        """Different queries, the most probable first."""
        config = self._model.config
        source = encode_instruction(instruction, self._words, config.max_instruction_words)
        if not source.words:
            return []
        names = ("", *self._words.words, *source.unknown)
        with torch.inference_mode():
            sources = pack_sources([source])
            encoded = self._model.encode(sources)

            def ahead(prefixes: Sequence[tuple[int, ...]]) -> Tensor:
                count = len(prefixes)
                rows = [
                    encode_query(source, [names[number] for number in prefix], self._words)
                    for prefix in prefixes
                ]
                queries = QueryPrefixes(*(torch.tensor(part) for part in zip(*rows, strict=True)))
                many = SourceBatch(
                    sources.words.expand(count, -1),
                    sources.output_ids.expand(count, -1),
                    sources.unknown,
                )
                log_probs = self._model.decode(encoded.expand(count, -1, -1), many, queries)
                return log_probs[:, -1]

            found = beam_search(ahead, end=END, beams=beams, longest=config.max_query_words)
        return [" ".join(names[number] for number in one.sequence) for one in found]
