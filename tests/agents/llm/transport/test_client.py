"""The client against an endpoint that fails in every way: retried or explained, never hung."""

import asyncio
import json
import logging
import sqlite3
import threading
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import msgspec
import pytest

from errands.agents.agent import EndOfRun, ModelError, Usage
from errands.agents.llm.settings import ClientSettings
from errands.agents.llm.transport.client import ChatModel, Conversation, Exchange
from errands.agents.llm.transport.messages import (
    ChatAnswer,
    ChatRequest,
    ToolCall,
    kept,
    nothing,
    user,
)
from errands.agents.llm.transport.wire import decode, retry_after
from errands.errors import SettingError

KEY = "sk-very-secret-4711-abcdef"
HELLO = ChatRequest([{"role": "user", "content": "hello"}])
JSON = {"Content-Type": "application/json"}


def ask(endpoint: Any, request: ChatRequest = HELLO, **settings: Any) -> tuple[ChatAnswer, Usage]:
    given = {"model": "m", "wait": 0.01, "timeout": 5.0, "price_in": 1.0, "price_out": 2.0}
    model = ChatModel(ClientSettings(**(given | {"base_url": endpoint.url} | settings)))
    try:
        return asyncio.run(model.ask(request, sample=0, seed=1))
    finally:
        model.close()


def failing_once(first: Any) -> Any:
    return lambda request, number: first if number == 0 else "fine"


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_and_what_it_cost(endpoint: Any, stream: bool) -> None:
    answer, usage = ask(endpoint, stream=stream)
    assert answer.text == "search[red mug]"
    assert usage == Usage(calls=1, tokens_in=100, tokens_out=10, cost=pytest.approx(0.00012))
    sent = endpoint.requests[0]
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("m", 0.0, 512)
    assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "first",
    [
        "HANG UP",
        (429, {"Retry-After": "0"}, b'{"error": {"message": "slow down"}}'),
        *[(status, {}, b"oops") for status in (500, 501, 502, 503, 504, 408)],
    ],
    ids=str,
)
def test_passing_trouble_is_tried_again(endpoint: Any, first: Any, stream: bool) -> None:
    endpoint.script = failing_once(first)
    answer, usage = ask(endpoint, stream=stream)
    assert answer.text == "fine"
    assert usage.calls == 2
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize(
    "first",
    [
        "CUT",
        (200, JSON, b"<html>gateway</html>"),
        (200, JSON, b'{"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 0}}'),
        (200, JSON, b'{"choices": [{"message": null}]}'),
        (200, JSON, b"[1, 2]"),
        (200, JSON, b"[" * 100_000),
        (200, JSON, b'{"error": {"message": "overloaded"}}'),
    ],
    ids=lambda first: str(first)[:40],
)
def test_nonsense_is_tried_again_and_paid_for(endpoint: Any, first: Any) -> None:
    endpoint.script = failing_once(first)
    answer, usage = ask(endpoint)
    assert answer.text == "fine"
    assert usage.calls == 2
    assert usage.tokens_in == (107 if b"prompt_tokens" in str(first).encode() else 100)


def test_a_cut_stream_is_tried_again(endpoint: Any) -> None:
    endpoint.script = failing_once("CUT STREAM")
    assert ask(endpoint, stream=True)[0].text == "fine"
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize(
    "line",
    [
        b"5",
        b"[]",
        b'{"choices": 7}',
        b'{"choices": [null]}',
        b'{"choices": [{"delta": {"content": 9, "tool_calls": "x"}}]}',
        b'{"choices": [{"delta": {"tool_calls": [3, {"index": "a"}, {"function": "f"}]}}]}',
        b'{"choices": [{"delta"',
        b'{"error": {"message": "overloaded"}}',
    ],
)
def test_nonsense_in_a_stream_is_tried_again(endpoint: Any, line: bytes) -> None:
    endpoint.script = failing_once(
        (200, {"Content-Type": "text/event-stream"}, b"data: " + line + b"\n\n")
    )
    answer, usage = ask(endpoint, stream=True)
    assert answer.text == "fine"
    assert usage.calls == 2


def test_a_stream_of_tool_calls_is_put_together(endpoint: Any) -> None:
    call = {"function": {"name": "click", "arguments": '{"name": "Buy Now"}'}}
    endpoint.script = lambda request, number: {"content": "", "tool_calls": [call, call]}
    answer, _ = ask(endpoint, stream=True)
    assert answer.calls == (ToolCall("click", '{"name": "Buy Now"}'),) * 2


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("HANG", "did not answer within 0.3 seconds; given up after 2 tries"),
        ("HANG UP", "could not be reached, or cut the connection; given up after 2 tries"),
        ("CUT", "given up after 2 tries"),
        ((500, {}, b"boom"), "answered 500: boom; given up after 2 tries"),
        ((200, JSON, b"nonsense"), "sent something that is not JSON; given up after 2 tries"),
        ((200, JSON, b'{"choices": []}'), "sent no choices; given up after 2 tries"),
        ((404, JSON, b'{"error": {"message": "no m"}}'), "no such model, or not its address"),
        ((400, JSON, b'{"error": {"message": "too long"}}'), "answered 400: too long."),
        (
            (429, JSON, b'{"error": {"code": "insufficient_quota", "message": "pay"}}'),
            "out of money",
        ),
        ((429, {"Retry-After": "4000"}, b"{}"), "longer than longest_wait=300"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_lasting_trouble_is_one_sentence(endpoint: Any, reply: Any, reason: str) -> None:
    endpoint.script = lambda request, number: reply
    begun = time.monotonic()
    with pytest.raises(ModelError) as failure:
        ask(endpoint, tries=2, timeout=0.3 if reply == "HANG" else 60.0)
    assert time.monotonic() - begun < 30
    message = str(failure.value)
    assert reason in message
    assert message.startswith(f"The model 'm' at {endpoint.url} ")
    assert message.count("\n") == 0


def test_nobody_there_is_one_sentence() -> None:
    class Nowhere:
        url = "http://127.0.0.1:9/v1"

    with pytest.raises(ModelError, match="could not be reached"):
        ask(Nowhere(), tries=2)


def test_a_refused_key_is_not_tried_again_and_not_told(endpoint: Any) -> None:
    quoted = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode()
    endpoint.script = lambda request, number: (401, JSON, quoted)
    with pytest.raises(ModelError, match=r"refused the key in OPENAI_API_KEY \(401\)") as failure:
        ask(endpoint)
    assert len(endpoint.requests) == 1
    assert KEY not in str(failure.value)
    assert KEY[:8] not in str(failure.value)


@pytest.mark.parametrize("stream", [False, True])
def test_a_placeholder_for_a_key_changes_no_answer(endpoint: Any, stream: bool) -> None:
    endpoint.script = lambda request, number: "modify_text('tax', 'x')"
    settings = ClientSettings(model="m", base_url=endpoint.url, stream=stream)
    model = ChatModel(settings, {"OPENAI_API_KEY": "x"})
    answer, _ = asyncio.run(model.ask(HELLO, sample=0, seed=1))
    model.close()
    assert answer.text == "modify_text('tax', 'x')"


@pytest.mark.parametrize("stream", [False, True])
def test_an_endpoint_that_echoes_the_key_cannot_spread_it(
    endpoint: Any, stream: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "errands")
    call = {"function": {"name": KEY, "arguments": json.dumps({"name": KEY})}}
    message = {"content": f"Your key is {KEY}.", "tool_calls": [call]}
    endpoint.script = lambda request, number: (
        message if number == 0 else (500, {}, f"{KEY} is bad".encode())
    )
    cache = tmp_path / "answers.sqlite"
    answer, _ = ask(endpoint, stream=stream, cache=str(cache))
    assert answer.text == "Your key is [key]."
    with pytest.raises(ModelError) as failure:
        ask(
            endpoint, ChatRequest([{"role": "user", "content": "other"}]), tries=1, cache=str(cache)
        )
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir()).decode("latin-1")
    for text in (str(answer), str(failure.value), written, caplog.text):
        assert KEY not in text


def test_retry_after_is_kept(endpoint: Any) -> None:
    endpoint.script = failing_once((429, {"Retry-After": "0.4"}, b"{}"))
    begun = time.monotonic()
    ask(endpoint)
    assert 0.4 <= time.monotonic() - begun < 30


def test_retry_after_in_all_its_spellings() -> None:
    assert retry_after({"retry-after": "3"}) == 3
    assert retry_after({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    assert retry_after({}) is None
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({"retry-after": "-5"}) == 0
    later = formatdate(time.time() + 30, usegmt=True)
    assert 25 < (retry_after({"retry-after": later}) or 0) <= 30


def test_a_megabyte_is_an_answer_like_any_other(endpoint: Any) -> None:
    endpoint.script = lambda request, number: "a" * 1_000_000
    assert len(ask(endpoint)[0].text) == 1_000_000


def test_an_endpoint_that_does_not_count_is_counted_for(endpoint: Any) -> None:
    endpoint.usage = None
    _, usage = ask(endpoint, ChatRequest([{"role": "user", "content": "x" * 3000}]))
    assert usage.tokens_in > 900
    assert usage.tokens_out > 0
    assert usage.cost > 0


def test_the_spending_cap_stops_before_the_next_call(endpoint: Any) -> None:
    settings = ClientSettings(
        model="m", base_url=endpoint.url, price_in=1.0, price_out=2.0, max_cost=0.0003
    )
    model = ChatModel(settings)

    async def many() -> list[Any]:
        asked = []
        for number in range(5):
            one = ChatRequest([{"role": "user", "content": str(number)}])
            asked.append(await model.ask(one, sample=0, seed=0))
        return asked

    try:
        with pytest.raises(EndOfRun, match=r"spending cap of \$0.0003 is reached"):
            asyncio.run(many())
    finally:
        model.close()
    # 0.00012 a call: the third call still began below the cap.
    assert len(endpoint.requests) == 3
    assert model.budget.spent == pytest.approx(0.00036)


def test_with_many_at_once_no_more_is_overspent_than_was_in_flight(endpoint: Any) -> None:
    gate = threading.Event()

    def script(request: Any, number: int) -> str:
        if number >= 9:
            gate.set()
        gate.wait(60)
        return "fine"

    endpoint.script = script
    model = ChatModel(
        ClientSettings(
            model="m", base_url=endpoint.url, price_in=1.0, price_out=2.0, max_cost=0.0001
        )
    )

    async def many(count: int) -> list[Any]:
        calls = [
            model.ask(ChatRequest([{"role": "user", "content": str(n)}]), sample=0, seed=0)
            for n in range(count)
        ]
        return await asyncio.gather(*calls, return_exceptions=True)

    try:
        assert all(not isinstance(one, Exception) for one in asyncio.run(many(10)))
        assert all(isinstance(one, EndOfRun) for one in asyncio.run(many(10)))
    finally:
        model.close()
    assert len(endpoint.requests) == 10


def test_an_unknown_price_is_said_once(endpoint: Any, caplog: pytest.LogCaptureFixture) -> None:
    model = ChatModel(ClientSettings(model="m", base_url=endpoint.url))

    async def twice() -> list[Usage]:
        return [(await model.ask(HELLO, sample=n, seed=0))[1] for n in range(2)]

    try:
        assert [usage.cost for usage in asyncio.run(twice())] == [0, 0]
    finally:
        model.close()
    assert caplog.text.count("The price of 'm' is not known") == 1


def test_a_cap_without_a_price_is_refused() -> None:
    with pytest.raises(SettingError, match="give price_in and price_out"):
        ChatModel(ClientSettings(model="m", base_url="http://x/v1", max_cost=1))


def test_cached_answers_cost_nothing_and_call_nobody(endpoint: Any, tmp_path: Path) -> None:
    endpoint.script = lambda request, number: f"answer {number}"
    cache = str(tmp_path / "made" / "answers.sqlite")
    first, paid = ask(endpoint, cache=cache)
    second, free = ask(endpoint, cache=cache)
    assert first == second
    assert paid.cost > 0
    assert free == Usage(calls=1, cached=1)
    assert len(endpoint.requests) == 1
    ask(endpoint, cache=cache, top_p=0.5)
    ask(endpoint, ChatRequest(HELLO.messages, stop=["x"]), cache=cache)
    ask(endpoint, cache=cache, extra={"min_p": 0.1})
    assert len(endpoint.requests) == 4


def test_draws_differ_within_and_between_episodes_but_not_between_runs(
    endpoint: Any, tmp_path: Path
) -> None:
    endpoint.script = lambda request, number: f"answer {number}"

    async def run(model: ChatModel) -> list[str]:
        talks = [Conversation(model, seed) for seed in (1, 2)]
        return [(await talk.ask(HELLO))[0].text for talk in talks for _ in range(2)]

    def whole_run(temperature: float) -> list[str]:
        model = ChatModel(
            ClientSettings(
                model="m",
                base_url=endpoint.url,
                temperature=temperature,
                cache=str(tmp_path / f"{temperature}.sqlite"),
            )
        )
        try:
            return asyncio.run(run(model))
        finally:
            model.close()

    drawn = whole_run(1.0)
    assert len(set(drawn)) == 4
    assert whole_run(1.0) == drawn
    assert len(set(whole_run(0.0))) == 1
    assert len(endpoint.requests) == 5


def test_of_two_answers_the_first_is_kept_for_both(endpoint: Any, tmp_path: Path) -> None:
    both_here = threading.Barrier(2)

    def script(request: Any, number: int) -> str:
        both_here.wait(60)
        return f"answer {number}"

    endpoint.script = script
    path = str(tmp_path / "cache")
    models = [
        ChatModel(ClientSettings(model="m", base_url=endpoint.url, cache=path)) for _ in range(2)
    ]

    async def both() -> list[Any]:
        return await asyncio.gather(*(model.ask(HELLO, sample=0, seed=0) for model in models))

    try:
        one, other = asyncio.run(both())
    finally:
        for model in models:
            model.close()
    assert one[0] == other[0]
    assert len(endpoint.requests) == 2


def test_a_cache_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear cache, " * 100)
    with pytest.raises(SettingError, match="cannot be used"):
        ChatModel(
            ClientSettings(model="m", base_url="http://x", cache=str(tmp_path / "letter.txt"))
        )
    with pytest.raises(SettingError, match="cannot be used"):
        ChatModel(ClientSettings(model="m", base_url="http://x", cache=str(tmp_path)))


def test_a_damaged_answer_in_the_cache_is_one_sentence(endpoint: Any, tmp_path: Path) -> None:
    cache = tmp_path / "answers"
    ask(endpoint, cache=str(cache))
    with sqlite3.connect(cache) as file:
        file.execute("UPDATE answers SET answer = 'nonsense'")
    file.close()
    with pytest.raises(ModelError, match="cannot be read"):
        ask(endpoint, cache=str(cache))


@pytest.mark.parametrize(
    ("settings", "environ", "message"),
    [
        ({}, {}, "OPENAI_API_KEY holds no key for https://api.openai.com/v1"),
        ({"key_env": "MINE", "base_url": "http://x/v1"}, {}, "MINE holds no key"),
        ({"base_url": "ftp://x"}, {}, "expected an address such as"),
        ({"base_url": "http://[::1"}, {}, "expected an address such as"),
        ({"base_url": "http://me:pw@x/v1"}, {}, "no password"),
        ({"base_url": "http://x/v1?key=1"}, {}, "no password and no query"),
    ],
)
def test_addresses_and_keys_are_checked(
    settings: Any, environ: dict[str, str], message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        ChatModel(ClientSettings(model="m", **settings), environ)


def test_the_address_and_another_key_come_from_the_environment(endpoint: Any) -> None:
    environ = {"OPENAI_BASE_URL": endpoint.url, "MINE": "other-key"}
    model = ChatModel(ClientSettings(model="m", key_env="MINE"), environ)
    try:
        asyncio.run(model.ask(HELLO, sample=0, seed=7))
        asyncio.run(model.ask(HELLO, sample=0, seed=7))
    finally:
        model.close()
    assert endpoint.headers[0]["authorization"] == "Bearer other-key"
    assert "seed" not in endpoint.requests[0]


def test_what_is_sent_follows_the_settings(endpoint: Any) -> None:
    ask(
        endpoint,
        temperature=None,
        limit_name="max_completion_tokens",
        max_tokens=9,
        send_seed=True,
        extra={"reasoning_effort": "low"},
    )
    sent = endpoint.requests[0]
    assert "temperature" not in sent
    assert "max_tokens" not in sent
    assert (sent["max_completion_tokens"], sent["seed"], sent["reasoning_effort"]) == (9, 1, "low")


def test_a_cancelled_episode_leaves_the_others_alone(endpoint: Any) -> None:
    endpoint.script = lambda request, number: "HANG" if number == 0 else "fine"
    model = ChatModel(ClientSettings(model="m", base_url=endpoint.url))

    async def impatient() -> str:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(model.ask(HELLO, sample=0, seed=0), 0.3)
        return (await model.ask(HELLO, sample=0, seed=0))[0].text

    try:
        assert asyncio.run(impatient()) == "fine"
    finally:
        model.close()


def test_answers_survive_a_round_trip() -> None:
    answer = ChatAnswer("text", (ToolCall("click", "{}"),), "length", True, "why", 3, 4, 2)
    assert msgspec.json.decode(msgspec.json.encode(answer), type=ChatAnswer) == answer


def test_what_an_endpoint_says_of_an_answer_is_read() -> None:
    body = {
        "choices": [
            {
                "finish_reason": "stop",
                "message": {"content": None, "refusal": "No.", "reasoning_content": "Hm."},
            }
        ],
        "usage": {
            "prompt_tokens": 7,
            "completion_tokens": 5,
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
    }
    answer = decode(json.dumps(body))
    assert (answer.text, answer.refused, answer.reasoning) == ("No.", True, "Hm.")
    assert (answer.finish, answer.cut) == ("stop", False)
    assert (answer.tokens_in, answer.tokens_out, answer.tokens_reasoning) == (7, 5, 3)
    assert nothing(answer) == "refused"


@pytest.mark.parametrize(
    ("usage", "reasoning"),
    [
        ({}, 0),
        ({"completion_tokens_details": None}, 0),
        ({"completion_tokens_details": {"reasoning_tokens": "many"}}, 0),
        ({"completion_tokens_details": {"reasoning_tokens": -4}}, 0),
    ],
)
def test_odd_counts_are_none(usage: dict[str, Any], reasoning: int) -> None:
    body = {"choices": [{"message": {"content": "x"}, "finish_reason": 7}], "usage": usage}
    answer = decode(json.dumps(body))
    assert (answer.tokens_reasoning, answer.finish) == (reasoning, "7")


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (ChatAnswer(), "empty"),
        (ChatAnswer(" \n"), "empty"),
        (ChatAnswer(finish="length"), "cut"),
        (ChatAnswer("half an ans", finish="length"), "cut"),
        (ChatAnswer(finish="content_filter"), "filtered"),
        (ChatAnswer("x", refused=True, finish="content_filter"), "refused"),
        (ChatAnswer("I think"), "unreadable"),
        (ChatAnswer(calls=(ToolCall("x", "{"),)), "unreadable"),
    ],
)
def test_what_an_answer_without_an_action_is_called(answer: ChatAnswer, outcome: str) -> None:
    assert nothing(answer) == outcome


def test_a_stream_tells_refusals_reasoning_and_the_end(endpoint: Any) -> None:
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"reasoning_content": "Hm."}}]},
        {"choices": [{"index": 0, "delta": {"refusal": "No"}}]},
        {"choices": [{"index": 0, "delta": {"refusal": "."}, "finish_reason": "stop"}]},
        {
            "choices": [],
            "usage": {
                "prompt_tokens": 4,
                "completion_tokens": 9,
                "completion_tokens_details": {"reasoning_tokens": 8},
            },
        },
    ]
    sent = b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in chunks)
    reply = (200, {"Content-Type": "text/event-stream"}, sent + b"data: [DONE]\n\n")
    endpoint.script = lambda request, number: reply
    answer, usage = ask(endpoint, stream=True)
    assert (answer.text, answer.refused, answer.reasoning) == ("No.", True, "Hm.")
    assert usage.tokens_reasoning == 8


def test_absurdly_long_answers_are_kept_in_part(endpoint: Any) -> None:
    endpoint.script = lambda request, number: "x" * 300_000
    model = ChatModel(ClientSettings(model="m", base_url=endpoint.url))
    exchange = Exchange(Conversation(model, 0))
    try:
        asyncio.run(exchange.ask(ChatRequest([{"role": "user", "content": "hello"}])))
    finally:
        model.close()
    [call] = exchange.move("x").calls
    assert len(call.answer) < 201_000
    assert call.answer.endswith("[100000 more characters]")


def test_pictures_are_kept_as_fingerprints() -> None:
    picture = "data:image/png;base64," + "QUJD" * 1_000
    [plain, looked] = kept([user("hello"), user("look", picture)])
    assert plain == {"role": "user", "content": "hello"}
    [text, image] = looked["content"]
    assert text == {"type": "text", "text": "look"}
    assert (image["type"], image["bytes"], len(image["sha256"])) == ("image", 3_000, 64)
    assert "QUJD" not in json.dumps(looked)
