"""Reward rules by name, by `module:attribute`, from an installed package, and as objects."""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import errands
from errands.envs.shop import ShopEnv
from errands.errors import SettingError
from errands.runs.replay import reopen_source
from errands.runs.runner import RunResult, run
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal
from errands.shop.rewards.registry import (
    RULES,
    ForeignRules,
    rules_key,
    rules_named,
    rules_reference,
    rules_version,
)
from errands.shop.rewards.rules import Purchase, Reward, RewardRules, paper, released

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SOURCE = Path(errands.__file__).resolve().parents[1]


def generous(purchase: Purchase, goal: Goal) -> Reward:
    return Reward(1.0, {})


class Careless:
    name = "careless"
    version = 7

    def __call__(self, purchase: Purchase, goal: Goal) -> Reward:
        return Reward(3.0, {})


class Weighted:
    name = "weighted"
    version = 1

    def __init__(self, total: float = 1.0) -> None:
        self.total = total

    def __call__(self, purchase: Purchase, goal: Goal) -> Reward:
        return Reward(self.total, {})


WEIGHTED = Weighted()


def _bought(catalog: Catalog) -> tuple[Purchase, Goal]:
    product = catalog.product(0)
    return Purchase(product, {}, product.price), catalog.goals()[0]


def test_ours_are_given_as_they_are() -> None:
    assert rules_named("released") is rules_named(released) is released
    assert rules_reference(paper) == "paper"
    assert rules_key("released") == rules_key(paper) == rules_version("paper") == ""
    assert RULES.names()[:3] == ["released", "paper", "synonym"]


def test_others_say_their_name_and_version(little: Catalog) -> None:
    found = rules_named(generous)
    assert isinstance(found, ForeignRules)
    assert rules_named(found) is found
    assert rules_key(generous) == rules_key(found) == f"rules:{__name__}:generous@0"
    assert rules_key(Careless()) == "rules:careless@7"
    assert rules_version(Careless()) == "7"
    assert found(*_bought(little)) == Reward(1.0, {})
    path = f"{__name__}:generous"
    assert rules_reference(generous) == rules_reference(found) == path
    assert rules_key(path) == rules_key(generous)
    assert rules_key(f"{__name__}:Careless") == "rules:careless@7"


def test_wrong_rules_are_one_sentence(little: Catalog) -> None:
    with pytest.raises(SettingError, match=r"'careless' returned .*; expected a Reward .*0 and 1"):
        rules_named(Careless())(*_bought(little))
    with pytest.raises(SettingError, match=r"cannot be called; expected .* a function"):
        rules_named(f"{__name__}:EXAMPLES")
    with pytest.raises(SettingError, match=r"rule 3 cannot be called; expected a name, module:att"):
        run("shop-demo", "rule", data=str(little.path), rules=3)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"no module 'nowhere'; expected module:attribute"):
        rules_named("nowhere:rules")


def test_an_environment_takes_rules_as_an_object(little: Catalog) -> None:
    env = ShopEnv(little, rules=generous)
    env.reset(seed=1, options={"goal": 0})
    env.step(f"search[{little.product(0).title}]")
    page = env.episode.page
    env.step(f"click[{page.cards[0].asin}]")
    assert env.step("click[buy now]")[1] == 1.0


def test_a_run_takes_rules_as_an_object(little: Catalog, tmp_path: Path) -> None:
    done = run(
        "shop-demo", "rule", data=str(little.path), rules=generous, episodes=2,
        out=tmp_path / "run", workers=1,
    )  # fmt: skip
    assert f" rules:{__name__}:generous@0 " in done.info.protocol_key


def test_rules_that_no_name_finds_play_in_one_process(little: Catalog, tmp_path: Path) -> None:
    def played(rules: RewardRules, workers: int) -> RunResult:
        return run(
            "shop-demo", "rule", data=str(little.path), rules=rules, episodes=2,
            out=tmp_path / "run", workers=workers,
        )  # fmt: skip

    half = Weighted(0.5)
    assert rules_reference(half) == ""
    assert rules_reference(WEIGHTED) == f"{__name__}:WEIGHTED"
    with pytest.raises(SettingError, match="for several workers name it: rules="):
        played(half, 2)
    assert not (tmp_path / "run").exists()
    done = played(half, 1)
    with closing(open_run(done.place)) as store:
        assert {row.reward for row in store.summaries()} == {0.5}
    # Another object of the class is not taken for it.
    with pytest.raises(SettingError, match=r"has no 'Weighted\(\)'"):
        reopen_source(done.info)


def test_a_rule_has_one_key_however_it_is_given(little: Catalog, tmp_path: Path) -> None:
    given = (WEIGHTED, f"{__name__}:WEIGHTED", f"{__name__}:Weighted", Weighted)
    keys = {
        run(
            "shop-demo", "rule", data=str(little.path), rules=rules, episodes=2,
            out=tmp_path / str(number),
        ).info.protocol_key
        for number, rules in enumerate(given)
    }  # fmt: skip
    assert len(keys) == 1
    assert keys.pop().endswith(" rules:weighted@1 episodes=2")


TOY = """
from errands.shop import Goal, Purchase, Reward


def toy(purchase: Purchase, goal: Goal) -> Reward:
    return Reward(0.25, {"toy": True})


toy.version = "3"
"""


@pytest.fixture
def toy_package(tmp_path: Path) -> Path:
    """A package as pip installs it, with a rule behind an entry point."""
    site = tmp_path / "site"
    about = site / "toy_rules-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "toy_rules.py").write_text(TOY)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-rules\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[errands.rules]\ntoy = toy_rules:toy\n")
    return site


@pytest.mark.parametrize(
    ("rules", "key", "workers"),
    [
        ("toy", "rules:toy_rules:toy@3", 2),
        ("toy_rules:toy", "rules:toy_rules:toy@3", 1),
        ("reward_rule:half_and_half", "rules:half-and-half@1", 2),
    ],
)
def test_a_strangers_rules_are_run(
    little: Catalog, tmp_path: Path, toy_package: Path, rules: str, key: str, workers: int
) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "errands", "run", "shop-demo", "--rules", rules),
            *("--data", little.path, "--episodes", "4", "--workers", str(workers), "--json"),
            *("--agent", "rule", "--out", tmp_path / "run"),
        ],
        cwd=EXAMPLES,
        env={**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{toy_package}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert f" {key} " in f" {told['protocol']} "
    assert told["errors"] == 0
    if "toy" in rules:
        assert told["score"]["mean"] == 25.0
