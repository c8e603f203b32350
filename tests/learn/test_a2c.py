"""Reinforcement: returns by hand, a lesson anyone would learn, and the same weights however often
it is stopped."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from effort import sampled
from trainings import same_weights, stopper

from errands.envs.shop import ShopEnv
from errands.envs.shop_vector import ShopVectorEnv
from errands.errors import DataError, SettingError
from errands.learn.a2c import (
    PRESETS,
    A2CConfig,
    RLResult,
    returns,
    train_rl,
)
from errands.learn.checkpoint import read_info
from errands.learn.data.batch import TextReader, TokenLimits
from errands.learn.data.demonstrations import read_demonstrations
from errands.learn.data.pictures import Pictures, products
from errands.learn.data.queries import own_words
from errands.learn.environments import TrainingEnv
from errands.learn.evaluation import EvalConfig, evaluate
from errands.learn.models.choice import ChoiceConfig
from errands.learn.policy import open_policy
from errands.learn.rollout import SearchPolicy
from errands.learn.trainer import TrainingOptions
from errands.shop.catalog.catalog import Catalog

TINY = ChoiceConfig(
    width=8, heads=2, lengths=TokenLimits(instruction=12, past=8, page=24, action=6)
)
SMALL = msgspec.structs.replace(
    PRESETS["small"],
    choice=TINY,
    total_timesteps=30 * 8,
    num_envs=2,
    num_steps=4,
    critic_warmup_updates=2,
)
GOALS = range(20)


def _env(little: Catalog, count: int = 2) -> ShopVectorEnv:
    return ShopVectorEnv(
        count, autoreset="disabled", catalog=little, goals="human", observation="text_rich",
        max_steps=9,
    )  # fmt: skip


def _log(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def _timeless(folder: Path) -> list[dict[str, float]]:
    """A log without what the machine has a say in."""
    return [
        {name: value for name, value in line.items() if not name.startswith(("time_", "steps_"))}
        for line in _log(folder)
    ]


def test_returns_are_those_of_pencil_and_paper() -> None:
    rewards = torch.tensor([[0.0, 1.0], [10.0, 0.0], [0.0, 2.0]])
    goes_on = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    last = torch.tensor([8.0, 4.0])
    # First shopper: 10 after one more step, then an end; at last 0 + 0.5 * 8.
    # Second: an end at once with 1; then 0 + 0.5 * (2 + 0.5 * 4).
    expected = torch.tensor([[5.0, 1.0], [10.0, 2.0], [4.0, 4.0]])
    assert torch.equal(returns(rewards, goes_on, last, 0.5), expected)


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
            buttons = "\n".join(f"[button] {colour} [button_]" for colour in colours)
            pages.append(self._page.format(buttons))
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


@pytest.mark.parametrize("encoder", sampled(["transformer", "gru"], "gru"))
def test_what_pays_is_learnt(encoder: Any, tmp_path: Path) -> None:
    choice = msgspec.structs.replace(TINY, encoder=encoder, hidden=8)
    config = A2CConfig(
        choice=choice,
        total_timesteps=640,
        num_steps=4,
        learning_rate=1e-2,
        reward_scale=1,
        ent_coef=0.003,
    )
    still = msgspec.structs.replace(config, learning_rate=0.0, total_timesteps=240)
    trained = train_rl(TrainingEnv(_OneButtonPays(), [0]), tmp_path / "rl", config)
    untrained = train_rl(TrainingEnv(_OneButtonPays(), [0]), tmp_path / "still", still)
    assert untrained.score < 60
    assert trained.score > 90
    assert trained.episodes == 640


class _Recorded:
    """An environment that remembers what was done in it."""

    def __init__(self, env: ShopVectorEnv) -> None:
        self._env = env
        self.num_envs = env.num_envs
        self.actions: list[str] = []

    def reset(self, *, options: Any = None) -> tuple[Sequence[str], dict[str, Any]]:
        return self._env.reset(options=options)

    def step(self, actions: Sequence[str]) -> tuple[Sequence[str], Any, Any, Any, Any]:
        self.actions += actions
        return self._env.step(actions)


class _OnlySearches(_OneButtonPays):
    """Nothing to choose: everyone stands before a search bar, and some searches pay."""

    def _seen(self) -> tuple[list[str], dict[str, Any]]:
        pages, infos = super()._seen()
        bar = {"has_search_bar": True, "clickables": []}
        return pages, {**infos, "available_actions": [bar] * self.num_envs}

    def step(self, actions: Sequence[str]) -> tuple[list[str], Any, Any, Any, Any]:
        assert set(actions) == {"search[red]"}
        pages, _, over, ended, infos = super().step(actions)
        return pages, self._rng.random(self.num_envs), over, ended, infos


def test_a_search_teaches_the_critic_and_not_the_policy(tmp_path: Path) -> None:
    config = A2CConfig(choice=TINY, total_timesteps=64, learning_rate=1e-2)

    def weights(name: str, **changes: float) -> dict[str, torch.Tensor]:
        settings = msgspec.structs.replace(config, **changes)
        search = SearchPolicy(lambda instruction: ["red"])
        train_rl(TrainingEnv(_OnlySearches(), [0]), tmp_path / name, settings, search=search)
        loaded: dict[str, torch.Tensor] = torch.load(
            tmp_path / name / "weights.pt", weights_only=True
        )
        return loaded

    untouched, no_critic, critic = (
        weights("untouched", learning_rate=0.0),
        weights("no-critic", vf_coef=0.0),
        weights("critic"),
    )
    assert all(torch.equal(weight, no_critic[name]) for name, weight in untouched.items())
    assert not torch.equal(untouched["value.0.weight"], critic["value.0.weight"])
    assert torch.equal(untouched["w6.weight"], critic["w6.weight"])


def _train(little: Catalog, folder: Path, **more: Any) -> RLResult:
    config = more.pop("config", SMALL)
    described = {name: more.pop(name) for name in ("checksum", "protocol") if name in more}
    training_env = TrainingEnv(_env(little, config.num_envs), GOALS, **described)
    return train_rl(training_env, folder, config, **more)


def test_stopped_and_resumed_gives_the_same_weights(little: Catalog, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    once = _train(little, whole)
    _train(little, parts, options=TrainingOptions(stop=stopper(7)))
    assert not read_info(parts, "choice").is_done
    assert not same_weights(whole, parts)
    _train(little, parts, options=TrainingOptions(resume=True, stop=stopper(9)))
    last = _train(little, parts, options=TrainingOptions(resume=True))
    assert same_weights(whole, parts)
    assert (last.steps, last.episodes, last.score) == (once.steps, once.episodes, once.score)
    assert read_info(parts, "choice").is_done
    assert _timeless(whole) == _timeless(parts)


def test_killed_and_resumed_gives_the_same_weights(little: Catalog, tmp_path: Path) -> None:
    _train(little, tmp_path / "whole")

    def dies(reached: Any) -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        _train(little, tmp_path / "killed", options=TrainingOptions(on_progress=dies, save_every=0))
    _train(little, tmp_path / "killed", options=TrainingOptions(resume=True))
    assert same_weights(tmp_path / "whole", tmp_path / "killed")


def test_an_older_checkpoint_goes_on_as_what_it_is(little: Catalog, tmp_path: Path) -> None:
    """It neither says its edition nor how entropy was counted."""
    old = msgspec.structs.replace(
        SMALL, ent_coef=0.1, choice=msgspec.structs.replace(TINY, edition=1)
    )
    now = msgspec.structs.replace(old, choice=TINY, mean_entropy=True)
    _train(little, tmp_path / "whole", config=old)
    _train(little, tmp_path / "parts", config=old, options=TrainingOptions(stop=stopper(7)))
    about = json.loads((tmp_path / "parts" / "about.json").read_text())
    del about["config"]["mean_entropy"], about["config"]["choice"]["edition"]
    (tmp_path / "parts" / "about.json").write_text(json.dumps(about))
    _train(little, tmp_path / "parts", config=now, options=TrainingOptions(resume=True))
    assert same_weights(tmp_path / "whole", tmp_path / "parts")


def test_entropy_is_added_up_or_averaged_over_actions(tmp_path: Path) -> None:
    config = A2CConfig(choice=TINY, total_timesteps=32, learning_rate=0.0)
    for name, mean in (("sum", False), ("mean", True)):
        changed = msgspec.structs.replace(config, mean_entropy=mean)
        train_rl(TrainingEnv(_OneButtonPays(), [0]), tmp_path / name, changed)
    whole, mean = (_log(tmp_path / name)[-1]["entropy"] for name in ("sum", "mean"))
    assert mean == pytest.approx(whole / 3)  # Every page has three buttons.
    assert 0 < whole <= np.log(3) + 1e-6


def test_a_longer_training_goes_on_from_a_shorter_one(little: Catalog, tmp_path: Path) -> None:
    short = msgspec.structs.replace(SMALL, total_timesteps=10 * 8)
    _train(little, tmp_path / "grown", config=short)
    _train(little, tmp_path / "grown", options=TrainingOptions(resume=True))
    _train(little, tmp_path / "whole")
    assert same_weights(tmp_path / "whole", tmp_path / "grown")


def test_goes_on_from_imitation_and_plays(little: Catalog, taught: Path, tmp_path: Path) -> None:
    config = msgspec.structs.replace(SMALL, total_timesteps=3 * 8)
    trained = _train(little, tmp_path / "rl", config=config, start=taught)
    about, before = read_info(tmp_path / "rl", "choice"), read_info(taught, "choice")
    assert about.words == before.words
    assert about.config["choice"] == before.config["choice"]
    assert (about.trained, trained.words_from) == ("reinforcement", "checkpoint")
    one, other = open_policy(str(taught)), open_policy(str(tmp_path / "rl"))
    moved = {
        name
        for (name, weight), after in zip(
            one.model.named_parameters(), other.model.parameters(), strict=True
        )
        if not torch.equal(weight, after)
    }
    assert {"w6.weight", "value.0.weight"} <= moved


def test_a_matching_model_chooses_its_queries(little: Catalog, tmp_path: Path) -> None:
    matching = ChoiceConfig(encoder="matching", width=8, layers=1, heads=2)
    config = msgspec.structs.replace(SMALL, choice=matching, total_timesteps=3 * 8)
    env = _Recorded(_env(little))
    train_rl(TrainingEnv(env, GOALS), tmp_path / "rl", config)
    assert read_info(tmp_path / "rl", "choice").config["queries_from"] == "chosen"
    assert open_policy(str(tmp_path / "rl")).chooses_queries
    assert any(action.startswith("search[") for action in env.actions)
    assert "click[search]" not in env.actions


def test_at_first_only_the_critic_learns(little: Catalog, taught: Path, tmp_path: Path) -> None:
    config = msgspec.structs.replace(SMALL, total_timesteps=2 * 8, critic_warmup_updates=2)
    _train(little, tmp_path / "rl", config=config, start=taught)
    before = torch.load(taught / "weights.pt", weights_only=True)
    after = torch.load(tmp_path / "rl" / "weights.pt", weights_only=True)
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved
    assert all(name.startswith("value.") for name in moved)


def test_demonstrations_give_words_and_a_part_of_the_loss(
    little: Catalog, demos: str, tmp_path: Path
) -> None:
    shown = read_demonstrations(demos)
    config = msgspec.structs.replace(
        SMALL, total_timesteps=80 * 8, imitation_coef=1.0, learning_rate=1e-2, policy_coef=0.0
    )
    trained = _train(little, tmp_path / "rl", config=config, demonstrations=shown)
    assert trained.words_from == "demonstrations"
    lines = [json.loads(line) for line in (tmp_path / "rl" / "log.jsonl").read_text().splitlines()]
    losses = [line["imitation_loss"] for line in lines]
    assert sum(losses[-3:]) < 0.85 * sum(losses[:3])


def test_time_and_speed_are_reported(little: Catalog, tmp_path: Path) -> None:
    trained = _train(little, tmp_path / "rl")
    assert set(trained.shares) == {"environment", "encoding", "model", "learning", "saving"}
    assert sum(trained.shares.values()) == pytest.approx(1)
    assert trained.steps_per_second > 0
    assert trained.words_from == "random play"
    last = json.loads((tmp_path / "rl" / "log.jsonl").read_text().splitlines()[-1])
    assert {"score", "success", "entropy", "policy_loss", "value_loss", "time_model"} <= set(last)
    assert last["steps_per_second"] > 0
    assert last["steps_per_cpu_second"] > 0


def _eval_config(little: Catalog, every: int = 100) -> EvalConfig:
    env = ShopEnv(catalog=little, goals="human", observation="text_rich", max_steps=9)
    return EvalConfig(env, range(30, 34), every)


def test_evaluation_does_not_disturb_what_is_learnt(little: Catalog, tmp_path: Path) -> None:
    plain, seen = tmp_path / "plain", tmp_path / "seen"
    without = _train(little, plain)
    trained = _train(little, seen, evaluation=_eval_config(little))
    assert same_weights(plain, seen)
    assert without.evaluated is None
    # Before the first update, at 104 and 200 of 240 steps (8 at once), and at the end.
    marks = {int(line["step"]): line for line in _log(seen) if "eval_score" in line}
    assert list(marks) == [0, 104, 200, 240]
    assert trained.evaluated == (marks[240]["eval_score"], marks[240]["eval_success"])
    assert trained.best is not None
    assert trained.best.score == max(mark["eval_score"] for mark in marks.values())
    assert "evaluation" in trained.shares
    best = read_info(seen / "best", "choice")
    assert best.figures["best_score"] == trained.best.score
    assert not (seen / "best" / "progress.pt").exists()
    # What is kept as the best gets the same mark again.
    mark = evaluate(_eval_config(little), open_policy(str(seen / "best")), own_words)
    assert mark == trained.best


def test_evaluation_of_a_resumed_training_is_the_same(little: Catalog, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    once = _train(little, whole, evaluation=_eval_config(little))
    _train(
        little, parts, evaluation=_eval_config(little), options=TrainingOptions(stop=stopper(15))
    )
    last = _train(
        little, parts, evaluation=_eval_config(little), options=TrainingOptions(resume=True)
    )
    assert same_weights(whole, parts)
    assert same_weights(whole / "best", parts / "best")
    assert (last.best, last.evaluated) == (once.best, once.evaluated)
    assert _timeless(whole) == _timeless(parts)


def test_a_resumed_training_refuses_another_world(
    little: Catalog, demos: str, tmp_path: Path
) -> None:
    shown = read_demonstrations(demos)
    config = msgspec.structs.replace(SMALL, imitation_coef=1.0)
    settings: dict[str, Any] = {"config": config, "checksum": "abc"}
    _train(
        little,
        tmp_path / "rl",
        demonstrations=shown,
        options=TrainingOptions(stop=stopper(2)),
        **settings,
    )
    fewer = msgspec.structs.replace(shown, choices=shown.choices[1:])
    with pytest.raises(SettingError, match="on other demonstrations"):
        _train(
            little,
            tmp_path / "rl",
            demonstrations=fewer,
            options=TrainingOptions(resume=True),
            **settings,
        )
    with pytest.raises(SettingError, match="on another catalogue"):
        _train(
            little,
            tmp_path / "rl",
            demonstrations=shown,
            options=TrainingOptions(resume=True),
            **{**settings, "checksum": "other"},
        )
    with pytest.raises(SettingError, match="other settings"):
        _train(
            little,
            tmp_path / "rl",
            demonstrations=shown,
            options=TrainingOptions(resume=True),
            search=SearchPolicy(name="a model"),
            **settings,
        )


def test_scores_that_are_no_numbers_are_said(little: Catalog, tmp_path: Path) -> None:
    config = msgspec.structs.replace(
        SMALL, learning_rate=1e30, critic_warmup_updates=0, max_grad_norm=1e30
    )
    with pytest.raises(SettingError, match="lower --learning-rate"):
        _train(little, tmp_path / "rl", config=config)


def test_chance_outside_is_left_alone(little: Catalog, tmp_path: Path) -> None:
    before = torch.get_rng_state(), torch.get_num_threads()
    _train(little, tmp_path / "rl", config=msgspec.structs.replace(SMALL, total_timesteps=8))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert torch.get_num_threads() == before[1]


def test_mistakes_are_named(little: Catalog, taught: Path, tmp_path: Path) -> None:
    folder = tmp_path / "rl"
    with pytest.raises(SettingError, match="make both the same"):
        train_rl(TrainingEnv(_env(little, 3), GOALS), folder, SMALL)
    with pytest.raises(SettingError, match="no goals"):
        train_rl(TrainingEnv(_env(little), []), folder, SMALL)
    with pytest.raises(SettingError, match="--demonstrations"):
        _train(little, folder, config=msgspec.structs.replace(SMALL, imitation_coef=1.0))
    with pytest.raises(DataError, match="is no checkpoint"):
        _train(little, folder, start=tmp_path / "nowhere")
    _train(little, folder, options=TrainingOptions(stop=lambda: True))
    with pytest.raises(SettingError, match="--resume"):
        _train(little, folder)
    with pytest.raises(SettingError, match="other settings"):
        _train(
            little,
            folder,
            config=msgspec.structs.replace(SMALL, learning_rate=1.0),
            options=TrainingOptions(resume=True),
        )


def test_the_presets_have_the_paper_figures() -> None:
    paper, rnn = PRESETS["paper"], PRESETS["paper-rnn"]
    assert (paper.total_timesteps, paper.num_envs, paper.num_steps) == (100_000, 4, 8)
    assert (paper.gamma, paper.learning_rate, paper.max_grad_norm, paper.reward_scale) == (
        0.9,
        1e-5,
        10,
        10,
    )
    assert (paper.policy_coef, paper.vf_coef, paper.ent_coef, paper.imitation_coef) == (1, 1, 1, 0)
    assert (rnn.learning_rate, rnn.choice.hidden, rnn.choice.encoder) == (5e-4, 512, "gru")
    assert rnn.choice.word_attention
    assert (paper.mean_entropy, rnn.mean_entropy, PRESETS["small"].mean_entropy) == (1, 1, 0)


def test_a_resumed_training_refuses_other_goals(little: Catalog, tmp_path: Path) -> None:
    folder = tmp_path / "rl"
    world = {"id": "school", "max_steps": 9}
    _train(little, folder, options=TrainingOptions(stop=stopper(1)), protocol=world)
    assert read_info(folder, "choice").config["protocol"] == world
    with pytest.raises(SettingError, match="on other goals"):
        train_rl(
            TrainingEnv(_env(little), range(21), protocol=world),
            folder,
            SMALL,
            options=TrainingOptions(resume=True),
        )
    with pytest.raises(SettingError, match="by other rules"):
        _train(
            little,
            folder,
            options=TrainingOptions(resume=True),
            protocol={**world, "max_steps": 10},
        )
    # Checkpoints from before this was kept can still be resumed.
    about = json.loads((folder / "about.json").read_text())
    del about["config"]["protocol"], about["config"]["goals"]
    (folder / "about.json").write_text(json.dumps(about))
    _train(
        little,
        folder,
        options=TrainingOptions(resume=True, stop=stopper(1)),
        protocol=world,
    )
    assert read_info(folder, "choice").config["protocol"] == world


def test_a_resumed_training_does_not_shrink(little: Catalog, tmp_path: Path) -> None:
    few, fewer = (msgspec.structs.replace(SMALL, total_timesteps=steps) for steps in (13, 8))
    _train(little, tmp_path / "rl", config=few)
    with pytest.raises(SettingError, match="has done 16 already"):
        _train(little, tmp_path / "rl", config=fewer, options=TrainingOptions(resume=True))
    _train(little, tmp_path / "rl", config=few, options=TrainingOptions(resume=True))
    assert read_info(tmp_path / "rl", "choice").is_done


def test_a_best_that_begins_late_sees_pictures(little: Catalog, tmp_path: Path) -> None:
    names = [product.asin.lower() for product in products(little)]
    table = Pictures(names, np.random.default_rng(0).normal(size=(len(names), 5)))
    config = msgspec.structs.replace(SMALL, total_timesteps=2 * 8)
    _train(
        little,
        tmp_path / "rl",
        config=config,
        pictures=table,
        options=TrainingOptions(stop=stopper(0)),
    )
    _train(
        little,
        tmp_path / "rl",
        config=config,
        options=TrainingOptions(resume=True),
        evaluation=_eval_config(little),
    )
    reader = open_policy(str(tmp_path / "rl" / "best")).reader
    assert isinstance(reader, TextReader)
    kept = reader.pictures
    assert kept is not None
    assert kept.equals(table)


def test_the_best_of_another_exam_is_no_mark_to_beat(little: Catalog, tmp_path: Path) -> None:
    folder = tmp_path / "rl"
    _train(
        little, folder, evaluation=_eval_config(little), options=TrainingOptions(stop=stopper(0))
    )
    left = torch.load(folder / "progress.pt", weights_only=True)
    torch.save({**left, "best": (1000.0, 1.0)}, folder / "progress.pt")
    config = msgspec.structs.replace(SMALL, total_timesteps=3 * 8)
    same = _train(
        little,
        folder,
        config=config,
        evaluation=_eval_config(little),
        options=TrainingOptions(resume=True),
    )
    assert same.best == (1000.0, 1.0)
    others = _eval_config(little)._replace(goals=range(30, 33))
    config = msgspec.structs.replace(SMALL, total_timesteps=4 * 8)
    other = _train(
        little, folder, config=config, evaluation=others, options=TrainingOptions(resume=True)
    )
    assert other.best == other.evaluated
    assert evaluate(others, open_policy(str(folder / "best")), own_words) == other.best
