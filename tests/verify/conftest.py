"""Runs of the little shop, for everybody who verifies."""

from pathlib import Path

import pytest
from little_runs import little_protocol

from errands.runs.runner import run
from errands.shop.catalog.catalog import Catalog


@pytest.fixture(scope="session")
def careful_run(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 episodes of an agent that buys."""
    out = tmp_path_factory.mktemp("runs") / "careful"
    run(little_protocol(little), "careful", out=out)
    return out


@pytest.fixture(scope="session")
def random_run(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 episodes of an agent that mostly runs out of steps."""
    out = tmp_path_factory.mktemp("runs") / "random"
    run(little_protocol(little, max_steps=8), "random", out=out)
    return out
