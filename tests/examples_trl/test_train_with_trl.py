"""`make test-trl`: the example trains real models with TRL, tiny ones, on a CPU."""

from pathlib import Path
from typing import Any

import pytest

# What other people's packages warn of is not ours to mend.
pytestmark = pytest.mark.filterwarnings("default")


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(folder / "model.safetensors"))


def test_a_model_of_chance_is_trained_and_calls_nothing(train: Any, untaught: Path) -> None:
    trained = train(untaught, "--steps", "2", "--group", "2", "--tokens", "64")
    assert "1 goals of disjoint-train" in trained.printed
    assert len(trained.log) == 2
    for line in trained.log:
        assert line["reward"] == line["shop/bought"] == line["tools/call_frequency"] == 0
        assert line["completions/max_length"] <= 64
    # Without a reward there is nothing to prefer.
    before, after = weights(untaught), weights(trained.out)
    assert all((before[name] == after[name]).all() for name in before)


def test_a_model_that_calls_tools_is_rewarded_by_the_shop_and_changes(
    train: Any, taught: Path
) -> None:
    options = ("--steps", "4", "--group", "8", "--learning-rate", "3e-4", "--warmup", "0")
    trained = train(taught, *options)
    first = trained.log[0]
    # Search, open, buy: as it was shown, most of the time.
    assert 1.5 < first["tools/call_frequency"] <= 3.5
    assert first["tools/failure_frequency"] < 0.3
    assert first["shop/bought"] >= 0.25
    # The right product is worth 1, the wrong one nothing, and it does now this, now that.
    assert 0 < sum(line["reward"] for line in trained.log) < len(trained.log)
    assert any(line["reward_std"] > 0 for line in trained.log)
    for line in trained.log:
        assert line["reward"] == pytest.approx(line["shop/success"])
        assert line["rewards/purchase_reward/mean"] == pytest.approx(line["reward"])
    before, after = weights(taught), weights(trained.out)
    assert before.keys() == after.keys()
    assert any((before[name] != after[name]).any() for name in before)
