"""A checkpoint is whole, or it is refused in a sentence."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from errands.errors import DataError, SettingError
from errands.learn import checkpoint
from errands.learn.checkpoint import (
    CheckpointInfo,
    differing,
    load_weights,
    read_info,
    read_progress,
    save,
)
from errands.learn.models.choice import ChoiceConfig, ChoiceModel
from errands.learn.policy import open_policy
from errands.shop.fingerprints import GoalFingerprints, read_fingerprints

ABOUT = CheckpointInfo(kind="choice", trained="imitation", config={})


def _layer(value: float) -> dict[str, torch.Tensor]:
    return {"weight": torch.full((2, 2), value), "bias": torch.zeros(2)}


def test_what_was_saved_is_read(tmp_path: Path) -> None:
    save(tmp_path / "c", ABOUT, _layer(3.0), {"algorithm": "ppo", "step": 7})
    layer = torch.nn.Linear(2, 2)
    load_weights(tmp_path / "c", layer)
    assert (layer.weight == 3.0).all()
    assert read_info(tmp_path / "c", "choice") == ABOUT
    progress = read_progress(tmp_path / "c", resume=True, algorithm="ppo")
    assert progress is not None
    assert progress["step"] == 7
    assert (progress["weights"]["weight"] == 3.0).all()
    with pytest.raises(SettingError, match="add --resume"):
        read_progress(tmp_path / "c", resume=False, algorithm="ppo")
    assert read_progress(tmp_path / "none", resume=True, algorithm="ppo") is None


def test_a_folder_of_other_things_is_refused(tmp_path: Path) -> None:
    # What a training that was killed early has left is written over.
    (tmp_path / "log.jsonl").touch()
    (tmp_path / "associations.json").touch()
    (tmp_path / ".weights.pt-part").touch()
    assert read_progress(tmp_path, resume=False, algorithm="ppo") is None
    (tmp_path / "manifest.json").touch()
    for resume in (True, False):
        with pytest.raises(SettingError, match="has other things in it; name a new folder"):
            read_progress(tmp_path, resume=resume, algorithm="ppo")


def test_a_training_of_another_algorithm_is_not_resumed(tmp_path: Path) -> None:
    save(tmp_path, ABOUT, _layer(1.0), {"algorithm": "dagger"})
    assert read_progress(tmp_path, resume=True, algorithm="dagger") is not None
    with pytest.raises(SettingError, match="was trained by `errands train dagger`"):
        read_progress(tmp_path, resume=True, algorithm="ppo")


@pytest.mark.parametrize(
    ("part", "name"), [("played", "dagger"), ("critic", "ppo"), ("x", "choice")]
)
def test_of_older_checkpoints_the_algorithm_is_told_by_what_is_there(
    part: str, name: str, tmp_path: Path
) -> None:
    save(tmp_path, ABOUT, _layer(1.0), {part: 1})
    with pytest.raises(SettingError, match=f"was trained by `errands train {name}`"):
        read_progress(tmp_path, resume=True, algorithm="rl")


def test_what_differs_is_said() -> None:
    assert differing({"rate": 0.1, "a": 1}, {"rate": 0.2, "a": 1}) == " (rate 0.1 before, 0.2 now)"
    assert differing({"choice": {"width": 1}}, {"choice": {"width": 2}}) == ""


def test_a_model_without_progress_is_not_written_over(tmp_path: Path) -> None:
    save(tmp_path, ABOUT, _layer(1.0), None)
    with pytest.raises(SettingError, match="has a model already; name another folder"):
        read_progress(tmp_path, resume=False, algorithm="ppo")
    assert read_progress(tmp_path, resume=True, algorithm="ppo") is None


def test_goals_are_those_of_the_last_training(tmp_path: Path) -> None:
    first = GoalFingerprints(np.array([1], np.uint64), np.array([2], np.uint64))
    second = GoalFingerprints(np.array([3, 4], np.uint64), np.array([5], np.uint64))
    for goals in (first, second):
        save(tmp_path, ABOUT, _layer(1.0), None, goals)
    kept = read_fingerprints(tmp_path)
    assert kept is not None
    assert kept.products.tolist() == [3, 4]
    save(tmp_path, ABOUT, _layer(1.0), None)
    assert read_fingerprints(tmp_path) is None


def test_no_checkpoint_and_one_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is no checkpoint"):
        read_info(tmp_path, "choice")
    save(tmp_path, ABOUT, _layer(1.0), {})
    with pytest.raises(DataError, match="is a choice model; expected a search model"):
        read_info(tmp_path, "search")


def test_another_version_is_refused(tmp_path: Path) -> None:
    save(
        tmp_path, CheckpointInfo(kind="choice", trained="x", config={}, version=99), _layer(1.0), {}
    )
    with pytest.raises(DataError, match="version 99"):
        read_info(tmp_path, "choice")


@pytest.mark.parametrize("rest", [0, 10, 500])
def test_damaged_files_are_refused(rest: int, tmp_path: Path) -> None:
    save(tmp_path, ABOUT, _layer(1.0), {})
    for name in ("about.json", "weights.pt", "progress.pt"):
        path = tmp_path / name
        path.write_bytes(path.read_bytes()[: min(rest, path.stat().st_size - 5)])
    with pytest.raises(DataError, match="damaged"):
        read_info(tmp_path, "choice")
    with pytest.raises(DataError, match="damaged"):
        load_weights(tmp_path, torch.nn.Linear(2, 2))
    with pytest.raises(DataError, match="damaged"):
        read_progress(tmp_path, resume=True, algorithm="ppo")


class _Trap:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("a checkpoint must never run anything",)


def test_a_checkpoint_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(tmp_path, ABOUT, _layer(1.0), {})
    torch.save({"weight": _Trap()}, tmp_path / "weights.pt")
    with pytest.raises(DataError, match="damaged, or no checkpoint"):
        load_weights(tmp_path, torch.nn.Linear(2, 2))
    assert capsys.readouterr().out == ""


def test_weights_of_another_architecture_are_refused(taught: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(taught, folder)
    with pytest.raises(DataError, match="another architecture"):
        load_weights(folder, ChoiceModel(ChoiceConfig(width=32), 100))
    torch.save(_layer(1.0), folder / "weights.pt")
    with pytest.raises(DataError, match="another architecture"):
        open_policy(str(folder))


def test_killed_while_it_writes_the_last_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, ABOUT, _layer(1.0), {"algorithm": "ppo", "step": 1})
    write = torch.save

    def dies(what: object, path: Path) -> None:
        write(what, path)
        path.write_bytes(path.read_bytes()[:100])
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint.torch, "save", dies)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path, ABOUT, _layer(2.0), {"step": 2})
    layer = torch.nn.Linear(2, 2)
    load_weights(tmp_path, layer)
    assert (layer.weight == 1.0).all()
    progress = read_progress(tmp_path, resume=True, algorithm="ppo")
    assert progress is not None
    assert progress["step"] == 1
    assert not list(tmp_path.glob(".*"))


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        save(tmp_path / "file" / "c", ABOUT, {}, {})


def test_a_bottomless_description_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "about.json").write_text('{"config":' + '{"a":' * 100_000)
    with pytest.raises(DataError, match=r"about\.json is damaged"):
        read_info(tmp_path, "choice")
