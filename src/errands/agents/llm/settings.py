"""What a user can set of the language-model agents, each with what it expects, checked one by one.

A setting is a field of one of the records below; its description is what an error sentence says
was expected, so that the check and its explanation cannot drift apart. Defaults are those of the
records, unless the model's preset or the style has others (`errands.agents.llm.presets`).
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeVar, get_type_hints

import msgspec
from msgspec import Meta

from errands.agents.llm.presets import PUBLISHED_STYLES, preset_of, taken
from errands.agents.model_call import MAX_EMPTY
from errands.errors import SettingError
from errands.plugins import nearest

__all__ = [
    "ClientSettings",
    "ShopSettings",
    "TurkSettings",
    "defaults",
    "described",
    "read",
    "read_chat",
    "recorded",
]

Calls = Annotated[Literal["text", "tools"], Meta(description="'text' or 'tools'")]
Count = Annotated[int, Meta(ge=0, description="a whole number, 0 or more")]
AtLeastOne = Annotated[int, Meta(ge=1, description="a whole number, 1 or more")]
Seconds = Annotated[float, Meta(gt=0, description="a number of seconds above 0")]
Money = Annotated[float, Meta(ge=0, description="a number of US dollars, 0 or more")]
Flag = Annotated[bool, Meta(description="true or false")]
Text = Annotated[str, Meta(min_length=1, description="a text")]
File = Annotated[str, Meta(min_length=1, description="a file's path")]


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The model, how it is asked, and what may be spent."""

    model: Annotated[str, Meta(min_length=1, description="a model's name, as its endpoint has it")]
    base_url: Annotated[str, Meta(description="an address such as http://127.0.0.1:8000/v1")] = ""
    """Empty: that of OPENAI_BASE_URL, else OpenAI's own."""
    key_env: Text = "OPENAI_API_KEY"
    """The environment variable that holds the key."""
    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=2)] | None, Meta(description="0 to 2, or null: not sent")
    ] = 0.0
    top_p: Annotated[
        Annotated[float, Meta(gt=0, le=1)] | None,
        Meta(description="a share above 0 and up to 1, or null: not sent"),
    ] = None
    max_tokens: Annotated[
        AtLeastOne | None, Meta(description="a whole number, 1 or more, or null: not sent")
    ] = 512
    limit_name: Annotated[
        Literal["max_tokens", "max_completion_tokens"],
        Meta(description="'max_tokens' or 'max_completion_tokens'"),
    ] = "max_tokens"
    """What the endpoint calls the longest answer."""
    stop: Annotated[Literal["send", "none"], Meta(description="'send' or 'none'")] = "send"
    """Whether requests say where an answer ends; answers are read alike without it."""
    send_seed: Flag = False
    """Whether the episode's seed goes with each request."""
    stream: Flag = False
    extra: Annotated[dict[str, Any], Meta(description="an object of more request fields")] = {}
    timeout: Seconds = 120.0
    """For one try, from its first byte to its last."""
    tries: AtLeastOne = 6
    wait: Seconds = 1.0
    """Before the second try; doubled before each further one."""
    longest_wait: Seconds = 300.0
    """The longest wait that an endpoint may ask for."""
    rpm: Annotated[
        AtLeastOne | None, Meta(description="requests a minute, 1 or more, or null: no limit")
    ] = None
    tpm: Annotated[
        AtLeastOne | None, Meta(description="tokens a minute, 1 or more, or null: no limit")
    ] = None
    price_in: Annotated[Money | None, Meta(description="US dollars a million tokens")] = None
    price_out: Annotated[Money | None, Meta(description="US dollars a million tokens")] = None
    max_cost: Annotated[Money | None, Meta(description="US dollars, or null: no cap")] = None
    cache: Annotated[File | None, Meta(description="a file's path, or null: no cache")] = None
    max_empty: Annotated[float, Meta(ge=0, le=1, description="a share, 0 to 1")] = MAX_EMPTY
    """A run in which a greater share of answers came to nothing has failed, and has no score."""


class ShopSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a model shops."""

    style: Annotated[
        Literal["act", "react", "act-2022", "react-2022"],
        Meta(description="'act', 'react', 'act-2022' or 'react-2022'"),
    ] = "react"
    """Ours, or the published layout of ReAct's WebShop runs."""
    calls: Calls = "text"
    shots: Annotated[Literal[0, 1], Meta(description="0 or 1")] = 1
    top: Count = 0
    """So many products are shown on a results page, and no Next or Prev; 0: all, with both."""
    window: Count = 6400
    """Characters of the whole prompt; 0: no limit."""
    thoughts: Count = 5
    """How many thoughts in a row are answered before one counts as a step."""
    repairs: Count = 1
    prompt: Annotated[File | None, Meta(description="a prompt file's path, or null")] = None


class TurkSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a model fills in forms."""

    ask: Annotated[Literal["field", "whole"], Meta(description="'field' or 'whole'")] = "field"
    condition: Annotated[
        Text | None, Meta(description="a condition's name (`errands turk conditions`), or null")
    ] = None
    """The published row whose settings these are."""
    encoding: Annotated[
        Literal["auto", "relevant", "full", "original-relevant", "original-full"],
        Meta(description="'auto', 'relevant', 'full', 'original-relevant' or 'original-full'"),
    ] = "auto"
    """How much of a page's HTML is shown; `auto`: what the environment shows."""
    field_info: Annotated[Literal["all", "name"], Meta(description="'all' or 'name'")] = "all"
    """What is told of a field beside the HTML: its type and options, too, or its name alone."""
    vision: Flag = False
    """Whether a picture of the page, scrolled to the field, goes with each question."""
    calls: Calls = "text"
    demos: Annotated[int, Meta(ge=0, le=9, description="a whole number, 0 to 9")] = 0
    demo_list: Annotated[
        Literal["drawn", "fixed", "demo-1", "turkingbench-1"],
        Meta(description="'drawn', 'fixed', 'demo-1' or 'turkingbench-1'"),
    ] = "drawn"
    """`drawn` by `demo_seed`, or a fixed list; `fixed`: the list of the tasks that are played."""
    demo_seed: Count = 0
    budget: Annotated[int, Meta(ge=500, description="tokens of the prompt, 500 or more")] = 16_000
    shrink: Annotated[float, Meta(ge=1, le=16, description="a number, 1 to 16")] = 2.11
    """By how much a screenshot is made smaller in both directions."""
    repairs: Count = 1
    prompt: Annotated[File | None, Meta(description="a prompt file's path, or null")] = None


_OPERATION = frozenset(
    {"key_env", "timeout", "tries", "wait", "longest_wait", "rpm", "tpm", "max_cost", "cache"}
)
"""Settings that change nothing of what agents do: a resumed run may have others."""

_CHAT: Final = ("calls", "shots", "top", "window", "prompt")
"""Settings that change what a model is shown of a shop."""

_Play = TypeVar("_Play", ShopSettings, TurkSettings)


def described(record: type[msgspec.Struct]) -> dict[str, str]:
    """The settings of a record, each with what it expects."""
    hints = get_type_hints(record, include_extras=True)
    return {name: _description(hints[name]) for name in record.__struct_fields__}


def _description(hint: Any) -> str:
    found = [part.description for part in getattr(hint, "__metadata__", ()) if part.description]
    return str(found[-1])


def read(given: Mapping[str, Any], play: type[_Play]) -> tuple[ClientSettings, _Play]:
    """Settings as given, checked; what is wrong is one sentence with the nearest name."""
    known = {**described(ClientSettings), **described(play)}
    given = _limit_named({name: value for name, value in given.items() if value != "auto"})
    for name in given:
        if name == "view" and "encoding" in known:
            raise SettingError("The setting view of the agent llm is called encoding now.")
        if name not in known:
            hint = nearest(name, known, 1) or f" the settings are {', '.join(known)}."
            raise SettingError(f"The agent llm has no setting {name!r}:{hint}")
    if "model" not in given:
        raise SettingError("The agent llm needs a model: give its name, as in --model NAME.")
    if play is ShopSettings:
        _check_style(given)
    whole = {**defaults(given), **given}
    return _record(whole, ClientSettings), _record(whole, play)


def read_chat(given: Mapping[str, Any], style: str) -> ShopSettings:
    """Of the shop's settings those that a fine-tuning set can be written for, checked alike. Where
    nothing is given, such a set has tools, and all of the history."""
    known = {name: words for name, words in described(ShopSettings).items() if name in _CHAT}
    for name in given:
        if name not in known:
            hint = nearest(name, known, 1) or f" expected {', '.join(known)}."
            raise SettingError(f"A conversation has no setting {name!r}:{hint}")
    return _record({"calls": "tools", "window": 0, **given, "style": style}, ShopSettings)


def defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults that a model's preset and a published style have beside those of the records."""
    model = given.get("model")
    style = taken(PUBLISHED_STYLES.get(str(given.get("style")), {}), model)
    return {**preset_of(model).defaults(), **style}


def _limit_named(given: dict[str, Any]) -> dict[str, Any]:
    """`max_completion_tokens=N`: the limit, and what it is called."""
    if "max_completion_tokens" not in given:
        return given
    for name in ("max_tokens", "limit_name"):
        if name in given:
            raise SettingError(f"max_completion_tokens and {name}: give one of the two.")
    limit = given.pop("max_completion_tokens")
    return {**given, "max_tokens": limit, "limit_name": "max_completion_tokens"}


def _check_style(given: Mapping[str, Any]) -> None:
    """What a published style cannot have."""
    style = str(given.get("style"))
    if style not in PUBLISHED_STYLES:
        return
    if given.get("calls", "text") == "tools":
        raise SettingError(f"style={style} was published without tools: leave calls=tools out.")
    if "thoughts" in given:
        raise SettingError(
            f"thoughts is for style=react; with style={style} every thought is a step."
        )


_Record = TypeVar("_Record", bound=msgspec.Struct)


def _record(given: Mapping[str, Any], record: type[_Record]) -> _Record:
    hints = get_type_hints(record, include_extras=True)
    checked = {}
    for name in record.__struct_fields__:
        if name not in given:
            continue
        try:
            checked[name] = _converted(given[name], hints[name])
        except (msgspec.MsgspecError, RecursionError):
            raise SettingError(
                f"{name}={given[name]!r}: expected {_description(hints[name])}."
            ) from None
    return record(**checked)


def _converted(value: Any, hint: Any) -> Any:
    """A value as its setting wants it; a command line gives texts: `2`, `true`, `null` (or
    `none`), `{...}`."""
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError:
        if not isinstance(value, str):
            raise
        return msgspec.convert(None if value == "none" else msgspec.json.decode(value), hint)


def recorded(*records: msgspec.Struct) -> dict[str, Any]:
    """All that can change what agents do, as JSON values."""
    return {
        name: value
        for record in records
        for name, value in msgspec.to_builtins(record).items()
        if name not in _OPERATION
    }
