"""What the tests of learning share: a shop, demonstrations, and a trained model."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from errands.envs.shop import ShopEnv
from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.shop.catalog import Catalog

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]

Rules = Callable[..., Protocol]


@pytest.fixture(scope="session")
def rules(little: Catalog) -> Rules:
    """A protocol of the little catalogue."""

    def make(**settings: Any) -> Protocol:
        base: dict[str, Any] = {
            "id": "school", "version": 1, "title": "school", "half": "shop",
            "data": str(little.path), "goals": "human", "split": "disjoint-train",
            "episodes": 30, "observation": "text_rich", "max_steps": 30,
        }  # fmt: skip
        return Protocol(**{**base, **settings})

    return make


@pytest.fixture(scope="session")
def demos(rules: Rules, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run of the scripted shopper, with all that it saw."""
    out = tmp_path_factory.mktemp("learn") / "demos"
    run(rules(), "shopper", out=out, observations="full")
    return str(out)


@pytest.fixture
def shop(little: Catalog) -> ShopEnv:
    return ShopEnv(catalog=little, goals="human", observation="text_rich", max_steps=30)


@pytest.fixture(scope="session")
def taught(demos: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a very small choice model, hardly trained."""
    from errands.learn.batch import Lengths
    from errands.learn.choice_model import ChoiceConfig
    from errands.learn.demonstrations import read_demonstrations
    from errands.learn.imitation import ImitationConfig, train_choice

    folder = tmp_path_factory.mktemp("learn") / "il"
    config = ImitationConfig(
        choice=ChoiceConfig(width=16, lengths=Lengths(page=32)), epochs=1, threads=1
    )
    train_choice(read_demonstrations(demos), folder, config)
    return folder
