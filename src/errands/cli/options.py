"""What commands' options share: their names, records of those that belong together, settings."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from typing import Any, Final

import typer
from typer.core import TyperGroup

from errands.cli.completion import catalog_names
from errands.errors import SettingError

__all__ = ["ALIASES", "CatalogData", "TasksData", "agent_settings", "default_to", "takes_records"]

ALIASES: Final = {"catalog": "data", "tasks": "data", "kind": "goals"}
"""Former names of options, which every command still takes, without its help telling them."""

CatalogData: Any = typer.Option(
    "demo", "--data", help="A catalogue's directory or name.", autocompletion=catalog_names
)
TasksData: Any = typer.Option("demo", "--data", help="A folder of tasks, demo or turkingbench.")


def default_to(name: str) -> type[TyperGroup]:
    """A group that calls this command of its own where options, or nothing, come instead of one."""

    class DefaultGroup(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            is_bare = not (args or self.no_args_is_help or ctx.resilient_parsing)
            if is_bare or (args and args[0].startswith("-") and args[0] not in ("-h", "--help")):
                args = [name, *args]
            return super().parse_args(ctx, args)

    return DefaultGroup


def agent_settings(
    pairs: Iterable[str], model: str | None, checkpoint: str | None
) -> dict[str, Any]:
    """Settings of an agent: of `--set NAME=VALUE`, and of the options that have a name."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise SettingError(f"--set {pair}: expected NAME=VALUE.")
        settings[name.strip()] = value
    named = {"model": model, "checkpoint": checkpoint}
    return settings | {name: value for name, value in named.items() if value is not None}


def takes_records(command: Callable[..., None]) -> Callable[..., None]:
    """A command for typer out of one that takes dataclasses: each of their fields is an option.

    In the help the command's own options come first, then the records', then `as_json`.
    """
    own: list[inspect.Parameter] = []
    records: dict[str, Any] = {}
    for parameter in inspect.signature(command).parameters.values():
        if is_dataclass(parameter.annotation):
            records[parameter.name] = parameter.annotation
        else:
            own.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    of_records = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=field.type,
        )
        for kind in records.values()
        for field in fields(kind)
    ]
    parameters = sorted([*own, *of_records], key=lambda parameter: parameter.name == "as_json")

    def call(**options: Any) -> None:
        made = {
            name: kind(**{field.name: options.pop(field.name) for field in fields(kind)})
            for name, kind in records.items()
        }
        command(**made, **options)

    call.__doc__ = command.__doc__
    call.__name__ = command.__name__
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call
