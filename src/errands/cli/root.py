"""The group `errands` itself: help from a table, and only the called command's module imported."""

import importlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from errands.cli.commands import COMMANDS, PANELS
from errands.cli.options import ALIASES
from errands.errors import SettingError
from errands.home import is_endless

__all__ = ["Root"]

_MOST: Final[Mapping[type, float]] = {int: 2**63 - 1, float: 1e37}
"""What any generator takes as its seed; what is left of a float of 32 bits after a division."""


class Root(TyperGroup):
    """Knows its commands by name and summary, and imports one when it is called."""

    def __init__(self, **settings: Any) -> None:
        listed = {
            name: TyperCommand(name, short_help=entry.summary) for name, entry in COMMANDS.items()
        }
        super().__init__(**{**settings, "commands": listed})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_bare = not args and not ctx.resilient_parsing
        return super().parse_args(ctx, ["--help"] if is_bare else args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and _load(name or "", ctx), rest

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """All commands on one screen of 80 by 40."""
        lines = [f"Usage: {ctx.command_path} COMMAND ...", "", self.help or "", ""]
        for panel, entries in PANELS.items():
            lines.append(typer.style(panel, bold=True))
            lines += (f"  {name:<15}{entry.summary}" for name, entry in entries.items())
        lines += [
            "",
            f"Begin with {ctx.command_path} demo. Each COMMAND has --help.",
            "Options: --version, --install-completion, --show-completion, --help (-h).",
        ]
        formatter.write("\n".join(lines) + "\n")


def _load(name: str, ctx: Any) -> Any:
    """A command out of its module."""
    group: Any = importlib.import_module(f"errands.cli.{COMMANDS[name].module}").app
    made = typer.main.get_group(group)
    # An app without a name holds commands that stand beside the others.
    loaded = made if group.info.name == name else made.commands[name]
    _check_values(loaded)
    loaded.context_settings["token_normalize_func"] = lambda token: ALIASES.get(token, token)
    _tidy_help(loaded, ctx)
    return loaded


def _check_values(command: Any) -> None:
    """No option takes what could be read for ever, a number that is none, or one that no generator
    and no array can hold; and none that is empty is read as if it had been left out."""
    for inner in getattr(command, "commands", {}).values():
        _check_values(inner)
    invoke = command.invoke
    stand_alone: frozenset[str] = getattr(command, "stand_alone", frozenset())

    def checked(context: Any) -> Any:
        for parameter in command.params:
            given = context.params.get(parameter.name)
            for value in given if isinstance(given, list | tuple) else (given,):
                # An empty text is the default where any text will do: a title, a note.
                is_empty = isinstance(value, str) and not value.strip()
                if is_empty and parameter.default != "" and parameter.name not in stand_alone:
                    raise SettingError(
                        f"{parameter.opts[0]} is empty; give it a value, or leave it out."
                    )
                if isinstance(value, str | Path) and is_endless(value):
                    raise SettingError(f"{parameter.opts[0]} {value} has no end; expected a file.")
                most = _MOST.get(type(value))
                if most is not None and not -most <= value <= most:
                    raise SettingError(
                        f"{parameter.opts[0]} {str(value)[:40]}: expected a number of at most"
                        f" {most:g}."
                    )
        return invoke(context)

    command.invoke = checked


def _tidy_help(command: Any, parent: Any) -> None:
    """Flags have no type, as they take no value; paragraphs are as wide as the terminal."""
    context = typer.Context(command, parent=parent)
    for parameter in command.get_params(context):
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    command.help = "\n\n".join(
        each.removeprefix("\b\n") if each.startswith("\b") else each.replace("\n", " ")
        for each in paragraphs
    )
    for inner in getattr(command, "commands", {}).values():
        _tidy_help(inner, context)
