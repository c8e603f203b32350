"""`human`: a person at the terminal, in both domains.

In the shop: `[3]` beside a button, product or option means that `3` clicks it; `s words`
searches; the text of an action works too. On form pages, each field is asked for in turn, with its
options: a number or a value answers, an empty line leaves the field alone, `=text` is a text as
it stands, `!call(...)` any action; then the form is submitted. `quit` (or the end of the input)
raises `EndOfRun`: the unfinished episode does not count, and everything before it is kept.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from errands.agents.agent import AgentFactory
from errands.agents.factory import SimpleFactory
from errands.agents.page_reading import BUTTONS
from errands.agents.random_agent import visible_fields
from errands.agents.rule import search_action
from errands.agents.terminal import Terminal
from errands.shop.navigation import parse_action
from errands.shop.render.text import SEPARATOR
from errands.turk.actions.action import Action
from errands.turk.actions.grammar import format_action
from errands.turk.dom.driver import DomDriver
from errands.turk.pages.field import CHOICES, TEXTS, Field

__all__ = ["PersonShopper", "PersonWorker", "make"]

_MARKS: Final = ("[button]", "[button_]", "[clicked button]", "[clicked button_]")
_SHOP_HELP: Final = "A number clicks, `s words` searches, `quit` ends the run."


class PersonShopper:
    """Shops as the person says."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        self._chosen: list[str] = []
        self._terminal.rule("A new errand")
        self._terminal.show((info["instruction"], "bold"))

    def act(self, observation: Any, info: Mapping[str, Any]) -> str:
        available = info["available_actions"]
        names = [name for name in available["clickables"] if name != "search"]
        if available["has_search_bar"] or "next >" in names:
            self._chosen.clear()
        self._show(page_lines(observation), names)
        while True:
            action = shop_action(self._terminal.ask("shop"), names)
            if action is not None:
                self._chosen.append(action)
                return action
            self._terminal.show(f"That was not understood. {_SHOP_HELP}")

    def _show(self, lines: Sequence[str], names: Sequence[str]) -> None:
        """The page, with the number of what can be clicked before it."""
        terminal = self._terminal
        numbers = {name: number for number, name in enumerate(names, 1)}
        terminal.rule("Page")
        for line in lines:
            number = numbers.pop(line.strip().lower(), None)
            if number is None:
                terminal.show(f"     {line}")
            else:
                self._show_choice(number, line)
        for name, number in numbers.items():
            self._show_choice(number, name)
        terminal.show((_SHOP_HELP, "dim"))

    def _show_choice(self, number: int, name: str) -> None:
        key = name.strip().lower()
        chosen = f"click[{key}]" in self._chosen and key not in BUTTONS
        mark = (" (clicked)", "green") if chosen else ""
        self._terminal.show((f"{f'[{number}]':>4} ", "cyan"), name.strip(), mark)


def shop_action(line: str, names: Sequence[str]) -> str | None:
    """What a line means on a page where these names can be clicked; None if nothing.

    >>> shop_action("2", ["next >", "buy now"]), shop_action("s red hat", [])
    ('click[buy now]', 'search[red hat]')
    """
    numbered = _numbered(line, names)
    if numbered is not None:
        return f"click[{numbered}]"
    if line.startswith("s "):
        return search_action(line[2:].strip())
    if line.lower() in names:
        return f"click[{line.lower()}]"
    name, argument = parse_action(line)
    return line if argument is not None and name in ("search", "click") else None


def page_lines(observation: Any) -> list[str]:
    """What a person can read of an observation, line by line; nothing of pixels."""
    if isinstance(observation, Mapping):
        observation = observation.get("html", "")
    if not isinstance(observation, str):
        return []
    if "</" in observation and "<" in observation[:100]:
        page = DomDriver().open(observation)
        try:
            return page.text().splitlines()
        finally:
            page.close()
    for mark in _MARKS:
        observation = observation.replace(mark, "")
    return [line for line in observation.replace(SEPARATOR, "\n").splitlines() if line.strip()]


class PersonWorker:
    """Fills in a form as the person says."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        self._asked: set[str] = set()
        self._last = ""
        self._terminal.rule(f"{info['task']}, row {info['row']}")
        for line in page_lines(observation):
            self._terminal.show(line)
        self._terminal.rule("Your answers")

    def act(self, observation: Any, info: Mapping[str, Any]) -> str:
        if info["message"]:
            self._terminal.show((f"That did not work: {info['message']}", "yellow"))
            self._asked.discard(self._last)
        for field in visible_fields(info):
            if field.name in self._asked or field.type not in TEXTS | CHOICES | {"range"}:
                continue
            self._asked.add(field.name)
            self._last = field.name
            action = self._answer(field)
            if action is not None:
                return action
        line = self._terminal.ask("Enter submits the form")
        return line.removeprefix("!") or "submit()"

    def _answer(self, field: Field) -> str | None:
        terminal = self._terminal
        terminal.show((field.name, "bold"), f" ({field.type})")
        for number, option in enumerate(field.options, 1):
            terminal.show((f"{f'[{number}]':>4} ", "cyan"), option)
        while True:
            line = terminal.ask("several, by commas" if field.type == "checkbox" else "answer")
            if line.startswith("!"):
                return line[1:]
            if not line:
                return None
            value = field_value(line, field)
            if value is not None:
                name = "text" if field.type in TEXTS else field.type
                return format_action(Action(f"modify_{name}", {"name": field.name, "value": value}))
            terminal.show("That is not one of the options; an empty line leaves the field alone.")


def field_value(line: str, field: Field) -> str | None:
    """The value that a line means for a field; None where the field has no such option.

    >>> field_value("2", Field("q", "radio", True, ("yes", "no")))
    'no'
    """
    if field.type not in CHOICES:
        return line.removeprefix("=")
    if field.type != "checkbox" or line in field.options:
        return _option(line, field.options)
    picked = [_option(part.strip(), field.options) for part in line.split(",")]
    found = [option for option in picked if option is not None]
    return "|".join(dict.fromkeys(found)) if len(found) == len(picked) else None


def _option(line: str, options: Sequence[str]) -> str | None:
    """An option by its value, or else by its number."""
    value = line.removeprefix("=")
    if value in options:
        return value
    return _numbered(line, options)


def _numbered(line: str, choices: Sequence[str]) -> str | None:
    number = int(line) if line.isdecimal() and len(line) < 6 else 0
    return choices[number - 1] if 1 <= number <= len(choices) else None


def make(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    person = PersonShopper if domain == "shop" else PersonWorker
    return SimpleFactory("human", lambda seed: person(Terminal()), mode="person")
