"""What tests of the bridges share: saved real pages, and a model that has learnt a little."""

from pathlib import Path

import pytest

from errands.shop.catalog.catalog import Catalog

SAVED = Path(__file__).resolve().parents[3] / "shared" / "data" / "transfer-pages"


@pytest.fixture(scope="session")
def saved() -> Path:
    """The folder of saved real pages, read in place."""
    if not SAVED.is_dir():
        pytest.skip(f"needs the saved pages in {SAVED}, which is absent")
    return SAVED


@pytest.fixture(scope="session")
def taught(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a very small choice model, hardly trained."""
    pytest.importorskip("torch", reason="needs torch: pip install 'errands[train]'")
    from errands.learn.data.batch import TokenLimits
    from errands.learn.data.demonstrations import read_demonstrations
    from errands.learn.imitation import ImitationConfig, train_choice
    from errands.learn.models.choice import ChoiceConfig
    from errands.runs.protocol import Protocol
    from errands.runs.runner import run

    folder = tmp_path_factory.mktemp("bridges")
    protocol = Protocol(
        id="school", version=1, title="school", domain="shop", data=str(little.path),
        goals="human", split="disjoint-train", episodes=30, observation="text_rich", max_steps=30,
    )  # fmt: skip
    run(protocol, "shopper", out=folder / "demos", observations="full")
    config = ImitationConfig(
        choice=ChoiceConfig(width=16, lengths=TokenLimits(page=32)), epochs=3, threads=1
    )
    train_choice(read_demonstrations(str(folder / "demos")), folder / "il", config)
    return folder / "il"
