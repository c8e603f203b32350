"""Imitation learns, and a training that was stopped goes on to the same weights."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from trainings import same_weights, stopper

from errands.errors import DataError, SettingError
from errands.learn import trainer as training
from errands.learn.checkpoint import read_info
from errands.learn.data.batch import TokenLimits
from errands.learn.data.demonstrations import Demonstrations, read_demonstrations
from errands.learn.imitation import PRESETS, ImitationConfig, train_choice
from errands.learn.models.choice import ChoiceConfig
from errands.learn.policy import open_policy
from errands.learn.trainer import TrainingOptions

SHORT = TokenLimits(instruction=16, past=8, page=32, action=8)
SMALL = ImitationConfig(
    choice=ChoiceConfig(width=16, lengths=SHORT),
    epochs=3,
    batch_size=16,
    learning_rate=5e-3,
    warmup_steps=2,
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


def _losses(folder: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (folder / "log.jsonl").read_text().splitlines()]


def test_the_loss_falls(shown: Demonstrations, tmp_path: Path) -> None:
    before = torch.get_rng_state()
    trained = train_choice(shown, tmp_path / "il", msgspec.structs.replace(SMALL, epochs=8))
    losses = _losses(tmp_path / "il")
    assert losses[-1] < 0.75 * losses[0]
    assert trained.accuracy > 0.4
    assert read_info(tmp_path / "il", "choice").is_done
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("config", [SMALL, RNN], ids=["transformer", "rnn"])
def test_stopped_and_resumed_gives_the_same_weights(
    config: ImitationConfig, shown: Demonstrations, tmp_path: Path
) -> None:
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    train_choice(shown, whole, config)
    stopped = train_choice(shown, halves, config, options=TrainingOptions(stop=stopper(5)))
    assert not read_info(halves, "choice").is_done
    assert not same_weights(whole, halves)
    finished = train_choice(shown, halves, config, options=TrainingOptions(resume=True))
    assert stopped.steps < finished.steps
    assert same_weights(whole, halves)
    again = train_choice(shown, halves, config, options=TrainingOptions(resume=True))
    figures = [read_info(folder, "choice").figures for folder in (whole, halves)]
    assert figures[0] == figures[1] == {"loss": again.loss, "accuracy": again.accuracy}


def test_an_older_checkpoint_goes_on_as_what_it_is(shown: Demonstrations, tmp_path: Path) -> None:
    """Without an edition in its settings it has a leaky ReLU that later ones do not have."""
    choice = msgspec.structs.replace(SMALL.choice, edition=1)
    train_choice(shown, tmp_path / "whole", msgspec.structs.replace(SMALL, choice=choice))
    train_choice(shown, tmp_path / "newer", SMALL)
    old = msgspec.structs.replace(SMALL, choice=choice)
    train_choice(shown, tmp_path / "old", old, options=TrainingOptions(stop=stopper(5)))
    about = json.loads((tmp_path / "old" / "about.json").read_text())
    del about["config"]["choice"]["edition"]
    (tmp_path / "old" / "about.json").write_text(json.dumps(about))
    assert open_policy(str(tmp_path / "old")).config.edition == 1
    train_choice(shown, tmp_path / "old", SMALL, options=TrainingOptions(resume=True))
    assert same_weights(tmp_path / "whole", tmp_path / "old")
    assert not same_weights(tmp_path / "newer", tmp_path / "old")


def test_killed_and_resumed_gives_the_same_weights(
    shown: Demonstrations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_choice(shown, tmp_path / "whole", SMALL)
    monkeypatch.setattr(training, "_SAVING_SHARE", 0)

    def dies(progress: Any) -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        train_choice(
            shown,
            tmp_path / "killed",
            SMALL,
            options=TrainingOptions(on_progress=dies, save_every=0),
        )
    train_choice(shown, tmp_path / "killed", SMALL, options=TrainingOptions(resume=True))
    assert same_weights(tmp_path / "whole", tmp_path / "killed")


def test_another_seed_gives_other_weights(shown: Demonstrations, tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("same", 0), ("other", 1)):
        config = msgspec.structs.replace(SMALL, epochs=1, seed=seed)
        train_choice(shown, tmp_path / name, config)
    assert same_weights(tmp_path / "one", tmp_path / "same")
    assert not same_weights(tmp_path / "one", tmp_path / "other")


def test_a_checkpoint_is_neither_overwritten_nor_mixed(
    shown: Demonstrations, tmp_path: Path
) -> None:
    train_choice(shown, tmp_path / "il", SMALL, options=TrainingOptions(stop=lambda: True))
    with pytest.raises(SettingError, match="--resume"):
        train_choice(shown, tmp_path / "il", SMALL)
    other = msgspec.structs.replace(SMALL, learning_rate=1.0)
    with pytest.raises(SettingError, match="other settings"):
        train_choice(shown, tmp_path / "il", other, options=TrainingOptions(resume=True))


def test_what_is_held_out_is_measured_after_every_epoch(
    shown: Demonstrations, tmp_path: Path
) -> None:
    config = msgspec.structs.replace(SMALL, held_out=0.2)
    trained = train_choice(shown, tmp_path / "il", config)
    lines = [json.loads(line) for line in (tmp_path / "il" / "log.jsonl").read_text().splitlines()]
    measured = [line for line in lines if "held_out_loss" in line]
    in_epoch = trained.steps // config.epochs
    assert [line["step"] for line in measured] == [in_epoch * at for at in (1, 2, 3)]
    last = {name: measured[-1][name] for name in ("held_out_loss", "held_out_accuracy")}
    assert trained.held_out == last
    about = read_info(tmp_path / "il", "choice")
    assert about.figures.items() >= last.items()
    whole = train_choice(shown, tmp_path / "whole", SMALL)
    assert trained.steps < whole.steps
    assert whole.held_out == {}


def test_measuring_other_choices_leaves_no_trace_in_the_weights(
    shown: Demonstrations, tmp_path: Path
) -> None:
    train_choice(shown, tmp_path / "alone", SMALL)
    seen = train_choice(shown, tmp_path / "measured", SMALL, others=shown.choices[:40])
    assert same_weights(tmp_path / "alone", tmp_path / "measured")
    assert seen.held_out["held_out_loss"] > 0
    stopped = tmp_path / "stopped"
    train_choice(
        shown, stopped, SMALL, others=shown.choices[:40], options=TrainingOptions(stop=stopper(10))
    )
    resumed = train_choice(
        shown, stopped, SMALL, others=shown.choices[:40], options=TrainingOptions(resume=True)
    )
    assert same_weights(tmp_path / "alone", stopped)
    assert resumed.held_out == seen.held_out


def test_other_demonstrations_cannot_be_resumed_with(shown: Demonstrations, tmp_path: Path) -> None:
    train_choice(shown, tmp_path / "il", SMALL, options=TrainingOptions(stop=stopper(3)))
    turned = msgspec.structs.replace(shown, choices=shown.choices[::-1])
    with pytest.raises(SettingError, match="other demonstrations; resume it with the same"):
        train_choice(turned, tmp_path / "il", SMALL, options=TrainingOptions(resume=True))
    none = msgspec.structs.replace(shown, choices=())
    with pytest.raises(DataError, match="no choice to learn from"):
        train_choice(none, tmp_path / "none", SMALL)


def test_a_loss_that_is_no_number_is_said(shown: Demonstrations, tmp_path: Path) -> None:
    config = msgspec.structs.replace(SMALL, learning_rate=1e30, max_grad_norm=1e30)
    with pytest.raises(SettingError, match="lower --learning-rate"):
        train_choice(shown, tmp_path / "il", config)


def test_time_and_speed_are_reported(shown: Demonstrations, tmp_path: Path) -> None:
    config = msgspec.structs.replace(SMALL, held_out=0.2)
    trained = train_choice(shown, tmp_path / "il", config)
    assert set(trained.shares) == {"encoding", "model", "learning", "evaluation", "saving"}
    assert sum(trained.shares.values()) == pytest.approx(1)
    assert min(trained.shares.values()) > 0
    assert trained.choices_per_second > 0
    assert trained.choices_per_cpu_second > 0
    last = json.loads((tmp_path / "il" / "log.jsonl").read_text().splitlines()[-1])
    assert {"samples_per_second", "samples_per_cpu_second", "time_model"} <= set(last)


def test_the_presets_have_the_paper_figures() -> None:
    paper, rnn = PRESETS["paper"], PRESETS["rnn"]
    assert (paper.learning_rate, paper.epochs, paper.batch_size) == (2e-5, 10, 32)
    assert (rnn.choice.encoder, rnn.choice.hidden, rnn.choice.word_attention) == ("gru", 512, True)
