"""What the tests of learning share: a shop, demonstrations, and a trained model."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from protocols import Rules

from errands.envs.shop import ShopEnv
from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.shop.catalog.catalog import Catalog

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]


@pytest.fixture(scope="session")
def rules(little: Catalog) -> Rules:
    """A protocol of the little catalogue."""

    def make(**settings: Any) -> Protocol:
        base: dict[str, Any] = {
            "id": "school", "version": 1, "title": "school", "domain": "shop",
            "data": str(little.path), "goals": "human", "split": "disjoint-train",
            "episodes": 30, "max_steps": 30,
        }  # fmt: skip
        return Protocol(**{**base, **settings})

    return make


@pytest.fixture(scope="session")
def demos(rules: Rules, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run of the scripted shopper, with all that it saw."""
    out = tmp_path_factory.mktemp("learn") / "demos"
    run(rules(), "shopper", out=out, observations="full")
    return str(out)


@pytest.fixture
def shop(little: Catalog) -> ShopEnv:
    return ShopEnv(catalog=little, goals="human", observation="text_rich", max_steps=30)


@pytest.fixture(scope="session")
def taught(demos: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a very small choice model, hardly trained."""
    from errands.learn.data.batch import TokenLimits
    from errands.learn.data.demonstrations import read_demonstrations
    from errands.learn.imitation import ImitationConfig, train_choice
    from errands.learn.models.choice import ChoiceConfig

    folder = tmp_path_factory.mktemp("learn") / "il"
    config = ImitationConfig(
        choice=ChoiceConfig(width=16, lengths=TokenLimits(page=32)), epochs=1, threads=1
    )
    train_choice(read_demonstrations(demos), folder, config)
    return folder


@pytest.fixture(scope="session")
def readers(demos: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Writes a tiny BERT, DistilBERT or RoBERTa with random weights to disk, as one downloads it;
    its tokenizer was trained on the demonstrations."""
    transformers = pytest.importorskip(
        "transformers", reason="needs transformers: pip install 'errands[hf]'"
    )
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    from errands.learn.data.demonstrations import read_demonstrations
    from errands.learn.models.runtime import seeded_torch

    folder = tmp_path_factory.mktemp("hub")

    def tokenizer(is_roberta: bool) -> Any:
        if is_roberta:
            marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
            inner = Tokenizer(models.BPE())
            inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
            alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
            trainer: Any = trainers.BpeTrainer(
                vocab_size=600, special_tokens=marks, initial_alphabet=alphabet, show_progress=False
            )
            begin, padding, end, unknown, mask = marks
        else:
            marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
            inner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
            inner.normalizer = normalizers.BertNormalizer(lowercase=True)
            inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
            trainer = trainers.WordPieceTrainer(
                vocab_size=600, special_tokens=marks, show_progress=False
            )
            padding, unknown, begin, end, mask = marks
        shown = read_demonstrations(demos).choices[:120]
        texts = (text for view, _ in shown for text in (view.instruction, view.page, *view.actions))
        inner.train_from_iterator(texts, trainer)
        inner.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A {end}",
            special_tokens=[(mark, inner.token_to_id(mark)) for mark in (begin, end)],
        )
        return transformers.PreTrainedTokenizerFast(
            tokenizer_object=inner, cls_token=begin, sep_token=end, pad_token=padding,
            unk_token=unknown, mask_token=mask, model_max_length=512,
        )  # fmt: skip

    def config(kind: str, words: int) -> Any:
        shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
        if kind == "bert":
            return transformers.BertConfig(
                vocab_size=words, intermediate_size=64, max_position_embeddings=128, **shape
            )
        if kind == "roberta":
            return transformers.RobertaConfig(
                vocab_size=words, intermediate_size=64, max_position_embeddings=130,
                pad_token_id=1, bos_token_id=0, eos_token_id=2, type_vocab_size=1, **shape,
            )  # fmt: skip
        return transformers.DistilBertConfig(
            vocab_size=words, dim=32, hidden_dim=64, n_layers=2, n_heads=4,
            max_position_embeddings=128,
        )  # fmt: skip

    def write(kind: str) -> Path:
        place = folder / kind
        if not place.exists():
            made = tokenizer(kind == "roberta")
            with seeded_torch(3):
                model = transformers.AutoModel.from_config(config(kind, len(made)))
            made.save_pretrained(place)
            model.save_pretrained(place)
        return place

    return write
