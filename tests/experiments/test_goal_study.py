"""A catalogue's goals beside real ones: the figures kept, and how they are counted."""

import json
from pathlib import Path

import pytest
from effort import sampled

from errands.agents.oracles.choice_oracle import best_plan
from errands.envs.shop import ShopEnv
from errands.errors import GoalError, SettingError
from errands.experiments import goal_study
from errands.experiments.goal_study import (
    Statistics,
    beside_the_real,
    goal_statistics,
    text_statistics,
)
from errands.shop import Catalog, build_catalog, fresh_goals
from errands.shop.goals import write_goals

SHARED = Path(__file__).resolve().parents[3] / "shared"
WEBSHOP = SHARED / "data" / "webshop-1k"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """The real 1,000 products, with nouns by the tagger that generated catalogues have."""
    out = tmp_path_factory.mktemp("real") / "1k"
    build_catalog(
        out,
        items=WEBSHOP / "items_shuffle_1000.json",
        attributes=WEBSHOP / "items_ins_v2_1000.json",
        human=WEBSHOP / "items_human_ins.json",
    )
    return Catalog.open(out)


def _kept(*sections: str) -> Statistics:
    figures = goal_study._real_figures()
    return {
        name: value
        for section in sections
        for name, value in figures[section].items()
        if name != "of"
    }


@pytest.mark.shared
@pytest.mark.parametrize(
    ("kind", "sections"),
    sampled(
        [("human", ("human", "products")), ("synthetic", ("synthetic",))],
        ("human", ("human", "products")),
    ),
)
def test_kept_figures_are_those_of_the_real_products(
    kind: str, sections: tuple[str, ...], real: Catalog
) -> None:
    counted = goal_statistics(real, kind)
    kept = _kept(*sections)
    assert {name: counted[name] for name in kept} == pytest.approx(kept, rel=1e-3)


@pytest.mark.shared
def test_kept_figures_are_those_of_the_real_instructions() -> None:
    texts = json.loads((SHARED / "data" / "webshop-text" / "human_goals.json").read_text())
    assert text_statistics(texts) == pytest.approx(_kept("texts"), rel=1e-3)


def test_only_numbers_are_kept() -> None:
    for section in goal_study._real_figures().values():
        assert {name for name, value in section.items() if isinstance(value, str)} == {"of"}


def test_what_instructions_alone_tell() -> None:
    counted = text_statistics(["i need a lamp", "i need 2 big lamps for my xqzt", "a hat."])
    assert counted["words_per_instruction"] == pytest.approx((4 + 8 + 2) / 3)
    assert counted["words_median"] == 4
    assert counted["instructions_with_a_digit"] == pytest.approx(1 / 3)
    assert counted["words_in_no_dictionary"] == pytest.approx(1 / 13)
    assert "different_words_in_500" not in counted
    assert text_statistics(["a hat"] * 500)["different_words_in_500"] == 2


def test_scores_are_those_of_the_agents(little: Catalog) -> None:
    """Rule and choice oracle, whose purchases are computed here, play for the same rewards."""
    counted = goal_statistics(little, "human", sample=1000)
    env = ShopEnv(catalog=little, goals="human")
    rule, oracle = [], []
    for index in range(int(counted["goals_counted"])):
        _, info = env.reset(seed=0, options={"goal": index})
        plan = best_plan(env.episode, info["instruction"])
        oracle.append(plan.best.reward.total if plan else 0.0)
        _, _, _, _, info = env.step(f"search[{info['instruction']}]")
        first = next(
            name
            for name in info["available_actions"]["clickables"]
            if little.number(name.upper()) >= 0
        )
        env.step(f"click[{first}]")
        rule.append(env.step("click[buy now]")[1])
    assert counted["rule_score"] == pytest.approx(sum(rule) / len(rule))
    assert counted["choice_oracle_score"] == pytest.approx(sum(oracle) / len(oracle))
    assert counted["choice_oracle_success"] == sum(one == 1 for one in oracle) / len(oracle)


def test_a_sample_of_products_stands_for_them(
    little: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nearly all of the products tell what all tell; among few, targets are found better."""
    counted = goal_statistics(little, "human", sample=60)
    monkeypatch.setattr(goal_study, "FEW", 299)
    nearly = goal_statistics(little, "human", sample=60)
    for name in ("target_in_first_10", "perfect_substitute_in_first_50", "rule_score"):
        assert counted[f"{name}_among_1000"] == counted[name]
        assert nearly[f"{name}_among_299"] == pytest.approx(counted[name], abs=0.1)
    monkeypatch.setattr(goal_study, "FEW", 20)
    fewer = goal_statistics(little, "human", sample=60)
    assert fewer["target_in_first_1_among_20"] > counted["target_in_first_1"]
    assert fewer["target_in_first_50_among_20"] == pytest.approx(1.0, abs=0.05)


def test_the_seed_decides_what_is_drawn(little: Catalog) -> None:
    seen: list[tuple[str, int, int | None]] = []
    first = goal_statistics(
        little, "synthetic", sample=20, seed=1, progress=lambda *told: seen.append(told)
    )
    assert first["goals_counted"] == 20
    assert first == goal_statistics(little, "synthetic", sample=20, seed=1)
    assert first != goal_statistics(little, "synthetic", sample=20, seed=2)
    assert seen[-1] == ("searching all", 20, 20)


def test_goals_of_a_file(little: Catalog, tmp_path: Path) -> None:
    new = fresh_goals(little, 30)
    write_goals(tmp_path / "new.json", new, little)
    counted = goal_statistics(little, tmp_path / "new.json")
    assert counted == goal_statistics(little, new)
    rows = beside_the_real(counted, str(tmp_path / "new.json"))
    assert counted["goals_counted"] == 30
    assert {row.of for row in rows if row.name == "words per instruction"} == {
        "12,087 human instructions"
    }


def test_real_figures_stand_beside() -> None:
    counted = {"rule_score": 0.5, "words_per_instruction": 20.0, "something_new": 1.0}
    people, programs = (beside_the_real(counted, kind) for kind in ("human", "synthetic"))
    assert [row.real for row in people] == [0.456, pytest.approx(14.36), None]
    assert programs[1].real == pytest.approx(21.76)
    assert people[0].name == "rule score"


def test_mistakes_are_told(little: Catalog) -> None:
    with pytest.raises(SettingError, match="sample of 0 goals"):
        goal_statistics(little, "human", sample=0)
    with pytest.raises(GoalError, match="no goal set 'people'"):
        goal_statistics(little, "people")
