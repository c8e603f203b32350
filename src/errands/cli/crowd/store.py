"""What the commands of `errands crowd` are told about a website's store."""

from typing import Any

import typer

__all__ = ["IncludeTrials", "Store"]

Store: Any = typer.Argument(
    metavar="STORE",
    help="The --store of `errands serve`: a file, or postgresql://... The server may go on.",
    show_default=False,
)
IncludeTrials: Any = typer.Option(
    False, "--include-trials", help="Count the assignments of trials, too."
)
