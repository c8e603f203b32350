"""Writes docs/reference/cli.md from the commands' own help.

    COLUMNS=80 python -m errands.cli.reference > docs/reference/cli.md

A test compares the page with what this prints, so help and documentation cannot drift apart.
"""

from collections.abc import Iterator

import typer
from typer.testing import CliRunner

from errands.cli import app

__all__ = ["reference"]

_HEAD = """# Command line

Every command has `--help`, which is what stands here. Results go to standard output, progress
and remarks to standard error. A mistake that you can mend is one sentence on standard error and
exit status 2.

This page is made by `make docs`.
"""


def reference() -> str:
    """The whole page."""
    sections = [_section(path) for path in [(), *_paths(app)]]
    return "\n".join([_HEAD, *sections])


def _paths(group: typer.Typer) -> Iterator[tuple[str, ...]]:
    """The words that name each command and group below a group."""
    for command in group.registered_commands:
        name = str(command.name or getattr(command.callback, "__name__", ""))
        yield (name.replace("_", "-"),)
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        name = str(inner.typer_instance.info.name)
        yield (name,)
        for path in _paths(inner.typer_instance):
            yield (name, *path)


def _section(path: tuple[str, ...]) -> str:
    shown = CliRunner().invoke(app, [*path, "--help"], prog_name="errands", terminal_width=80)
    lines = [line.rstrip() for line in shown.output.strip().splitlines()]
    return "\n".join([f"## {' '.join(('errands', *path))}", "", "```text", *lines, "```", ""])


if __name__ == "__main__":
    print(reference(), end="")
