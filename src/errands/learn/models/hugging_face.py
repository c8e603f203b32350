"""Checkpoints of Hugging Face's, by name or path: what search models and encoders share.

    source = find_source("bert-base-uncased")          # on this machine, or on the Hub
    config = read_config(source)
    tokenizer = read_tokenizer(source)
    save_parts(Path("il"), config, tokenizer)   # found again by saved_source(Path("il"))

Nothing but settings, weights and a tokenizer is taken from a checkpoint: code that it brings is
never run. What a training leaves holds settings and tokenizer, too, and is opened without a
network. Every way this can fail is one sentence.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from errands.errors import DataError, ErrandsError, SettingError
from errands.extras import install_command

__all__ = [
    "PretrainedSource",
    "find_source",
    "library",
    "load",
    "normalized",
    "read_config",
    "read_tokenizer",
    "save_parts",
    "saved_source",
]

PARTS: Final = "pretrained"
"""The folder of a checkpoint that holds settings and tokenizer."""
_HUB_TIMEOUT: Final = 5.0
"""Seconds in which the Hub says that it knows a model."""

Result = TypeVar("Result")


class PretrainedSource(msgspec.Struct, frozen=True):
    """Where a checkpoint is read from."""

    name: str
    is_local: bool
    """Whether only this machine is asked."""

    def options(self) -> dict[str, Any]:
        """What every reader of the library is told."""
        return {"trust_remote_code": False, "local_files_only": self.is_local}


def library() -> Any:
    """The package transformers, silenced."""
    try:
        import huggingface_hub
        import transformers
    except ImportError:
        raise SettingError(
            "Models of Hugging Face's need transformers, which is not installed; run"
            f" {install_command('hf')}."
        ) from None
    # Their bars and remarks would be mixed with ours.
    huggingface_hub.utils.logging.set_verbosity_error()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers


def find_source(name: str) -> PretrainedSource:
    """A checkpoint by its path, or by its name on the Hub.

    The library would ask a Hub out of reach again and again for every file; one question that
    is not answered in time is enough to do with what this machine has.
    """
    library()
    if not name.strip():
        raise SettingError("A model of Hugging Face's needs a name or a path; it is empty.")
    if os.path.isdir(name):
        return PretrainedSource(name, is_local=True)
    import huggingface_hub

    try:
        huggingface_hub.HfApi().model_info(name, timeout=_HUB_TIMEOUT)
    except Exception:
        return PretrainedSource(name, is_local=True)
    return PretrainedSource(name, is_local=False)


def read_config(source: PretrainedSource) -> Any:
    config = library().AutoConfig
    return load(source.name, lambda: config.from_pretrained(source.name, **source.options()))


def read_tokenizer(source: PretrainedSource) -> Any:
    tokenizer = library().AutoTokenizer
    return load(source.name, lambda: tokenizer.from_pretrained(source.name, **source.options()))


def save_parts(folder: Path, *parts: Any) -> None:
    """Settings and tokenizer into a training's folder."""
    try:
        for part in parts:
            part.save_pretrained(folder / PARTS)
    except OSError as failure:
        raise DataError(f"{folder} cannot be written ({failure.strerror}).") from None


def saved_source(folder: Path) -> PretrainedSource:
    """What `save_parts` has put into a training's folder."""
    if not (folder / PARTS).is_dir():
        raise DataError(f"{folder} has lost its folder {PARTS}; train it anew.")
    return PretrainedSource(str(folder / PARTS), is_local=True)


def load(name: str, read: Callable[[], Result]) -> Result:
    """What `read` gives, or one sentence on why it cannot be had."""
    try:
        return read()
    except ErrandsError:
        raise
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


def normalized(text: str) -> str:
    """As the original writes all texts: small letters, without quotes."""
    return " ".join(text.lower().replace('"', "").replace("'", "").split())
