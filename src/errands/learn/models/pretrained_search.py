"""Search models of Hugging Face's: any BART, T5 or other sequence-to-sequence checkpoint.

open_pretrained("webshop/il_search_bart").queries("i need a red hat")
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import torch

from errands.agents.page_reading import read_instruction
from errands.errors import DataError
from errands.learn.checkpoint import load_weights
from errands.learn.data.demonstrations import Query
from errands.learn.models.hugging_face import (
    find,
    keep,
    kept,
    library,
    plain,
    read_config,
    read_tokenizer,
    tried,
)
from errands.learn.models.rng import private_chance
from errands.learn.trainer import Measured

__all__ = [
    "PretrainedSearcher",
    "measure_pairs",
    "open_for_training",
    "open_pretrained",
    "open_trained",
]

_LONGEST_TEXT: Final = 256
_LONGEST_QUERY: Final = 64
_IGNORED: Final = -100
"""Marks labels that are no words, by an agreement of all these models."""


class PretrainedSearcher(msgspec.Struct, frozen=True):
    """A model and its tokenizer, in use or in training."""

    model: Any
    tokenizer: Any

    def queries(self, instruction: str, beams: int = 5) -> list[str]:
        """Different queries, the model's best first."""
        text = plain(read_instruction(instruction).text)
        if not text:
            return []
        given = self._tokens([text])
        with torch.inference_mode():
            written = self.model.generate(
                input_ids=given["input_ids"],
                attention_mask=given["attention_mask"],
                num_beams=beams,
                num_return_sequences=beams,
                do_sample=False,
                early_stopping=beams > 1,
                max_new_tokens=_LONGEST_QUERY,
            )
        texts = self.tokenizer.batch_decode(written, skip_special_tokens=True)
        return list(dict.fromkeys(query for text in texts if (query := plain(text))))

    def _tokens(self, texts: Sequence[str]) -> Any:
        return self.tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=_LONGEST_TEXT,
            return_tensors="pt",
        ).to(self.model.device)


def measure_pairs(held: PretrainedSearcher, pairs: Sequence[Query]) -> Measured:
    """What the model makes of instructions and their queries."""
    given = held._tokens([plain(pair.wanted) for pair in pairs])
    wanted = held._tokens([plain(pair.query) for pair in pairs])
    is_word = wanted["attention_mask"].bool()
    labels = wanted["input_ids"].masked_fill(~is_word, _IGNORED)
    out = held.model(
        input_ids=given["input_ids"], attention_mask=given["attention_mask"], labels=labels
    )
    right = (out.logits.argmax(dim=2) == labels) & is_word
    return Measured(out.loss, int(right.sum()), int(is_word.sum()))


def open_pretrained(name: str) -> PretrainedSearcher:
    """A checkpoint by its name on the Hub, or by its path."""
    source = find(name)
    config = read_config(source)
    models = library().AutoModelForSeq2SeqLM
    if type(config) not in models._model_mapping:
        raise DataError(
            f"{name} is of the architecture {config.model_type}, which writes no text from a text;"
            " expected a sequence-to-sequence model, as BART or T5."
        )
    with private_chance(0):  # Weights that a checkpoint lacks are drawn.
        model = tried(
            name,
            lambda: models.from_pretrained(name, dtype=torch.float32, **source.options()),
        )
    return PretrainedSearcher(model.eval(), read_tokenizer(source))


def open_for_training(name: str, folder: Path, *, is_new: bool) -> PretrainedSearcher:
    """A checkpoint to train further; its settings and tokenizer are put into `folder`."""
    if not is_new:
        return _rebuilt(folder)
    held = open_pretrained(name)
    keep(folder, held.model.config, held.model.generation_config, held.tokenizer)
    return held


def open_trained(folder: Path) -> PretrainedSearcher:
    """What a training has left in a folder."""
    held = _rebuilt(folder)
    load_weights(folder, held.model)
    return held


def _rebuilt(folder: Path) -> PretrainedSearcher:
    """The architecture and tokenizer that a training has put into a folder, without weights."""
    source = kept(folder)
    config = read_config(source)

    def build() -> Any:
        model = library().AutoModelForSeq2SeqLM.from_config(
            config, dtype=torch.float32, trust_remote_code=False
        )
        if (Path(source.name) / "generation_config.json").exists():
            model.generation_config = library().GenerationConfig.from_pretrained(source.name)
        return model

    with private_chance(0):
        model = tried(source.name, build)
    return PretrainedSearcher(model.eval(), read_tokenizer(source))
