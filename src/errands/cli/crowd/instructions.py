"""The part of `errands crowd` that is about writing: instructions, counted, and as a file."""

from pathlib import Path

import typer

from errands.cli.crowd.store import Store
from errands.cli.output import Json, answer, results, table
from errands.crowd.instructions.human_file import WritingSummary, summary, write_human_file
from errands.crowd.store.database import open_read_only

__all__ = ["export_instructions", "show_instructions"]


def show_instructions(facts: WritingSummary) -> None:
    """How many there are, and what they cost."""
    rows = [
        *((name.replace("_", " "), f"{count:,}") for name, count in sorted(facts.statuses.items())),
        ("submitted as trials", f"{facts.trials:,}"),
        ("products with an accepted one", f"{facts.products:,}"),
        ("writers of accepted ones", f"{facts.writers:,}"),
        ("pay for accepted ones", f"${facts.pay:,.2f}"),
    ]
    results.print(table("instructions", "number", rows=rows, left=1))


def export_instructions(
    store: str = Store,
    out: Path = typer.Option(..., "--out", help="Where to write; items_human_ins.json, say."),
    force: bool = typer.Option(False, "--force", help="Replace a file that is there already."),
    as_json: bool = Json,
) -> None:
    """Write the accepted instructions as the file that `catalog build --human` reads.

    Example:

    \b
      errands crowd export instructions site.sqlite --out items_human_ins.json
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
