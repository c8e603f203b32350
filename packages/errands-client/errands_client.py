"""Environments of an errands server, for any Python from 3.8 on: one file, nothing to install.

Copy it to where the agent runs; on a machine with Python 3.11 or newer: `errands serve
--environments`. Then:

    from errands_client import ErrandsEnv, ErrandsVectorEnv

    env = ErrandsEnv("http://10.0.0.5:8000", "shop", split="train", max_steps=15)
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("search[red lamp]")
    env.close()

    envs = ErrandsVectorEnv(64, "ws://10.0.0.5:8000", "turk")    # one message for a step of all

`http://` and `https://` ask over HTTP, `ws://` and `wss://` over a WebSocket, which is faster.
The classes are Gymnasium's environments where it is installed, else gym's, else plain classes
with the same methods; an environment belongs to one thread. What a server refuses, and what is
wrong with it, is an `ErrandsServerError`; a wrong argument is a `ValueError`.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.client
import json
import os
import random
import re
import selectors
import time
from typing import Any, Callable, Dict, Iterator, Mapping, Sequence
from urllib.parse import urlsplit

gym: Any = None
numpy: Any = None
with contextlib.suppress(ImportError):
    import numpy
try:
    import gymnasium as gym
except ImportError:
    with contextlib.suppress(ImportError):
        import gym  # type: ignore[no-redef, import-not-found, unused-ignore]

__all__ = ["ErrandsEnv", "ErrandsServerError", "ErrandsVectorEnv", "TextSpace"]
__version__ = "1.0.0"

Answer = Dict[str, Any]
_PATIENCE = 20  # How often a busy server is asked again.
_CALLS, _BYTES = 512, 1 << 19  # The most in one message; servers allow twice as much.
_GYMNASIUM = gym is not None and gym.__name__ == "gymnasium"
# From 0.26 on gym has Gymnasium's interface.
_OLD_GYM = bool(gym and not _GYMNASIUM and re.match(r"0\.(1?\d|2[0-5])\.", gym.__version__))
_Env: Any = gym.Env if gym else object
_Space: Any = gym.Space if gym else object
_VectorEnv: Any = gym.vector.VectorEnv if _GYMNASIUM else object
_ACTIONS = {
    "shop": ("search[{}]", "click[buy now]", "click[next >]", "click[back to search]"),
    "turk": ("modify_text('{}', '{}')", "submit()"),
}


class ErrandsServerError(Exception):
    """What a server refused, with its `code`; "lost" where the server itself is out of reach."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class TextSpace(_Space):  # type: ignore[misc]
    """Any text; samples are made of `patterns`, in which `{}` is a random word."""

    def __init__(self, *patterns: str) -> None:
        if gym:
            super().__init__(None, str)
        self._patterns = patterns or ("{}",)
        self._random = random.Random()

    def seed(self, seed: Any = None) -> Any:
        self._random.seed(seed)
        return [seed]

    def sample(self, *_: Any, **__: Any) -> str:
        words = ["".join(self._random.choices("aeilnorst", k=5)) for _ in range(2)]
        return self._random.choice(self._patterns).format(*words)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)


class ErrandsEnv(_Env):  # type: ignore[misc]
    """One session of a server: a shop, or form pages.

    `settings` are those of `errands/Shop-v0` and `errands/Turk-v0` but for the files, which are
    the server's. With `old_api` the methods are those of gym before 0.26: `reset` gives an
    observation, `step` four things (`info["TimeLimit.truncated"]` tells a truncated episode);
    None: if such a gym is what is installed.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012
    render_mode = "ansi"

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        environment: str = "shop",
        token: str | None = None,
        *,
        timeout: float = 60.0,
        old_api: bool | None = None,
        **settings: Any,
    ) -> None:
        self._old_api = _OLD_GYM if old_api is None else old_api
        self._sessions = _Sessions(1, environment, settings, _line(url, token, timeout))
        self.observation_space, self.action_space = TextSpace(), TextSpace(*_ACTIONS[environment])
        self._seed: int | None = None
        self._seen = ""

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> Any:
        """Begin an episode; `options` may name the `goal`, or the `task` and the `row`."""
        seed, self._seed = self._seed if seed is None else seed, None
        if _GYMNASIUM:
            super().reset(seed=seed)
        [answer] = self._sessions.ask([_reset_call(0, seed, options or {})])
        self._seen = answer["observation"]
        return self._seen if self._old_api else (self._seen, answer["info"])

    def step(self, action: str) -> Any:
        """Do something: `search[...]` and `click[...]`, or calls such as `submit()`."""
        [answer] = self._sessions.ask([_step_call(0, action)])
        self._seen, info = answer["observation"], answer["info"]
        terminated, truncated = answer["terminated"], answer["truncated"]
        if not self._old_api:
            return self._seen, answer["reward"], terminated, truncated, info
        if truncated:
            info["TimeLimit.truncated"] = not terminated
        return self._seen, answer["reward"], terminated or truncated, info

    if not _GYMNASIUM:  # Whose checker warns of it.

        def seed(self, seed: int | None = None) -> list[int | None]:
            """What the next `reset` is seeded with, as gym had it before 0.26."""
            self._seed = seed
            return [seed]

    def render(self, *_: Any, **__: Any) -> str:
        """The last observation."""
        return self._seen

    def close(self) -> None:
        self._sessions.close()


class ErrandsVectorEnv(_VectorEnv):  # type: ignore[misc]
    """Many sessions of a server, played with one message a step.

    Observations are a tuple of texts. Rewards, ends and each entry of `infos` have a place for
    each sub-environment (`infos["_name"]` says which have one): NumPy's arrays where it is
    installed, else lists. `reset(seed=s)` seeds sub-environment i with s + i; options are one
    for all, or a list. With `autoreset` a finished episode begins anew on the next step; without
    it stays as it is until `reset(options={"reset_mask": [...]})`.
    """

    closed = True  # Gymnasium would close it while it is collected; sessions expire.

    def __init__(
        self,
        num_envs: int,
        url: str = "http://127.0.0.1:8000",
        environment: str = "shop",
        token: str | None = None,
        *,
        timeout: float = 60.0,
        autoreset: bool = True,
        **settings: Any,
    ) -> None:
        self.num_envs = num_envs
        self._autoreset = autoreset
        self._sessions = _Sessions(num_envs, environment, settings, _line(url, token, timeout))
        self._last: list[Answer] = [{} for _ in range(num_envs)]
        self.single_observation_space = TextSpace()
        self.single_action_space = TextSpace(*_ACTIONS[environment])
        if gym:
            self.observation_space = gym.spaces.Tuple([self.single_observation_space] * num_envs)
            self.action_space = gym.spaces.Tuple([self.single_action_space] * num_envs)
        mode = getattr(getattr(gym, "vector", None), "AutoresetMode", None)
        if mode:
            self.metadata = {"autoreset_mode": mode.NEXT_STEP if autoreset else mode.DISABLED}

    def reset(
        self, *, seed: Any = None, options: Mapping[str, Any] | None = None
    ) -> tuple[tuple[str, ...], Answer]:
        """Begin an episode everywhere, or where `options["reset_mask"]` is true."""
        each = {name: self._one_each(name, value) for name, value in (options or {}).items()}
        seeds = self._one_each("seed", seed)
        if seed is not None and not hasattr(seed, "__len__"):
            seeds = [seed + i for i in range(self.num_envs)]
        mask = each.pop("reset_mask", [True] * self.num_envs)
        if not all(mask) and not self._sessions.begun:
            raise ValueError("reset_mask: at first, and after an error, all begin anew.")
        places = [i for i in range(self.num_envs) if mask[i]]
        chosen = [{name: values[i] for name, values in each.items()} for i in places]
        calls = [_reset_call(i, seeds[i], options) for i, options in zip(places, chosen)]
        for i, answer in zip(places, self._sessions.ask(calls)):
            self._last[i] = answer
        infos = [last["info"] if begins else {} for begins, last in zip(mask, self._last)]
        return self._observations(), _gathered(infos)

    def step(self, actions: Sequence[str]) -> tuple[tuple[str, ...], Any, Any, Any, Answer]:
        """One action each."""
        if len(actions) != self.num_envs:
            raise ValueError(f"{len(actions)} actions were given; expected {self.num_envs}.")
        over = [bool(last.get("terminated") or last.get("truncated")) for last in self._last]
        places = [i for i in range(self.num_envs) if self._autoreset or not over[i]]
        calls = [_reset_call(i, None, {}) if over[i] else _step_call(i, actions[i]) for i in places]
        rewards = [0.0] * self.num_envs
        for i, answer in zip(places, self._sessions.ask(calls)):
            self._last[i] = answer
            rewards[i] = answer.get("reward", 0.0)
        terminated = _column([last.get("terminated", False) for last in self._last], bool)
        truncated = _column([last.get("truncated", False) for last in self._last], bool)
        infos = _gathered([last["info"] for last in self._last])
        return self._observations(), _column(rewards, float), terminated, truncated, infos

    def close(self, **_: Any) -> None:
        self._sessions.close()

    def _observations(self) -> tuple[str, ...]:
        return tuple(last["observation"] for last in self._last)

    def _one_each(self, name: str, value: Any) -> list[Any]:
        if isinstance(value, str) or not hasattr(value, "__len__"):
            return [value] * self.num_envs
        if len(value) != self.num_envs:
            raise ValueError(f"{name} has {len(value)} values; expected {self.num_envs}.")
        return list(value)


def _column(values: list[Any], kind: type = object) -> Any:
    """A value for each sub-environment, as an array where there are arrays."""
    column = values if numpy is None else numpy.empty(len(values), kind)
    for i, value in enumerate(values):
        column[i] = value
    return column


def _gathered(infos: Sequence[Answer]) -> Answer:
    """One dictionary of columns, with masks, out of one for each sub-environment."""
    gathered: Answer = {}
    for name in dict.fromkeys(name for info in infos for name in info):
        gathered[name] = _column([info.get(name) for info in infos])
        gathered["_" + name] = _column([name in info for info in infos], bool)
    return gathered


def _reset_call(session: int, seed: int | None, options: Mapping[str, Any]) -> Answer:
    return {"do": "reset", "session": session, "seed": seed, "options": options}


def _step_call(session: int, action: str) -> Answer:
    return {"do": "step", "session": session, "action": str(action)}


class _Sessions:
    """Sessions of a server, which calls name by their number."""

    def __init__(self, count: int, environment: str, settings: Answer, line: _Http) -> None:
        if environment not in _ACTIONS:
            raise ValueError(f"environment={environment!r}: expected {' or '.join(_ACTIONS)}.")
        if count < 1:
            raise ValueError(f"num_envs={count}: expected 1 or more.")
        self.begun = False
        self._names: list[str] = []
        self._line = line
        try:
            while len(self._names) < count:
                some = min(count - len(self._names), _CALLS)
                call = {"environment": environment, "settings": settings, "count": some}
                [answer] = _patiently(lambda calls: [line.ask("create", calls[0])], [call])
                self._names += _checked(answer)["sessions"]
        except BaseException:
            self.close()
            raise

    def ask(self, calls: Sequence[Answer]) -> list[Answer]:
        """The answer to each call; the first refusal among them is raised."""
        if not self.begun and any(call["do"] == "step" for call in calls):
            raise ErrandsServerError("no_episode", "There is no episode: call reset() first.")
        named = [{**call, "session": self._names[call["session"]]} for call in calls]
        # Where an answer does not come, nobody knows what has happened: only a reset helps.
        before, self.begun = self.begun, False
        answers = [one for some in _messages(named) for one in _patiently(self._batch, some)]
        self.begun = before and len(calls) == 1
        answers = [_checked(answer) for answer in answers]
        self.begun = True
        return answers

    def close(self) -> None:
        names, self._names, self.begun = self._names, [], False
        with contextlib.suppress(ErrandsServerError):
            for some in _messages([{"do": "close", "session": name} for name in names]):
                self._batch(some)
        self._line.close()

    def _batch(self, calls: list[Answer]) -> list[Answer]:
        answer = self._line.ask("batch", {"calls": calls})
        return answer.get("results") or [answer] * len(calls)


def _messages(calls: Sequence[Answer]) -> Iterator[list[Answer]]:
    """Calls in as few messages as servers take."""
    some: list[Answer] = []
    size = 0
    for call in calls:
        more = 256 + 4 * len(call.get("action", ""))
        if some and (len(some) == _CALLS or size + more > _BYTES):
            yield some
            some, size = [], 0
        some.append(call)
        size += more
    if some:
        yield some


def _patiently(ask: Callable[[list[Answer]], list[Answer]], calls: list[Answer]) -> list[Answer]:
    """The answer to each call; those that find the server busy are made again."""
    answers = ask(calls)
    for _ in range(_PATIENCE):
        errors = [answer.get("error", {}) for answer in answers]
        busy = [i for i, error in enumerate(errors) if error.get("code") == "busy"]
        if not busy:
            break
        time.sleep(min(float(errors[busy[0]].get("retry_after") or 1), 5.0))
        for i, answer in zip(busy, ask([calls[i] for i in busy])):
            answers[i] = answer
    return answers


def _checked(answer: Answer) -> Answer:
    if "error" in answer:
        raise ErrandsServerError(answer["error"]["code"], answer["error"]["message"])
    return answer


def _line(url: str, token: str | None, timeout: float) -> _Http:
    """What carries calls to a server."""
    lines = {"http": _Http, "https": _Http, "ws": _WebSocket, "wss": _WebSocket}
    try:
        parts = urlsplit(url if re.fullmatch("[!-~]+", url) else "")
        host, port = parts.hostname or "", parts.port
        host.encode("idna")
        kind = lines[parts.scheme if host else ""]
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"url={url!r}: expected a server's address, as in 'http://127.0.0.1:8000'."
        ) from None
    if token is not None and not re.fullmatch("[!-~]+", token):
        raise ValueError("token: expected letters, digits and signs of ASCII, without spaces.")
    if not timeout > 0:
        raise ValueError(f"timeout={timeout!r}: expected seconds, more than 0.")
    safe = parts.scheme in ("https", "wss")
    connect = http.client.HTTPSConnection if safe else http.client.HTTPConnection
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return kind(url, connect(host, port, timeout=timeout), parts.path.rstrip("/"), headers)


class _Http:
    """Calls as requests over one connection, which is opened anew after the server ended it."""

    def __init__(self, url: str, connection: Any, path: str, headers: dict[str, str]) -> None:
        self._url, self._connection, self._path, self._headers = url, connection, path, headers

    def ask(self, do: str, call: Answer) -> Answer:
        """The answer to `create` or `batch`."""
        lost, remedy = "There is no server at", "start it: errands serve --environments"
        try:
            data = _encoded({"do": do, **call})
            if self._connection.sock is None or self._has_news():
                self.close()
                self._open()
            lost, remedy = "Lost the connection to", "begin anew with reset(), or a new environment"
            return _decoded(self._exchange(do, data), "sessions" if do == "create" else "results")
        except BaseException as failure:
            # What comes late would be taken for the answer to the next call.
            self.close()
            if not isinstance(failure, (OSError, http.client.HTTPException)):
                raise
            reason = " ".join(str(failure).split()) or type(failure).__name__
            raise ErrandsServerError("lost", f"{lost} {self._url} ({reason}); {remedy}.") from None

    def close(self) -> None:
        self._connection.close()

    def _has_news(self) -> bool:
        """Whether something came unasked: the end of the connection, or a WebSocket's ping."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._connection.sock, selectors.EVENT_READ)
            return bool(selector.select(0))

    def _open(self) -> None:
        self._connection.connect()

    def _exchange(self, do: str, data: bytes) -> bytes:
        path = "/v1/sessions" if do == "create" else "/v1/batch"
        self._connection.request("POST", self._path + path, data, self._headers)
        answer: bytes = self._connection.getresponse().read()
        return answer


class _WebSocket(_Http):
    """Calls as messages of a WebSocket (RFC 6455), as far as asking and answering needs it."""

    def _open(self) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        headers = {**self._headers, **upgrade, "Sec-WebSocket-Key": key}
        self._connection.request("GET", self._path + "/v1/socket", headers=headers)
        answer = self._connection.getresponse()
        if answer.status != 101:
            _checked(_decoded(answer.read(), "error"))
        proof = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        if answer.headers["Sec-WebSocket-Accept"] != base64.b64encode(proof).decode():
            raise OSError("what answers is no WebSocket")
        self._file = answer.fp  # It may hold the beginning of what follows.

    def _exchange(self, do: str, data: bytes) -> bytes:
        self._send(0x1, data)
        message = b""
        while True:
            first, size = self._read(2)
            if size >= 126:
                size = int.from_bytes(self._read(2 if size == 126 else 8), "big")
            part, kind = self._read(size), first & 0x0F
            if kind == 0x8:
                raise OSError("the server has closed it")
            if kind == 0x9:
                self._send(0xA, part)
            elif kind < 0x8:
                message += part
                if first & 0x80:
                    return message

    def _send(self, kind: int, data: bytes) -> None:
        size, mask = len(data), os.urandom(4)
        short, width = (size, 0) if size < 126 else (126, 2) if size < 1 << 16 else (127, 8)
        head = bytes((0x80 | kind, 0x80 | short)) + size.to_bytes(8, "big")[8 - width :] + mask
        key = int.from_bytes((mask * (size // 4 + 1))[:size], "big")
        masked = (int.from_bytes(data, "big") ^ key).to_bytes(size, "big")
        self._connection.sock.sendall(head + masked)

    def _read(self, size: int) -> bytes:
        data: bytes = self._file.read(size)
        if len(data) < size:
            raise OSError("it ended")
        return data


def _encoded(message: Answer) -> bytes:
    """JSON; NumPy's numbers are numbers, and halves of surrogate pairs are replaced."""
    plain = json.dumps(
        message, ensure_ascii=False, default=lambda x: getattr(x, "item", x.__str__)()
    )
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _decoded(data: bytes, key: str) -> Answer:
    """An answer with what is expected in it, or with an error."""
    try:
        answer: Answer = json.loads(data)
        if key not in answer or key == "error":
            _ = answer["error"]["code"], answer["error"]["message"]
    except (KeyError, TypeError, ValueError):
        raise OSError("what answers is no errands server") from None
    return answer
