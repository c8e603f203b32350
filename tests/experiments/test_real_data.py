"""The table of the 1,000 real products: which goals, and that products weigh alike."""

import importlib.util
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest

if not importlib.util.find_spec("torch"):
    pytest.skip("pip install 'errands[train]' to train", allow_module_level=True)

from errands.envs.shop_vector import ShopVectorEnv
from errands.errors import SettingError
from errands.experiments import scheduler
from errands.experiments.config import QUICK, ExperimentConfig
from errands.experiments.jobs import Demonstrate, Imitate, Play
from errands.experiments.paper import EXPERIMENTS
from errands.experiments.real_data import is_real, real_config, real_notes, with_real_goals
from errands.experiments.table import read_row
from errands.learn.environments import open_training_env
from errands.learn.models.choice import ChoiceConfig
from errands.learn.rollout import Rollout
from errands.learn.teacher import LookingTeacher
from errands.runs.episode_source import open_source
from errands.runs.protocol import find_protocol
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog
from errands.shop.splits import split_indices


def _config(catalog: Catalog) -> ExperimentConfig:
    return real_config(msgspec.structs.replace(QUICK, catalog=str(catalog.path)))


def test_the_real_products_are_known_by_what_they_are(catalog_1k: Catalog, little: Catalog) -> None:
    assert is_real(catalog_1k)
    assert not is_real(little)
    assert not _config(little).difficulty
    with pytest.raises(SettingError, match="leave it out for the real products"):
        real_config(msgspec.structs.replace(QUICK, difficulty="paper"))


def test_nothing_that_is_tested_on_is_learnt_from(catalog_1k: Catalog, tmp_path: Path) -> None:
    config = with_real_goals(tmp_path, _config(catalog_1k))
    assert with_real_goals(tmp_path, _config(catalog_1k)) == config
    data = str(catalog_1k.path)
    tested = msgspec.structs.replace(find_protocol(config.test), data=data)
    with (
        closing(open_source(tested)) as test,
        closing(open_source(find_protocol(config.train))) as train,
    ):
        assert len(test.keys) == 124
        assert len(train.keys) > 1_000
        assert not {*test.clusters} & {*train.clusters}
        assert max(np.unique(train.clusters, return_counts=True)[1]) == 10
    env = open_training_env(config.train, 2, data)
    goals = catalog_1k.goals("synthetic")
    assert set(env.goals) <= set(split_indices("disjoint-train", goals))
    assert env.test_goals == 0


def test_the_teacher_is_done_within_the_steps(catalog_1k: Catalog, tmp_path: Path) -> None:
    """With ten products to look at it would never come to buy one."""
    config = with_real_goals(tmp_path, _config(catalog_1k))
    training = open_training_env(config.train, 8, config.catalog)
    env = training.env
    assert isinstance(env, ShopVectorEnv)
    teacher = LookingTeacher(env.context, config.dagger.looks)
    rollout = Rollout(env, training.goals, 3)
    rewards: list[float] = []
    while len(rewards) < 40:
        views, searches = rollout.views(), rollout.searches()
        actions = [
            search or f"click[{teacher.click(episode, view)}]"
            for view, search, episode in zip(views, searches, env.episodes, strict=True)
        ]
        results = rollout.step(views, actions)
        rewards += [result.reward for result in results if result.is_over]
    assert sum(reward > 0 for reward in rewards) > 0.9 * len(rewards)
    assert np.mean(rewards) > 0.8


def test_the_table_is_made_and_weighs_products_alike(catalog_1k: Catalog, tmp_path: Path) -> None:
    folder = tmp_path / "e"
    small = ChoiceConfig(encoder="matching", width=8, layers=1, heads=2)
    config = _config(catalog_1k)
    config = msgspec.structs.replace(
        config,
        seeds=(1,),
        demonstrations=30,
        dagger=msgspec.structs.replace(config.dagger, choice=small),
    )
    scheduler.open_folder(folder, config)
    config = with_real_goals(folder, config)
    EXPERIMENTS["table"].check(config)
    jobs = [
        Demonstrate("demonstrations"),
        Imitate("matching-1", 1, "demonstrations", weights="matching"),
        Play("run-rule", "rule"),
    ]
    names = {job.name for job in EXPERIMENTS["table"].jobs(config)}
    assert names >= {job.name for job in jobs}
    scheduler.run_jobs(jobs, folder, config, 1)
    row = read_row("rule", [folder / "run-rule"])
    with closing(open_run(str(folder / "run-rule"))) as store:
        rewards: dict[str, list[float]] = {}
        for one in store.summaries():
            rewards.setdefault(str(one.parts["cluster"]), []).append(one.reward or 0.0)
    by_product = 100 * np.mean([np.mean(of) for of in rewards.values()])
    assert len(rewards) == 47
    assert row.score.mean == pytest.approx(by_product)
    assert row.scores == (pytest.approx(by_product),)
    plain = 100 * np.mean([reward for of in rewards.values() for reward in of])
    assert abs(plain - by_product) > 0.1
    assert "1,181,436 products" in real_notes(config)[0]
    assert real_notes(QUICK) == []
