"""Search models of Hugging Face's: tiny ones, written to disk here."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from errands.errors import DataError, ErrandsError, SettingError
from errands.extras import install_command

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'errands[train]'")
transformers = pytest.importorskip(
    "transformers", reason="needs transformers: pip install 'errands[hf]'"
)

from errands.learn.data.demonstrations import DemonstratedQuery  # noqa: E402
from errands.learn.models.pretrained_search import open_pretrained  # noqa: E402
from errands.learn.models.runtime import seeded_torch  # noqa: E402
from errands.learn.search import PRESETS, open_search_model, train_search  # noqa: E402
from errands.learn.trainer import TrainingOptions  # noqa: E402

WORDS = "please find me a red blue green hat lamp shoe for my sister now".split()
PAIRS = [
    DemonstratedQuery(f"please find me a {colour} {thing}", f"{colour} {thing}")
    for colour in ("red", "blue", "green")
    for thing in ("hat", "lamp", "shoe")
]
CONFIG = msgspec.structs.replace(
    PRESETS["paper"], epochs=200, batch_size=9, learning_rate=1e-2, warmup_steps=5, threads=1
)


def _config(kind: str) -> Any:
    size = len(WORDS) + 4
    if kind == "bart":
        return transformers.BartConfig(
            vocab_size=size, d_model=16, encoder_layers=1, decoder_layers=1,
            encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16,
            decoder_ffn_dim=16, max_position_embeddings=64, pad_token_id=0, bos_token_id=1,
            eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=2, dropout=0.1,
            # The usual 0.02 is for wide models: so narrow a one would hardly look at what is said.
            init_std=0.3,
        )  # fmt: skip
    return transformers.T5Config(
        vocab_size=size, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, pad_token_id=0,
        eos_token_id=2, decoder_start_token_id=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Writes a random model with a tokenizer of a dozen words to disk, as one downloads it."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    folder = tmp_path_factory.mktemp("hub")

    def write(kind: str) -> str:
        place = folder / kind
        if not place.exists():
            marks = ["<pad>", "<s>", "</s>", "<unk>"]
            numbers = {word: number for number, word in enumerate([*marks, *WORDS])}
            inner = Tokenizer(models.WordLevel(numbers, unk_token="<unk>"))
            inner.pre_tokenizer = pre_tokenizers.Whitespace()
            inner.post_processor = processors.TemplateProcessing(
                single="$A </s>", special_tokens=[("</s>", 2)]
            )
            tokenizer = transformers.PreTrainedTokenizerFast(
                tokenizer_object=inner, pad_token="<pad>", bos_token="<s>", eos_token="</s>",
                unk_token="<unk>",
            )  # fmt: skip
            tokenizer.save_pretrained(place)
            with seeded_torch(3):
                model = transformers.AutoModelForSeq2SeqLM.from_config(_config(kind))
            model.save_pretrained(place)
        return str(place)

    return write


@pytest.mark.parametrize("kind", ["bart", "t5"])
def test_a_checkpoint_on_disk_gives_different_queries_in_a_fixed_order(
    tiny: Callable[[str], str], kind: str
) -> None:
    model = open_search_model(tiny(kind))
    found = model.queries("Please find me a red hat, and price lower than 20.00 dollars", 5)
    assert 1 <= len(found) <= 5
    assert len(set(found)) == len(found)
    assert all(query.strip() for query in found)
    assert model.queries("please find me a red hat", 5) == found
    assert model.queries("", 5) == []


@pytest.mark.parametrize("kind", ["bart", "t5"])
def test_a_checkpoint_is_trained_further_and_opened_from_its_own_folder(
    tiny: Callable[[str], str], kind: str, tmp_path: Path
) -> None:
    config = msgspec.structs.replace(CONFIG, model=tiny(kind))
    heard: list[float] = []
    trained = train_search(
        PAIRS,
        tmp_path / "a",
        config,
        options=TrainingOptions(on_progress=lambda told: heard.append(told.loss)),
    )
    assert trained.loss < heard[0] / 2
    model = open_search_model(str(tmp_path / "a"))
    right = sum(model.queries(pair.instruction)[:1] == [pair.query] for pair in PAIRS)
    assert right >= 8  # All of them with each of three seeds; one that does not read gets one.


def test_a_stopped_training_goes_on_to_the_same_weights(
    tiny: Callable[[str], str], tmp_path: Path
) -> None:
    config = msgspec.structs.replace(CONFIG, model=tiny("bart"), epochs=8, batch_size=3)
    train_search(PAIRS, tmp_path / "whole", config)
    asked: list[int] = []
    train_search(
        PAIRS,
        tmp_path / "cut",
        config,
        options=TrainingOptions(stop=lambda: asked.append(1) is None and len(asked) > 10),
    )
    assert not json.loads((tmp_path / "cut" / "about.json").read_bytes())["is_done"]
    train_search(PAIRS, tmp_path / "cut", config, options=TrainingOptions(resume=True))
    whole, cut = (torch.load(tmp_path / name / "weights.pt") for name in ("whole", "cut"))
    assert whole.keys() == cut.keys()
    assert all(torch.equal(whole[name], cut[name]) for name in whole)


def test_weights_can_be_drawn_anew(tiny: Callable[[str], str], tmp_path: Path) -> None:
    """The paper's ablation; what is resumed from before had no such setting."""
    still = msgspec.structs.replace(
        CONFIG, model=tiny("bart"), epochs=2, learning_rate=0.0, from_scratch=True
    )
    train_search(PAIRS, tmp_path / "drawn", still)
    train_search(PAIRS, tmp_path / "other", msgspec.structs.replace(still, seed=1))
    kept = msgspec.structs.replace(still, from_scratch=False)
    train_search(PAIRS, tmp_path / "kept", kept, options=TrainingOptions(stop=lambda: True))
    name = "model.shared.weight"
    drawn, other, from_disk = (
        torch.load(tmp_path / each / "weights.pt")[name] for each in ("drawn", "other", "kept")
    )
    assert not torch.equal(drawn, other)
    assert not torch.equal(drawn, from_disk)
    assert torch.equal(from_disk, open_pretrained(tiny("bart")).model.state_dict()[name])
    about = json.loads((tmp_path / "kept" / "about.json").read_bytes())
    del about["config"]["from_scratch"]
    (tmp_path / "kept" / "about.json").write_text(json.dumps(about))
    train_search(PAIRS, tmp_path / "kept", kept, options=TrainingOptions(resume=True))
    with pytest.raises(SettingError, match="with other settings"):
        train_search(PAIRS, tmp_path / "kept", still, options=TrainingOptions(resume=True))


def test_other_architectures_and_missing_models_are_one_sentence(
    tmp_path: Path,
) -> None:
    reader = tmp_path / "bert"
    transformers.BertConfig(hidden_size=8, num_attention_heads=2).save_pretrained(reader)
    with pytest.raises(DataError, match=r"architecture bert.*BART or T5"):
        open_pretrained(str(reader))
    with pytest.raises(DataError, match="cannot be had"):
        open_pretrained(str(tmp_path / "nowhere"))
    bare = tmp_path / "bare"
    _config("t5").save_pretrained(bare)
    with pytest.raises(DataError, match="cannot be had"):
        open_search_model(str(bare))
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{")
    with pytest.raises(ErrandsError, match="broken"):
        open_search_model(str(broken))


def test_a_missing_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(SettingError, match=re.escape(install_command("hf"))):
        open_pretrained(str(tmp_path))
