"""DAgger: a model does what its teacher would; a training that was stopped or killed goes on."""

from pathlib import Path

import msgspec
import pytest
from trainings import same_weights, stopper

from errands.envs.shop_vector import ShopVectorEnv
from errands.errors import SettingError
from errands.learn.checkpoint import read_info
from errands.learn.dagger import PRESETS, DAggerConfig, train_dagger
from errands.learn.data.batch import TokenLimits
from errands.learn.environments import TrainingEnv
from errands.learn.models.choice import ChoiceConfig
from errands.learn.policy import open_policy
from errands.learn.trainer import TrainingOptions
from errands.shop.catalog.catalog import Catalog

TINY = DAggerConfig(
    choice=ChoiceConfig(encoder="matching", width=16, layers=1, heads=2),
    num_iterations=3,
    num_envs=4,
    num_steps=24,
    looks=2,
    batch_size=16,
    warmup_steps=4,
)
GOALS = range(20)


def _env(little: Catalog, count: int = 4) -> TrainingEnv:
    env = ShopVectorEnv(
        count, autoreset="disabled", catalog=little, goals="human", observation="text_rich",
        max_steps=20,
    )  # fmt: skip
    return TrainingEnv(env, GOALS)


def test_it_learns_what_the_teacher_does(little: Catalog, tmp_path: Path) -> None:
    config = msgspec.structs.replace(TINY, num_steps=40, epochs=5)
    trained = train_dagger(_env(little), tmp_path / "il", config)
    assert trained.iterations == 3
    assert trained.examples > 250
    assert trained.accuracy > 0.5
    info = read_info(tmp_path / "il", "choice")
    assert (info.trained, info.is_done) == ("imitation", True)
    assert open_policy(str(tmp_path / "il")).config.encoder == "matching"


@pytest.mark.parametrize("updates", [3, 22])
def test_stopped_and_resumed_gives_the_same_weights(
    little: Catalog, tmp_path: Path, updates: int
) -> None:
    train_dagger(_env(little), tmp_path / "whole", TINY)
    stop = TrainingOptions(stop=stopper(updates))
    train_dagger(_env(little), tmp_path / "halves", TINY, options=stop)
    if (tmp_path / "halves" / "about.json").exists():
        assert not read_info(tmp_path / "halves", "choice").is_done
    train_dagger(_env(little), tmp_path / "halves", TINY, options=TrainingOptions(resume=True))
    assert same_weights(tmp_path / "whole", tmp_path / "halves")


def test_a_model_that_reads_words_learns_so_too(little: Catalog, tmp_path: Path) -> None:
    choice = ChoiceConfig(
        width=8, heads=2, lengths=TokenLimits(instruction=12, past=8, page=24, action=6)
    )
    config = msgspec.structs.replace(TINY, choice=choice, num_iterations=2, num_steps=12, epochs=1)
    train_dagger(_env(little), tmp_path / "whole", config)
    stop = TrainingOptions(stop=stopper(4))
    train_dagger(_env(little), tmp_path / "halves", config, options=stop)
    train_dagger(_env(little), tmp_path / "halves", config, options=TrainingOptions(resume=True))
    assert same_weights(tmp_path / "whole", tmp_path / "halves")


def test_what_does_not_fit_is_refused(little: Catalog, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="num_envs=2"):
        train_dagger(_env(little, 2), tmp_path / "il", TINY)
    train_dagger(_env(little), tmp_path / "il", TINY)
    with pytest.raises(SettingError, match="add --resume"):
        train_dagger(_env(little), tmp_path / "il", TINY)
    other = msgspec.structs.replace(TINY, looks=3)
    with pytest.raises(SettingError, match="with other settings"):
        train_dagger(_env(little), tmp_path / "il", other, options=TrainingOptions(resume=True))
    fewer = msgspec.structs.replace(TINY, num_iterations=1)
    with pytest.raises(SettingError, match="--num-iterations 3 or more"):
        train_dagger(_env(little), tmp_path / "il", fewer, options=TrainingOptions(resume=True))
    assert PRESETS["small"].choice.encoder == "matching"
