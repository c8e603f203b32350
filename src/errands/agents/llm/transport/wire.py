"""The wire to an OpenAI-compatible endpoint: one try of one request, whole or as a stream.

The `openai` package speaks HTTP; what came back is read here, field by field, since endpoints
differ and may send anything. Every failure is a `CallFailure` that says whether to try again. The
key is taken out of whatever an endpoint sends before anybody else sees it.
"""

import asyncio
import email.utils
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

import msgspec

from errands.agents.llm.transport.messages import CallFailure, ChatAnswer
from errands.agents.model_call import ToolCall
from errands.errors import SettingError
from errands.extras import install_command

__all__ = ["Wire", "decode", "retry_after"]

_AGAIN: Final = frozenset({408, 429, 500, 501, 502, 503, 504, 529})
_TRANSPORT: Final = ("httpx", "httpcore", "h11", "h2", "anyio")
"""Packages whose exceptions mean that the connection broke, whichever of them is installed."""
_FILTERED: Final = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
"""Codes of refused requests that mean the prompt, not the way it was asked."""
_INSTEAD: Final = {
    "stop": "--set stop=none",
    "temperature": "--set temperature=none",
    "top_p": "--set top_p=none",
    "max_tokens": "--set max_completion_tokens=N",
    "max_completion_tokens": "--set limit_name=max_tokens",
    "seed": "--set send_seed=false",
    "tools": "--set calls=text",
}
"""For each field of a request that a model may not take, how to do without it."""
_LONGEST_REASON: Final = 300
_HIDDEN: Final = "[key]"
_LEAST_SECRET: Final = 8
"""A shorter key (`x`, `none`, `EMPTY`) is a placeholder for servers that need none, and may well be
part of a word: hiding it would change answers."""


class Wire:
    """Connections to one endpoint."""

    def __init__(self, base_url: str | None, key: str, key_env: str, timeout: float) -> None:
        try:
            import openai
        except ImportError:
            raise SettingError(
                f"The agent llm needs the package openai; run {install_command('llm')}."
            ) from None
        self._openai = openai
        self._key = key
        self._key_env = key_env
        self._timeout = timeout
        try:
            self._client = openai.AsyncOpenAI(
                api_key=key or "none", base_url=base_url or None, timeout=timeout, max_retries=0
            )
        except Exception as failure:
            raise SettingError(
                f"base_url={base_url!r} is no address ({type(failure).__name__}): expected one"
                " such as http://127.0.0.1:8000/v1."
            ) from None

    async def ask(
        self, body: Mapping[str, Any], extra: Mapping[str, Any], stream: bool
    ) -> ChatAnswer:
        """One try; a `CallFailure` where it fails."""
        try:
            async with asyncio.timeout(self._timeout):
                return await (self._streamed if stream else self._whole)(body, extra)
        except TimeoutError:
            raise self._slow() from None
        except self._openai.OpenAIError as failure:
            if _field(failure, "code") in _FILTERED:
                # Some endpoints say so in an answer, and some by a status.
                return ChatAnswer(finish="content_filter")
            raise self._explained(failure) from None
        except (OSError, ValueError) as failure:
            raise _broken(failure) from None
        except Exception as failure:
            if not type(failure).__module__.startswith(_TRANSPORT):
                raise
            raise _broken(failure) from None

    async def close(self) -> None:
        await self._client.close()

    async def _whole(self, body: Mapping[str, Any], extra: Mapping[str, Any]) -> ChatAnswer:
        create: Any = self._client.chat.completions.with_raw_response.create
        raw = await create(**body, extra_body=dict(extra) or None)
        return decode(self._hide(raw.text))

    async def _streamed(self, body: Mapping[str, Any], extra: Mapping[str, Any]) -> ChatAnswer:
        create: Any = self._client.chat.completions.create
        chunks = await create(
            **body,
            extra_body=dict(extra) or None,
            stream=True,
            stream_options={"include_usage": True},
        )
        async with chunks:
            return await _collect((_plain(chunk) async for chunk in chunks), self._hide)

    def _hide(self, text: str) -> str:
        return text.replace(self._key, _HIDDEN) if len(self._key) >= _LEAST_SECRET else text

    def _slow(self) -> CallFailure:
        return CallFailure(f"did not answer within {self._timeout:g} seconds", again=True)

    def _explained(self, failure: Exception) -> CallFailure:
        openai = self._openai
        if isinstance(failure, openai.APITimeoutError):
            return self._slow()
        if isinstance(failure, openai.APIStatusError):
            return self._status(failure.status_code, failure.response.headers, failure.body)
        if isinstance(failure, openai.APIConnectionError):
            return CallFailure("could not be reached, or cut the connection", again=True)
        return CallFailure(
            f"failed: {self._cut(failure)}", again=isinstance(failure, openai.APIError)
        )

    def _status(self, status: int, headers: Mapping[str, str], body: object) -> CallFailure:
        if status in (401, 403):
            # Not its message: that may quote the key, or a part of it.
            origin = f"the key in {self._key_env}" if self._key else "requests without a key"
            return CallFailure(f"refused {origin} ({status})", again=False)
        said = self._cut(_message(body))
        reason = f"answered {status}" + (f": {said}" if said else "")
        if status == 429 and "insufficient_quota" in json.dumps(body, default=str):
            return CallFailure(f"{reason} (the account is out of money)", again=False)
        if status == 404:
            return CallFailure(f"{reason} (no such model, or not its address)", again=False)
        instead = _INSTEAD.get(str(body.get("param"))) if isinstance(body, Mapping) else None
        if status == 400 and instead is not None:
            return CallFailure(f"{reason} (do without it: {instead})", again=False)
        return CallFailure(reason, again=status in _AGAIN, after=retry_after(headers))

    def _cut(self, text: object) -> str:
        line = " ".join(self._hide(str(text)).split()).rstrip(".")
        return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}..."


def _broken(failure: Exception) -> CallFailure:
    return CallFailure(f"cut the answer short ({type(failure).__name__})", again=True)


def _field(failure: Exception, name: str) -> str:
    """A field of the error that an endpoint sent."""
    body = getattr(failure, "body", None)
    return str(body.get(name) or "") if isinstance(body, Mapping) else ""


def _message(body: object) -> object:
    """What an endpoint says of an error, in any of the usual shapes."""
    while isinstance(body, Mapping):
        body = next((body[k] for k in ("error", "message", "detail") if k in body), "")
    return body or ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How long an endpoint asks to wait, in seconds."""
    if (given := headers.get("retry-after-ms")) is not None:
        try:
            return max(0.0, float(given) / 1000)
        except ValueError:
            pass
    given = headers.get("retry-after")
    if given is None:
        return None
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(given).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def decode(text: str) -> ChatAnswer:
    """The answer in a response's body."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise CallFailure("sent something that is not JSON", again=True) from None
    if not isinstance(body, dict):
        raise CallFailure("sent JSON that is no chat completion", again=True)
    spent = _spent(body)
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        said = _message(body) if "error" in body else ""
        reason = f"sent an error: {str(said)[:_LONGEST_REASON]}" if said else "sent no choices"
        raise CallFailure(reason, again=True, spent=spent)
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise CallFailure("sent a choice without a message", again=True, spent=spent)
    listed = message.get("tool_calls")
    refusal = _text(message.get("refusal"))
    return msgspec.structs.replace(
        spent,
        text=_text(message.get("content")) or refusal,
        refused=bool(refusal),
        reasoning=_reasoning(message),
        calls=tuple(
            _tool_call(call.get("function"))
            for call in (listed if isinstance(listed, list) else [])
            if isinstance(call, dict)
        ),
        finish=_finish(choices[0]),
    )


def _finish(choice: Mapping[str, Any]) -> str:
    """Why an answer ended; a short word, whatever was sent."""
    return str(choice.get("finish_reason") or "")[:40]


def _reasoning(message: Mapping[str, Any]) -> str:
    """What is told of the reasoning, under either of the usual names."""
    return _text(message.get("reasoning_content")) or _text(message.get("reasoning"))


def _tool_call(function: Any) -> ToolCall:
    function = function if isinstance(function, dict) else {}
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments) if arguments is not None else ""
    return ToolCall(str(function.get("name") or ""), arguments)


def _text(content: Any) -> str:
    """A message's text; some endpoints send it in pieces."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        pieces = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(piece for piece in pieces if isinstance(piece, str))
    return ""


def _spent(body: Mapping[str, Any]) -> ChatAnswer:
    """An answer without words: what it took, as far as the endpoint counts."""
    usage = body.get("usage")
    if not isinstance(usage, Mapping):
        return ChatAnswer()
    details = usage.get("completion_tokens_details")
    return ChatAnswer(
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        tokens_reasoning=_count(details.get("reasoning_tokens"))
        if isinstance(details, Mapping)
        else 0,
    )


def _count(given: Any) -> int:
    return given if isinstance(given, int) and given > 0 else 0


def _plain(chunk: Any) -> dict[str, Any]:
    """A piece of a stream as data; what is none is an empty one."""
    plain = chunk.to_dict(warnings=False) if hasattr(chunk, "to_dict") else chunk
    return plain if isinstance(plain, dict) else {}


async def _collect(chunks: AsyncIterator[Any], hide: Callable[[str], str]) -> ChatAnswer:
    """An answer from its pieces; a stream that stops without an end was cut."""
    text: list[str] = []
    refusal: list[str] = []
    reasoning: list[str] = []
    calls: dict[int, list[str]] = {}
    finish = ""
    spent = ChatAnswer()
    async for chunk in chunks:
        counted = _spent(chunk)
        if counted.tokens_in or counted.tokens_out:
            spent = counted
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            continue
        finish = _finish(choices[0]) or finish
        delta = choices[0].get("delta")
        if not isinstance(delta, dict):
            continue
        text.append(_text(delta.get("content")))
        refusal.append(_text(delta.get("refusal")))
        reasoning.append(_reasoning(delta))
        listed = delta.get("tool_calls")
        for call in listed if isinstance(listed, list) else ():
            if isinstance(call, dict) and isinstance(index := call.get("index", 0), int):
                piece = _tool_call(call.get("function"))
                parts = calls.setdefault(index, ["", ""])
                parts[0] += piece.name
                parts[1] += piece.arguments
    if not finish:
        raise CallFailure("cut the stream before its end", again=True, spent=spent)
    return msgspec.structs.replace(
        spent,
        text=hide("".join(text) or "".join(refusal)),
        refused=any(refusal),
        reasoning=hide("".join(reasoning)),
        calls=tuple(ToolCall(hide(name), hide(rest)) for _, (name, rest) in sorted(calls.items())),
        finish=finish,
    )
