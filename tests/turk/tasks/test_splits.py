"""Splits: TurkingBench's by name, a set's own from a file, and train for the rest."""

from pathlib import Path

import pytest

from errands.errors import SettingError, TaskError
from errands.turk.tasks.loader import load_tasks
from errands.turk.tasks.splits import Splits, find_splits, turkingbench


def folders(tree: Path, *names: str) -> Path:
    for name in names:
        (tree / name).mkdir(parents=True)
        (tree / name / "template.html").write_text("<p>x</p>")
        (tree / name / "batch.csv").write_text("a,Answer.b\n1,2\n")
    return tree


def test_turkingbench_has_the_original_lists() -> None:
    splits = turkingbench()
    assert {name: len(names) for name, names in splits.lists.items()} == {
        "test": 20,
        "test_challenge": 17,
        "subjective": 3,
    }
    assert len(splits.train) == 120
    assert len(splits.expected("all")) == len(set(splits.expected("all"))) == 159
    assert len(splits.expected("subjective")) == 2
    assert splits.lists["test"][0] == "Ethical rule-of-thumb quality"
    assert splits.of("NER - Scruples") == "test_challenge"
    assert splits.of("A task of yours") == "train"


def test_splits_of_some_turkingbench_tasks(tmp_path: Path) -> None:
    folders(tmp_path, "Missing Adjective", "Event effect", "NER - Scruples", "HTER", "Mine")
    # In the order of the list.
    assert load_tasks(tmp_path, "test").names == ("Event effect", "Missing Adjective")
    assert load_tasks(tmp_path, "train").names == ("HTER", "Mine")
    assert load_tasks(tmp_path, "test_challenge").names == ("NER - Scruples",)
    assert load_tasks(tmp_path, "subjective").names == ()
    assert len(load_tasks(tmp_path, "all")) == 5
    assert len(load_tasks(tmp_path, "test").missing) == 18
    assert len(load_tasks(tmp_path, "train").missing) == 119
    assert "Congressional Bills 5 point" not in load_tasks(tmp_path, "all").missing
    assert load_tasks(tmp_path / "HTER").missing == ()
    assert load_tasks(tmp_path / "HTER", "test").names == ()


def test_a_set_without_lists_is_for_training(tmp_path: Path) -> None:
    folders(tmp_path, "a", "b")
    assert load_tasks(tmp_path, "train").names == ("a", "b")
    assert load_tasks(tmp_path, "test").names == ()
    assert find_splits([tmp_path], ["a"]) == Splits()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("splits.toml", 'test = ["c", "a", "gone"]\nsubjective = ["d"]'),
        ("splits.json", '\ufeff{"test": ["c", "a", "gone"], "subjective": ["d"]}'),
    ],
)
def test_a_set_has_lists_of_its_own(tmp_path: Path, name: str, text: str) -> None:
    tree = folders(tmp_path / "tasks", "a", "b", "c", "d")
    (tree / name).write_text(text)
    assert load_tasks(tmp_path, "test").names == ("c", "a")
    assert load_tasks(tmp_path, "test").missing == ("gone",)
    assert load_tasks(tree, "train").names == ("b",)
    assert load_tasks(tree / "d").split_of("d") == "subjective"
    (tree / name).rename(tmp_path / name)
    assert load_tasks(tree, "train").names == ("b",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no list of splits"),
        ("[]", "found no table"),
        ('{"tests": []}', r"found \['tests'\]"),
        ('{"test": "a"}', "test must be a list of task names"),
        ('{"test": [1]}', "test must be a list of task names"),
        ('{"test": ["a"], "train": ["a"]}', "'a' in more than one list"),
        ("[" * 100_000, "is no list of splits"),
    ],
)
def test_bad_lists_are_said(tmp_path: Path, text: str, message: str) -> None:
    folders(tmp_path, "a")
    (tmp_path / "splits.json").write_text(text)
    with pytest.raises(TaskError, match=message):
        load_tasks(tmp_path)


def test_unknown_splits_are_said() -> None:
    with pytest.raises(SettingError, match="expected train, test, test_challenge"):
        Splits().select("dev", [])
    with pytest.raises(SettingError):
        Splits().expected("dev")
