"""`errands instructions`: what people wrote for products, out of a website's store."""

from pathlib import Path

import typer

from errands.cli.output import Json, answer, print_json, results, table
from errands.crowd.instructions.human_file import summary, write_human_file
from errands.crowd.store.database import open_read_only

__all__ = ["app"]

_STORE = typer.Argument(
    metavar="STORE",
    help="What `errands serve` was given with --store: a file, or postgresql://... It may be in"
    " use.",
    show_default=False,
)


app = typer.Typer(
    name="instructions",
    no_args_is_help=True,
    help="Instructions that people wrote on the website.",
)


@app.command("info")
def info(store: str = _STORE, as_json: bool = Json) -> None:
    """Say how many instructions there are, and what they cost.

    Example:

    \b
      errands instructions info site.sqlite
    """
    with open_read_only(store) as source:
        facts = summary(source)
    if as_json:
        print_json(facts)
        return
    rows = [
        *((name.replace("_", " "), f"{count:,}") for name, count in sorted(facts.statuses.items())),
        ("submitted as trials", f"{facts.trials:,}"),
        ("products with an accepted one", f"{facts.products:,}"),
        ("writers of accepted ones", f"{facts.writers:,}"),
        ("pay for accepted ones", f"${facts.pay:,.2f}"),
    ]
    results.print(table("instructions", "number", rows=rows))


@app.command("export")
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
        facts = summary(source)
        size = write_human_file(source, out, replace=force)
    count = facts.statuses.get("accepted", 0)
    answer(
        as_json,
        {"instructions": count, "products": facts.products, "file": out, "bytes": size},
        f"{count:,} instructions for {facts.products:,} products are in {out}.",
    )
