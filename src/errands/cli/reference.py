"""Writes docs/reference/cli.md from the commands' own help.

    COLUMNS=80 python -m errands.cli.reference > docs/reference/cli.md

A test compares the page with what this prints, so help and documentation cannot drift apart.
"""

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import typer

from errands.cli import app

__all__ = ["command_paths", "reference"]

_HEAD = """# Command line

Every command has `--help`, which is what stands here. Results go to standard output, progress
and remarks to standard error. A mistake that you can mend is one sentence on standard error and
exit status 2. `errands --install-completion` teaches your shell to complete commands, options, and
the names of protocols, agents and catalogues.

This page is made by `make docs`.
"""


def reference() -> str:
    """The whole page."""
    sections = [_section(path) for path in [(), *command_paths()]]
    return "\n".join([_HEAD, *sections])


def command_paths() -> Iterator[tuple[str, ...]]:
    """The words that name each command and group."""
    root: Any = typer.main.get_command(app)
    with typer.Context(root, info_name="errands") as context:
        for name in root.list_commands(context):
            _, command, _ = root.resolve_command(context, [name])
            for path in _below(command):
                yield (name, *path)


def _below(command: Any) -> Iterator[tuple[str, ...]]:
    yield ()
    for name, inner in getattr(command, "commands", {}).items():
        for path in _below(inner):
            yield (name, *path)


def _section(path: tuple[str, ...]) -> str:
    root = typer.main.get_command(app)
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        root.main([*path, "--help"], prog_name="errands", standalone_mode=False)
    lines = [line.rstrip() for line in shown.getvalue().strip().splitlines()]
    return "\n".join([f"## {' '.join(('errands', *path))}", "", "```text", *lines, "```", ""])


if __name__ == "__main__":
    print(reference(), end="")
