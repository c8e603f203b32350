"""The command `errands`: parsing and printing only, one file a command group.

Only the module of the command that is called is imported; help and the docs take all of them.
"""

import importlib
import io
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import typer

from errands import __version__
from errands.errors import ErrandsError

__all__ = ["app", "main"]

_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "demo": ("demo",),
    "tour": ("tour",),
    "run": ("run", "protocols", "agents"),
    "report": ("report", "replay", "export"),
    "leaderboard.commands": ("submit", "leaderboard"),
    "verify_reward": ("verify-reward",),
    "catalog": ("catalog",),
    "search": ("search",),
    "turk.conditions": ("turk",),
    "serve": ("serve",),
    "mcp": ("mcp",),
    "mine.commands": ("mine",),
    "crowd.instructions": ("instructions",),
    "crowd.demonstrations": ("demonstrations",),
    "train.commands": ("train",),
    "experiment": ("experiment",),
    "transfer.commands": ("transfer",),
    "data": ("data",),
    "nouns": ("nouns",),
    "bench": ("bench",),
}
"""Each module below this package with the commands that its `app` has, in the order of the help."""

if TYPE_CHECKING:
    app: typer.Typer
else:

    def __getattr__(name: str) -> Any:
        if name != "app":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()["app"] = made = _application(_MODULES)
        return made


def _application(modules: Iterable[str]) -> typer.Typer:
    """The command with the groups of these modules."""
    made = typer.Typer(
        name="errands",
        help="The shop and the crowd-work pages where web agents are trained and tested.",
        epilog="Start with: errands demo",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @made.callback()
    def _root(
        version: bool = typer.Option(
            False, "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ) -> None:
        pass

    for name in modules:
        group = importlib.import_module(f"{__name__}.{name}").app
        if isinstance(group.info.name, str):
            made.add_typer(group)
        else:  # Commands that stand beside the others.
            made.registered_commands += group.registered_commands
    return made


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"errands {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command; an error that a user can mend is one sentence, and exit status 2."""
    for stream in (sys.stdout, sys.stderr):
        # Product texts are full Unicode; a terminal that is not must not end the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    called = sys.argv[1] if len(sys.argv) > 1 else ""
    owners = [module for module, commands in _MODULES.items() if called in commands]
    modules = () if called == "--version" else owners or _MODULES
    try:
        _application(modules)()
    except ErrandsError as error:
        print(f"errands: {error}", file=sys.stderr)
        sys.exit(2)
