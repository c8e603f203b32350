"""The service without a network: defects, and calls that take long."""

import asyncio
import logging
import threading
from typing import Any

import pytest

from errands.remote.messages import (
    BatchCall,
    CloseCall,
    CreateCall,
    ResetCall,
    StepCall,
    decode,
    encode_json,
)
from errands.web.core.http_errors import HttpError
from errands.web.core.limits import ServerLimits
from errands.web.env_api.service import Service


class Odd:
    """An environment that breaks when told to, and waits when told to."""

    def __init__(self, is_slow: bool, gate: threading.Event) -> None:
        self.is_slow = is_slow
        self.gate = gate
        self.closed = False

    def reset(self, seed: int | None, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return "", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if action == "break":
            raise ZeroDivisionError("secret detail")
        if action == "wait":
            assert self.gate.wait(30)
        return action, 0.0, False, False, {}

    def close(self) -> None:
        self.closed = True


class Oddities:
    def __init__(self, is_slow: bool) -> None:
        self.is_slow = is_slow
        self.gate = threading.Event()
        self.made: list[Odd] = []

    def is_quick(self, settings: dict[str, Any]) -> bool:
        return True

    def make_env(self, settings: dict[str, Any]) -> Odd:
        self.made.append(Odd(self.is_slow, self.gate))
        return self.made[-1]

    def split(self, call: Any) -> dict[str, Any]:
        return {}

    def about(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize("is_slow", [False, True])
def test_a_defect_is_one_refusal_and_a_line_in_the_log(
    is_slow: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> None:
        service = Service({"shop": Oddities(is_slow)}, ServerLimits())
        [one] = (await service.answer(CreateCall(environment="shop"), "me"))["sessions"]
        calls: list[Any] = [
            StepCall(session=one, action="break"),
            StepCall(session=one, action="on"),
        ]
        broken, fine = (await service.answer(BatchCall(calls=calls), "me"))["results"]
        assert broken["error"]["code"] == "internal"
        assert "secret" not in str(broken)
        assert fine["observation"] == "on"
        service.shut()

    with caplog.at_level(logging.ERROR):
        asyncio.run(play())
    assert "secret detail" in caplog.text


def test_slow_calls_wait_elsewhere_in_a_bounded_queue() -> None:
    async def play() -> None:
        provider = Oddities(True)
        service = Service({"turk": provider}, ServerLimits(slow_calls=2))
        created = await service.answer(CreateCall(environment="turk", count=3), "me")
        waiting = [
            asyncio.create_task(service.answer(StepCall(session=session, action="wait"), "me"))
            for session in created["sessions"][:2]
        ]
        await asyncio.sleep(0)
        with pytest.raises(HttpError, match="try again") as refused:
            await service.answer(ResetCall(session=created["sessions"][2]), "me")
        assert (refused.value.status, refused.value.retry_after) == (503, 1)
        # A session that is closed while it works is closed once it is done.
        await service.answer(CloseCall(session=created["sessions"][0]), "me")
        assert not provider.made[0].closed
        provider.gate.set()
        assert [(await task)["observation"] for task in waiting] == ["wait", "wait"]
        assert service.metrics.slow_calls == 0
        service.shut()
        assert all(odd.closed for odd in provider.made)

    asyncio.run(play())


def test_a_draining_service_opens_nothing() -> None:
    service = Service({"shop": Oddities(False)}, ServerLimits())
    service.drain()
    with pytest.raises(HttpError, match="shutting down"):
        asyncio.run(service.answer(CreateCall(environment="shop"), "me"))
    service.shut()


def test_halves_of_surrogate_pairs_can_be_sent() -> None:
    import msgspec

    sent = encode_json({"observation": "a\ud800b", "info": ["\udfff"]})
    assert decode(msgspec.json.Decoder(), sent) == {"observation": "a\ufffdb", "info": ["\ufffd"]}
