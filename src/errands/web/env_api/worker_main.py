"""A process that plays environments for a server.

Started by `errands.web.env_api.workers` only. It ends when its socket does, and with the server.
"""

import contextlib
import logging
import os
import socket
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from errands.errors import ErrandsError
from errands.remote.messages import ResetCall, StepCall, encode_msgpack
from errands.shop.catalog.catalog import Catalog
from errands.web.core.http_errors import internal, unknown_session
from errands.web.core.limits import settle_garbage
from errands.web.env_api.providers import EnvProvider, ShopProvider, TurkProvider
from errands.web.env_api.service import as_http_error
from errands.web.env_api.sessions import SessionEnv, reset_answer, step_answer
from errands.web.env_api.workers import (
    OpenOrder,
    Order,
    Outcome,
    Refusal,
    WorkerSetup,
    framed,
    frames,
)

__all__ = ["main"]

_CHUNK: Final = 2**18
_log = logging.getLogger(__name__)
_decode: Final = msgspec.msgpack.Decoder(list[Order]).decode


def main(handle: int) -> None:
    """Do what comes over the socket until it ends."""
    with socket.socket(fileno=handle) as server, contextlib.suppress(ConnectionError):
        _serve(server)
    # Nothing has to be tidied up, and the server may be waiting.
    os._exit(0)


def _serve(server: socket.socket) -> None:
    received = _received(server)
    [first] = next(received, [b""])
    try:
        sessions = _opened(first)
    except ErrandsError as failure:
        server.sendall(framed(encode_msgpack([_refused(failure)])))
        return
    settle_garbage()
    server.sendall(framed(encode_msgpack([Outcome({})])))
    for messages in received:
        done = (map(sessions.carry_out, _decode(message)) for message in messages)
        server.sendall(b"".join(framed(encode_msgpack(list(outcomes))) for outcomes in done))


def _received(server: socket.socket) -> Iterator[list[bytes]]:
    """What arrives: the messages that are whole, as many at a time as there are."""
    buffer = bytearray()
    while data := server.recv(_CHUNK):
        buffer += data
        if messages := list(frames(buffer)):
            yield messages


def _opened(message: bytes) -> "_Sessions":
    setup = msgspec.msgpack.decode(message, type=WorkerSetup)
    provider: EnvProvider
    if setup.environment == "turk":
        provider = TurkProvider(setup.data)
    else:
        catalog = Catalog.open(setup.data)
        # The first search of a process is slow; nobody should have to wait for it.
        catalog.search("warm up")
        provider = ShopProvider(catalog, setup.goals, setup.limits)
    return _Sessions(provider)


class _Sessions:
    """The environments that live here, by session."""

    def __init__(self, provider: EnvProvider) -> None:
        self._provider = provider
        self._envs: dict[str, SessionEnv] = {}

    def carry_out(self, order: Order) -> Outcome:
        try:
            return Outcome(self._done(order))
        except ErrandsError as failure:
            return _refused(failure)
        except Exception:
            # A defect of ours: the log says which, and the other sessions go on.
            _log.exception("a call failed")
            return _refused(internal())

    def _done(self, order: Order) -> dict[str, Any]:
        if isinstance(order, OpenOrder):
            made = {name: self._provider.make_env(order.settings) for name in order.sessions}
            self._envs.update(made)
            return {}
        env = self._envs.get(order.session)
        if env is None:
            raise unknown_session()
        if isinstance(order, StepCall):
            return step_answer(env.step(order.action))
        if isinstance(order, ResetCall):
            return reset_answer(env.reset(order.seed, dict(order.options)))
        env.close()
        del self._envs[order.session]
        return {"closed": True}


def _refused(failure: ErrandsError) -> Outcome:
    error = as_http_error(failure)
    return Outcome({}, Refusal(error.status, error.code, error.message, error.retry_after))
