"""Evaluation: other goals than those of training and tests, the same ones every time."""

from pathlib import Path

import pytest
import torch

from errands.errors import SettingError
from errands.learn.data.queries import own_words
from errands.learn.environments import open_training_env
from errands.learn.evaluation import evaluate, open_eval_config
from errands.learn.policy import open_policy
from errands.runs.episode_source import ShopSource, open_source
from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog


def test_goals_are_of_neither_training_nor_test(little: Catalog) -> None:
    config = open_eval_config("shop-learn-train", episodes=10, catalog=str(little.path))
    training_env = open_training_env("shop-learn-train", 1, str(little.path))
    assert len(config.goals) == 10
    assert set(config.goals).isdisjoint(training_env.goals)
    again = open_eval_config("shop-learn-train", episodes=10, catalog=str(little.path))
    assert list(config.goals) == list(again.goals)


def test_a_result_is_what_a_run_of_the_agent_gets(
    little: Catalog, rules: object, taught: Path, tmp_path: Path
) -> None:
    config = open_eval_config("shop-learn-train", episodes=6, catalog=str(little.path))
    policy = open_policy(str(taught))
    before = torch.get_rng_state()
    result = evaluate(config, policy, own_words)
    assert torch.equal(torch.get_rng_state(), before)
    assert evaluate(config, policy, own_words) == result
    protocol: Protocol = rules(split="disjoint-eval", episodes=6, max_steps=100)  # type: ignore[operator]
    source = open_source(protocol)
    assert isinstance(source, ShopSource)
    assert list(source.indices) == list(config.goals)
    run(protocol, "il", out=tmp_path / "run", settings={"checkpoint": str(taught)})
    store = open_run(str(tmp_path / "run"))
    rewards = [episode.summary.reward or 0.0 for episode in store.episodes()]
    store.close()
    assert result.score == pytest.approx(100 * sum(rewards) / 6)
    assert result.success == pytest.approx(sum(reward == 1 for reward in rewards) / 6)


def test_what_is_drawn_is_the_same_every_time(little: Catalog, taught: Path) -> None:
    policy = open_policy(str(taught))
    results = [
        evaluate(
            open_eval_config(
                "shop-learn-train", episodes=8, choose=choose, catalog=str(little.path)
            ),
            policy,
            own_words,
        )
        for choose in ("sample", "sample", "best")
    ]
    assert results[0] == results[1]
    assert results[0] != results[2]


def test_nothing_to_evaluate_on_is_said(little: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("errands.runs.episode_source.split_indices", lambda split, goals: [])
    with pytest.raises(SettingError, match="--evaluate-every 0"):
        open_eval_config("shop-learn-train", catalog=str(little.path))
