"""Several judges: their agreement, how many judgements are needed, and what is exported."""

import csv
import io
import json
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.errors import DataError, SettingError
from errands.reports.statistics.estimate import wilson
from errands.runs.store.places import open_run
from errands.shop.rewards.registry import rules_named
from errands.verify.export import judged_text, write_export
from errands.verify.hand_scores import HandFile, HandScore
from errands.verify.judges import (
    judge_agreement,
    judgements_needed,
    needed_for_share,
    read_judges,
    things_of,
)
from errands.verify.page import needed_lines, verification_body
from errands.verify.scores import by_rules
from errands.verify.trajectories import Trajectory
from errands.verify.verification import Material, verify


@pytest.fixture(scope="module")
def material(careful_run: Path) -> Material:
    with closing(open_run(careful_run)) as store:
        return Material.read(store)


def bought(material: Material) -> list[Trajectory]:
    return [one for one in material.trajectories if one.purchase is not None]


def said(material: Material, one: Trajectory, **more: object) -> HandScore:
    ticks = {
        "type": 1.0,
        "attributes": (True,) * len(one.goal.attributes),
        "options": (True,) * len(one.goal.goal_options),
        "price": True,
        **more,
    }
    return HandScore(run=material.info.id, episode=one.number, **ticks)  # type: ignore[arg-type]


def two_judges(material: Material) -> dict[str, dict[int, HandScore]]:
    """The second is stricter about the type of every other purchase, and about one price."""
    chosen = bought(material)[:10]
    ann = {one.number: said(material, one, type=0.5 if place % 3 == 0 else 1.0)
           for place, one in enumerate(chosen)}  # fmt: skip
    bob = {
        one.number: said(material, one, type=0.5 if place % 2 == 0 else 1.0, price=place != 4)
        for place, one in enumerate(chosen)
    }
    return {"ann": ann, "bob": bob}


def test_percent_and_kappa_by_the_book(material: Material) -> None:
    judges = two_judges(material)
    found = judge_agreement("ann", "bob", judges, {o.number: o for o in bought(material)})
    assert found.purchases == 10
    ones, others = ([0.5 if p % n == 0 else 1.0 for p in range(10)] for n in (3, 2))
    same = np.mean([a == b for a, b in zip(ones, others, strict=True)])
    chance = np.mean(np.equal(ones, 0.5)) * np.mean(np.equal(others, 0.5)) + np.mean(
        np.equal(ones, 1.0)
    ) * np.mean(np.equal(others, 1.0))
    kind = found.parts["type"]
    assert (kind.things, kind.same.mean) == (10, pytest.approx(same))
    assert kind.kappa == pytest.approx((same - chance) / (1 - chance))
    assert kind.low is not None
    assert kind.high is not None
    assert kind.kappa is not None
    assert kind.low <= kind.kappa <= kind.high
    assert kind.same.low is not None
    assert kind.same.low < same
    assert found.parts["attribute"].kappa is None, "both always say yes"
    assert found.parts["price"].same.mean == pytest.approx(0.9)
    assert found.parts["all"].things == sum(part.things for p, part in found.parts.items()
                                            if p != "all")  # fmt: skip
    differing = [(row.part, row.answers) for row in found.differences]
    assert ("price", {"ann": 1.0, "bob": 0.0}) in differing
    assert len(differing) == round(10 * (1 - same)) + 1


def test_a_table_has_both_and_the_page_too(material: Material) -> None:
    judges = two_judges(material)
    made = verify(material, hand=judges, interval=0.05)
    assert list(made.means) == ["released", "synonym", "ann", "bob"]
    assert made.trajectories == 10
    text = str(verification_body(made))
    assert "What they see differently" in text
    assert "How many judgements are needed" in text
    assert json.loads(json.dumps(made.plain()))["judges"][0]["first"] == "ann"


def test_a_judge_does_not_take_the_place_of_the_rules(material: Material) -> None:
    scores = two_judges(material)["ann"]
    for name in ("released", "synonym"):
        with pytest.raises(SettingError, match=f"A judge is called '{name}'"):
            verify(material, "synonym", {name: scores})


def test_judges_without_a_common_purchase_are_told(material: Material) -> None:
    judges = two_judges(material)
    judges["bob"] = {}
    with pytest.raises(DataError, match="no purchase in common"):
        verify(material, hand=judges)


@given(share=st.floats(0, 1), half=st.floats(0.01, 0.4))
def test_needed_is_the_fewest(share: float, half: float) -> None:
    count = needed_for_share(share, half)

    def width(number: int) -> float:
        low, high = wilson(share, number)
        return (high - low) / 2

    assert width(count) <= half
    assert count == 1 or width(count - 1) > half


def test_how_many_more(material: Material) -> None:
    by_number = {one.number: one for one in material.trajectories}
    rules = {n: by_rules(o, rules_named("synonym")) for n, o in by_number.items()}
    (nothing,) = judgements_needed(0.05, {}, rules, by_number, "synonym")
    assert (nothing.more, nothing.total) == (381, 381)
    judged = {one.number: by_rules(one, rules_named("synonym")) for one in bought(material)}
    share, mean = judgements_needed(0.05, judged, rules, by_number, "synonym")
    assert share.so_far.mean == 1.0
    assert share.more > 0
    assert mean.so_far.mean == 0.0
    assert mean.more > 0, "that none differs so far does not say that none will"
    lower = {n: msgspec.structs.replace(s, overall=s.overall * (n % 2)) for n, s in judged.items()}
    share, mean = judgements_needed(0.05, lower, rules, by_number, "synonym")
    tight = judgements_needed(0.02, lower, rules, by_number, "synonym")
    assert tight[0].total > share.total
    assert tight[1].total > mean.total
    loose = judgements_needed(0.49, lower, rules, by_number, "synonym")
    assert [one.more for one in loose] == [0, 0]
    assert all("within" in line for line in needed_lines(loose))
    for wrong in (0.0, 0.5, -1.0, float("nan"), 1e-9):
        with pytest.raises(SettingError, match="half an interval"):
            judgements_needed(wrong, {}, rules, by_number, "synonym")


def test_files_of_judges(material: Material, tmp_path: Path) -> None:
    run = material.info.id
    judges = two_judges(material)
    for name, stem in (("ann", "one"), ("bob", "two"), ("", "old")):
        with HandFile(tmp_path / f"{stem}.jsonl", run, name) as open_file:
            for score in judges[name or "ann"].values():
                open_file.add(score)
    old = (tmp_path / "old.jsonl").read_text()
    assert "judge" not in old, "as files have always been"
    both = read_judges([tmp_path / "one.jsonl", tmp_path / "two.jsonl"], run)
    assert list(both) == ["ann", "bob"]
    assert list(read_judges([tmp_path / "old.jsonl"], run)) == [""]
    assert list(read_judges([tmp_path / "old.jsonl", tmp_path / "two.jsonl"], run)) == [
        "old",
        "bob",
    ]
    with pytest.raises(DataError, match="both have scores of the judge 'ann'"):
        read_judges([tmp_path / "one.jsonl"] * 2, run)
    with HandFile(tmp_path / "one.jsonl", run, "bob") as file:
        assert file.scores == {}, "each judge has scores of their own"
        file.add(judges["bob"][next(iter(judges["bob"]))])
    assert set(read_judges([tmp_path / "one.jsonl"], run)) == {"ann", "bob"}


def test_what_was_judged_as_a_file(material: Material, tmp_path: Path) -> None:
    judges = two_judges(material)
    first = next(iter(judges["ann"]))
    judges["ann"][first] = msgspec.structs.replace(judges["ann"][first], note="=HYPERLINK(1)")
    scorers = {name: rules_named(name) for name in ("released", "synonym")}
    run = material.info.id
    text = judged_text(".csv", run, material.trajectories, judges, scorers)
    rows = list(csv.DictReader(io.StringIO(text)))
    things = [thing for one in bought(material)[:10] for thing in things_of(one)]
    assert [row["thing"] for row in rows] == [thing.wanted.lstrip("'") for thing in things]
    assert {row["ann note"] for row in rows} == {"", "'=HYPERLINK(1)"}
    assert {row["ann"] for row in rows if row["part"] == "type"} == {"0.5", "1.0"}
    path = tmp_path / "deep" / "judged.jsonl"
    assert write_export(path, run, material.trajectories, judges, scorers) == 10
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 10
    assert set(lines[0]["judges"]) == {"ann", "bob"}
    assert set(lines[0]["rules"]) == {"released", "synonym"}
    with pytest.raises(DataError, match="--force"):
        write_export(path, run, material.trajectories, judges, scorers)
    with pytest.raises(SettingError, match="no known ending"):
        write_export(tmp_path / "judged.xls", run, material.trajectories, judges, scorers)
