"""Agents' answers: a closed grammar that reads the actions out of what a language model wrote.

Calls as in Python (`modify_text('q1', "yes")`, with `self.actions.` before it or not, several of
them, in a code fence, among prose) and tool calls as in JSON (`{"name": ..., "arguments":
{...}}` and its relatives). Names and arguments are checked against `ACTIONS`.
Nothing is executed; any text, however long or odd, gives actions or a `GrammarError` whose
sentence can be shown to the model.

A call that opens its line and is wrong makes the whole answer wrong, so that no half of a plan
is carried out; one that prose only mentions ("modify_text() would fit") is passed over as long
as the answer has others.
"""

import difflib
import re
from collections.abc import Iterable
from typing import Final

from errands.errors import ErrandsError
from errands.turk.actions.action import ACTIONS, Action, Parameter, Value
from errands.turk.actions.literal import Literal, Malformed, Reader

__all__ = ["GrammarError", "format_action", "make_action", "parse_answer"]

MOST_ACTIONS: Final = 200
LONGEST_ARGUMENT: Final = 1_000_000
_LONGEST_ANSWER: Final = 10_000_000
_RETRIES: Final = 4
_MOST_FAILURES: Final = 1_000
_MOST_OBJECTS: Final = 1_000
_MOST_UNKNOWN: Final = 50

_PREFIXES: Final = frozenset(
    {"", "self.actions.", "actions.", "self.", "action.", "act.", "tools.", "functions."}
)
_CALL: Final = re.compile(
    r"(?<![\w.])(?P<prefix>(?:[A-Za-z_]\w{0,40}+\.){0,4}+)(?P<name>[A-Za-z_]\w{0,60}+)[ \t]?+\("
)
_CALL_OR_JSON: Final = re.compile(_CALL.pattern + r"|[{\[]")
"""Where a call or a JSON value may begin."""
_OPENING: Final = re.compile(r"[\s>*•;`\-\d.:)]{0,40}+")
_COMMENT: Final = re.compile(r"[ \t]*+(?:#|//)")
_FENCE: Final = re.compile(r"^[ \t]*+```[^\n]*+\n?", re.MULTILINE)
_LIKE_TOOL_CALL: Final = re.compile(r"[\"'](?:name|action|function|tool)")
_TRAILING_COMMENT: Final = re.compile(r"[ \t]*+;?+[ \t]*+#[^\n]*+")
_KEYWORD: Final = re.compile(r"([^\W\d]\w{0,60}+)\s*+=(?!=)")

_NAME_KEYS: Final = ("action", "tool", "function", "tool_name", "function_name", "name")
_ARGUMENT_KEYS: Final = ("arguments", "args", "parameters", "params", "kwargs", "input", "inputs")
_EXAMPLES: Final[dict[str, Value]] = {
    "name": "q1", "value": "yes", "x": 0.5, "y": 0.5, "selector": "#next", "text": "hello",
    "key": "Enter", "source": "#item", "target": "#box", "start": 0, "end": 5,
}  # fmt: skip
_EXPECTED_JSON: Final = (
    'expected for example {"name": "modify_text", "arguments": {"name": "q1", "value": "yes"}}'
)
_KINDS: Final = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


class GrammarError(ErrandsError, ValueError):
    """An answer has no action in it, or one that is wrong; the message tells the agent."""


def parse_answer(text: str) -> list[Action]:
    """The actions in an agent's answer, at least one.

    >>> parse_answer("I say yes: self.actions.modify_radio('q1', 'yes')")
    [Action(name='modify_radio', arguments={'name': 'q1', 'value': 'yes'})]
    >>> parse_answer('{"name": "modify_text", "arguments": {"name": "a", "value": "b"}}')
    [Action(name='modify_text', arguments={'name': 'a', 'value': 'b'})]
    """
    if len(text) > _LONGEST_ANSWER:
        raise GrammarError(f"The answer is longer than {_LONGEST_ANSWER:,} characters.")
    problem = None
    for part in (_fenced(text), text):
        actions, problem = _Scan(part).run()
        if actions:
            return actions
    if not text.strip():
        raise GrammarError(f"The answer is empty: {_expected('modify_text')}.")
    raise GrammarError(problem or f"There is no action in the answer: {_expected('modify_text')}.")


def _fenced(text: str) -> str:
    """What stands in code fences; the last one need not be closed."""
    return "\n".join(_FENCE.split(text)[1::2])


class _Scan:
    """One pass over a text; every character is read a bounded number of times."""

    def __init__(self, text: str, *, json: bool = True) -> None:
        self.text = text
        self.reader = Reader(text)
        self.actions: list[Action] = []
        self.problem: str | None = None
        self.objects = _MOST_OBJECTS if json else 0
        """How many more brackets may turn out to open nothing."""
        self.read_until = 0
        """Up to here, no JSON value was found."""
        self.failures = 0
        """How many calls were wrong, or of an action that does not exist."""
        self.nearest: dict[str, str | None] = {}
        self.seen = self.line = 0

    def run(self) -> tuple[list[Action], str | None]:
        at = 0
        while match := self._next(at):
            at = self._call(match, at) if match["name"] else self._json(match.start())
            if self.failures > _MOST_FAILURES:
                break
            if len(self.actions) > MOST_ACTIONS:
                raise GrammarError(f"An answer has at most {MOST_ACTIONS} actions, this has more.")
        return self.actions, self.problem

    def _next(self, at: int) -> re.Match[str] | None:
        if self.objects <= 0:
            return _CALL.search(self.text, at)
        if at < self.read_until:
            if match := _CALL.search(self.text, at, self.read_until):
                return match
            at = self.read_until
        return _CALL_OR_JSON.search(self.text, at)

    def _call(self, match: re.Match[str], done: int) -> int:
        prefix, name = match["prefix"], match["name"]
        if prefix not in _PREFIXES or (prefix in ("", "self.") and not self._is_meant(name)):
            return match.end()
        if self._is_comment(match.start()):
            return match.end()
        opens = self._opens_line(match.start(), done) and self.text[match.end() - 2] not in " \t"
        if name not in ACTIONS:
            self._refuse_unknown(prefix, name, opens)
            return match.end()
        try:
            positional, keywords, end = _arguments(self.reader, match.end())
            self.actions.append(make_action(name, positional, keywords))
            comment = _TRAILING_COMMENT.match(self.text, end)
            return comment.end() if comment else end
        except (Malformed, GrammarError) as error:
            self.failures += 1
            if opens or self.problem is None:
                self.problem = str(error)
                if isinstance(error, Malformed):
                    self.problem = f"The call of {name} cannot be read, {error}: {_expected(name)}."
            if opens:
                raise GrammarError(self.problem) from None
            reached = error.position if isinstance(error, Malformed) else 0
            return match.end() if self.failures < _RETRIES else max(match.end(), reached)

    def _is_comment(self, at: int) -> bool:
        newline = self.text.rfind("\n", self.seen, at)
        if newline >= 0:
            self.line = newline + 1
        self.seen = at
        return _COMMENT.match(self.text, self.line) is not None

    def _opens_line(self, at: int, done: int) -> bool:
        match = _OPENING.match(self.text, max(self.line, done))
        return match is not None and match.end() >= at

    def _is_meant(self, name: str) -> bool:
        """Whether a name is an action's, or near to one."""
        if name not in ACTIONS and name not in self.nearest and len(self.nearest) < _MOST_UNKNOWN:
            self.nearest[name] = _nearest(name, ACTIONS)
        return name in ACTIONS or self.nearest.get(name) is not None

    def _refuse_unknown(self, prefix: str, name: str, opens: bool) -> None:
        self.failures += 1
        if opens or prefix in ("self.actions.", "actions."):
            raise GrammarError(_unknown_action(name))
        self.problem = self.problem or _unknown_action(name)

    def _json(self, at: int) -> int:
        try:
            value, end = self.reader.value(at, "", json=True)
        except Malformed as error:
            self.objects -= 1
            self.read_until = max(error.position, at + 1)
            if self.problem is None and _LIKE_TOOL_CALL.search(self.text, at, at + 100):
                self.problem = f"The JSON cannot be read, {error}: {_EXPECTED_JSON}."
            return at + 1
        calls = _tool_calls(value)
        self.actions += calls
        if not calls:
            self.objects -= 1
        return end


def _arguments(reader: Reader, at: int) -> tuple[list[Literal], dict[str, Literal], int]:
    """What stands between the brackets of a call, and where it ends: as Python, or leniently."""
    reader.strict = True
    try:
        return _read_arguments(reader, at)
    except Malformed:
        reader.strict = False
        return _read_arguments(reader, at)
    finally:
        reader.strict = False


def _read_arguments(reader: Reader, at: int) -> tuple[list[Literal], dict[str, Literal], int]:
    positional: list[Literal] = []
    keywords: dict[str, Literal] = {}
    at = reader.skip(at)
    while not reader.text.startswith(")", at):
        keyword = _KEYWORD.match(reader.text, at)
        value, at = reader.value(keyword.end() if keyword else at, ",)")
        if keyword is None:
            if keywords:
                raise Malformed("an argument without a name follows one with a name", at)
            positional.append(value)
        elif keyword[1] in keywords:
            raise Malformed(f"{keyword[1]} is given twice", at)
        else:
            keywords[keyword[1]] = value
        at = reader.separator(at, ")")
    return positional, keywords, at + 1


def _tool_calls(value: Literal) -> list[Action]:
    """The tool calls in a JSON value, wherever they are; none where it is other data."""
    if isinstance(value, list):
        return [action for item in value for action in _tool_calls(item)]
    if not isinstance(value, dict):
        return []
    key_of_arguments = next((key for key in _ARGUMENT_KEYS if key in value), None)
    for key in _NAME_KEYS:
        written = value.get(key)
        if not isinstance(written, str):
            continue
        if "(" in written:
            actions, problem = _Scan(written, json=False).run()
            if actions or problem is None:
                return actions
            raise GrammarError(problem)
        name = written.strip().rpartition(".")[2]
        if name in ACTIONS:
            if key_of_arguments is None:
                parameters = {parameter.name for parameter in ACTIONS[name]} - {key}
                return [make_action(name, [], {k: value[k] for k in parameters & value.keys()})]
            return [_with_arguments(name, value[key_of_arguments])]
        if key_of_arguments is not None:
            raise GrammarError(_unknown_action(name))
    if len(value) == 1:
        [(name, arguments)] = value.items()
        if name in ACTIONS:
            return [_with_arguments(name, arguments)]
    return [action for item in value.values() for action in _tool_calls(item)]


def _with_arguments(name: str, arguments: Literal) -> Action:
    if isinstance(arguments, str) and arguments.lstrip()[:1] in ("{", "["):
        try:
            arguments, _ = Reader(arguments).value(0, "", json=True)
        except Malformed as error:
            raise GrammarError(
                f"The arguments of {name} cannot be read, {error}: {_EXPECTED_JSON}."
            ) from None
    if isinstance(arguments, dict):
        return make_action(name, [], arguments)
    if isinstance(arguments, list):
        return make_action(name, arguments, {})
    return make_action(name, [] if arguments in (None, "") else [arguments], {})


def make_action(name: str, positional: list[Literal], keywords: dict[str, Literal]) -> Action:
    """An action with its arguments by name, checked; optional ones are left out, not filled in."""
    parameters = ACTIONS.get(name)
    if parameters is None:
        raise GrammarError(_unknown_action(name))
    if len(positional) == 1 and not keywords and isinstance(only := positional[0], dict):
        positional, keywords = [], only
    if len(positional) > len(parameters):
        count = f"{len(positional)} arguments" if len(positional) > 1 else "an argument"
        raise GrammarError(f"{name} was given {count}, more than it takes: {_expected(name)}.")
    required = [parameter for parameter in parameters if parameter.required]
    targets = required if len(positional) == len(required) and not keywords else list(parameters)
    literals: dict[str, Literal] = {
        target.name: value for target, value in zip(targets, positional, strict=False)
    }
    known = {parameter.name for parameter in parameters}
    for key, value in keywords.items():
        if key not in known:
            nearest = _nearest(key, sorted(known))
            hint = f", did you mean {nearest}" if nearest else ""
            raise GrammarError(f"{name} has no argument {_cut(key)}{hint}: {_expected(name)}.")
        if key in literals:
            raise GrammarError(f"{name} was given {key} twice: {_expected(name)}.")
        literals[key] = value
    arguments: dict[str, Value] = {}
    for parameter in parameters:
        value = literals.get(parameter.name)
        if value is not None:
            arguments[parameter.name] = _fit(name, parameter, value)
        elif parameter.required:
            raise GrammarError(f"{name} has no {parameter.name}: {_expected(name)}.")
    return Action(name, arguments)


def _fit(name: str, parameter: Parameter, value: Literal) -> Value:
    """An argument as a kind that the parameter takes, where only its spelling is off."""
    kinds = parameter.kinds
    if isinstance(value, list) and name == "modify_checkbox" and parameter.name == "value":
        value = "|".join(str(item) for item in value)
    if isinstance(value, str) and len(value) > LONGEST_ARGUMENT:
        limit = f"{LONGEST_ARGUMENT:,} characters"
        raise GrammarError(f"The {parameter.name} of {name} is longer than {limit}.")
    if isinstance(value, str | int | float):
        if type(value) in kinds:
            return value
        if kinds == (str,) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, bool) and (number := _as_number(value)) is not None:
            if float in kinds:
                return number
            if int in kinds and number == number // 1:
                return int(number)
    wanted = " or ".join(_KINDS[kind] for kind in kinds)
    shown = _cut(value) if isinstance(value, str | int | float) else "a list or dict"
    raise GrammarError(
        f"The {parameter.name} of {name} must be {wanted}, not {shown}: {_expected(name)}."
    )


def _as_number(value: str | float) -> float | None:
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e300 else None


def _nearest(name: str, names: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(name[:60].lower(), list(names), 1, 0.7)
    return close[0] if close else None


def _unknown_action(name: str) -> str:
    nearest = _nearest(name, ACTIONS)
    known = f"did you mean {nearest}" if nearest else f"the actions are {', '.join(ACTIONS)}"
    return f"There is no action {_cut(name)}, {known}: {_expected(nearest or 'modify_text')}."


def _expected(name: str) -> str:
    """The form of an action, with an example."""
    parameters = ACTIONS[name]
    form = ", ".join(p.name if p.required else f"{p.name}={p.default}" for p in parameters)
    shown = [p for p in parameters if p.required] or parameters[:2]
    example = format_action(Action(name, {p.name: _EXAMPLES[p.name] for p in shown}))
    return f"expected {name}({form}), for example {example}"


def _cut(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."


def format_action(action: Action) -> str:
    """The call as the original prints it; `parse_answer` reads it back.

    >>> format_action(Action("modify_text", {"name": "q1", "value": "it's"}))
    'modify_text(\\'q1\\', "it\\'s")'
    """
    parts: list[str] = []
    skipped = False
    for parameter in ACTIONS.get(action.name, ()):
        if parameter.name not in action.arguments:
            skipped = True
            continue
        value = repr(action.arguments[parameter.name])
        parts.append(f"{parameter.name}={value}" if skipped else value)
    return f"{action.name}({', '.join(parts)})"
