"""Pretrained encoders: tiny BERT, DistilBERT and RoBERTa checkpoints, written to disk."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from effort import sampled

from errands.errors import DataError

transformers = pytest.importorskip(
    "transformers", reason="needs transformers: pip install 'errands[hf]'"
)

from errands.learn.data.batch import TokenLimits, encode, pack  # noqa: E402
from errands.learn.data.view import ChoiceView, read_view  # noqa: E402
from errands.learn.data.vocabulary import END, PAD  # noqa: E402
from errands.learn.models import pretrained_encoder  # noqa: E402
from errands.learn.models.choice import ChoiceConfig, ChoiceModel  # noqa: E402
from errands.learn.models.pretrained_encoder import (  # noqa: E402
    BUTTONS,
    PretrainedTokenizer,
    open_encoder,
    rebuild_encoder,
)
from errands.learn.models.runtime import seeded_torch  # noqa: E402

KINDS = sampled(["bert", "distilbert", "roberta"], "bert", "roberta")
Readers = Callable[[str], Path]

TEXT = "i want a red hat for my sister"
PAGE = f"""Instruction:
{TEXT}
[button] Back to Search [button_]
size
  [clicked button] Large [clicked button_]
  [button] Small [button_]
[button] Buy Now [button_]"""


def _numbers(words: PretrainedTokenizer, *texts: str) -> torch.Tensor:
    rows = [torch.tensor(words.encode(text)) for text in texts]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)


def _model(place: Path, **settings: Any) -> tuple[ChoiceModel, PretrainedTokenizer]:
    encoder = open_encoder(str(place), settings.get("width", 0), seed=1)
    config = ChoiceConfig(encoder="pretrained", pretrained=str(place), **{"width": 0, **settings})
    with seeded_torch(1):
        return ChoiceModel(config, len(encoder.tokenizer), encoder), encoder.tokenizer


@pytest.mark.parametrize("kind", KINDS)
def test_a_fresh_encoder_is_exactly_the_model_itself(readers: Readers, kind: str) -> None:
    place = readers(kind)
    encoder = open_encoder(str(place), 0, seed=0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(place)
    model = transformers.AutoModel.from_pretrained(place).eval()
    texts = [TEXT, "a hat"]
    tokens = _numbers(encoder.tokenizer, *texts)
    places = torch.arange(tokens.numel()).reshape_as(tokens) % 8
    with torch.inference_mode():
        found = encoder(tokens, places)
        for row, text in enumerate(texts):
            plain = tokenizer(f" {text}", return_tensors="pt")
            wanted = model(**plain).last_hidden_state[0, 1:-1]
            length = len(encoder.tokenizer.encode(text))
            assert wanted.shape == (length, 32)
            assert torch.allclose(found[row, :length], wanted, atol=1e-5)
    assert found.shape == (*tokens.shape, 32)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_worth_what_its_begin_says(readers: Readers, kind: str) -> None:
    """The value is read off [CLS], as in the paper; checkpoints of before have no such place."""
    model, words = _model(readers(kind))
    older, _ = _model(readers(kind), edition=1)
    seen: list[torch.Tensor] = []
    model.value.register_forward_pre_hook(lambda layer, given: seen.append(given[0]))
    older.value.register_forward_pre_hook(lambda layer, given: seen.append(given[0]))
    batch = pack([encode(read_view(PAGE), words, TokenLimits())])
    ids = words.ids(batch.observed)[0].tolist()
    with torch.inference_mode():
        model.eval()(batch)
        older.eval()(batch)
        whole = torch.tensor([[words.begin, *ids, words.end]])
        wanted = model.encoder.model(input_ids=whole).last_hidden_state
    assert torch.allclose(seen[0], wanted[:, 0], atol=1e-5)
    assert torch.allclose(seen[1], wanted[:, 1], atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_places_and_every_word_matter_once_they_are_learnt(readers: Readers, kind: str) -> None:
    encoder = open_encoder(str(readers(kind)), 0, seed=0)
    tokens = _numbers(encoder.tokenizer, TEXT)
    with torch.inference_mode():
        before = encoder(tokens, torch.zeros_like(tokens))
        encoder.place.weight[3] = torch.linspace(-1, 1, 32)
        assert torch.equal(encoder(tokens, torch.zeros_like(tokens)), before)
        assert not torch.allclose(encoder(tokens, torch.full_like(tokens, 3)), before, atol=1e-3)
        other = tokens.clone()
        other[0, -1] = END
        assert not torch.allclose(encoder(other, torch.zeros_like(other))[0, 0], before[0, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_the_four_marks_of_buttons_are_four_tokens(readers: Readers, kind: str) -> None:
    """The original's reinforcement added them as one, with the commas between."""
    place = readers(kind)
    plain = transformers.AutoTokenizer.from_pretrained(place)
    encoder = open_encoder(str(place), 0, seed=0)
    words = encoder.tokenizer
    marks = [words.encode(mark) for mark in BUTTONS]
    assert [len(mark) for mark in marks] == [1, 1, 1, 1]
    assert len(set(marks)) == 4
    assert len(words) == len(plain) + 4 + 3
    assert encoder.model.get_input_embeddings().num_embeddings == len(plain) + 4
    inside = words.encode("x [clicked button] Large [clicked button_] y")
    assert [inside.count(mark[0]) for mark in marks] == [0, 0, 1, 1]
    assert words.encode("large")[0] in inside


@pytest.mark.parametrize("kind", KINDS)
def test_texts_never_hold_what_only_models_say(readers: Readers, kind: str) -> None:
    words = open_encoder(str(readers(kind)), 0, seed=0).tokenizer
    said = "[SEP] hat [PAD] </s> <mask> [MASK] <s> <pad> [CLS]"
    numbers = words.encode(said)
    assert PAD not in numbers
    assert END not in numbers
    edges = {words.begin, words.end, words.padding, words.tokenizer.mask_token_id}
    assert not edges & {number - 3 for number in numbers}
    assert words.encode('"Red" HAT') == words.encode("red hat")
    ids = words.ids(torch.tensor([[*words.encode("hat"), END, PAD]]))[0].tolist()
    assert ids[-2:] == [words.end, words.padding]
    pieces = words.tokenizer.convert_ids_to_tokens(ids[:-2])
    assert "".join(pieces).replace("##", "").replace("Ġ", "") == "hat"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("word_attention", [False, True])
def test_gradients_reach_all_of_the_model(
    readers: Readers, kind: str, word_attention: bool
) -> None:
    model, words = _model(readers(kind), word_attention=word_attention, width=24)
    view = read_view(PAGE, ["search[red hat]"])
    judged = model(pack([encode(view, words, TokenLimits())]))
    (judged.scores.log_softmax(1)[0, 0] + judged.values.sum()).backward()
    without = [name for name, weight in model.named_parameters() if weight.grad is None]
    assert without == []
    assert model.encoder.model.get_input_embeddings().weight.grad.abs().sum() > 0
    assert model.encoder.place.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_views_side_by_side_are_judged_as_each_alone(readers: Readers, kind: str) -> None:
    model, words = _model(readers(kind))
    model.eval()
    views = [
        encode(view, words, TokenLimits())
        for view in (
            read_view(PAGE, ["search[red hat]"]),
            ChoiceView("hat", ("opened 0",), "", ("x",), ("x",)),
        )
    ]
    with torch.inference_mode():
        together = model(pack(views))
        for row, view in enumerate(views):
            alone = model(pack([view]))
            count = len(view.actions)
            assert torch.allclose(together.scores[row, :count], alone.scores[0], atol=1e-5)
            assert torch.allclose(together.values[row], alone.values[0], atol=1e-5)


def test_parts_that_fit_into_memory_give_the_same_gradients(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, words = _model(readers("bert"))
    view = encode(read_view(PAGE, ["search[red hat]"]), words, TokenLimits())
    found = []
    for at_once in (10_000, 1):
        monkeypatch.setattr(pretrained_encoder, "_AT_ONCE", at_once)
        model.zero_grad()
        judged = model.eval()(pack([view, view]))
        (judged.scores.square().sum() + judged.values.sum()).backward()
        found.append({name: weight.grad.clone() for name, weight in model.named_parameters()})
    for name, gradient in found[0].items():
        assert torch.allclose(gradient, found[1][name], rtol=1e-3, atol=1e-4), name


@pytest.mark.parametrize(("kind", "room"), [("bert", 126), ("distilbert", 126), ("roberta", 126)])
def test_what_is_longer_than_the_model_reads_is_cut(readers: Readers, kind: str, room: int) -> None:
    """RoBERTa's 130 places are 128: the first two are of its padding."""
    model, words = _model(readers(kind))
    assert words.max_tokens == room
    long = "hat " * 600
    limits = TokenLimits(instruction=400, past=400, page=400, action=400)
    view = encode(ChoiceView(long, (long,), long, (long, "buy now"), ("a", "b")), words, limits)
    assert len(view.observed) == len(view.places) == room
    assert len(view.actions[0]) == len(view.action_places[0]) == room
    with torch.inference_mode():
        assert torch.isfinite(model(pack([view])).scores).all()


def test_chance_is_private_and_the_marks_follow_the_seed(readers: Readers, tmp_path: Path) -> None:
    before = torch.get_rng_state()
    one, same, other = (open_encoder(str(readers("bert")), 0, seed) for seed in (1, 1, 2))
    one.save(tmp_path)
    rebuild_encoder(tmp_path, 0)
    assert torch.equal(torch.get_rng_state(), before)
    tables = [held.model.get_input_embeddings().weight for held in (one, same, other)]
    assert torch.equal(tables[0], tables[1])
    assert torch.equal(tables[0][:-4], tables[2][:-4])
    assert not torch.equal(tables[0][-4:], tables[2][-4:])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_is_the_same_without_the_original(
    readers: Readers, kind: str, tmp_path: Path
) -> None:
    shutil.copytree(readers(kind), tmp_path / "hub")
    encoder = open_encoder(str(tmp_path / "hub"), 16, seed=0)
    encoder.save(tmp_path / "il")
    shutil.rmtree(tmp_path / "hub")
    again = rebuild_encoder(tmp_path / "il", 16)
    again.load_state_dict(encoder.state_dict())
    assert again.tokenizer.encode(PAGE) == encoder.tokenizer.encode(PAGE)
    assert (again.tokenizer.max_tokens, len(again.tokenizer)) == (
        encoder.tokenizer.max_tokens, len(encoder.tokenizer),
    )  # fmt: skip
    tokens = _numbers(encoder.tokenizer, TEXT)
    with torch.inference_mode():
        found = [held(tokens, torch.zeros_like(tokens)) for held in (encoder, again)]
    assert found[0].shape[2] == 16
    assert torch.equal(*found)
    assert not [name for name in again.state_dict() if "pooler" in name]


def _seq2seq(place: Path) -> None:
    transformers.BartConfig(d_model=8).save_pretrained(place)


def _writer(place: Path) -> None:
    transformers.GPT2Config(n_embd=8, n_head=2).save_pretrained(place)


def _picture(place: Path) -> None:
    transformers.ViTConfig().save_pretrained(place)


def _unheard_of(place: Path) -> None:
    place.mkdir()
    (place / "config.json").write_text(json.dumps({"model_type": "moon", "auto_map": {
        "AutoConfig": "evil.Moon", "AutoModel": "evil.Moon"}}))  # fmt: skip
    (place / "evil.py").write_text("raise SystemExit('a checkpoint ran its code')")


def _no_settings(place: Path) -> None:
    place.mkdir()
    (place / "config.json").write_text("{")


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (_seq2seq, r"architecture bart.*expected one as BERT"),
        (_writer, r"architecture gpt2.*expected one as BERT"),
        (_picture, r"architecture vit.*expected one as BERT"),
        (_unheard_of, "place is no model that can be used"),
        (_no_settings, "place"),
    ],
)
def test_other_models_are_one_sentence(
    write: Callable[[Path], None], says: str, tmp_path: Path
) -> None:
    write(tmp_path / "place")
    with pytest.raises(DataError, match=says) as failed:
        open_encoder(str(tmp_path / "place"), 0, seed=0)
    assert "\n" not in str(failed.value)


def _without(*names: str) -> Callable[[Path], None]:
    def damage(place: Path) -> None:
        for name in names:
            (place / name).unlink()

    return damage


def _cut_weights(place: Path) -> None:
    path = place / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def _half_the_weights(place: Path) -> None:
    from safetensors.torch import load_file, save_file

    path = str(place / "model.safetensors")
    weights = load_file(path)
    kept = {name: weight for name, weight in weights.items() if "layer.1" not in name}
    save_file(kept, path, metadata={"format": "pt"})


def _garbled_tokenizer(place: Path) -> None:
    (place / "tokenizer.json").write_bytes(b"\xff\xfe nothing")


def _no_begin(place: Path) -> None:
    path = place / "tokenizer_config.json"
    held = json.loads(path.read_text())
    del held["cls_token"]
    path.write_text(json.dumps(held))


def _other_width(place: Path) -> None:
    held = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps({**held, "intermediate_size": 48}))


def _few_places(place: Path) -> None:
    path = place / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_max_length": 8}))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (_without("model.safetensors"), "cannot be had"),
        (_without("tokenizer.json", "tokenizer_config.json"), "files of the tokenizer are missing"),
        (_cut_weights, "no model that can be used"),
        (_half_the_weights, r"lacks weights of its own architecture \(\d+, as encoder\.layer\.1"),
        (_garbled_tokenizer, "place"),
        (_no_begin, "no tokens for the begin"),
        (_other_width, "place"),
        (_few_places, "reads 6 tokens at once"),
    ],
)
def test_a_damaged_checkpoint_is_one_sentence(
    readers: Readers, damage: Callable[[Path], None], says: str, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    shutil.copytree(readers("bert"), place)
    damage(place)
    with pytest.raises(DataError, match=says) as failed:
        open_encoder(str(place), 0, seed=0)
    assert "\n" not in str(failed.value)


def test_a_folder_that_was_lost_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has lost its folder pretrained"):
        rebuild_encoder(tmp_path, 0)
