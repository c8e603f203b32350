"""`errands instructions`: what people wrote for products, out of a website's store."""

from pathlib import Path

import msgspec
import typer
from rich.table import Table

from errands.cli.output import Json, print_json, results
from errands.crowd.instructions.human_file import summary, write_human_file
from errands.crowd.store.database import open_read_only

__all__ = ["register"]

_STORE = typer.Argument(
    metavar="STORE",
    help="What `errands serve` was given with --store: a file, or postgresql://... It may be in"
    " use.",
    show_default=False,
)


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        name="instructions",
        no_args_is_help=True,
        help="Instructions that people wrote on the website.",
    )
    group.command("info")(info)
    group.command("export")(export)
    app.add_typer(group)


def info(store: str = _STORE, as_json: bool = Json) -> None:
    """Say how many instructions there are, and what they cost.

    Example:

    \b
      errands instructions info site.sqlite
    """
    with open_read_only(store) as source:
        found = summary(source)
    if as_json:
        print_json(msgspec.to_builtins(found))
        return
    table = Table("instructions", "number")
    for status, count in sorted(found.statuses.items()):
        table.add_row(status.replace("_", " "), f"{count:,}")
    table.add_row("submitted as trials", f"{found.trials:,}")
    table.add_row("products with an accepted one", f"{found.products:,}")
    table.add_row("writers of accepted ones", f"{found.writers:,}")
    table.add_row("pay for accepted ones", f"${found.pay:,.2f}")
    results.print(table)


def export(
    store: str = _STORE,
    out: Path = typer.Option(..., "--out", help="Where to write; items_human_ins.json, say."),
    force: bool = typer.Option(False, "--force", help="Replace a file that is there already."),
    as_json: bool = Json,
) -> None:
    """Write the accepted instructions as the file that `catalog build --human` reads.

    Example:

    \b
      errands instructions export site.sqlite --out items_human_ins.json
    """
    with open_read_only(store) as source:
        found = summary(source)
        size = write_human_file(source, out, replace=force)
    count = found.statuses.get("accepted", 0)
    if as_json:
        told = {"instructions": count, "products": found.products, "file": str(out), "bytes": size}
        print_json(told)
        return
    results.print(f"{count:,} instructions for {found.products:,} products are in {out}.")
