"""What counts as an action of the shop, and what does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.agents.llm.shop.grammar import NoAction, ShopAction, invalid, read
from errands.agents.llm.transport.messages import ChatAnswer, ToolCall
from errands.shop.navigation import parse_action


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("search[red mug]", "search", "red mug"),
        ("Action: click[Buy Now]", "click", "Buy Now"),
        ("**Action:** click[Buy Now].", "click", "Buy Now"),
        ("I look around.\nAction: search[a]\nAction: search[b]", "search", "b"),
        ("Fine, so:\n\nclick[B0ABC]", "click", "B0ABC"),
        ("```\nclick[B0ABC]\n```", "click", "B0ABC"),
        ("search[mug]\n\nThat should find it.", "search", "mug"),
        ("Search [ 'red mug' ]", "search", "red mug"),
        ("click[[olive]]", "click", "olive"),
        ("think[search[red] would do]", "think", "search[red] would do"),
        ("think[a thought that never ends", "think", "a thought that never ends"),
        ("<think>\nclick[x]\n</think>\nclick[y]", "click", "y"),
        ("click[a]\nObservation: ...\nAction: click[b]", "click", "a"),
        ("- click[size: 10 [wide]]", "click", "size: 10 [wide]"),
    ],
)
def test_actions_are_found(text: str, kind: str, words: str) -> None:
    assert read(ChatAnswer(text), thinks=True) == ShopAction(kind, words)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("I would search for a mug.", "last line is not an action"),
        ("click[a]\nclick[b]\nwhich one?", "last line is not an action"),
        ("Action: buy[it]\nclick[x]", "last line is not an action"),
        ("search[]", "needs something"),
        ("click[" + "x" * 3000 + "]", "longer than 2000"),
        ("__import__('os').system('x')", "last line is not an action"),
    ],
)
def test_what_is_wrong_is_said(text: str, problem: str) -> None:
    with pytest.raises(NoAction, match=problem):
        read(ChatAnswer(text), thinks=True)


def test_a_cut_answer_is_called_that() -> None:
    with pytest.raises(NoAction, match="cut off"):
        read(ChatAnswer("Let me think about", finish="length"), thinks=True)


def test_thoughts_only_where_they_are_allowed() -> None:
    with pytest.raises(NoAction, match="no action think"):
        read(ChatAnswer("think[hm]"), thinks=False)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("search", '{"query": "red  mug"}', ShopAction("search", "red mug")),
        ("click", '{"name": "Buy Now"}', ShopAction("click", "Buy Now")),
        ("click", '{"name": 10}', ShopAction("click", "10")),
        ("click", '{"name": "Buy', "not JSON"),
        ("click", "[1]", "needs 'name'"),
        ("click", '{"nam": "x"}', "needs 'name'"),
        ("click", "", "needs 'name'"),
        ("buy", "{}", "no tool 'buy'"),
        ("", "{}", "no tool ''"),
        ("search", '{"query": "' + "a" * 1_000_000 + '"}', "longer"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_tool_calls(name: str, arguments: str, expected: ShopAction | str) -> None:
    answer = ChatAnswer("some words", (ToolCall(name, arguments),))
    if isinstance(expected, ShopAction):
        assert read(answer, thinks=False) == expected
    else:
        with pytest.raises(NoAction, match=expected):
            read(answer, thinks=False)


@given(st.text() | st.sampled_from(["click[buy now]", "search[x]", "a[b]\nclick[buy now]"]))
def test_an_invalid_action_does_nothing_whatever_it_is_made_of(text: str) -> None:
    name, _ = parse_action(invalid(text))
    assert name not in ("search", "click")
    assert "\n" not in invalid(text)
    assert len(invalid(text)) < 100


@given(st.text(max_size=300))
def test_any_text_is_an_action_or_a_reason(text: str) -> None:
    try:
        said = read(ChatAnswer(text), thinks=True).kind
    except NoAction as reason:
        said = str(reason)[-1]
    assert said in ("search", "click", "think", ".")


def test_a_megabyte_of_brackets_takes_no_time() -> None:
    with pytest.raises(NoAction):
        read(ChatAnswer("click[" * 200_000), thinks=True)
    with pytest.raises(NoAction):
        read(ChatAnswer("click[\n" * 200_000), thinks=True)


def test_brackets_inside_a_query_are_spaces() -> None:
    assert str(read(ChatAnswer("search[a [red] hat]"), thinks=False)) == "search[a  red  hat]"
    assert str(read(ChatAnswer("click[pack [2] of 3]"), thinks=False)) == "click[pack [2] of 3]"
