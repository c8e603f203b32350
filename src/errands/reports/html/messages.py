"""What a model was asked for a step, and what it answered: its messages as they were sent.

A conversation is sent again with every call. What the call before had already is told in a line and
shown folded, or left out where the page is to stay small.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from errands.agents.model_call import NOTHING, ONE, OUTCOMES, ModelCall
from errands.markup import EMPTY, Markup, html, join
from errands.reports.formatting import count, dollars
from errands.reports.html.elements import badge, cut
from errands.runs.episode import Step
from errands.runs.store.call_packing import shared_start

__all__ = ["answer_badge", "call_before", "model_calls"]

MOST_TEXT: Final = 20_000
"""Characters of a message."""
MOST_MESSAGES: Final = 200
"""Messages of a call that are shown: the last so many."""
MOST_CALLS: Final = 50
"""Calls of a step that are shown: the last so many."""
_ROLES: Final = ("system", "developer", "user", "assistant", "tool")


def answer_badge(call: ModelCall) -> Markup:
    """What came of an answer, in a word."""
    bad = call.outcome == "invalid" or call.outcome in NOTHING
    title = ONE.get(call.outcome, call.outcome)
    return html(
        '<span class="badge {}" title="{}">{}</span>',
        "failed" if bad else "",
        OUTCOMES.get(call.outcome, ""),
        title,
    )


def call_before(steps: Sequence[Step], place: int) -> ModelCall | None:
    """The last call before a step."""
    earlier = (call for step in reversed(steps[:place]) for call in reversed(step.calls))
    return next(earlier, None)


def model_calls(
    calls: Sequence[ModelCall], before: ModelCall | None, *, folded: bool = True
) -> Markup:
    """The calls of a step, one after the other. `before` is the call before them; what it had is
    shown folded, or only counted."""
    parts = []
    first = max(0, len(calls) - MOST_CALLS)
    before = calls[first - 1] if first else before
    for number, call in enumerate(calls[first:], first + 1):
        parts.append(
            html(
                '<section class="call" aria-label="Call {} of {}"><p class="facts">{} {}</p>'
                "{}{}</section>",
                number,
                len(calls),
                " · ".join(_facts(call, number, len(calls))),
                answer_badge(call),
                _sent(call, before, folded=folded),
                _answer(call),
            )
        )
        before = call
    return join(parts)


def _facts(call: ModelCall, number: int, calls: int) -> list[str]:
    facts = [f"Call {number} of {calls}"]
    if call.finish:
        facts.append(f"finish: {cut(call.finish, 40)}")
    if call.cached:
        facts.append("from the cache")
    if call.tries > 1:
        facts.append(f"{call.tries} tries")
    if call.tokens_in or call.tokens_out:
        reasoning = f" ({call.tokens_reasoning:,} reasoning)" if call.tokens_reasoning else ""
        facts.append(f"{call.tokens_in:,} tokens in, {call.tokens_out:,} out{reasoning}")
    if call.cost:
        facts.append(dollars(call.cost))
    if call.tools:
        facts.append(f"tools: {cut(', '.join(map(_tool_name, call.tools)), 200)}")
    return facts


def _sent(call: ModelCall, before: ModelCall | None, *, folded: bool) -> Markup:
    if not call.messages:
        return html('<p class="note">The messages were not kept.</p>')
    old = _alike(before.messages, call.messages) if before is not None else 0
    known, new = call.messages[:old], call.messages[old:]
    base = before.messages[old] if before is not None and len(before.messages) > old else None
    # Chosen before they are made: a few bytes of a store may stand for a message of any length.
    left_out = max(0, len(new) - MOST_MESSAGES)
    shown = (
        _message(message, None if at or left_out else base)
        for at, message in enumerate(new[left_out:])
    )
    return html("{}{}", _known(known, folded=folded), join(shown))


def _known(messages: Sequence[Mapping[str, Any]], *, folded: bool) -> Markup:
    """What the call before had already."""
    if not messages:
        return EMPTY
    title = f"{count(len(messages), 'message')} as in the call before"
    if not folded:
        return html('<p class="note">{}</p>', title)
    inner = join(_message(message, None) for message in messages[-MOST_MESSAGES:])
    return html('<details class="raw"><summary>{}</summary>{}</details>', title, inner)


def _alike(first: Sequence[Any], second: Sequence[Any]) -> int:
    pairs = zip(first, second, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(
        len(first), len(second)
    ))  # fmt: skip


def _message(message: Mapping[str, Any], base: Mapping[str, Any] | None) -> Markup:
    role = str(message.get("role", ""))
    text = _text(message.get("content"))
    note = EMPTY
    if base is not None and base.get("role") == message.get("role"):
        shared = _line_start(text, shared_start(_text(base.get("content")), text))
        if shared > 400:
            note = html('<p class="note">{:,} characters as in the call before, then:</p>', shared)
            text = text[shared:]
    if len(text) > MOST_TEXT:
        note = html('{}<p class="note">The last {:,} characters.</p>', note, MOST_TEXT)
        text = text[-MOST_TEXT:]
    return html(
        '<div class="said {}"><b>{}</b>{}{}{}</div>',
        role if role in _ROLES else "",
        cut(role, 20) or "message",
        note,
        html('<pre tabindex="0">{}</pre>', text) if text else EMPTY,
        join(map(_called, _calls(message))),
    )


def _answer(call: ModelCall) -> Markup:
    parts = []
    if call.reasoning:
        parts.append(
            html(
                '<details class="raw"><summary>reasoning, as far as the endpoint tells</summary>'
                '<pre tabindex="0">{}</pre></details>',
                cut(call.reasoning, MOST_TEXT),
            )
        )
    if call.answer:
        parts.append(html('<pre tabindex="0">{}</pre>', cut(call.answer, MOST_TEXT)))
    parts += [_called((one.name, one.arguments)) for one in call.calls[:50]]
    if not call.answer and not call.calls:
        parts.append(html('<p class="note">Nothing was said.</p>'))
    return html('<div class="said answer"><b>answer</b>{}</div>', join(parts))


def _called(call: tuple[str, str]) -> Markup:
    name, arguments = call
    return html(
        '<p class="called">{} <code>{}</code></p>',
        badge("tool call"),
        cut(f"{name}({arguments})", 4_000),
    )


def _calls(message: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The tool calls in a message; a store may hold anything."""
    listed = message.get("tool_calls")
    made = []
    for call in listed[:50] if isinstance(listed, list | tuple) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            made.append((str(function.get("name")), str(function.get("arguments"))))
    return made


def _text(content: Any) -> str:
    """A content as text: pictures are told by their size and fingerprint."""
    if isinstance(content, str) or content is None:
        return content or ""
    if not isinstance(content, list | tuple):
        return str(content)
    parts = []
    for part in content:
        if isinstance(part, Mapping) and part.get("type") == "image":
            parts.append(f"[picture: {part.get('bytes')} bytes, SHA-256 {part.get('sha256')}]")
        elif isinstance(part, Mapping):
            parts.append(str(part.get("text", "")))
    return "\n".join(parts)


def _tool_name(tool: Mapping[str, Any]) -> str:
    function = tool.get("function")
    return str(function.get("name")) if isinstance(function, Mapping) else "?"


def _line_start(text: str, place: int) -> int:
    """The beginning of the line before a place, so that what is new begins with a whole one."""
    return text.rfind("\n", 0, place) + 1
