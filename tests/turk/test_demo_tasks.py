"""The embedded demo tasks are whole: pages, tables, answers and splits fit together.

Read with the standard library only, so that a mistake in a task is found here and not through the
drivers that are tested on these tasks.
"""

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

import errands

DEMO = Path(errands.__file__).parent / "turk" / "demo"
TASKS = sorted(path.name for path in DEMO.iterdir() if path.is_dir())
PREFIX = "Answer."

MADE_BY_SCRIPT: dict[str, dict[str, str]] = {
    "Quiz From a List": {"q1": "radio", "q2": "text", "q3": "number"},
    "Pet Sitter Notes": {
        f"{stem}_{n}": "text" for stem in ("animal", "name", "food") for n in (2, 3)
    },
}
"""Fields without an element in the markup: made at load, or by a button."""

MISSING = set("#N/A|#N/A N/A|#NA|-NaN|-nan|<NA>|N/A|NA|NULL|NaN|None|n/a|nan|null".split("|"))
"""Texts that table readers take for an empty cell."""


@dataclass
class Control:
    type: str
    values: list[str] = field(default_factory=list)
    low: float | None = None
    high: float | None = None


class Page(HTMLParser):
    """The named controls of a page, and all of its tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.controls: dict[str, Control] = {}
        self.tags: set[str] = set()
        self._select: Control | None = None
        self._option: list[str] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        have = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self._end_option()
        if tag == "option" and self._select is not None:
            if "value" in have:
                self._select.values.append(have["value"])
            else:
                self._option = []
        if tag not in ("input", "select", "textarea") or "name" not in have:
            return
        type_ = have.get("type", "text").lower() if tag == "input" else tag
        control = self.controls.setdefault(have["name"], Control(type_))
        if type_ in ("radio", "checkbox"):
            assert control.type == type_
            control.values.append(have.get("value", "on"))
        if type_ == "range":
            control.low, control.high = float(have.get("min", 0)), float(have.get("max", 100))
        if tag == "select":
            self._select = control

    def handle_endtag(self, tag: str) -> None:
        self._end_option()
        if tag == "select":
            self._select = None

    def handle_data(self, data: str) -> None:
        if self._option is not None:
            self._option.append(data)

    def _end_option(self) -> None:
        if self._option is not None and self._select is not None:
            self._select.values.append(" ".join("".join(self._option).split()))
        self._option = None


@dataclass(frozen=True)
class Sheet:
    """A task as its two files say it."""

    template: str
    header: list[str]
    rows: list[list[str]]

    @property
    def inputs(self) -> list[str]:
        return [name for name in self.header if not name.startswith(PREFIX)]

    @property
    def answers(self) -> list[str]:
        return [name.removeprefix(PREFIX) for name in self.header if name.startswith(PREFIX)]

    def instances(self) -> Iterator[tuple[Page, list[dict[str, str]]]]:
        """Each page with its substitutions made, and the answers of its workers."""
        width = len(self.inputs)
        groups: dict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
        for row in self.rows:
            groups[tuple(row[:width])].append(dict(zip(self.answers, row[width:], strict=True)))
        for given, labels in groups.items():
            text = self.template
            for name, value in zip(self.inputs, given, strict=True):
                text = text.replace("${" + name + "}", value)
            yield Page(text), labels


@cache
def sheet(name: str) -> Sheet:
    template = (DEMO / name / "template.html").read_text(encoding="utf-8")
    with (DEMO / name / "batch.csv").open(encoding="utf-8", newline="") as lines:
        header, *rows = list(csv.reader(lines, strict=True))
    return Sheet(template, header, rows)


@cache
def splits() -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads((DEMO / "splits.json").read_text(encoding="utf-8"))
    return found


def test_there_are_enough_tasks_and_they_are_small() -> None:
    assert len(TASKS) >= 26
    assert sum(path.stat().st_size for path in DEMO.rglob("*") if path.is_file()) < 600_000


def test_splits_name_tasks_once() -> None:
    assert set(splits()) == {"test", "test_challenge", "subjective"}
    names = [name for split in splits().values() for name in split]
    assert len(names) == len(set(names))
    assert set(names) < set(TASKS)
    assert [len(splits()[split]) for split in ("test", "test_challenge", "subjective")] == [6, 9, 1]


@pytest.mark.parametrize("name", TASKS)
def test_a_folder_holds_a_page_and_a_table(name: str) -> None:
    assert sorted(path.name for path in (DEMO / name).iterdir()) == ["batch.csv", "template.html"]
    task = sheet(name)
    assert task.header[:3] == ["Title", "Description", "Keywords"]
    assert len(task.header) == len(set(task.header))
    assert task.header == task.inputs + [PREFIX + answer for answer in task.answers]
    assert task.answers
    for row in task.rows:
        assert len(row) == len(task.header)
        assert all(cell.strip() for cell in row[: len(task.inputs)]), "an input is never empty"
        assert not MISSING & set(row)
        assert all(cell == cell.strip() for cell in row)


@pytest.mark.parametrize("name", TASKS)
def test_the_page_about_the_tasks_names_it(name: str) -> None:
    split = next((split for split, names in splits().items() if name in names), "train")
    count = len(list(sheet(name).instances()))
    page = Path(__file__).parents[2] / "docs" / "reference" / "demo-tasks.md"
    text = page.read_text(encoding="utf-8")
    assert f"| {name} | {split} | {count} |" in text


@pytest.mark.parametrize("name", TASKS)
def test_placeholders_and_columns_are_the_same(name: str) -> None:
    task = sheet(name)
    assert set(re.findall(r"\$\{([^}]*)\}", task.template)) == set(task.inputs[3:])


@pytest.mark.parametrize("name", TASKS)
def test_there_are_several_instances_and_workers(name: str) -> None:
    counts = [len(labels) for _, labels in sheet(name).instances()]
    assert 4 <= len(counts) <= 8
    assert min(counts) >= 2
    assert max(counts) <= 5


@pytest.mark.parametrize("name", TASKS)
def test_every_answer_has_its_element(name: str) -> None:
    made = MADE_BY_SCRIPT.get(name, {})
    for page, _ in sheet(name).instances():
        assert set(sheet(name).answers) == set(page.controls) | set(made)
        assert not set(page.controls) & set(made)


@pytest.mark.parametrize("name", TASKS)
def test_every_answer_can_be_given(name: str) -> None:
    for page, labels in sheet(name).instances():
        for label in labels:
            for answer, text in label.items():
                if text and answer in page.controls:
                    check(page.controls[answer], text)


def check(control: Control, text: str) -> None:
    match control.type:
        case "radio" | "select":
            assert text in control.values
        case "checkbox":
            pieces = text.split("|")
            assert set(pieces) <= set(control.values)
            assert len(pieces) == len(set(pieces))
        case "range":
            assert control.low is not None
            assert control.high is not None
            assert control.low <= float(text) <= control.high
        case "number":
            float(text)
        case "date":
            assert date.fromisoformat(text).isoformat() == text
        case "text" | "email":
            assert "\n" not in text
        case other:
            assert other in ("textarea", "hidden")


@pytest.mark.parametrize("name", TASKS)
def test_ranges_radios_and_drop_downs_are_answered(name: str) -> None:
    """A blank majority cannot be reached in a drop-down that is shown."""
    revealed = {("Delivery Trouble Report", "state")}
    for page, labels in sheet(name).instances():
        for answer, control in page.controls.items():
            if control.type in ("range", "radio", "select") and (name, answer) not in revealed:
                assert all(label[answer] for label in labels)


@pytest.mark.parametrize("name", TASKS)
def test_nothing_comes_from_outside(name: str) -> None:
    task = sheet(name)
    for text in (task.template, *(cell for row in task.rows for cell in row)):
        assert not re.search(r"(?i)\b(?:https?|ftp|wss?):|//[a-z0-9-]+\.[a-z]", text)
        assert not re.search(r"(?i)@import|\burl\(|<link\b|<iframe\b|<script[^>]*\bsrc\b", text)
        assert "\r" not in text
        assert "\x00" not in text
        for source in re.findall(r"""(?i)\bsrc\s*=\s*["']?([^"'\s>]+)""", text):
            assert source.startswith(("data:image/", "${"))


def test_every_kind_of_field_is_there() -> None:
    types: set[str] = set()
    single = grouped = placeholder = optgroup = False
    for name in TASKS:
        page, _ = next(sheet(name).instances())
        optgroup |= "optgroup" in page.tags
        for control in page.controls.values():
            types.add(control.type)
            single |= control.type == "checkbox" and len(control.values) == 1
            grouped |= control.type == "checkbox" and len(control.values) > 1
            placeholder |= control.type == "select" and "" in control.values
    wanted = "text textarea radio checkbox select range date number hidden email".split()
    assert types == set(wanted)
    assert single
    assert grouped
    assert placeholder
    assert optgroup


def test_every_kind_of_page_is_there() -> None:
    pages = {name: next(sheet(name).instances())[0] for name in TASKS}
    assert sum("script" in page.tags for page in pages.values()) >= 6
    assert sum("svg" in page.tags for page in pages.values()) >= 3
    assert any("img" in page.tags for page in pages.values())
    assert any("table" in page.tags and len(page.controls) >= 12 for page in pages.values())
    assert any(
        len(sheet(name).template) > 30_000 and len(page.controls) >= 40
        for name, page in pages.items()
    )
    assert any(":checked ~" in sheet(name).template for name in TASKS)
    assert "script" not in pages["Cat or Committee"].tags


def test_people_disagree_and_sometimes_tie() -> None:
    votes = [
        [label[answer] for label in labels]
        for name in TASKS
        for page, labels in sheet(name).instances()
        for answer, control in page.controls.items()
        if control.type in ("radio", "select")
    ]
    assert any(len(set(vote)) > 1 for vote in votes)
    assert any(
        len(vote) > 2 and sorted(vote.count(value) for value in set(vote))[-2:] == [2, 2]
        for vote in votes
    )
