"""The messages of a model on a page: all of them, escaped, and not again what was there before."""

import tracemalloc
from typing import Any

from errands.agents.model_call import ModelCall, ToolCall
from errands.reports.html.messages import call_before, model_calls
from errands.reports.html.replay import step_card
from errands.runs.episode import Step

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>'


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def test_everything_that_a_model_says_or_is_told_is_escaped() -> None:
    function = {"name": HOSTILE, "arguments": HOSTILE}
    call = ModelCall(
        messages=(
            said("system", HOSTILE),
            said(HOSTILE, HOSTILE),
            said("user", [{"type": "text", "text": HOSTILE}]),
            said("assistant", HOSTILE, tool_calls=[{"function": function}]),
        ),
        tools=({"function": {"name": HOSTILE}},),
        answer=HOSTILE,
        reasoning=HOSTILE,
        finish=HOSTILE,
        calls=(ToolCall(HOSTILE, HOSTILE),),
        outcome=HOSTILE,  # type: ignore[arg-type]
    )
    page = model_calls([call], None) + step_card(Step(HOSTILE, calls=(call,)), 0, 1)
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("&lt;script&gt;") >= 10


def test_a_call_says_how_it_went() -> None:
    call = ModelCall(
        messages=(said("user", "hello"),),
        answer="search[lamp]",
        finish="stop",
        tries=3,
        tokens_in=1_000,
        tokens_out=70,
        tokens_reasoning=64,
        cost=0.5,
        outcome="invalid",
    )
    page = str(model_calls([call], None))
    for word in ("finish: stop", "3 tries", "1,000 tokens in, 70 out (64 reasoning)", "$0.5"):
        assert word in page
    assert "invalid action" in page
    cached = ModelCall(messages=(said("user", "hello"),), cached=True, outcome="empty")
    assert "from the cache" in model_calls([cached], None)
    assert "Nothing was said." in model_calls([cached], None)


def test_what_the_call_before_had_is_told_in_a_line() -> None:
    rules = said("system", "THE RULES")
    first = ModelCall(messages=(rules, said("user", "page one")))
    second = ModelCall(messages=(rules, said("user", "page one"), said("assistant", "click[x]")))
    page = str(model_calls([second], first, folded=False))
    assert "2 messages as in the call before" in page
    assert "THE RULES" not in page
    assert "click[x]" in page
    assert "THE RULES" in model_calls([second], first), "folded, it is there"


def test_of_a_message_that_grew_only_the_new_is_shown() -> None:
    history = "".join(f"line {number}\n" for number in range(200))
    first = ModelCall(messages=(said("user", history),))
    second = ModelCall(messages=(said("user", history + "the new page"),))
    page = str(model_calls([second], first))
    assert "line 17\n" not in page
    assert "the new page" in page
    assert "characters as in the call before" in page


def test_pictures_are_told_by_size_and_fingerprint() -> None:
    picture = {"type": "image", "sha256": "abc123", "bytes": 4711}
    call = ModelCall(messages=(said("user", [{"type": "text", "text": "look"}, picture]),))
    assert "[picture: 4711 bytes, SHA-256 abc123]" in model_calls([call], None)


def test_odd_messages_of_a_strangers_store_are_shown_somehow() -> None:
    odd: Any = ({}, {"content": 5}, {"content": [1, {"type": "image"}]}, {"tool_calls": "x"},
                {"tool_calls": [{"function": 3}, 7]})  # fmt: skip
    assert "message" in model_calls([ModelCall(messages=odd, tools=({"function": 3},))], None)


def test_the_call_before_may_be_several_steps_ago() -> None:
    call = ModelCall(answer="a")
    steps = [Step("x", calls=(call,)), Step("y"), Step("z", calls=(ModelCall(),))]
    assert call_before(steps, 2) is call
    assert call_before(steps, 0) is None


def test_messages_that_are_not_shown_are_not_made() -> None:
    """A few bytes of somebody's run may stand for a long message, again and again."""
    message = {"role": "user", "content": "x" * 100_000}
    tracemalloc.start()
    one = model_calls([ModelCall(messages=(message,) * 20_000)], None)
    many = model_calls([ModelCall(messages=(message,), answer=f"{n}") for n in range(2_000)], None)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert one.count("<pre") == 201 - 1
    assert many.count('class="call"') == 50
    assert "Call 2000 of 2000" in many
    assert "Call 1950 of 2000" not in many
    assert most < 100 << 20
