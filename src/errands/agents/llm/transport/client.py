"""A chat model behind any OpenAI-compatible endpoint: asked by many episodes at once, it retries,
keeps to rate limits and a spending cap, counts tokens and money, and remembers answers on disk.

The key comes from the environment and stays here: it is in no setting, error, answer or cache.
"""

import os
import random
import urllib.parse
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from errands.agents.agent import ModelError, Move, Usage
from errands.agents.llm.prompts import Prompt
from errands.agents.llm.settings import ClientSettings
from errands.agents.llm.transport.budget import Budget, price_of
from errands.agents.llm.transport.cache import Cache, fingerprint
from errands.agents.llm.transport.messages import (
    CallFailure,
    ChatAnswer,
    ChatRequest,
    Message,
    answered,
    cut,
    kept,
    message_tokens,
    nothing,
    shown,
    user,
)
from errands.agents.llm.transport.rate import RateLimit
from errands.agents.llm.transport.thread import LoopThread
from errands.agents.llm.transport.wire import Wire
from errands.agents.model_call import ModelCall, Outcome, ToolCall
from errands.errors import SettingError

__all__ = ["ChatModel", "Conversation", "Exchange"]

OPENAI: Final = "https://api.openai.com/v1"
_LONGEST_BACK_OFF: Final = 60.0
_MOST_CALLS: Final = 100
"""Tool calls of an answer that are kept."""


class ChatModel:
    """One model, shared by all episodes of a run."""

    def __init__(self, settings: ClientSettings, environ: Mapping[str, str] | None = None) -> None:
        environ = os.environ if environ is None else environ
        self.settings = settings
        self.base_url = _address(settings.base_url or environ.get("OPENAI_BASE_URL") or OPENAI)
        key = _key(settings, self.base_url, environ)
        price = price_of(settings.model, settings.price_in, settings.price_out)
        self.budget = Budget(settings.model, price, settings.max_cost)
        self._wire = Wire(self.base_url, key, settings.key_env, settings.timeout)
        self._cache = Cache(settings.cache) if settings.cache is not None else None
        self._rate = RateLimit(settings.rpm, settings.tpm)
        self._jitter = random.Random(0)
        self._thread = LoopThread("errands-llm")

    async def ask(
        self, request: ChatRequest, *, sample: int, seed: int
    ) -> tuple[ChatAnswer, Usage]:
        """The model's answer and what it cost; a `ModelError` where there is none to be had.

        `sample` tells equal requests apart whose answers may differ; `seed` goes with the request
        if the settings say so.
        """
        return await self._thread.run(self._ask(request, sample, seed))

    def close(self) -> None:
        self._thread.finish(self._wire.close())
        if self._cache is not None:
            self._cache.close()

    async def _ask(self, request: ChatRequest, sample: int, seed: int) -> tuple[ChatAnswer, Usage]:
        body = self._body(request, seed)
        key = fingerprint({**body, **self.settings.extra}, sample)
        if self._cache is not None and (kept := self._cache.get(key)) is not None:
            return kept, Usage(calls=1, cached=1)
        answer, usage = await self._until_answered(body)
        return (self._cache.keep(key, answer) if self._cache is not None else answer), usage

    async def _until_answered(self, body: dict[str, Any]) -> tuple[ChatAnswer, Usage]:
        guess = message_tokens(body["messages"])
        paid: list[tuple[int, int, float]] = []
        for attempt in range(1, self.settings.tries + 1):
            slot = await self._rate.enter(guess + (self.settings.max_tokens or 0))
            # Asked after the wait: others have spent meanwhile.
            self.budget.check()
            try:
                answer = await self._wire.ask(body, self.settings.extra, self.settings.stream)
            except CallFailure as trouble:
                spent = trouble.spent or ChatAnswer()
                paid.append(self._book(spent.tokens_in, spent.tokens_out))
                await self._wait(trouble, attempt)
                continue
            # An endpoint that does not count is counted for.
            tokens_in = answer.tokens_in or guess
            tokens_out = answer.tokens_out or message_tokens([{"content": answer.text}])
            self._rate.settle(slot, tokens_in + tokens_out)
            paid.append(self._book(tokens_in, tokens_out))
            return answer, Usage(
                calls=attempt,
                tokens_in=sum(one[0] for one in paid),
                tokens_out=sum(one[1] for one in paid),
                cost=sum(one[2] for one in paid),
                tokens_reasoning=answer.tokens_reasoning,
            )
        raise AssertionError("the last try ends in an answer or an error")

    def _book(self, tokens_in: int, tokens_out: int) -> tuple[int, int, float]:
        return tokens_in, tokens_out, self.budget.charge(tokens_in, tokens_out)

    async def _wait(self, trouble: CallFailure, attempt: int) -> None:
        """Back off before the next try, or give up."""
        where = f"The model {self.settings.model!r} at {self.base_url}"
        if not trouble.again:
            raise ModelError(f"{where} {trouble.reason}.") from None
        if attempt == self.settings.tries:
            tries = "1 try" if attempt == 1 else f"{attempt} tries"
            raise ModelError(f"{where} {trouble.reason}; given up after {tries}.") from None
        back_off = min(self.settings.wait * 2 ** (attempt - 1), _LONGEST_BACK_OFF)
        delay = back_off * (0.5 + self._jitter.random() / 2)
        if trouble.after is None:
            await self._rate.nap(delay)
            return
        if trouble.after > self.settings.longest_wait:
            raise ModelError(
                f"{where} {trouble.reason}, and asks to wait {trouble.after:.0f} seconds,"
                f" longer than longest_wait={self.settings.longest_wait:g}."
            ) from None
        self._rate.pause(max(trouble.after, delay))

    def _body(self, request: ChatRequest, seed: int) -> dict[str, Any]:
        settings = self.settings
        body: dict[str, Any] = {"model": settings.model, "messages": request.messages}
        if request.tools:
            body["tools"] = request.tools
        if request.stop and settings.stop == "send":
            body["stop"] = request.stop
        if settings.temperature is not None:
            body["temperature"] = settings.temperature
        if settings.top_p is not None:
            body["top_p"] = settings.top_p
        if settings.max_tokens is not None:
            body[settings.limit_name] = settings.max_tokens
        if settings.send_seed:
            body["seed"] = seed
        return body


class Conversation:
    """One episode's side of the model: which sample each of its requests is, and its seed."""

    def __init__(self, model: ChatModel, seed: int) -> None:
        self._model = model
        self._seed = seed
        self._asked: dict[str, int] = {}

    async def ask(self, request: ChatRequest) -> tuple[ChatAnswer, Usage]:
        """Without chance, equal requests have equal answers; with it, each is a new draw."""
        if self._model.settings.temperature == 0:
            return await self._model.ask(request, sample=0, seed=self._seed)
        print_ = fingerprint({"messages": request.messages}, self._seed)
        again = self._asked[print_] = self._asked.get(print_, -1) + 1
        sample = int(fingerprint({"seed": self._seed}, again)[:15], 16)
        return await self._model.ask(request, sample=sample, seed=self._seed)


class Exchange:
    """All that is said for one move, and what it cost."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self.said: list[str] = []
        self._used: list[Usage] = []
        self._calls: list[ModelCall] = []

    async def ask(self, request: ChatRequest) -> ChatAnswer:
        """The model's answer, which counts as an action unless `thought` or `failed` says that it
        was none."""
        answer, usage = await self._conversation.ask(request)
        self.said.append(shown(answer))
        self._used.append(usage)
        self._calls.append(
            ModelCall(
                messages=kept(request.messages),
                tools=tuple(request.tools),
                answer=cut(answer.text),
                calls=tuple(
                    ToolCall(cut(call.name, 200), cut(call.arguments))
                    for call in answer.calls[:_MOST_CALLS]
                ),
                reasoning=cut(answer.reasoning),
                finish=answer.finish,
                tries=usage.calls,
                cached=usage.cached > 0,
                tokens_in=usage.tokens_in,
                tokens_out=usage.tokens_out,
                tokens_reasoning=usage.tokens_reasoning,
                cost=usage.cost,
            )
        )
        return answer

    def thought(self) -> None:
        """The last answer was a thought."""
        self._judge("thought")

    def failed(self, answer: ChatAnswer) -> None:
        """The last answer holds no action."""
        self._judge(nothing(answer))

    def _judge(self, outcome: Outcome) -> None:
        self._calls[-1] = msgspec.structs.replace(self._calls[-1], outcome=outcome)

    def repair(self, prompt: Prompt, problem: str) -> list[Message]:
        """What is put to a model whose last answer could not be read."""
        return [
            answered(self.said[-1] or "(nothing)"),
            user(prompt.fill("repair", problem=problem)),
        ]

    def move(self, action: str) -> Move:
        usage = Usage.total(self._used) if self._used else None
        return Move(action, "\n\n".join(filter(None, self.said)), usage, tuple(self._calls))


def _address(given: str) -> str:
    """An address without secrets: it is kept with the run."""
    try:
        parts = urllib.parse.urlsplit(given)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise SettingError(
            f"base_url={given!r}: expected an address such as http://127.0.0.1:8000/v1."
        )
    if parts.username or parts.password or parts.query:
        raise SettingError(
            "base_url must hold no password and no query, as it is kept with the run; the key"
            " comes from the environment variable that key_env names."
        )
    return given.rstrip("/")


def _key(settings: ClientSettings, base_url: str, environ: Mapping[str, str]) -> str:
    key = environ.get(settings.key_env, "").strip()
    named = settings.key_env != "OPENAI_API_KEY"
    if not key and (named or base_url == OPENAI):
        raise SettingError(
            f"The environment variable {settings.key_env} holds no key for {base_url}: run"
            f" `export {settings.key_env}=...`, or give the base_url of an endpoint without keys."
        )
    return key
