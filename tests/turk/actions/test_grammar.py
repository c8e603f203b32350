"""What language models write, read as actions; and what it must never do."""

import ast
import json
import math
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from errands.errors import ErrandsError
from errands.turk.actions.action import ACTIONS, Action
from errands.turk.actions.grammar import GrammarError, format_action, parse_answer

RECORDED = Path(__file__).resolve().parents[4] / "shared" / "fixtures" / "turkingbench"
TEXT = Action("modify_text", {"name": "a", "value": "b"})
RADIO = Action("modify_radio", {"name": "q", "value": "y"})


@pytest.mark.parametrize(
    "answer",
    [
        "modify_text('a', 'b')",
        'modify_text("a", "b")',
        "modify_text ( 'a' , 'b', )",
        "self.actions.modify_text('a', 'b')",
        "actions.modify_text(name='a', value='b')",
        "modify_text(value='b', name='a')",
        "modify_text('a', value='b')",
        "modify_text({'name': 'a', 'value': 'b'})",
        "actions.modify_text(\nname=“a”, value=“b”\n\n)",
        "modify_text(‘a’, ’b’)",
        "modify_text('''a''', \"\"\"b\"\"\")",
        "modify_text(r'a', u'b')",
        "modify_text('a',\n    ''\n    'b')",
        "```python\nself.actions.modify_text('a', 'b')\n```",
        "```\nmodify_text('a', 'b')",
        "Sure! modify_text() is right here.\n\n```py\nmodify_text('a', 'b')\n```\nThat fills `a`.",
        "I will fill in the field (it's empty): modify_text('a', 'b'). Done!",
        "1. `modify_text('a', 'b')`",
        "# modify_text('x', 'y')\nmodify_text('a', 'b')  # sets a",
        "modify_text('a', 'b')  # not modify_text('x', 'y')",
        "print('hello')\nmodify_text('a', 'b')",
        "Click (the button) and type (slowly). modify_text('a', 'b')",
        "<tool_call>{'name': 'modify_text', 'arguments': {'name': 'a', 'value': 'b'}}</tool_call>",
        '{"name": "modify_text", "arguments": {"name": "a", "value": "b"}}',
        '{"name": "modify_text", "arguments": ["a", "b"]}',
        '{"function": {"name": "modify_text", "arguments": '
        '"{\\"name\\": \\"a\\", \\"value\\": \\"b\\"}"}}',
        '{"type": "function", "function": {"name": "modify_text", "arguments": ["a", "b"]}}',
        '[{"action": "modify_text", "args": {"name": "a", "value": "b"}}]',
        '{"action": "modify_text", "parameters": {"name": "a", "value": "b"}}',
        '{"action": "modify_text", "name": "a", "value": "b", "why": "because"}',
        '{"action": {"name": "self.actions.modify_text", "args": ["a", "b"]}, "thought": "x"}',
        '{"thought": "hm", "action": "modify_text(\'a\', \'b\')"}',
        '{"type": "tool_use", "name": "modify_text", "input": {"name": "a", "value": "b"}}',
        '{"tool_calls": [{"name": "modify_text", "arguments": {"name": "a", "value": "b"}}]}',
        '{"modify_text": {"name": "a", "value": "b"}}',
        'The JSON is:\n```json\n{"name": "modify_text",\n "arguments": ["a", "b"]}\n```',
    ],
)  # fmt: skip
def test_one_action_in_many_forms(answer: str) -> None:
    assert parse_answer(answer) == [TEXT]


@pytest.mark.parametrize(
    "answer",
    [
        "modify_text('a', 'b')\nmodify_radio('q', 'y')",
        "modify_text('a', 'b'); modify_radio('q', 'y')",
        "modify_text('a', 'b') modify_radio('q', 'y')",
        "First modify_text('a', 'b'), then modify_radio('q', 'y').",
        '{"name": "modify_text", "arguments": {"name": "a", "value": "b"}}\n'
        '{"name": "modify_radio", "arguments": {"name": "q", "value": "y"}}',
        '[{"action": "modify_text", "args": ["a", "b"]},'
        ' {"action": "modify_radio", "args": ["q", "y"]}]',
        "modify_text('a', 'b')\n{\"name\": \"modify_radio\", \"arguments\": [\"q\", \"y\"]}",
    ],
)  # fmt: skip
def test_several(answer: str) -> None:
    assert parse_answer(answer) == [TEXT, RADIO]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'don't'", "don't"),
        ("'it's the dog's, you know'", "it's the dog's, you know"),
        ("'the dogs', he said'", "the dogs', he said"),
        ("'my friend's dogs') barked'", "my friend's dogs') barked"),
        ('"say "hi" to them"', 'say "hi" to them'),
        ("‘don’t’", "don’t"),
        (r"'a\'b\n\t\\ \x41\u00e9\U0001F600\101 \d'", "a'b\n\t\\ Aé😀A \\d"),
        ("'two\nlines'", "two\nlines"),
        ("'modify_text(1, 2)'", "modify_text(1, 2)"),
        ("'{\"name\": \"submit\"}'", '{"name": "submit"}'),
        ("f'plain'", "plain"),
        ("'x''y' \"z\" r'\\n'", "xyz\\n"),
        ("# the value\n 'v'", "v"),
        ("''", ""),
        ("5", 5), ("-2", -2), ("1.5", 1.5), (".5", 0.5), ("1e3", 1000.0), ("1_000", 1000),
        ("True", True), ("false", False), ("inf", math.inf), ("-Infinity", -math.inf),
    ],
)  # fmt: skip
def test_values(written: str, value: object) -> None:
    [action] = parse_answer(f"modify_text('a', {written})")
    assert action.arguments["value"] == value
    assert type(action.arguments["value"]) is type(value)


def test_json_values() -> None:
    answer = r'{"name": "type", "arguments": {"text": "\ud83d\ude00 a\/b \"q\" \u00e9\n"}}'
    assert parse_answer(answer) == [Action("type", {"text": '😀 a/b "q" é\n'})]


def test_arguments_are_fitted() -> None:
    assert parse_answer("modify_checkbox('a', ['x', 'y', 3])")[0].arguments["value"] == "x|y|3"
    assert parse_answer("modify_text(1, 'x')")[0].arguments["name"] == "1"
    assert parse_answer("click('0.5', 1)")[0].arguments == {"x": 0.5, "y": 1}
    assert parse_answer("scroll(300)")[0].arguments == {"y": 300}
    assert parse_answer("scroll(0, 300)")[0].arguments == {"x": 0, "y": 300}
    assert parse_answer("click(None, None, '#go')")[0].arguments == {"selector": "#go"}
    assert parse_answer("select_text('p', 0.0, '4')")[0].arguments["end"] == 4
    assert parse_answer("submit()") == [Action("submit", {})]
    assert parse_answer('{"name": "submit", "arguments": {}}') == [Action("submit", {})]
    assert parse_answer('{"action": "submit"}') == [Action("submit", {})]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("", "The answer is empty: expected modify_text"),
        (" \n ", "The answer is empty"),
        ("I do not know.", "There is no action in the answer: expected modify_text(name, value)"),
        ("[1, 2] {\"a\": 1}", "There is no action in the answer"),
        ("modify_txt('a', 'b')", "There is no action 'modify_txt', did you mean modify_text"),
        ("I use modify_txt('a', 'b')", "did you mean modify_text"),
        ("self.actions.fly('a')", "There is no action 'fly', the actions are modify_text"),
        ("modify_text('a')", "modify_text has no value: expected modify_text(name, value), for "
         "example modify_text('q1', 'yes')."),
        ("modify_text('a', None)", "modify_text has no value"),
        ("modify_text('a', 'b', 'c')", "modify_text was given 3 arguments, more than it takes"),
        ("submit('a')", "submit was given an argument, more than it takes"),
        ("modify_text('a', valeu='c')", "no argument 'valeu', did you mean value"),
        ("modify_text('a', name='c', value='d')", "given name twice"),
        ("modify_text(name='a', name='c', value='d')", "name is given twice"),
        ("modify_text(name='a', 'c')", "an argument without a name follows"),
        ("modify_text('a', b)", "cannot be read, 'b' has no quotes: expected modify_text"),
        ("modify_text('a', b)\nmodify_text('c', 'd')", "'b' has no quotes"),
        ("modify_text('a', b); modify_text('c', 'd')", "'b' has no quotes"),
        ("modify_text('a', 'b", "a quote is not closed"),
        ("modify_text('a', 'b'", ") is missing"),
        ("modify_text('a', '''b", "a quote is not closed"),
        ("modify_text('a', ", "it ends too early"),
        ("modify_text('a', 1/2)", "a comma or ) is missing before '/2)'"),
        ("modify_text('a', 2024-01-02)", "a comma or ) is missing"),
        ("modify_text('a', ?)", "is neither a text in quotes nor a number"),
        ("modify_text('a', f'{x}')", "prefix b or f"),
        ("modify_text('a', open('x').read())", "has no quotes"),
        ("modify_text('a', ['b'])", "must be a text or a whole number or a number"),
        ("modify_text('a', " + "9" * 500 + ")", "a number is too long"),
        ("modify_text('a', 1__0)", "is no number"),
        ("modify_text('a', " + "[" * 50, "nested too deeply"),
        ("modify_text('a', {1: 2})", "a text in quotes and a colon are missing"),
        ("click('left', 1)", "The x of click must be a whole number or a number, not 'left'"),
        ("select_text('p', 0.5, 2)", "must be a whole number, not 0.5"),
        ("type(True)", "must be a text, not True"),
        ('{"name": "modify_txt", "arguments": {}}', "did you mean modify_text"),
        ('{"name": "modify_text", "arguments": {"name": "a"}}', "modify_text has no value"),
        ('{"name": "modify_text", "arguments": "{oops"}', "The arguments of modify_text"),
        ('{"name": "modify_text", "arguments": {"name": "a"', "The JSON cannot be read"),
        ('{"action": "modify_txt(1, 2)"}', "did you mean modify_text"),
        ("submit()\n" * 201, "at most 200 actions"),
        ("type('" + "x" * 1_000_001 + "')", "longer than 1,000,000 characters"),
        (" " * 10_000_001, "longer than 10,000,000"),
    ],
)  # fmt: skip
def test_errors_say_what_was_wrong(answer: str, message: str) -> None:
    with pytest.raises(GrammarError) as error:
        parse_answer(answer)
    told = str(error.value)
    assert message in told
    assert told.endswith(".")
    assert "\n" not in told
    assert len(told) < 500
    assert isinstance(error.value, ErrandsError)


def test_a_wrong_call_spoils_the_answer() -> None:
    with pytest.raises(GrammarError):
        parse_answer("modify_text('a', 'b')\nmodify_radio('q')")


def test_code_around_calls_is_not_run(tmp_path: object) -> None:
    answer = f"__import__('os').rmdir({str(tmp_path)!r}); modify_text('a', 'b')"
    assert parse_answer(answer) == [TEXT]
    assert parse_answer("driver.find(1).click('x')\nmodify_text('a', 'b')") == [TEXT]


NAMES = sorted(ACTIONS)
MADE = {
    str: st.text(),
    int: st.integers(-(10**18), 10**18),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
}


@st.composite
def actions(draw: st.DrawFn) -> Action:
    name = draw(st.sampled_from(NAMES))
    arguments = {
        parameter.name: draw(st.one_of([MADE[kind] for kind in parameter.kinds]))
        for parameter in ACTIONS[name]
        if parameter.required or draw(st.booleans())
    }
    return Action(name, arguments)


@given(st.lists(actions(), min_size=1, max_size=4))
@example([Action("modify_text", {"name": "', 'x') modify_text('", "value": "```"})])
@example([Action("modify_text", {"name": "\ud800\x00\\'\"", "value": "a')"})])
def test_round_trip(made: list[Action]) -> None:
    assert parse_answer("\n".join(map(format_action, made))) == made
    assert parse_answer("; ".join(map(format_action, made))) == made
    assert ast.parse("\n".join(map(format_action, made)))


PIECES = st.sampled_from(
    ["modify_text(", "'", '"', "“", "a", ",", ")", "(", "{", "}", "[", "]", ":", "\\", "\n", " ",
     "```", "click(", "self.actions.", '"name"', '"arguments"', "=", "1", "submit()", "'''", "#"]
)  # fmt: skip


@given(st.text() | st.lists(PIECES, max_size=40).map("".join))
def test_anything_is_read_or_refused(answer: str) -> None:
    try:
        found = parse_answer(answer)
    except GrammarError:
        found = []
    assert all(action.name in ACTIONS for action in found)


SHAPES = [
    "x", "(", "{", "[", "'", '"', "[1,", '{"a":', '{"a": "', "click(", "x click(", "modify_text('",
    " modify_text('a', ", "x modify_text('a', 'b", "a.", "```\n", "```py\n", "\\", "self.actions.",
    "foo(", "\n", " ", "' ", "x type('a' ", "'a', b", "modify_tex(", "x modify_tex1(", "# click(\n",
    '{"name": "modify_text", ', "x type(('", "x type('\\", "1", "é", "\t`", "x type('', b",
]  # fmt: skip


@pytest.mark.parametrize("shape", [*SHAPES, "x type('a', [" + "'", "x type('" + "foo("])
def test_a_megabyte_of_garbage_takes_no_time(shape: str) -> None:
    answer = shape * (1_000_000 // len(shape))
    start = time.process_time()
    with pytest.raises(GrammarError):
        parse_answer(answer)
    assert time.process_time() - start < 5  # a fraction of a second; machines are busy


def test_formatting() -> None:
    assert format_action(TEXT) == "modify_text('a', 'b')"
    assert format_action(Action("click", {"selector": "#a"})) == "click(selector='#a')"
    assert format_action(Action("scroll", {"y": 2})) == "scroll(y=2)"


@pytest.mark.shared
def test_every_recorded_action_of_the_original_is_read() -> None:
    """It prints apostrophes in single quotes as they are, so 36 of its strings differ from ours."""
    pages = [json.loads(line) for line in (RECORDED / "runs.jsonl").read_text().splitlines()]
    calls = [field["oracle"].get("action") for page in pages for field in page["fields"]]
    written = [call for call in calls if call]
    read = [parse_answer(call) for call in written]
    assert len(written) == 2148
    assert {len(found) for found in read} == {1}
    ours = [format_action(found[0]) for found in read]
    assert sum(one == other for one, other in zip(ours, written, strict=True)) == 2112
