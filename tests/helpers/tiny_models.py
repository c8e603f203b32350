"""Tiny models of Hugging Face's with random weights, written to disk as one downloads them."""

import importlib.util
from pathlib import Path

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = "a i for the with buy now back to search prev next red blue item opened < >".split()


def write_bert(place: Path) -> str:
    """A BERT that knows a few words, if transformers is installed; else no path."""
    if not importlib.util.find_spec("transformers"):
        return ""
    import transformers

    from errands.learn.models.runtime import seeded_torch

    place.mkdir(parents=True)
    (place / "vocab.txt").write_text("\n".join([*MARKS, *WORDS]))
    config = transformers.BertConfig(
        vocab_size=len(MARKS) + len(WORDS), hidden_size=16, num_hidden_layers=1,
        num_attention_heads=2, intermediate_size=16,
    )  # fmt: skip
    with seeded_torch(1):
        transformers.BertModel(config).save_pretrained(place)
    return str(place)
