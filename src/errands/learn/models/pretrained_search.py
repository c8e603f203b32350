"""Search models of Hugging Face's: any BART, T5 or other sequence-to-sequence checkpoint.

open_pretrained("webshop/il_search_bart").queries("i need a red hat")
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import torch
from torch import Tensor

from errands.agents.page_reading import read_instruction
from errands.errors import DataError
from errands.learn.data.demonstrations import DemonstratedQuery
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
    "PretrainedSearcher",
    "check_searcher",
    "open_for_training",
    "open_pretrained",
    "rebuild_searcher",
]

_LONGEST_TEXT: Final = 256
_LONGEST_QUERY: Final = 64
_IGNORED: Final = -100
"""Marks labels that are no tokens, by a convention of all these models."""


class PretrainedSearcher(msgspec.Struct, frozen=True):
    """A model and its tokenizer, in use or in training."""

    model: Any
    tokenizer: Any

    def queries(self, instruction: str, beams: int = 5) -> list[str]:
        """Different queries, the model's best first."""
        text = normalized(read_instruction(instruction).text)
        if not text:
            return []
        source = self._tokens([text])
        with torch.inference_mode():
            written = self.model.generate(
                input_ids=source["input_ids"],
                attention_mask=source["attention_mask"],
                num_beams=beams,
                num_return_sequences=beams,
                do_sample=False,
                early_stopping=beams > 1,
                max_new_tokens=_LONGEST_QUERY,
            )
        texts = self.tokenizer.batch_decode(written, skip_special_tokens=True)
        return list(dict.fromkeys(query for text in texts if (query := normalized(text))))

    def _tokens(self, texts: Sequence[str]) -> Any:
        return self.tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=_LONGEST_TEXT,
            return_tensors="pt",
        ).to(self.model.device)

    def measure(self, pairs: Sequence[DemonstratedQuery]) -> tuple[Tensor, int, int]:
        """The loss on instructions and their queries, and how many tokens are right out of how
        many."""
        sources = self._tokens([normalized(pair.instruction) for pair in pairs])
        targets = self._tokens([normalized(pair.query) for pair in pairs])
        is_token = targets["attention_mask"].bool()
        labels = targets["input_ids"].masked_fill(~is_token, _IGNORED)
        output = self.model(
            input_ids=sources["input_ids"], attention_mask=sources["attention_mask"], labels=labels
        )
        right = (output.logits.argmax(dim=2) == labels) & is_token
        return output.loss, int(right.sum()), int(is_token.sum())


def check_searcher(name: str) -> PretrainedSource:
    """Refuse what is no sequence-to-sequence checkpoint, before there is any work."""
    source = find_source(name)
    config = read_config(source)
    if type(config) not in library().AutoModelForSeq2SeqLM._model_mapping:
        raise DataError(
            f"{name} is of the architecture {config.model_type}, which writes no text from a text;"
            " expected a sequence-to-sequence model, as BART or T5."
        )
    return source


def open_pretrained(name: str) -> PretrainedSearcher:
    """A checkpoint by its name on the Hub, or by its path."""
    source = check_searcher(name)
    models = library().AutoModelForSeq2SeqLM
    with seeded_torch(0):  # Weights that a checkpoint lacks are drawn.
        model = load(
            name,
            lambda: models.from_pretrained(name, dtype=torch.float32, **source.options()),
        )
    return PretrainedSearcher(model.eval(), read_tokenizer(source))


def open_for_training(
    name: str, folder: Path, *, is_new: bool, from_scratch: bool = False, seed: int = 0
) -> PretrainedSearcher:
    """A checkpoint to train further; its settings and tokenizer are put into `folder`. Its weights
    are drawn anew with `seed` if it is to begin `from_scratch`."""
    if not is_new:
        return rebuild_searcher(folder)
    searcher = open_pretrained(name)
    if from_scratch:
        with seeded_torch(seed):
            drawn = library().AutoModelForSeq2SeqLM.from_config(
                searcher.model.config, dtype=torch.float32, trust_remote_code=False
            )
        drawn.generation_config = searcher.model.generation_config
        searcher = PretrainedSearcher(drawn.eval(), searcher.tokenizer)
    model = searcher.model
    save_parts(folder, model.config, model.generation_config, searcher.tokenizer)
    return searcher


def rebuild_searcher(folder: Path) -> PretrainedSearcher:
    """The architecture and tokenizer that a training has put into a folder, without its weights."""
    source = saved_source(folder)
    config = read_config(source)

    def build() -> Any:
        model = library().AutoModelForSeq2SeqLM.from_config(
            config, dtype=torch.float32, trust_remote_code=False
        )
        if (Path(source.name) / "generation_config.json").exists():
            model.generation_config = library().GenerationConfig.from_pretrained(source.name)
        return model

    with seeded_torch(0):
        model = load(source.name, build)
    return PretrainedSearcher(model.eval(), read_tokenizer(source))
