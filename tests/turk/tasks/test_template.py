"""Pages are, byte for byte, what the original served."""

import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.turk.tasks.loader import TaskSet, load_tasks
from errands.turk.tasks.task import Instance, Task
from errands.turk.tasks.template import has_submit, page_html, substitute

SHARED = Path(__file__).resolve().parents[4] / "shared"
TASKS = SHARED / "data" / "turkingbench" / "tasks"
RECORDED = SHARED / "fixtures" / "turkingbench"


def page(template: str, mojibake: bool = False, **inputs: str) -> str:
    instance = Instance("t", 0, inputs, {})
    return page_html(Task("t", template, (instance,)), instance, mojibake=mojibake)


def test_the_wrapper() -> None:
    assert page("\n<p>${a}</p>\n", a="<b>") == (
        "<!DOCTYPE html>\n<html>\n  <head>\n    <title>Task</title>\n"
        '    <meta http-equiv="Content-Type" content="text/html; charset=UTF-8"/>\n    \n'
        '  </head>\n  <body>\n    <form name="mturk_form" method="post" id="mturk_form"'
        ' target="_parent"\n          action="#">\n\n'
        '      <input type="hidden" name="csrfmiddlewaretoken" value="CSRF">\n'
        '      <p><b></p>\n\n      \n      <p class="text-center">\n'
        '        <input type="submit" id="submitButton" class="btn btn-primary" disabled\n'
        '               value="You must ACCEPT the Task before you can submit the results." />\n'
        "      </p>\n      \n    </form>\n  </body>\n</html>\n"
    )


def test_a_button_of_its_own() -> None:
    assert "submitButton" not in page("<INPUT TYPE='submit'>")


def test_the_button_of_an_accepted_task_can_be_pressed() -> None:
    instance = Instance("t", 0, {}, {})
    task = Task("t", "<p>", (instance,))
    shown = {on: page_html(task, instance, accepted=on) for on in (False, True)}
    before, button, after = re.split(r"( *<input type=\"submit\".*?/>)", shown[True], flags=re.S)
    assert "disabled" not in button
    assert 'value="Submit"' in button
    assert shown[False].startswith(before)
    assert shown[False].endswith(after)
    own = Task("t", "<input type=submit>", (instance,))
    assert page_html(own, instance, accepted=True) == page_html(own, instance)


@pytest.mark.parametrize(
    ("template", "has"),
    [
        ("<input type=submit>", True),
        ('<input class="a>b" type="submit" />', True),
        ("<button type=submit>", False),
        ("<!-- <input type=submit> -->", False),
        ("<script>'<input type=submit>'</script>", False),
        ("<script>a</script><input type=submit>", True),
        ("<textarea><input type=submit></textarea>", True),
        ("<input type=submit", False),
    ],
)
def test_submit_is_found(template: str, has: bool) -> None:
    assert has_submit(template) is has


def test_substitution_is_raw_and_in_order() -> None:
    values = [("a", "${b}${a-1}"), ("b", "${a}"), ("a-1", "<>&"), ("A", "no")]
    assert substitute("${a} ${ a} ${x} '${a-1}'", values) == "${a}<>& ${ a} ${x} '<>&'"


def test_mojibake_is_a_switch() -> None:
    assert "é ü" in page("é ${ü}", ü="ü")
    assert "Ã© Ã¼" in page("é ${ü}", mojibake=True, ü="ü")


@pytest.fixture(scope="module")
def real() -> TaskSet:
    return load_tasks(TASKS)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.shared
def test_recorded_page_hashes(real: TaskSet) -> None:
    lines = (RECORDED / "page-hashes.jsonl").read_text().splitlines()
    assert len(lines) == 526
    for line in lines:
        record = json.loads(line)
        task = real.task(record["task"])
        instance = task.instances[record["instance_index"]]
        assert len(task.instances) == record["n_instances"]
        assert sha256(page_html(task, instance, mojibake=True)) == record["sha256_utf8"], line
        assert sha256(page_html(task, instance)) == record["sha256_demojibaked"], line


@pytest.mark.shared
def test_recorded_pages(real: TaskSet) -> None:
    for path in sorted((RECORDED / "instances").iterdir()):
        record = json.loads(path.read_text())
        task = real.task(record["task"])
        instance = task.instances[record["instance_index"]]
        assert page_html(task, instance, mojibake=True) == record["rendered_html"]


class _Submits(HTMLParser):
    found = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= tag == "input" and ("type", "submit") in attrs


@pytest.mark.shared
def test_submit_is_found_where_the_standard_parser_finds_it(real: TaskSet) -> None:
    for task in real:
        parser = _Submits()
        parser.feed(task.template)
        assert has_submit(task.template) is parser.found, task.name


@settings(max_examples=effort(125, 500))
@given(
    st.lists(st.sampled_from(["${a}", "${b}", "${c}", "${", "$", "{a}", "a}", "}", "x", "{"])),
    st.permutations(["a", "b", "a}", "c"]),
    st.lists(
        st.sampled_from(["", "v", "$", "{b}", "${b}", "b}", "{", "y$"]), min_size=4, max_size=4
    ),
    st.integers(0, 4),
)
def test_filling_a_cut_template_is_replacing_name_after_name(
    pieces: list[str], names: list[str], texts: list[str], count: int
) -> None:
    template = expected = "".join(pieces)
    values = list(zip(names, texts, strict=True))[:count]
    for name, value in values:
        expected = expected.replace(f"${{{name}}}", value)
    assert substitute(template, values) == expected
