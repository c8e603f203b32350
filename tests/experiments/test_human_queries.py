"""A search model that learns from people's queries, held out by instruction, beside the rules."""

import importlib.util
import json
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

if not importlib.util.find_spec("torch"):
    pytest.skip("pip install 'errands[train]' to train", allow_module_level=True)

from errands.cli import app
from errands.errors import DataError, SettingError
from errands.experiments.human_queries import (
    INSTRUCTION,
    MODEL,
    OWN_WORDS,
    f1,
    study_queries,
    to_markdown,
)
from errands.learn.checkpoint import read_info
from errands.learn.data.query_pairs import read_pairs, read_query_file
from errands.learn.search import PRESETS
from errands.shop.catalog.catalog import Catalog

COLOURS = ("red", "blue", "green", "black")
THINGS = ("hat", "lamp", "shoe", "sofa", "mug")
TINY = msgspec.structs.replace(PRESETS["small"], epochs=2, threads=1)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """What people might have searched for."""
    queries = {
        f"please find me a {colour} {thing} for my sister": [f"{colour} {thing}", thing]
        for colour in COLOURS
        for thing in THINGS
    }
    path = tmp_path / "goal_query_map.json"
    path.write_text(json.dumps(queries))
    return path


def test_words_are_compared_as_often_as_they_come() -> None:
    assert f1("red hat", "Red hat") == 1
    assert f1("red hat", "blue shoe") == 0
    assert f1("red red", "red hat") == 0.5
    assert f1("red hat", "red wool hat") == pytest.approx(0.8)


def test_an_instruction_is_on_one_side_with_all_its_queries(pairs: Path, tmp_path: Path) -> None:
    parted = read_pairs(pairs)
    assert len(parted.test) == 6
    assert len(parted.training) == 14
    assert not parted.test.keys() & parted.training.keys()
    assert len(parted.examples()) == 28
    apart = frozenset([next(iter(parted.training))])
    assert len(parted.examples(apart)) == 26
    assert read_pairs(pairs) == parted
    assert read_pairs(pairs, seed=1).test.keys() != parted.test.keys()


def test_the_paper_learns_from_goals_1500_and_later(pairs: Path, tmp_path: Path) -> None:
    texts = list(json.loads(pairs.read_text()))
    order = [f"goal {place}" for place in range(2_000)]
    order[3], order[499], order[500], order[1499] = texts[:4]
    order[1500:1516] = texts[4:]
    order[1600] = texts[0]  # Said again: it is where it was said first.
    instructions = tmp_path / "human_goals.json"
    instructions.write_text(json.dumps(order))
    parted = read_pairs(pairs, instructions)
    assert set(parted.test) == set(texts[:2])
    assert set(parted.training) == set(texts[4:])
    shown = read_query_file(pairs, instructions)
    assert {one.instruction for one in shown.queries} == set(texts[4:])
    assert len(read_query_file(pairs).queries) == 40
    instructions.write_text(json.dumps(order[:1_510]))
    with pytest.raises(DataError, match=r"6 of the instructions of .* are not in"):
        read_pairs(pairs, instructions)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "no JSON file"),
        ('{"a": 1}', "no JSON file"),
        ('{"a red hat": ["hat"]}', "two or more"),
    ],
)
def test_other_files_are_one_sentence(content: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "pairs.json").write_text(content)
    with pytest.raises(DataError, match=says):
        read_pairs(tmp_path / "pairs.json")
    with pytest.raises(DataError, match="cannot be read"):
        read_pairs(tmp_path / "nowhere.json")


def test_a_model_is_compared_with_the_rules(pairs: Path, little: Catalog, tmp_path: Path) -> None:
    heard: list[str] = []
    study = study_queries(
        tmp_path / "study",
        read_pairs(pairs),
        [str(little.path)],
        config=TINY,
        progress=lambda stage, done, total: heard.append(stage),
    )
    like = {one.source: one for one in study.like}
    assert set(like) == {INSTRUCTION, OWN_WORDS, MODEL}
    assert like[INSTRUCTION].exact.mean == 0
    assert like[INSTRUCTION].words == 9
    # "please find me a", "for my" say nothing; "sister" does.
    assert like[OWN_WORDS].overlap.mean == pytest.approx(100 * f1("red hat sister", "red hat"))
    assert study.agreement is not None
    assert study.agreement.mean == pytest.approx(100 * f1("red hat", "hat"))
    found = {one.source: one for one in study.found}
    assert found[OWN_WORDS].less_own_words is None
    assert found[MODEL].less_own_words is not None
    for row in study.found:
        assert 0 <= (row.first.mean or 0) <= (row.ten.mean or 0) <= (row.fifty.mean or 0) <= 100
        assert (row.success.mean or 0) <= (row.score.mean or 0)
    assert (found[OWN_WORDS].ten.mean or 0) > 20
    assert "training search-0" in heard
    text = to_markdown(study)
    assert all(f"| {source} |" in text for source in like)
    # What is trained is not trained again.
    again: list[str] = []
    study_queries(
        tmp_path / "study",
        read_pairs(pairs),
        config=TINY,
        progress=lambda stage, done, total: again.append(stage),
    )
    assert "training search-0" not in again
    # And what was trained otherwise is not taken for it.
    longer = msgspec.structs.replace(TINY, epochs=TINY.epochs + 1)
    with pytest.raises(SettingError, match="trained with other settings"):
        study_queries(tmp_path / "study", read_pairs(pairs), config=longer)
    with pytest.raises(SettingError, match="trained on other"):
        study_queries(tmp_path / "study", read_pairs(pairs, seed=1), config=TINY)


def test_goals_that_are_searched_for_are_not_learnt_from(little: Catalog, tmp_path: Path) -> None:
    goals = little.goals("human")
    texts = [goals[index].instruction_text for index in range(len(goals))]
    path = tmp_path / "pairs.json"
    others = {f"please find me a {colour} thing": [colour] for colour in COLOURS}
    path.write_text(json.dumps({**{text: ["hat"] for text in texts}, **others}))
    study = study_queries(tmp_path / "s", read_pairs(path), [str(little.path)], config=TINY)
    assert study.instructions < len(texts)
    learnt = len(read_pairs(path).training)
    held = sum(row.count for row in study.found if row.source == MODEL)
    assert learnt - study.instructions <= held


def test_the_real_products_are_searched_for_both_kinds_of_goals(
    pairs: Path, catalog_1k: Catalog, tmp_path: Path
) -> None:
    study = study_queries(
        tmp_path / "study", read_pairs(pairs), [str(catalog_1k.path)], config=TINY
    )
    assert {(row.goals, row.count) for row in study.found} == {("human", 13), ("webshop-1k", 124)}
    own = next(row for row in study.found if row.source == OWN_WORDS and row.count == 124)
    assert (own.fifty.mean or 0) > 80


def test_the_commands(pairs: Path, tmp_path: Path) -> None:
    def called(*words: object) -> str:
        result = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    out = tmp_path / "out"
    command = ("experiment", "human-queries", pairs, "--out", out, "--seeds", 2, "--epochs", 1)
    told = json.loads(called(*command, "--json"))
    assert told["seeds"] == [0, 1]
    assert told["held_out"] == 6
    assert "Queries of people" in (out / "human-queries.md").read_text()
    model = tmp_path / "search"
    trained = json.loads(called("train", "search", pairs, "--out", model, "--epochs", 1, "--json"))
    assert trained["updates"] > 0
    assert read_info(model, "search").is_done
    with pytest.raises(SettingError, match="holds none; leave it out"):
        called("train", "search", "demos", "--out", model, "--instructions", pairs)
