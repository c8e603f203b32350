"""PPO: advantages by hand, what pays is learnt, and a training that was killed goes on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from trainings import same_weights, stopper

from errands.envs.shop_vector import ShopVectorEnv
from errands.errors import SettingError
from errands.learn.checkpoint import read_info
from errands.learn.dagger import DAggerConfig, train_dagger
from errands.learn.data.batch import TokenLimits
from errands.learn.environments import TrainingEnv
from errands.learn.models.choice import ChoiceConfig
from errands.learn.ppo import PPOConfig, advantages, train_ppo
from errands.learn.trainer import TrainingOptions
from errands.shop.catalog.catalog import Catalog

TINY = PPOConfig(
    choice=ChoiceConfig(encoder="matching", width=16, layers=1, heads=2),
    total_timesteps=4 * 6 * 5,
    num_envs=4,
    num_steps=6,
    minibatch_size=8,
    critic_warmup_updates=1,
)


def _env(little: Catalog, count: int = 4) -> TrainingEnv:
    env = ShopVectorEnv(
        count, autoreset="disabled", catalog=little, goals="human", observation="text_rich",
        max_steps=9,
    )  # fmt: skip
    return TrainingEnv(env, range(20))


def test_advantages_are_those_of_pencil_and_paper() -> None:
    rewards = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    goes_on = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
    values = torch.tensor([[1.0, 3.0], [2.0, 4.0]])
    found = advantages(rewards, goes_on, values, torch.tensor([6.0, 8.0]), 0.5, 0.5)
    # First: last 2 + 0.5 * 6 - 2 = 3; before 0 + 0.5 * 2 - 1 + 0.25 * 3 = 0.75.
    # Second: last 0 + 0.5 * 8 - 4 = 0; before, an end, 1 - 3 = -2.
    assert torch.equal(found, torch.tensor([[0.75, -2.0], [3.0, 0.0]]))


class _OneButtonPays:
    """Three buttons in a random order; red earns 1, and every click is the last."""

    num_envs = 4
    _page = "Instruction:\nI want something red\n{}"

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)

    def _seen(self) -> tuple[list[str], dict[str, Any]]:
        pages = []
        for _ in range(self.num_envs):
            colours = self._rng.permutation(["red", "green", "blue"])
            pages.append(self._page.format("\n".join(f"[button] {c} [button_]" for c in colours)))
        infos: dict[str, Any] = {
            "instruction": ["I want something red"] * self.num_envs,
            "available_actions": [{"has_search_bar": False, "clickables": []}] * self.num_envs,
        }
        return pages, infos

    def reset(self, *, options: Any = None) -> tuple[list[str], dict[str, Any]]:
        return self._seen()

    def step(self, actions: Sequence[str]) -> tuple[list[str], Any, Any, Any, Any]:
        pages, infos = self._seen()
        rewards = np.array([float(action == "click[red]") for action in actions])
        over = np.ones(self.num_envs, bool)
        return pages, rewards, over, ~over, infos


def test_what_pays_is_learnt(tmp_path: Path) -> None:
    config = msgspec.structs.replace(
        TINY, total_timesteps=1024, num_steps=16, learning_rate=1e-2, minibatch_size=16
    )
    still = msgspec.structs.replace(config, learning_rate=0.0)
    trained = train_ppo(TrainingEnv(_OneButtonPays(), [0]), tmp_path / "rl", config)
    untrained = train_ppo(TrainingEnv(_OneButtonPays(), [0]), tmp_path / "still", still)
    assert untrained.score < 60
    assert trained.score > 85
    info = read_info(tmp_path / "rl", "choice")
    assert (info.trained, info.is_done) == ("reinforcement", True)


@pytest.mark.parametrize("encoder", ["matching", "transformer"])
def test_stopped_and_resumed_gives_the_same_weights(
    little: Catalog, tmp_path: Path, encoder: Any
) -> None:
    lengths = TokenLimits(instruction=12, past=8, page=24, action=6)
    choice = msgspec.structs.replace(TINY.choice, encoder=encoder, lengths=lengths)
    config = msgspec.structs.replace(TINY, choice=choice)
    train_ppo(_env(little), tmp_path / "whole", config)
    stop = TrainingOptions(stop=stopper(2))
    stopped = train_ppo(_env(little), tmp_path / "halves", config, options=stop)
    assert stopped.steps == 3 * 24
    train_ppo(_env(little), tmp_path / "halves", config, options=TrainingOptions(resume=True))
    assert same_weights(tmp_path / "whole", tmp_path / "halves")


def test_it_goes_on_from_a_model_that_imitates(little: Catalog, tmp_path: Path) -> None:
    taught = DAggerConfig(
        choice=TINY.choice, num_iterations=1, num_envs=4, num_steps=24, looks=2, epochs=1
    )
    train_dagger(_env(little), tmp_path / "il", taught)
    config = msgspec.structs.replace(TINY, learning_rate=0.0)
    train_ppo(_env(little), tmp_path / "rl", config, start=tmp_path / "il")
    assert same_weights(tmp_path / "il", tmp_path / "rl")
    again = TrainingOptions(resume=True)
    train_ppo(_env(little), tmp_path / "rl", config, start=tmp_path / "il", options=again)
    train_dagger(_env(little), tmp_path / "other", msgspec.structs.replace(taught, seed=1))
    with pytest.raises(SettingError, match=r"was not begun from .*other as it is now"):
        train_ppo(_env(little), tmp_path / "rl", config, start=tmp_path / "other", options=again)
    with pytest.raises(SettingError, match="num_envs=2"):
        train_ppo(_env(little, 2), tmp_path / "no", config)
