"""Encoders of Hugging Face's: BERT, RoBERTa, DistilBERT and their like, to read pages with.

    encoder = open_encoder("bert-base-uncased", width=0, seed=0)
    encoder.tokenizer.encode("[button] buy now [button_]")  ->  numbers, as a `Vocabulary` gives
    encoder(tokens, places)                                 ->  a vector for each token

A fresh one gives exactly what the checkpoint itself makes of a text: where a token stands
(instruction, past, page, action) is added to its word as a vector that is zero at first. The
original's four marks of buttons are four tokens of their own.
"""

import inspect
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from errands.errors import DataError
from errands.learn.data.batch import PLACES
from errands.learn.data.vocabulary import END, PAD
from errands.learn.models.hugging_face import (
    PretrainedSource,
    find_source,
    library,
    load,
    normalized,
    read_config,
    read_tokenizer,
    save_parts,
    saved_source,
)
from errands.learn.models.runtime import seeded_torch

__all__ = [
    "BUTTONS",
    "PretrainedEncoder",
    "PretrainedTokenizer",
    "check_encoder",
    "open_encoder",
    "rebuild_encoder",
]

BUTTONS: Final = ("[button]", "[button_]", "[clicked button]", "[clicked button_]")
_FIRST: Final = 3
"""The number of a tokenizer's first token: PAD and END come before."""
_LEAST_ROOM: Final = 16
_AT_ONCE: Final = 2048
"""Tokens that are encoded together. Gradients of what lies before are computed anew on the way
back: a batch of whole pages would fill the memory of a laptop many times over."""


class PretrainedTokenizer:
    """A tokenizer that is called as a `Vocabulary` is."""

    words: tuple[str, ...] = ()

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens
        self.begin, self.end = _edges(tokenizer)
        self.padding: int = self.end if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        # Nothing that a page says begins a text, ends it or hides a word.
        self._unsaid = {self.begin, self.end, self.padding, tokenizer.mask_token_id}
        self._known = lru_cache(2**14)(self._encode)

    def __len__(self) -> int:
        return _FIRST + len(self.tokenizer)

    def encode(self, text: str) -> tuple[int, ...]:
        """The numbers of a text's tokens."""
        return self._known(text)

    def ids(self, tokens: Tensor) -> Tensor:
        """Such numbers as the tokenizer itself counts."""
        ids = (tokens - _FIRST).masked_fill(tokens == END, self.end)
        return ids.masked_fill(tokens == PAD, self.padding)

    def _encode(self, text: str) -> tuple[int, ...]:
        # Byte-level tokenizers give a word another number where no space stands before it.
        said = f" {normalized(text).replace('[sep]', ' ')}"
        ids = self.tokenizer(said, add_special_tokens=False)["input_ids"]
        return tuple(_FIRST + number for number in ids if number not in self._unsaid)


class PretrainedEncoder(nn.Module):
    """A pretrained model under the numbers that `PretrainedTokenizer` gives."""

    def __init__(self, model: Any, tokenizer: PretrainedTokenizer, width: int = 0) -> None:
        super().__init__()
        self.model = model
        self.tokenizer = tokenizer
        self.bare_width: int = model.get_input_embeddings().embedding_dim
        """Of words outside of any context."""
        hidden: int = model.config.hidden_size
        self.width = width or hidden
        self.place = nn.Embedding(PLACES, self.bare_width)
        nn.init.zeros_(self.place.weight)
        self.narrow = nn.Identity() if self.width == hidden else nn.Linear(hidden, self.width)

    def forward(self, tokens: Tensor, places: Tensor) -> Tensor:
        return self.read(tokens, places)[1]

    def read(self, tokens: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """A vector of each whole text, that of its begin ([CLS]), and one of every token."""
        rows = max(1, _AT_ONCE // (tokens.shape[1] + 2))
        parts = zip(torch.split(tokens, rows), torch.split(places, rows), strict=True)
        if torch.is_grad_enabled():
            read = [checkpoint(self._read, *part, use_reentrant=False) for part in parts]
        else:
            read = [self._read(*part) for part in parts]
        narrowed: Tensor = self.narrow(torch.cat(read))
        return narrowed[:, 0], narrowed[:, 1:]

    def words(self, tokens: Tensor, places: Tensor) -> Tensor:
        """Words and where they stand, without any context."""
        vectors: Tensor = self.model.get_input_embeddings()(self.tokenizer.ids(tokens))
        placed: Tensor = vectors + self.place(places)
        return placed

    def save(self, folder: Path) -> None:
        """Into a checkpoint's folder: all but the weights."""
        save_parts(folder, self.model.config, self.tokenizer.tokenizer)

    def _read(self, tokens: Tensor, places: Tensor) -> Tensor:
        """Between the tokens that the model has for a text's begin and end, of which the latter is
        then left out again."""
        lengths = (tokens != PAD).sum(dim=1, keepdim=True)
        ids = functional.pad(self.tokenizer.ids(tokens), (1, 1), value=self.tokenizer.padding)
        ids[:, 0] = self.tokenizer.begin
        ids.scatter_(1, lengths + 1, self.tokenizer.end)
        stand = self.place(places) * (tokens != PAD).unsqueeze(2)
        is_there = torch.arange(ids.shape[1], device=ids.device) < lengths + 2
        out = self.model(
            inputs_embeds=self.model.get_input_embeddings()(ids)
            + functional.pad(stand, (0, 0, 1, 1)),
            attention_mask=is_there.long(),
        )
        read: Tensor = out.last_hidden_state[:, :-1]
        return read


def open_encoder(
    name: str, width: int, seed: int, *, from_scratch: bool = False
) -> PretrainedEncoder:
    """A checkpoint by its name on the Hub or by its path, to be trained.

    `width` is that of the vectors, 0 for the model's own. What is not in the checkpoint (the four
    marks) is drawn with `seed`, and so is everything else `from_scratch`.
    """
    source = find_source(name)
    config = read_config(source)
    _check_architecture(name, config)
    tokenizer = read_tokenizer(source)

    def read() -> Any:
        model, loading = library().AutoModel.from_pretrained(
            name, dtype=torch.float32, output_loading_info=True, **source.options()
        )
        _check_model(name, model)
        _check_whole(name, loading["missing_keys"])
        _check_tokenizer(name, len(tokenizer), model.get_input_embeddings().num_embeddings)
        # With the space before it: byte-level tokenizers would make it a token.
        marks = [library().AddedToken(mark, lstrip=True, normalized=False) for mark in BUTTONS]
        tokenizer.add_tokens(marks, special_tokens=True)
        if from_scratch:
            model = _drawn(config)
        if len(tokenizer) > model.get_input_embeddings().num_embeddings:
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        return model

    with seeded_torch(seed):
        return _made(source, load(name, read), tokenizer, width)


def _drawn(config: Any) -> Any:
    """A model of an architecture, with weights drawn at random."""
    return library().AutoModel.from_config(config, dtype=torch.float32, trust_remote_code=False)


def check_encoder(name: str) -> None:
    """Refuse what is no checkpoint of an encoder, before there is any work."""
    _check_architecture(name, read_config(find_source(name)))


def rebuild_encoder(folder: Path, width: int) -> PretrainedEncoder:
    """What `PretrainedEncoder.save` has put into a folder; its weights are still to be loaded."""
    source = saved_source(folder)
    config = read_config(source)
    _check_architecture(source.name, config)
    tokenizer = read_tokenizer(source)
    with seeded_torch(0):
        model = load(source.name, lambda: _drawn(config))
        return _made(source, model, tokenizer, width)


def _made(source: PretrainedSource, model: Any, tokenizer: Any, width: int) -> PretrainedEncoder:
    if getattr(model, "pooler", None) is not None:
        model.pooler = None  # It sums up whole texts, which nobody asks for.
    room = _longest(model, tokenizer) - 2
    if room < _LEAST_ROOM:
        raise DataError(f"{source.name} reads {max(room, 0)} tokens at once; that is no page.")

    def tested() -> PretrainedEncoder:
        encoder = PretrainedEncoder(model.eval(), PretrainedTokenizer(tokenizer, room), width)
        with torch.inference_mode():
            encoder(torch.tensor([[_FIRST, END]]), torch.tensor([[0, 0]]))
        return encoder

    return load(source.name, tested)


def _check_architecture(name: str, config: Any) -> None:
    is_reader = type(config) in library().AutoModelForMaskedLM._model_mapping
    if not is_reader or config.is_encoder_decoder or getattr(config, "is_decoder", False):
        raise DataError(
            f"{name} is of the architecture {config.model_type}, which is no encoder of texts;"
            " expected one as BERT, RoBERTa or DistilBERT."
        )


def _check_model(name: str, model: Any) -> None:
    """Some that fill in masks read sounds or bytes, or take nothing but their own tokens."""
    takes_vectors = "inputs_embeds" in inspect.signature(model.forward).parameters
    if not takes_vectors or not isinstance(model.get_input_embeddings(), nn.Embedding):
        raise DataError(
            f"{name} is of the architecture {model.config.model_type}, which takes no vectors of"
            " words; expected one as BERT, RoBERTa or DistilBERT."
        )


def _check_whole(name: str, missing: Iterable[str]) -> None:
    """The library would draw missing weights at random."""
    lost = sorted(weight for weight in missing if not weight.startswith("pooler."))
    if lost:
        raise DataError(
            f"{name} lacks weights of its own architecture ({len(lost)}, as {lost[0]}); it is"
            " damaged, or was not saved whole."
        )


def _check_tokenizer(name: str, known: int, vectors: int) -> None:
    """Without its files the library makes a tokenizer that knows nothing; a model's vectors may be
    a few more than there are words, never less."""
    if not vectors / 2 <= known <= vectors:
        raise DataError(
            f"{name} has vectors for {vectors:,} words, and a tokenizer that knows {known:,}: files"
            " of the tokenizer are missing, or it is another model's."
        )


def _edges(tokenizer: Any) -> tuple[int, int]:
    """The tokens at a text's begin and end."""
    begin, end = tokenizer.cls_token_id, tokenizer.sep_token_id
    begin = tokenizer.bos_token_id if begin is None else begin
    end = tokenizer.eos_token_id if end is None else end
    if begin is None or end is None:
        raise ValueError("its tokenizer has no tokens for the begin and the end of a text")
    return begin, end


def _longest(model: Any, tokenizer: Any) -> int:
    """Tokens that a model has places for."""
    longest = getattr(model.config, "max_position_embeddings", None) or tokenizer.model_max_length
    # RoBERTa counts places from after the number of its padding.
    before = max(
        (
            1 + part.padding_idx
            for name, part in model.named_modules()
            if name.endswith("position_embeddings")
            and isinstance(part, nn.Embedding)
            and part.padding_idx is not None
        ),
        default=0,
    )
    return int(min(longest - before, tokenizer.model_max_length))
