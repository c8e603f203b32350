"""Imitation learns, and a training that was stopped goes on to the same weights."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from errands.errors import SettingError
from errands.learn import training
from errands.learn.batch import Lengths
from errands.learn.checkpoint import read_about
from errands.learn.choice_model import ChoiceConfig
from errands.learn.demonstrations import Demonstrations, read_demonstrations
from errands.learn.imitation import PRESETS, ImitationConfig, train_choice

SHORT = Lengths(wish=16, past=8, page=32, action=8)
SMALL = ImitationConfig(
    choice=ChoiceConfig(width=16, lengths=SHORT),
    epochs=3,
    batch=16,
    rate=5e-3,
    warm_up=2,
    threads=1,
)
RNN = msgspec.structs.replace(
    SMALL,
    choice=ChoiceConfig(width=8, encoder="gru", hidden=8, word_attention=True, lengths=SHORT),
    epochs=1,
)


@pytest.fixture(scope="module")
def shown(demos: str) -> Demonstrations:
    """Few enough to be learnt in a second or two."""
    whole = read_demonstrations(demos)
    return msgspec.structs.replace(whole, choices=whole.choices[:120])


def _weights(folder: Path) -> dict[str, torch.Tensor]:
    weights: dict[str, torch.Tensor] = torch.load(folder / "weights.pt", weights_only=True)
    return weights


def _same(one: Path, other: Path) -> bool:
    pair = _weights(one), _weights(other)
    return pair[0].keys() == pair[1].keys() and all(
        torch.equal(weight, pair[1][name]) for name, weight in pair[0].items()
    )


def _losses(folder: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (folder / "log.jsonl").read_text().splitlines()]


def _stopper(updates: int) -> Any:
    asked = [0]

    def stop() -> bool:
        asked[0] += 1
        return asked[0] > updates

    return stop


def test_the_loss_falls(shown: Demonstrations, tmp_path: Path) -> None:
    before = torch.get_rng_state()
    trained = train_choice(shown, tmp_path / "il", msgspec.structs.replace(SMALL, epochs=8))
    losses = _losses(tmp_path / "il")
    assert losses[-1] < 0.75 * losses[0]
    assert trained.accuracy > 0.4
    assert read_about(tmp_path / "il", "choice").is_done
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("config", [SMALL, RNN], ids=["transformer", "rnn"])
def test_stopped_and_resumed_gives_the_same_weights(
    config: ImitationConfig, shown: Demonstrations, tmp_path: Path
) -> None:
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    train_choice(shown, whole, config)
    stopped = train_choice(shown, halves, config, stop=_stopper(5))
    assert not read_about(halves, "choice").is_done
    assert not _same(whole, halves)
    finished = train_choice(shown, halves, config, resume=True)
    assert stopped.steps < finished.steps
    assert _same(whole, halves)
    again = train_choice(shown, halves, config, resume=True)
    figures = [read_about(folder, "choice").figures for folder in (whole, halves)]
    assert figures[0] == figures[1] == {"loss": again.loss, "accuracy": again.accuracy}


def test_killed_and_resumed_gives_the_same_weights(
    shown: Demonstrations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_choice(shown, tmp_path / "whole", SMALL)
    pass
    monkeypatch.setattr(training, "_SAVE_SHARE", 0)

    def dies(progress: Any) -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        train_choice(shown, tmp_path / "killed", SMALL, on_progress=dies)
    train_choice(shown, tmp_path / "killed", SMALL, resume=True)
    assert _same(tmp_path / "whole", tmp_path / "killed")


def test_another_seed_gives_other_weights(shown: Demonstrations, tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("same", 0), ("other", 1)):
        config = msgspec.structs.replace(SMALL, epochs=1, seed=seed)
        train_choice(shown, tmp_path / name, config)
    assert _same(tmp_path / "one", tmp_path / "same")
    assert not _same(tmp_path / "one", tmp_path / "other")


def test_a_checkpoint_is_neither_overwritten_nor_mixed(
    shown: Demonstrations, tmp_path: Path
) -> None:
    train_choice(shown, tmp_path / "il", SMALL, stop=lambda: True)
    with pytest.raises(SettingError, match="--resume"):
        train_choice(shown, tmp_path / "il", SMALL)
    other = msgspec.structs.replace(SMALL, rate=1.0)
    with pytest.raises(SettingError, match="other settings"):
        train_choice(shown, tmp_path / "il", other, resume=True)


def test_the_presets_have_the_paper_figures() -> None:
    paper, rnn = PRESETS["paper"], PRESETS["rnn"]
    assert (paper.rate, paper.epochs, paper.batch) == (2e-5, 10, 32)
    assert (rnn.choice.encoder, rnn.choice.hidden, rnn.choice.word_attention) == ("gru", 512, True)
