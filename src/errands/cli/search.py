"""`errands search`: ask a catalogue's search engine."""

import typer
from rich.table import Table

from errands.cli.output import Json, print_json, results
from errands.shop.catalog import Catalog

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command()(search)


def search(
    catalog: str = typer.Argument(
        metavar="[CATALOG]", help="A catalogue's directory or name; left out, it is demo."
    ),
    query: str | None = typer.Argument(None, metavar="QUERY", help="What to search for."),
    k: int = typer.Option(50, "-k", min=1, help="How many results at most."),
    as_json: bool = Json,
) -> None:
    """Search a catalogue, in Lucene's order.

    Examples:

    \b
      errands search "red shoes"
      errands search shop-1k "red shoes" -k 50 --json
    """
    name, words = ("demo", catalog) if query is None else (catalog, query)
    opened = Catalog.open(name)
    hits = opened.search(words, k)
    if as_json:
        for hit in hits:
            product = opened[hit.asin]
            print_json(
                {
                    "asin": hit.asin,
                    "score": hit.score,
                    "title": product.title,
                    "price": product.price_tag,
                }
            )
        return
    table = Table("rank", "asin", "score", "price", "title")
    for rank, hit in enumerate(hits, 1):
        product = opened[hit.asin]
        table.add_row(str(rank), hit.asin, f"{hit.score:.4f}", product.price_tag, product.title)
    results.print(table if hits else f"Nothing in {opened.path} matches {words!r}.")
