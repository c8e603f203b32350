"""The command `errands`: parsing and printing only, one file a command group."""

import io
import sys

import typer

from errands import __version__
from errands.cli import (
    bench,
    catalog,
    data,
    demo,
    demonstrations,
    experiment,
    instructions,
    nouns,
    report,
    run,
    search,
    serve,
    tour,
    verify_reward,
)
from errands.cli.mine import commands as mine
from errands.cli.train import commands as train
from errands.cli.train import pictures as train_pictures
from errands.cli.transfer import commands as transfer
from errands.cli.turk import demo as turk_demo
from errands.errors import ErrandsError

__all__ = ["app", "main"]

app = typer.Typer(
    name="errands",
    help="The shop and the office where web agents are trained and tested.",
    epilog="Start with: errands demo",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
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


for _group in (
    *(demo, tour, run, report, verify_reward, catalog, search, turk_demo, serve),
    *(mine, instructions, demonstrations, train, train_pictures, experiment, transfer, data, nouns),
    bench,
):
    _group.register(app)


def main() -> None:
    """Run the command; an error that a user can mend is one sentence, and exit status 2."""
    for stream in (sys.stdout, sys.stderr):
        # Product texts are full Unicode; a terminal that is not must not end the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except ErrandsError as error:
        print(f"errands: {error}", file=sys.stderr)
        sys.exit(2)
