"""The group `errands` itself: help from a table, and only the called command's module imported."""

import importlib
import inspect
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from errands.cli.commands import COMMANDS, PANELS
from errands.cli.options import ALIASES

__all__ = ["Root"]


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
    loaded.context_settings["token_normalize_func"] = lambda token: ALIASES.get(token, token)
    _tidy_help(loaded, ctx)
    return loaded


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
