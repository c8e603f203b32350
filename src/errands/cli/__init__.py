"""The command `errands`: parsing and printing only, one file a command group.

`commands` is the table of all; only the module of the command that is called is imported.
"""

import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import typer

from errands import __version__
from errands.cli.commands import new_name
from errands.cli.root import Root
from errands.errors import ErrandsError, SettingError, shortened

__all__ = ["app", "main"]

app = typer.Typer(
    name="errands",
    cls=Root,
    help="The shop and the crowd-work pages where web agents are trained and tested.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"errands {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


def main() -> None:
    """Run the command; an error that a user can mend is one sentence, and its exit status."""
    for stream in (sys.stdout, sys.stderr):
        # Product texts are full Unicode; a terminal that is not must not end the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        _check_words(sys.argv[1:])
        if renamed := new_name(sys.argv[1:]):
            former, now = renamed
            raise SettingError(f"`errands {former}` is now `errands {now}`; it has --help.")
        # However it is called: completion is installed for this name.
        app(prog_name="errands")
    except ErrandsError as error:
        _end(str(error), error.exit_status)
    except OSError as failure:
        # No defect of ours, but of a place: a full disk, a name that is too long.
        place = "" if failure.filename is None else f"{os.fsdecode(failure.filename)}: "
        _end(f"{place}{failure.strerror or failure}.", ErrandsError.exit_status)


def _check_words(words: Sequence[str]) -> None:
    """Bytes that are no text could be in no record of what was done."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise SettingError(
                f"{word!a} is not UTF-8; expected a text or a path that is."
            ) from None


def _end(sentence: str, status: int) -> NoReturn:
    """One line, whatever was quoted in it."""
    from errands.cli.output import printable

    print(f"errands: {printable(shortened(sentence))}", file=sys.stderr)
    sys.exit(status)
