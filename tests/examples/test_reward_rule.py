"""The example of a reward rule passes the kit, and runs as an object and by its name."""

from pathlib import Path
from typing import Any

import pytest
import reward_rule

import errands
from errands.shop.catalog.catalog import Catalog
from errands.shop.rewards.rules import RewardRules
from errands.testing import RulesConformance


class TestHalfAndHalf(RulesConformance):
    def rules(self) -> RewardRules:
        return reward_rule.half_and_half


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("rules", [reward_rule.half_and_half, "reward_rule:half_and_half"])
def test_it_runs(little: Catalog, tmp_path: Path, rules: Any, workers: int) -> None:
    result = errands.run(
        "shop-demo", "rule", data=str(little.path), rules=rules, episodes=4, workers=workers,
        out=tmp_path / "run",
    )  # fmt: skip
    assert result.kept == 4
    assert result.info.protocol["rules"] == "reward_rule:half_and_half"
    assert result.info.protocol_key.endswith(" rules:half-and-half@1 episodes=4")
