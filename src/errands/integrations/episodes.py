"""The episodes of a protocol, to be played through tools: what every adapter is made of.

    episodes = open_episodes("shop-demo")
    tools, text = episodes.begin(0)                 # the first page, for the model
    call_tool(tools, "search", {"query": "red shoes"})
    episodes.at(tools.state).done                   # the same episode, in another process
    episodes.result(tools)                          # reward, success, parts, protocol key

The key is that of `errands run` for the same protocol, so a score says what it can be compared
with, whichever framework it comes from.
"""

import asyncio
import functools
import hashlib
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, ParamSpec, SupportsIndex, TypeVar

from errands.agents.llm.prompts import Prompt
from errands.agents.llm.settings import ShopSettings, read_chat
from errands.agents.llm.shop.tools import (
    ShopTools,
    ThinkingShopTools,
    opening_messages,
    prompt_of,
)
from errands.agents.llm.tools import EpisodeTools, ToolError, ToolSpec, call_tool
from errands.agents.llm.transport.messages import Message
from errands.agents.llm.turk.tools import TurkPointerTools, TurkTools, form_messages
from errands.envs.groups import TRAINING_SPLITS
from errands.envs.shop import ShopEnv
from errands.envs.turk_config import TurkConfig
from errands.errors import SettingError
from errands.runs.episode_source import ShopSource, TurkSource, open_source
from errands.runs.protocol import find_protocol
from errands.runs.runner import changed_protocol, protocol_key

__all__ = ["ToolEpisodes", "open_episodes", "open_splits"]

P = ParamSpec("P")
T = TypeVar("T")
_NUMBERS: Final = ("episodes", "max_steps", "per_task")
_STATE: Final = {"shop": ("goal",), "turk": ("task", "row")}


class ToolEpisodes:
    """A numbered list of episodes under one protocol; made by `open_episodes`, shared by all who
    play in the process, and cheap to pickle."""

    def __init__(
        self,
        name: str,
        training: bool,
        changes: Mapping[str, Any],
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        base = find_protocol(name)
        self._arguments = (name, training, tuple(changes.items()), tuple((settings or {}).items()))
        self.protocol = changed_protocol(base, **changes)
        self.domain: str = self.protocol.domain
        self._settings = _conversation(self.domain, settings or {})
        if training:
            self.check_training()
        self.source = open_source(self.protocol)
        self.key: str = protocol_key(base, self.protocol, self.source)
        """What a result can be compared with: that of `errands run`."""
        self.pointer = self.protocol.split == "test_challenge"
        """Whether pages are worked with mouse and keyboard."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, self._arguments

    def __len__(self) -> int:
        return len(self.source.keys)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self.row, range(len(self)))

    @property
    def options(self) -> dict[str, Any]:
        """What `open_episodes` opens these again with, as JSON."""
        name, training, changes, settings = self._arguments
        shown = {"settings": dict(settings)} if settings else {}
        return {"protocol": name, "training": training, **dict(changes), **shown}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools that a model is offered."""
        return self._kind.specs

    @property
    def purpose(self) -> Literal["train", "validation", "test"]:
        """What the split is for, in the words of hubs."""
        kind = self.protocol.split.removeprefix("disjoint-")
        return "train" if kind == "train" else "validation" if kind == "eval" else "test"

    def name(self, number: int) -> str:
        """What an episode plays, as `errands report` calls it."""
        return self.source.keys[self._checked(number)]

    def row(self, number: int) -> dict[str, Any]:
        """What an episode plays, as JSON: the arguments of `reset`, and a state without calls."""
        return dict(self.source.options(self._checked(number)))

    def cluster(self, number: int) -> str:
        """What episodes that depend on each other share: a task, or a product under a name that
        tells nothing of it."""
        row = self.row(number)
        if isinstance(self.source, TurkSource):
            return str(row["task"])
        assert isinstance(self.source, ShopSource)
        product = self.source.goals[row["goal"]].asin
        return hashlib.blake2b(f"{self.key} {product}".encode(), digest_size=6).hexdigest()

    def messages(self) -> list[Message]:
        """What every conversation begins with: the rules, and a message of the user's to which the
        first page is added."""
        return [{**message} for message in self._opening]

    def conversation(self, number: int) -> tuple[EpisodeTools, list[Message]]:
        """An episode, and the messages that a model is shown of it first."""
        tools, text = self.begin(number)
        messages = self.messages()
        messages[-1] = {**messages[-1], "content": messages[-1]["content"] + text}
        return tools, messages

    def begin(self, number: int) -> tuple[EpisodeTools, str]:
        """An episode at its beginning, and the page that it begins with."""
        tools = self.tools()
        text: str = getattr(tools, "reset")(**self.row(number))  # noqa: B009
        return tools, text

    def tools(self) -> EpisodeTools:
        """Tools that no episode was begun with yet."""
        if self.domain == "shop":
            return self._shop_kind(self._shop, top=self._settings.top, prompt=self._prompt)
        kind = TurkPointerTools if self.pointer else TurkTools
        assert isinstance(self.source, TurkSource)
        return kind(self._forms, pages=self.source.pages)

    def at(self, state: Mapping[str, Any]) -> EpisodeTools:
        """The episode that a state tells of, its calls done again."""
        names = _STATE[self.domain]
        if not isinstance(state, Mapping):
            raise ToolError(
                f"A state is an object with {', '.join(names)} and calls, no"
                f" {type(state).__name__}; expected what `state` gave."
            )
        missing = next((name for name in names if name not in state), None)
        if missing is not None:
            raise ToolError(
                f"A state of the {self.domain} domain has {' and '.join(names)}; this one lacks"
                f" {missing}."
            )
        where = {name: state[name] for name in names}
        calls = state.get("calls", ())
        if self.domain == "shop":
            return self._shop_kind.at(
                **where,
                calls=calls,
                shop=self._shop,
                top=self._settings.top,
                prompt=self._prompt,
            )
        assert isinstance(self.source, TurkSource)
        kind = TurkPointerTools if self.pointer else TurkTools
        return kind.at(**where, calls=calls, forms=self._forms, pages=self.source.pages)

    def release(self, tools: EpisodeTools) -> None:
        """Give back what an episode holds (a form's page, which may be a browser's): for those who
        leave one before it is over. Its reward stays."""
        tools._release()

    async def aside(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What a function gives that touches an episode: at once in the shop, whose steps take
        microseconds; from a thread where a page may keep an event loop waiting."""
        if self.source.waits:
            return await asyncio.to_thread(function, *args, **kwargs)
        return function(*args, **kwargs)

    def result(self, tools: EpisodeTools) -> dict[str, Any]:
        """How an episode went, as JSON, for a framework's log."""
        return {
            "protocol": self.key,
            "reward": tools.reward,
            "success": tools.success,
            "done": tools.done,
            "steps": tools.steps,
            "reward_parts": tools.reward_parts,
        }

    def check_training(self) -> None:
        """Refuse to train on what is tested."""
        allowed = TRAINING_SPLITS[self.domain]
        split = self.protocol.split
        if split not in allowed:
            what = f"the split {split!r}" if split else "everything"
            raise SettingError(
                f"The protocol {self.protocol.id!r} plays {what}, which is for testing;"
                f" for training take split={' or '.join(map(repr, allowed))}"
                f"{', or the protocol shop-learn-train' if self.domain == 'shop' else ''}."
            )

    @property
    def _kind(self) -> type[EpisodeTools]:
        if self.domain == "shop":
            return self._shop_kind
        return TurkPointerTools if self.pointer else TurkTools

    @property
    def _shop_kind(self) -> type[ShopTools]:
        return ThinkingShopTools if self._settings.style == "react" else ShopTools

    @functools.cached_property
    def _prompt(self) -> Prompt:
        return prompt_of(self._settings)

    @functools.cached_property
    def _opening(self) -> list[Message]:
        # Read once: an episode takes less time than its prompt's file.
        if self.domain == "shop":
            return opening_messages(settings=self._settings)
        return form_messages(pointer=self.pointer)

    @functools.cached_property
    def _shop(self) -> Any:
        env = self.source.env()
        assert isinstance(env, ShopEnv)
        return env.context

    @functools.cached_property
    def _forms(self) -> TurkConfig:
        protocol = self.protocol
        assert isinstance(self.source, TurkSource)
        settings = {name: value for name, value in protocol.settings.items() if name != "driver"}
        return TurkConfig(
            tasks=self.source.tasks,
            rules=protocol.rules,
            max_steps=protocol.max_steps,
            **settings,
        )

    def _checked(self, number: int) -> int:
        if not (isinstance(number, SupportsIndex) and 0 <= operator.index(number) < len(self)):
            raise SettingError(
                f"There is no episode {number!r} of {self.protocol.id!r}; expected 0 to"
                f" {len(self) - 1}."
            )
        return operator.index(number)


def open_episodes(
    protocol: str = "shop-demo",
    *,
    data: str | None = None,
    split: str | None = None,
    episodes: int | None = None,
    max_steps: int | None = None,
    per_task: int | None = None,
    driver: str | None = None,
    training: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> ToolEpisodes:
    """A protocol's episodes as tools; opened once in a process, however often it is asked for.

    `protocol` is a name or `FILE.toml#name`; the other options change it, as they do for
    `errands run`, and the key says so. With `training`, splits that are for testing are refused.
    `settings` are those of the agent `llm` that the shop's conversations are to look like: `style`,
    `shots`, `top`, `prompt`.
    """
    changes = {
        "data": data,
        "split": split,
        "episodes": episodes,
        "max_steps": max_steps,
        "per_task": per_task,
        "driver": driver,
    }
    given = tuple((name, value) for name, value in changes.items() if value is not None)
    for name, value in (("protocol", protocol), *given):
        # True is a whole number to Python, and would be remembered as 1.
        if type(value) is not (int if name in _NUMBERS else str):
            expected = "a whole number" if name in _NUMBERS else "a text"
            raise SettingError(f"{name}={repr(value)[:80]}: expected {expected}.")
    return _opened(protocol, training, given, _hashable(settings or {}))


def open_splits(protocols: Sequence[str], **changes: Any) -> dict[str, ToolEpisodes]:
    """Protocols to be served together, by name, warm; they must have the same tools."""
    splits = {name: open_episodes(name, **changes) for name in protocols}
    first = next(iter(splits.values()))
    for name, episodes in splits.items():
        if episodes.specs != first.specs:
            raise SettingError(
                f"{first.protocol.id!r} and {name!r} do not have the same tools; serve them apart."
            )
    if first.domain == "shop":  # The first search of a process is slow.
        call_tool(first.begin(0)[0], "search", {"query": "warm up"})
    return splits


@functools.lru_cache(maxsize=16)
def _opened(
    name: str,
    training: bool,
    changes: tuple[tuple[str, Any], ...],
    settings: tuple[tuple[str, Any], ...] = (),
) -> ToolEpisodes:
    return ToolEpisodes(name, training, dict(changes), dict(settings))


def _hashable(settings: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    for name, value in settings.items():
        if not isinstance(value, str | int):
            raise SettingError(f"{name}={repr(value)[:80]}: expected a text or a whole number.")
    return tuple(settings.items())


def _conversation(domain: str, settings: Mapping[str, Any]) -> ShopSettings:
    """How conversations are laid out; those of form pages have no settings."""
    if settings and domain != "shop":
        raise SettingError(
            f"The setting {next(iter(settings))!r} is for the shop: conversations about form pages"
            " have none."
        )
    given = dict(settings)
    style = given.pop("style", "act")
    if style not in ("act", "react"):
        raise SettingError(f"style={style!r}: expected act or react.")
    read = read_chat(given, style)
    if read.calls != "tools" or read.window:
        raise SettingError(
            "Episodes are conversations with tools and all of the history: leave calls and window"
            " out."
        )
    return read
