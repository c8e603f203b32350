"""The whole verification: on the little shop, and on the real one where it is there."""

import json
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from little_runs import little_protocol

from errands.errors import DataError, SettingError
from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog
from errands.shop.rewards.registry import rules_named
from errands.verify.hand_scores import HandScore
from errands.verify.page import verification_body, write_verification_page
from errands.verify.scores import PARTS, by_rules, reasons
from errands.verify.verification import Material, sample, verify


def material_of(place: Path) -> Material:
    with closing(open_run(place)) as store:
        return Material.read(store)


@pytest.fixture(scope="module")
def careful(careful_run: Path) -> Material:
    return material_of(careful_run)


def ticked(material: Material, numbers: list[int], **more: object) -> dict[int, HandScore]:
    found = {}
    for one in material.trajectories:
        if one.number in numbers:
            given = {
                "type": 1.0,
                "attributes": (True,) * len(one.goal.attributes),
                "options": (True,) * len(one.goal.goal_options),
                "price": True,
                **more,
            }
            found[one.number] = HandScore(
                run=material.info.id,
                episode=one.number,
                **given,  # type: ignore[arg-type]
            )
    return found


def never_below(material: Material) -> int:
    """How many grew; none fell, in no part."""
    grew = 0
    first, second = rules_named("released"), rules_named("synonym")
    for one in material.trajectories:
        before, after = by_rules(one, first), by_rules(one, second)
        for part in PARTS:
            old, new = before.part(part), after.part(part)
            assert (old is None) == (new is None)
            assert old is None or new is None or new >= old, (one.number, part)
        assert (after != before) == bool(reasons(one))
        grew += after.overall > before.overall
    return grew


def test_the_figures_of_a_run(careful: Material) -> None:
    held = verify(careful)
    assert (held.trajectories, held.failed) == (30, 0)
    assert held.bought + held.out_of_steps == 30
    assert list(held.means) == ["released", "synonym"]
    kept = [
        one.overall for one in (by_rules(t, rules_named("released")) for t in careful.trajectories)
    ]
    assert held.means["released"]["overall"] == pytest.approx(100 * sum(kept) / 30)
    (pair,) = held.agreements
    assert all(part.below == 0 for part in pair.parts.values())
    assert "wordnet-3.0+trade-" in held.rules
    never_below(careful)
    assert json.loads(json.dumps(held.plain()))["means"] == held.means


def test_nothing_bought_is_nothing_for_everybody(random_run: Path) -> None:
    held = verify(material_of(random_run))
    assert held.out_of_steps > 0
    (pair,) = held.agreements
    assert pair.parts["overall"].count == 30


def test_a_person_is_the_third_scorer(careful: Material) -> None:
    hand = ticked(careful, [0, 1, 2, 3, 4])
    held = verify(careful, hand=hand)
    assert held.trajectories == 5
    assert held.means["by hand"]["overall"] == 100.0
    assert [(a.first, a.second) for a in held.agreements] == [
        ("released", "synonym"),
        ("released", "by hand"),
        ("synonym", "by hand"),
    ]
    with pytest.raises(DataError, match="it is about other data"):
        verify(careful, hand=ticked(careful, [0], attributes=(True,) * 99))
    with pytest.raises(DataError, match="no hand scores yet"):
        verify(careful, hand={})
    strange = {999: next(iter(hand.values()))}
    with pytest.raises(DataError, match="episode 999"):
        verify(careful, hand=strange)


def test_the_second_scorer_is_another(careful: Material) -> None:
    with pytest.raises(SettingError, match="is the first scorer"):
        verify(careful, "released")
    with pytest.raises(SettingError, match="There is no reward rule"):
        verify(careful, "nobody")
    held = verify(careful, "paper")
    assert (held.rules, held.counted) == ("paper", {})


def test_a_sample_is_decided_by_its_seed(careful: Material) -> None:
    numbers = [one.number for one in sample(careful, 10, 0)]
    assert numbers == [one.number for one in sample(careful, 10, 0)]
    assert numbers != [one.number for one in sample(careful, 10, 1)]
    assert len(set(numbers)) == 10
    everyone = sample(careful, 10**9, 0)
    assert len(everyone) == verify(careful).bought
    assert all(one.purchase is not None for one in everyone)


def test_the_page_is_one_file_and_harmless(careful: Material, tmp_path: Path) -> None:
    held = verify(careful, examples=30)
    path = tmp_path / "deep" / "page.html"
    write_verification_page(held, path)
    text = path.read_text()
    assert "Pearson" in text
    assert "http" not in text.replace("http-equiv", "")
    assert "<script" not in text
    with pytest.raises(DataError, match="--force"):
        write_verification_page(held, path)
    write_verification_page(held, path, replace=True)
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]


def test_texts_from_outside_are_escaped(little: Catalog, tmp_path: Path) -> None:
    run(little_protocol(little, 1), "rule", out=tmp_path / "run")
    held = verify(material_of(tmp_path / "run"), hand=None)
    evil = "<script>alert(1)</script>"
    made = msgspec.structs.replace(held, agent=evil, protocol=evil, rules=evil)
    path = tmp_path / "page.html"
    write_verification_page(made, path)
    assert "<script" not in path.read_text()
    assert "<script" not in verification_body(made)


@pytest.fixture(scope="module")
def real(catalog_1k: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    protocol = Protocol(
        id="first",
        version=1,
        title="Goals 0-59",
        domain="shop",
        data=str(catalog_1k.path),
        split="test",
        episodes=60,
    )
    for agent in ("rule", "choice-oracle", "careful"):
        run(protocol, agent, out=folder / agent)
    return folder


@pytest.mark.shared
@pytest.mark.parametrize("agent", ["rule", "choice-oracle", "careful"])
def test_never_below_on_the_real_data(real: Path, agent: str) -> None:
    material = material_of(real / agent)
    assert len(material.trajectories) == 60
    grew = never_below(material)
    # The oracle buys what was wanted; there is nothing to forgive.
    assert grew == 0 if agent == "choice-oracle" else grew > 3
