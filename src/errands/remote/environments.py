"""`errands/RemoteShop-v0` and `errands/RemoteTurk-v0`: environments that another machine plays,
used as if they were here.

    gymnasium.make("errands/RemoteShop-v0", url="http://10.0.0.5:8000", split="train")
    gymnasium.make_vec("errands/RemoteShop-v0", num_envs=512, url="http://10.0.0.5:8000")

Takes the options of `errands/Shop-v0`, or a `ShopConfig`, but for the catalogue, which is the
server's; the other one those of `errands/Turk-v0`, or a `TurkConfig`, but for the tasks. The
vector environment sends one message for a step of all.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar

import gymnasium
import msgspec
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from errands.envs.config import ShopConfig
from errands.envs.episode import Info
from errands.envs.spaces import ActionText, AnyText
from errands.envs.turk import FormActionText
from errands.envs.turk_config import TurkConfig
from errands.envs.vector import Observations, TextVectorEnv, gathered, reset_parts
from errands.errors import ErrandsError, SettingError
from errands.remote.client import Connection

__all__ = ["RemoteShopEnv", "RemoteShopVectorEnv", "RemoteTurkEnv"]

Reply = dict[str, Any]


class RemoteEnv(gymnasium.Env[str, Any]):
    """One session of a server; its subclasses say of what."""

    environment: ClassVar[str]
    """What the server calls it."""
    actions: ClassVar[type[AnyText]]
    """The kind of its action space."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        *,
        token: str | None = None,
        timeout: float = 60.0,
        config: ShopConfig | TurkConfig | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise SettingError(f"render_mode={render_mode!r}: expected 'ansi' or None.")
        self.render_mode = render_mode
        self.observation_space = AnyText()
        self.action_space = self.actions()
        settings = _settings(config, options)
        self._server = Connection(url, token=token, timeout=timeout)
        self._open_after_purchase = settings.get("after_purchase") == "open"
        self._last: Reply | None = None
        self._closed = False
        try:
            [self._session] = self._server.create(self.environment, settings)
        except BaseException:
            self._server.close()
            raise

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, Info]:
        """Begin an episode; `options` may name the `goal`, or the `task` and `row`."""
        # Gymnasium's own generator is seeded, too, though it is the server that draws.
        super().reset(seed=seed)
        call = _reset_call(self._session, seed, options or {})
        self._last = answer = self._server.call(**call)
        return answer["observation"], answer["info"]

    def step(self, action: Any) -> tuple[str, float, bool, bool, Info]:
        """Act."""
        last = self._last
        if last is None:
            raise ErrandsError("The environment has no episode yet; call reset() first.")
        if _is_over(last, self._open_after_purchase):
            ended = last["terminated"], last["truncated"]
            return last["observation"], 0.0, *ended, _unmoved(last["info"])
        answer = self._server.call("step", session=self._session, action=_as_text(action))
        self._last = answer
        observation, reward, info = answer["observation"], answer["reward"], answer["info"]
        return observation, reward, answer["terminated"], answer["truncated"], info

    def render(self) -> str | None:
        """The last observation."""
        if self.render_mode is None or self._last is None:
            return None
        return str(self._last["observation"])

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            _give_up(self._server, [self._session])


class RemoteShopEnv(RemoteEnv):
    """A shop of a server.

    Same actions, observations, rewards and infos as `ShopEnv`; `url` is the server's address,
    `token` what it asks for. Closing the environment closes the session.
    """

    environment = "shop"
    actions = ActionText


class RemoteTurkEnv(RemoteEnv):
    """Form pages of a server, without a browser: as `TurkEnv` with the driver `dom`."""

    environment = "turk"
    actions = FormActionText


class RemoteShopVectorEnv(TextVectorEnv):
    """N sessions of a server, played as `ShopVectorEnv` plays N shops."""

    def __init__(
        self,
        num_envs: int = 1,
        url: str = "http://127.0.0.1:8000",
        *,
        token: str | None = None,
        timeout: float = 60.0,
        autoreset: str | AutoresetMode = "next_step",
        config: ShopConfig | None = None,
        **options: Any,
    ) -> None:
        super().__init__(num_envs, autoreset)
        settings = _settings(config, options)
        self._open_after_purchase = settings.get("after_purchase") == "open"
        self._last: list[Reply] = []
        self._sessions: list[str] = []
        self._server = Connection(url, token=token, timeout=timeout)
        try:
            while len(self._sessions) < num_envs:
                some = min(_CHUNK, num_envs - len(self._sessions))
                self._sessions += self._server.create("shop", settings, some)
        except BaseException:
            _give_up(self._server, self._sessions)
            raise

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode everywhere, or where `options["reset_mask"]` is true."""
        begun = bool(self._last)
        places, seeds, each = reset_parts(seed, options, self.num_envs, begun=begun)
        answers = self._ask(
            [
                _reset_call(
                    self._sessions[i], seeds[i], {name: values[i] for name, values in each.items()}
                )
                for i in places
            ]
        )
        self._last = self._last or [{}] * self.num_envs
        infos: list[Info | None] = [None] * self.num_envs
        for i, answer in zip(places, answers, strict=True):
            self._last[i] = answer
            infos[i] = answer["info"]
        return self._observations(), gathered(infos)

    def step(
        self, actions: Sequence[str]
    ) -> tuple[Observations, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """One action each."""
        self._check_step(actions, begun=bool(self._last))
        over = [_is_over(last, self._open_after_purchase) for last in self._last]
        anew = self._mode is AutoresetMode.NEXT_STEP
        ended = [_has_ended(last) for last in self._last]
        called = [i for i in range(self.num_envs) if anew or not over[i]]
        calls = [
            _reset_call(self._sessions[i], None, {})
            if anew and ended[i]
            else {"do": "step", "session": self._sessions[i], "action": str(actions[i])}
            for i in called
        ]
        for i, answer in zip(called, self._ask(calls), strict=True):
            self._last[i] = answer
        rewards = np.zeros(self.num_envs, np.float64)
        for i in called:
            rewards[i] = self._last[i].get("reward", 0.0)
        terminations = np.array([last.get("terminated", False) for last in self._last])
        truncations = np.array([last.get("truncated", False) for last in self._last])
        moved = set(called)
        infos: list[Info | None] = [
            last["info"] if i in moved else _unmoved(last["info"])
            for i, last in enumerate(self._last)
        ]
        if self._mode is AutoresetMode.SAME_STEP:
            self._begin_again(infos)
        return self._observations(), rewards, terminations, truncations, gathered(infos)

    def close_extras(self, **kwargs: Any) -> None:
        _give_up(self._server, self._sessions)

    def _begin_again(self, infos: list[Info | None]) -> None:
        """Reset those that have just ended, and keep what they ended with."""
        ended = [i for i, last in enumerate(self._last) if _has_ended(last)]
        answers = self._ask([_reset_call(self._sessions[i], None, {}) for i in ended])
        for i, answer in zip(ended, answers, strict=True):
            final = self._last[i]
            infos[i] = {
                **answer["info"],
                "final_obs": final["observation"],
                "final_info": final["info"],
            }
            self._last[i] = answer

    def _observations(self) -> Observations:
        return tuple(last["observation"] for last in self._last)

    def _ask(self, calls: list[Reply]) -> list[Reply]:
        return [answer for some in _messages(calls) for answer in self._server.batch(some)]


_CHUNK = 512
"""Calls in one message: below what servers allow."""
_BYTES = 2**19
"""Of what is said in one message, too."""


def _messages(calls: Sequence[Reply]) -> Iterator[list[Reply]]:
    """Calls in as few messages as servers take."""
    some: list[Reply] = []
    size = 0
    for call in calls:
        more = 128 + 4 * len(call.get("action", ""))
        if some and (len(some) == _CHUNK or size + more > _BYTES):
            yield some
            some, size = [], 0
        some.append(call)
        size += more
    if some:
        yield some


def _as_text(action: Any) -> str:
    """An action as servers take it; `Action` and dictionaries become JSON tool calls."""
    if isinstance(action, msgspec.Struct | Mapping):
        return json.dumps(msgspec.to_builtins(action), default=str)
    return str(action)


def _settings(config: ShopConfig | TurkConfig | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """What a server is told: where the config differs from the default, and the options."""
    if config is None:
        return dict(options)
    usual = type(config)()
    changed = {
        field.name: getattr(config, field.name)
        for field in fields(config)
        if getattr(config, field.name) != getattr(usual, field.name)
    }
    return {**changed, **options}


def _reset_call(session: str, seed: int | None, options: Mapping[str, Any]) -> Reply:
    plain = {name: _plain(value) for name, value in options.items()}
    return {"do": "reset", "session": session, "seed": _plain(seed), "options": plain}


def _plain(value: Any) -> Any:
    """Numbers as any language has them."""
    return value.item() if isinstance(value, np.generic) else value


def _unmoved(info: Info) -> Info:
    """What an environment tells after an action that came after the end."""
    return {**info, "valid_action": False, "page_changed": False}


def _has_ended(last: Reply) -> bool:
    return bool(last.get("terminated") or last.get("truncated"))


def _is_over(last: Reply, open_after_purchase: bool) -> bool:
    """Whether nothing can happen any more in an episode."""
    bought = last.get("terminated", False) and not open_after_purchase
    return bool(bought or last.get("truncated", False))


def _give_up(server: Connection, sessions: Sequence[str]) -> None:
    """Close sessions, if the server is still there."""
    with contextlib.suppress(ErrandsError):
        for start in range(0, len(sessions), _CHUNK):
            some = sessions[start : start + _CHUNK]
            server.batch([{"do": "close", "session": session} for session in some])
    server.close()
