"""Search models of Hugging Face's: any BART, T5 or other sequence-to-sequence checkpoint.

    open_pretrained("webshop/il_search_bart").queries("i need a red hat")

Nothing but weights and a tokenizer is taken from a checkpoint: code that it brings is never run.
What a training leaves holds the settings and the tokenizer too, and is opened without a network.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import torch

from errands.agents.page_reading import wish
from errands.errors import DataError, SettingError
from errands.learn.checkpoint import load_weights
from errands.learn.demonstrations import Query
from errands.learn.training import Measured

__all__ = ["PretrainedSearcher", "measure_pairs", "open_for_training", "open_pretrained"]

_PARTS: Final = "pretrained"
"""The folder of a checkpoint that holds settings and tokenizer."""
_LONGEST_TEXT: Final = 256
_LONGEST_QUERY: Final = 64
_IGNORED: Final = -100
"""Marks labels that are no words, by an agreement of all these models."""

Result = TypeVar("Result")


class PretrainedSearcher(msgspec.Struct, frozen=True):
    """A model and its tokenizer, in use or in training."""

    model: Any
    tokenizer: Any

    def queries(self, instruction: str, beams: int = 5) -> list[str]:
        """Different queries, the model's best first."""
        text = _plain(wish(instruction).text)
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
        return list(dict.fromkeys(plain for text in texts if (plain := _plain(text))))

    def _tokens(self, texts: Sequence[str]) -> Any:
        return self.tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=_LONGEST_TEXT,
            return_tensors="pt",
        )


def measure_pairs(held: PretrainedSearcher, pairs: Sequence[Query]) -> Measured:
    """What the model makes of instructions and their queries."""
    given = held._tokens([_plain(pair.wanted) for pair in pairs])
    wanted = held._tokens([_plain(pair.query) for pair in pairs])
    is_word = wanted["attention_mask"].bool()
    labels = wanted["input_ids"].masked_fill(~is_word, _IGNORED)
    out = held.model(
        input_ids=given["input_ids"], attention_mask=given["attention_mask"], labels=labels
    )
    right = (out.logits.argmax(dim=2) == labels) & is_word
    return Measured(out.loss, int(right.sum()), int(is_word.sum()))


def open_pretrained(name: str) -> PretrainedSearcher:
    """A checkpoint by its name on the Hub, or by its path."""
    library = _library()
    config = _tried(name, lambda: library.AutoConfig.from_pretrained(name, trust_remote_code=False))
    if type(config) not in library.AutoModelForSeq2SeqLM._model_mapping:
        raise DataError(
            f"{name} is of the architecture {config.model_type}, which writes no text from a text;"
            " expected a sequence-to-sequence model, as BART or T5."
        )
    model = _tried(
        name,
        lambda: library.AutoModelForSeq2SeqLM.from_pretrained(
            name, trust_remote_code=False, dtype=torch.float32
        ),
    )
    return PretrainedSearcher(model.eval(), _tokenizer(library, name))


def open_for_training(name: str, folder: Path, *, is_new: bool) -> PretrainedSearcher:
    """A checkpoint to train further; its settings and tokenizer are put into `folder`."""
    if not is_new:
        return _rebuilt(folder)
    held = open_pretrained(name)
    try:
        held.model.config.save_pretrained(folder / _PARTS)
        held.model.generation_config.save_pretrained(folder / _PARTS)
        held.tokenizer.save_pretrained(folder / _PARTS)
    except OSError as failure:
        raise DataError(f"{folder} cannot be written ({failure.strerror}).") from None
    return held


def open_trained(folder: Path) -> PretrainedSearcher:
    """What a training has left in a folder."""
    held = _rebuilt(folder)
    load_weights(folder, held.model)
    return held


def _rebuilt(folder: Path) -> PretrainedSearcher:
    """The architecture and tokenizer that a training has put into a folder, without weights."""
    parts = folder / _PARTS
    if not parts.is_dir():
        raise DataError(f"{folder} has lost its folder {_PARTS}; train it anew.")
    library = _library()
    place = str(parts)

    def build() -> Any:
        config = library.AutoConfig.from_pretrained(place, local_files_only=True)
        model = library.AutoModelForSeq2SeqLM.from_config(config)
        if (parts / "generation_config.json").exists():
            model.generation_config = library.GenerationConfig.from_pretrained(place)
        return model

    return PretrainedSearcher(_tried(place, build).eval(), _tokenizer(library, place))


def _tokenizer(library: Any, name: str) -> Any:
    return _tried(
        name, lambda: library.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    )


def _library() -> Any:
    try:
        import huggingface_hub
        import transformers
    except ImportError:
        raise SettingError(
            "Models of Hugging Face's need transformers, which is not installed; run pip install"
            " 'errands[hf]'."
        ) from None
    # Their bars and remarks would be mixed with ours.
    huggingface_hub.utils.logging.set_verbosity_error()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers


def _tried(name: str, load: Callable[[], Result]) -> Result:
    """What is loaded, or one sentence on why it cannot be."""
    try:
        return load()
    except OSError:
        raise DataError(
            f"{name} cannot be had: it is no directory of a whole Hugging Face model, and there is"
            " no such model on this machine or in reach of it."
        ) from None
    except ImportError as failure:
        first = str(failure).strip().partition("\n")[0]
        raise SettingError(f"{name} needs a package that is not installed: {first}") from None
    except Exception as failure:
        # Whatever damaged files make of the many readers behind this.
        first = str(failure).strip().partition("\n")[0]
        raise DataError(
            f"{name} is no model that can be used ({type(failure).__name__}: {first[:200]})."
        ) from None


def _plain(text: str) -> str:
    """As the original writes both sides: small letters, without quotes."""
    return " ".join(text.lower().replace('"', "").replace("'", "").split())
