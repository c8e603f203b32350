"""Which agents there are, and how one is made from its name and settings.

A name is one of the table below, that of an entry point (group `errands.agents`) of an installed
package, or `module:attribute` of the user's own code: a function or class that takes
(domain, env, settings) and gives an `AgentFactory`, or an `Agent` class without arguments.
"""

import importlib
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import gymnasium
import msgspec

from errands.agents.agent import AgentFactory, Mode
from errands.agents.factory import SimpleFactory
from errands.errors import SettingError
from errands.extras import install_command
from errands.plugins import Registry, nearest, path_of, reference_of

__all__ = [
    "AgentKind",
    "FactoryFunction",
    "Setting",
    "agent_reference",
    "find_agent",
    "find_kind",
    "kinds",
    "make_factory",
]

FactoryFunction = Callable[[str, gymnasium.Env[Any, Any], Mapping[str, Any]], AgentFactory]
"""`(domain, env, settings) -> AgentFactory`. The environment is not wrapped and not reset yet."""


class Setting(NamedTuple):
    """What can be set, as `--set name=value`."""

    type: type
    default: Any
    help: str


class AgentKind(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the table of agents."""

    name: str
    summary: str
    domains: tuple[str, ...]
    """Which it plays: `shop`, `turk` or both."""
    factory: str
    """`module:function` of its factory; imported when it is needed."""
    mode: Mode = "compute"
    privileged: bool = False
    """Whether it is shown the answers."""
    observations: Mapping[str, tuple[str, ...]] = {}
    """What it reads, by domain, the preferred one first; nothing: anything."""
    settings: Mapping[str, Setting] = {}
    own_settings: bool = False
    """Whether its factory knows more settings than the table, and checks them itself."""
    extra: str = ""
    """What `pip install 'errands[...]'` must have brought."""


_CHECKSUM: Final = Setting(str, "", "the sha256 that the file must have; empty: any")

_LEARNED: Final = {
    "checkpoint": Setting(str, "", "the directory that `errands train` wrote"),
    "choose": Setting(str, "best", "the best action, or one by its probability: best, sample"),
    "search": Setting(
        str,
        "",
        "a search model: what `errands train search` wrote, or one of Hugging Face's; empty: the"
        " instruction's own words",
    ),
    "queries": Setting(
        str, "top", "the best query, then the next best, or any of the best five: top, sample"
    ),
    "cycle_breaker": Setting(
        str,
        "on",
        "off: the best action however often it was taken on a page that looks the same, as in the"
        " paper; on: the next best after twice",
    ),
}

_KINDS: Final = (
    AgentKind(
        name="random",
        summary="the floor: clicks on anything; fills every field with some valid value",
        domains=("shop", "turk"),
        factory="errands.agents.random_agent:make",
    ),
    AgentKind(
        name="rule",
        summary="the paper's baseline: search the instruction, take the first result, buy",
        domains=("shop",),
        factory="errands.agents.rule:make",
    ),
    AgentKind(
        name="careful",
        summary="the first result that the money allows, with the options that are mentioned",
        domains=("shop",),
        factory="errands.agents.careful:make",
        observations={"shop": ("text",)},
    ),
    AgentKind(
        name="shopper",
        summary="shops like a person: reads, goes back, looks at others, sometimes errs",
        domains=("shop",),
        factory="errands.agents.shopper:make",
        observations={"shop": ("text_rich",)},
        settings={"errors": Setting(float, 0.05, "how often it errs: 0 to 1")},
    ),
    *(
        AgentKind(
            name=name,
            summary=summary,
            domains=("shop",),
            factory=f"errands.learn.policy:make_{name}",
            observations={"shop": ("text_rich",)},
            settings=_LEARNED,
            extra="train",
        )
        for name, summary in (
            ("il", "a choice model trained by imitation (errands train choice, dagger)"),
            ("rl", "a choice model trained by reinforcement (errands train rl, ppo)"),
            ("rnn", "a choice model with a recurrent encoder"),
        )
    ),
    AgentKind(
        name="do-nothing",
        summary="submits every page as it is",
        domains=("turk",),
        factory="errands.agents.do_nothing:make",
    ),
    AgentKind(
        name="oracle",
        summary="the ceiling of TurkingBench: answers as people did",
        domains=("turk",),
        factory="errands.agents.oracles.oracle:make",
        privileged=True,
    ),
    AgentKind(
        name="pointer-oracle",
        summary="the oracle with pointer and keys, for answers that no field takes (browser)",
        domains=("turk",),
        factory="errands.agents.oracles.oracle:make_pointer",
        privileged=True,
    ),
    AgentKind(
        name="choice-oracle",
        summary="buys the best of all results and options of its query, by the hidden reward",
        domains=("shop",),
        factory="errands.agents.oracles.choice_oracle:make",
        privileged=True,
        settings={
            "query": Setting(
                str,
                "instruction",
                "what is searched for: instruction, human-first, human-last or predicted",
            ),
            "queries": Setting(str, "", "a JSON file of instruction -> list of queries"),
            "missing": Setting(
                str, "instruction", "where the file has no query: instruction, or skip (an error)"
            ),
            "checksum": _CHECKSUM,
        },
    ),
    AgentKind(
        name="teacher",
        summary="buys the best of what is shown, by the hidden reward, and says why in words of the"
        " pages: what language models learn from (training goals only)",
        domains=("shop",),
        factory="errands.learn.explaining_teacher:make",
        privileged=True,
        observations={"shop": ("text_rich",)},
        settings={"top": Setting(int, 3, "products of the results that it considers: 1 to 10")},
    ),
    AgentKind(
        name="human",
        summary="a person at the terminal",
        domains=("shop", "turk"),
        factory="errands.agents.human:make",
        mode="person",
    ),
    AgentKind(
        name="replay",
        summary="does what a file says",
        domains=("shop", "turk"),
        factory="errands.agents.replay:make",
        settings={
            "actions": Setting(
                str, "", "a file: actions by episode as lines of JSON, or one action a line"
            ),
            "checksum": _CHECKSUM,
        },
    ),
    AgentKind(
        name="llm",
        summary="a chat model behind an OpenAI-compatible endpoint",
        domains=("shop", "turk"),
        factory="errands.agents.llm.factory:make",
        mode="model",
        own_settings=True,
        extra="llm",
    ),
)


_AGENTS: Final = Registry("agent", "errands.agents", {kind.name: kind.factory for kind in _KINDS})


def kinds() -> tuple[AgentKind, ...]:
    """All agents that have a name: ours, and those of installed packages."""
    installed = (
        AgentKind(
            name=name,
            summary=f"{path}, of an installed package",
            domains=("shop", "turk"),
            factory=path,
            own_settings=True,
        )
        for name, path in _AGENTS.installed().items()
    )
    return (*_KINDS, *installed)


def find_kind(name: str) -> AgentKind:
    """The agent of that name."""
    for kind in kinds():
        if kind.name == name:
            return kind
    raise _AGENTS.unknown(name)


def find_agent(name: str) -> Any:
    """What an agent's name leads to: an entry of our table, or somebody's class or function."""
    kind = None if ":" in name else find_kind(name)
    return _AGENTS.find(name) if kind is None or kind not in _KINDS else kind


def make_factory(
    agent: Any, domain: str, env: gymnasium.Env[Any, Any], settings: Mapping[str, Any]
) -> AgentFactory:
    """The factory of an agent for one domain; values may be texts from the command line.

    `agent` is a name, `module:attribute`, or the object itself: an `AgentFactory`, an agent class,
    an agent, or a function (domain, env, settings) that gives a factory.
    """
    if not isinstance(agent, str):
        name = str(getattr(agent, "name", None) or path_of(agent))
        return _foreign_factory(name, agent, domain, env.unwrapped, settings)
    kind = find_agent(agent)
    if not isinstance(kind, AgentKind):
        return _foreign_factory(agent, kind, domain, env.unwrapped, settings)
    if domain not in kind.domains:
        others = [other.name for other in _KINDS if domain in other.domains]
        raise SettingError(
            f"The agent {agent!r} plays {' and '.join(kind.domains)} only, not {domain!r}; agents"
            f" of that domain: {', '.join(others) or 'none'}."
        )
    return _factory(kind)(domain, env.unwrapped, _checked(kind, settings))


def agent_reference(agent: Any) -> str:
    """The text by which other processes find an agent; empty for one that they cannot."""
    return agent if isinstance(agent, str) else reference_of(agent)


def _factory(kind: AgentKind) -> FactoryFunction:
    module, _, attribute = kind.factory.partition(":")
    try:
        made: FactoryFunction = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as failure:
        if not kind.extra:
            raise
        raise SettingError(
            f"The agent {kind.name!r} needs the module {failure.name}, which is not installed:"
            f" run {install_command(kind.extra)}."
        ) from None
    return made


def _checked(kind: AgentKind, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting of an agent by its declared type, those not given by their default."""
    unknown = [name for name in settings if name not in kind.settings]
    if unknown and not kind.own_settings:
        known = list(kind.settings)
        expected = f"expected {', '.join(known)}" if known else "it has none"
        raise SettingError(
            f"The agent {kind.name!r} has no setting {unknown[0]!r};"
            f"{nearest(unknown[0], known)} {expected}."
        )
    checked = {
        name: _converted(name, settings[name], setting.type)
        if name in settings
        else setting.default
        for name, setting in kind.settings.items()
    }
    return {**checked, **{name: settings[name] for name in unknown}}


_WORDS: Final[Mapping[type, str]] = {
    str: "a text", int: "a whole number", float: "a number",
}  # fmt: skip


def _converted(name: str, value: Any, wanted: type) -> Any:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if type(value) is wanted:
        return value
    if wanted is float and type(value) is int:
        return float(value)
    if isinstance(value, str):
        try:
            return wanted(value)
        except ValueError:
            pass
    raise SettingError(f"{name}={value}: expected {_WORDS.get(wanted, wanted.__name__)}.")


def _foreign_factory(
    name: str, given: Any, domain: str, env: gymnasium.Env[Any, Any], settings: Mapping[str, Any]
) -> AgentFactory:
    """A factory out of the user's own code."""
    if not isinstance(given, type) and all(hasattr(given, part) for part in _FACTORY_PARTS):
        ready: AgentFactory = given
        return ready
    missing = [part for part in _AGENT_PARTS if not callable(getattr(given, part, None))]
    if len(missing) == 1:
        raise _no_agent(name, missing)
    if not missing:
        if settings:
            raise SettingError(
                f"{name} is an agent without settings, but {next(iter(settings))!r} was set; a"
                " function (domain, env, settings) that gives a factory can have settings."
            )
        return _of_class(name, given) if isinstance(given, type) else _of_instance(name, given)
    if not callable(given):
        raise _no_agent(name, missing)
    try:
        inspect.signature(given).bind(domain, env, settings)
    except (TypeError, ValueError):
        raise _no_agent(name, missing) from None
    factory: AgentFactory = given(domain, env, dict(settings))
    lacking = [part for part in _FACTORY_PARTS if not hasattr(factory, part)]
    if lacking:
        if isinstance(given, type):
            raise _no_agent(name, missing)
        raise SettingError(
            f"{name} gave a {type(factory).__name__} without {lacking[0]!r}; expected a factory"
            f" with {', '.join(_FACTORY_PARTS)}."
        )
    return factory


def _no_agent(name: str, missing: Sequence[str]) -> SettingError:
    methods = " and no ".join(repr(method) for method in missing)
    return SettingError(
        f"{name} has no method {methods}; an agent is a class with begin(observation, info), which"
        " is shown the first page, and act(observation, info), which returns the next action."
    )


_AGENT_PARTS: Final = ("begin", "act")
_FACTORY_PARTS: Final = ("name", "mode", "settings", "agent", "close")


def _of_class(name: str, agent: type) -> AgentFactory:
    """A factory for an agent class; one that has a parameter `seed` is given the episode's."""
    try:
        parameters = inspect.signature(agent).parameters.values()
    except (TypeError, ValueError):
        parameters = {}.values()
    needed = [
        part.name
        for part in parameters
        if part.default is part.empty
        and part.kind not in (part.VAR_POSITIONAL, part.VAR_KEYWORD)
        and part.name != "seed"
    ]
    if needed:
        raise SettingError(
            f"{name} is an agent class that needs {needed[0]!r}; expected one without arguments"
            " (or `seed` alone), or a function (domain, env, settings) that gives a factory."
        )
    seeded = any(part.name == "seed" for part in parameters)
    waits = inspect.iscoroutinefunction(agent.act)  # type: ignore[attr-defined]
    return SimpleFactory(
        name,
        (lambda seed: agent(seed=seed)) if seeded else (lambda seed: agent()),
        mode="model" if waits else "compute",
    )


def _of_instance(name: str, agent: Any) -> AgentFactory:
    """A factory for one agent that plays all episodes, one after the other."""
    if inspect.iscoroutinefunction(agent.act):
        raise SettingError(
            f"{name} waits for a model, so that many of it play at once; give its class, or a"
            " factory, instead of one agent."
        )
    return SimpleFactory(name, lambda seed: agent)
