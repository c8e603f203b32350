"""Scores of single fields: the original's to the last bit, and the paper's."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import errands.turk
from errands.errors import SettingError
from errands.turk.scoring.metrics import (
    clean_values,
    exact_match,
    normalize_answer,
    number_rule,
    prepare_labels,
    prepared_score,
    score,
    text_match,
)

RECORDED = Path(__file__).resolve().parents[4] / "shared" / "fixtures" / "turkingbench"


def plain(value: Any) -> Any:
    """A recorded value with its NaN and infinities back; every NaN is an object of its own."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return float("nan") if "$nan" in value else value["$inf"] * math.inf
    return value


def recorded(name: str) -> list[dict[str, Any]]:
    lines = (RECORDED / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, list):
        return isinstance(ours, list) and all(map(same, ours, theirs)) and len(ours) == len(theirs)
    if isinstance(theirs, float) and math.isnan(theirs):
        return isinstance(ours, float) and math.isnan(ours)
    return isinstance(ours, str) == isinstance(theirs, str) and bool(ours == theirs)


@pytest.mark.shared
@pytest.mark.parametrize("blank", [None, float("nan")], ids=["none", "nan"])
def test_recorded_fields(blank: float | None) -> None:
    cases = [case for case in recorded("scores.jsonl") if case["kind"] == "field"]
    wrong = []
    for case in cases:
        labels = [blank if label == {"$nan": 1} else plain(label) for label in case["labels"]]
        ours = score(case["type"], case["prediction"], labels, rules="released")
        if not same(ours, plain(case["score"])):
            wrong.append((case["id"], case["type"], ours, case["score"]))
    assert (len(cases), wrong) == (1037, [])


@pytest.mark.shared
def test_recorded_prepared_scores() -> None:
    cases = [case for case in recorded("scores.jsonl") if case["kind"] == "prepared"]
    wrong = []
    for case in cases:
        ours = prepared_score(case["type"], case["prediction"], plain(case["labels"]))
        if "error" in case:
            assert ours in (0.0, 1.0)
        elif not same(ours, plain(case["score"])):
            wrong.append((case["id"], case["type"], ours, case["score"]))
    assert (len(cases), wrong) == (2010, [])


@pytest.mark.shared
def test_recorded_helpers() -> None:
    functions = {
        "try_numeric": number_rule,
        "normalize_answer": normalize_answer,
        "exact_match": exact_match,
        "rouge": text_match,
        "clean_values": clean_values,
    }
    cases = recorded("helpers.jsonl")
    wrong = []
    for case in cases:
        if "error" in case:  # given an int or None where only text is allowed
            continue
        ours = functions[case["fn"]](*plain(case["args"]))  # type: ignore[operator]
        if not same(ours, plain(case["result"])):
            wrong.append((case, ours))
    assert (len(cases), wrong) == (860, [])


@pytest.mark.shared
def test_recorded_runs() -> None:
    """Real pages: the original's scores; and its oracle is as good under the paper's rules."""
    counted = 0
    for page in recorded("runs.jsonl"):
        for field in page["fields"]:
            labels = [None if label == {"$nan": 1} else label for label in field["gold"]]
            for run in (field["oracle"], field["donothing"]):
                if not run or not run.get("scored"):
                    continue
                counted += 1
                kind, read = field["type"], run["prediction"]
                values = read.split("|") if kind == "checkbox" else [read]
                assert same(score(kind, values, labels, "released"), plain(run["score"]))
                if run is field["oracle"] and kind != "range" and run["score"] == 1:
                    assert score(kind, values, labels) == 1
    assert counted == 2064 + 1774


def test_released_where_the_original_raises() -> None:
    """Its empty maximum counts as an empty label; types it does not know are text."""
    assert prepared_score("text", "", ["", ""]) == 1
    assert prepared_score("text", "x", ["", ""]) == 0
    assert prepared_score("email", "a", ["a"]) == 1
    assert score("number", ["3"], [3.0], "released") == 1
    assert score("date", ["2024-01-02"], [None], "released") is None
    assert score("time", ["10:30"], ["10:45"], "released") == 0.5


@pytest.mark.parametrize(
    ("labels", "prediction", "expected"),
    [
        (["A", None, None], "nan", 1),  # a column of texts: one NaN with two votes
        (["A", None, None], "a", 0),
        ([3.0, None, None], "3", 1),  # a column of numbers: every NaN stands alone
        ([3.0, None, None], "nan", 0),
        ([None, 3.0], "nan", 1),
        ([], "", 1),
        ([True, 1, 0, 0], "true", 1),
    ],
)
def test_released_votes_of_a_drop_down(
    labels: list[str | float | None], prediction: str, expected: float
) -> None:
    assert score("select", [prediction], labels, "released") == expected


def test_released_preparation() -> None:
    assert prepare_labels("checkbox", ["b|a", None, 1.0]) == ["a|b", "", 1.0]
    assert prepare_labels("radio", [None, -1]) == ["", -1]
    assert prepare_labels("text", [None, "nan", "{}", "'{}'"]) is None
    assert prepare_labels("textarea", ["1.0", 1, None, True]) == ["1", ""]


def test_it_is_exported() -> None:
    assert errands.turk.score is score


def test_unknown_rules() -> None:
    with pytest.raises(SettingError, match="'paper' or 'released'"):
        score("text", ["a"], ["a"], rules="strict")


@pytest.mark.parametrize(
    ("kind", "values", "labels", "expected"),
    [
        ("text", ["the cat ran"], ["dogs", "The cats are running!"], 4 / 7),
        ("text", ["日本語"], ["日本語"], 1),
        ("text", ["日本語"], ["日本"], 0),
        ("text", ["3"], [3.0, None], 1),
        ("text", [""], ["a", None], 0),
        ("text", [], ["a"], 0),
        ("text", ["a"], [], None),
        ("textarea", ["a"], ["", None, "{}"], None),
        ("date", ["2024-01-02"], ["2024-01-02"], 1),
        ("number", ["5"], [5], 1),
        ("submit", ["Go"], ["Go"], None),
        ("radio", ["2"], [-2, -2], 0),
        ("radio", ["-2"], ["-2.0", "-2", "x", "x"], 1),
        ("radio", ["yes"], ["yes.", "yes.", "yes"], 0),
        ("radio", ["Yes"], ["yes"], 0),
        ("radio", ["b"], ["a", "b"], 0),
        ("radio", ["a"], ["a", "b"], 1),
        ("radio", [], [None, None, "b"], 1),
        ("radio", [], [], 1),
        ("radio", ["true"], [True, True, False], 1),
        ("radio", ["1"], [True], 0),
        ("select", [""], [None], 1),
        ("select", ["nan"], [None], 0),
        ("checkbox", ["a", "b"], ["b|c", "c"], 1 / 3),
        ("checkbox", ["a", "b"], ["b|a"], 1),
        ("checkbox", ["a", "b"], [], 0),
        ("checkbox", [], [], 1),
        ("checkbox", [], ["a", None], 1),
        ("checkbox", ["1"], [1.0], 1),
        ("checkbox", ["a"], ["A"], 0),
        ("checkbox", ["true"], [True, None], 1),
        ("checkbox", ["a|b"], ["a|b"], 1),
        ("range", ["5"], [0, 10], 0.5),
        ("range", ["30"], [10], 0),
        ("range", ["0"], [0, 0], 1),
        ("range", ["0.25"], [0], 0.75),
        ("range", ["-5"], [-10, None], 0.5),
        ("range", [""], [5], 0),
        ("range", ["inf"], [5], 0),
        ("range", ["5"], [None, "x", math.inf], None),
    ],
)
def test_the_papers_rules(
    kind: str, values: list[str], labels: list[Any], expected: float | None
) -> None:
    assert score(kind, values, labels) == (expected and pytest.approx(expected))


LABELS = st.lists(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9), max_size=4
)
KINDS = st.sampled_from(["text", "textarea", "radio", "select", "checkbox", "range", "number", "x"])


@given(KINDS, st.lists(st.text(max_size=9), max_size=3), LABELS)
def test_any_answer_scores(kind: str, values: list[str], labels: list[Any]) -> None:
    paper = score(kind, values, labels)
    assert paper is None or 0 <= paper <= 1
    released = score(kind, values, labels, "released")
    assert released is None or released <= 1 or math.isnan(released)


@given(st.sampled_from(["text", "radio", "select"]), st.text(min_size=1))
def test_the_only_label_scores_one(kind: str, label: str) -> None:
    assert score(kind, [label], [label]) in (1, None)


def test_submitted_compares_as_paper_does_and_hidden_fields_as_text() -> None:
    assert score("hidden", ["0-0 1-1"], ["0-0 1-1", "0-0"], "submitted") == 1.0
    assert score("hidden", [""], ["x"], "submitted") == 0.0
    assert score("hidden", ["2.0"], [2], "submitted") == 1.0
    assert score("hidden", ["x"], [None, "{}"], "submitted") is None
    assert score("radio", ["2"], [-2, -2, 1], "submitted") == 0.0
    assert score("checkbox", [], ["a", None], "submitted") == 1.0
    assert score("submit", ["x"], ["x"], "submitted") is None
