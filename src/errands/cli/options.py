"""Options that belong together, as records: a command takes records, not thirty parameters."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["takes_records"]


def takes_records(command: Callable[..., None]) -> Callable[..., None]:
    """A command for typer out of one that takes dataclasses: each of their fields is an option."""
    plain: list[inspect.Parameter] = []
    records: dict[str, Any] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind = parameter.annotation
        if not is_dataclass(kind):
            plain.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        records[parameter.name] = kind
        plain += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=field.type,
            )
            for field in fields(kind)
        ]

    def call(**options: Any) -> None:
        made = {
            name: kind(**{field.name: options.pop(field.name) for field in fields(kind)})
            for name, kind in records.items()
        }
        command(**made, **options)

    call.__doc__ = command.__doc__
    call.__name__ = command.__name__
    call.__signature__ = inspect.Signature(plain)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in plain}
    return call
