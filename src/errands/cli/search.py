"""`errands search`: ask a catalogue's search engine."""

import typer

from errands.cli.output import Json, print_json, results, table
from errands.errors import CatalogError, SettingError
from errands.shop.catalog.catalog import Catalog
from errands.shop.catalog.library import locate
from errands.shop.product import price_label

__all__ = ["app"]


app = typer.Typer()


@app.command()
def search(
    words: list[str] = typer.Argument(
        metavar="[CATALOG] QUERY",
        help="A catalogue's directory or name (left out: demo), and what to search for.",
        show_default=False,
    ),
    k: int = typer.Option(50, "-k", min=1, help="How many results at most."),
    as_json: bool = Json,
) -> None:
    """Search a catalogue, in Lucene's order.

    Examples:

    \b
      errands search "red shoes" -k 5
      errands search shop-1k "red shoes" --json
    """
    opened, query = _catalog_and_query(words)
    hits = [(hit, opened[hit.asin]) for hit in opened.search(query, k)]
    if as_json:
        for hit, product in hits:
            record = {"asin": hit.asin, "score": hit.score, "title": product.title}
            print_json({**record, "price": product.price_tag})
        return
    rows = [
        (str(rank), hit.asin, f"{hit.score:.4f}", price_label(product.price_tag), product.title)
        for rank, (hit, product) in enumerate(hits, 1)
    ]
    if rows:
        results.print(table("rank", "asin", "score", "price", "title", rows=rows))
    else:
        results.print(f"Nothing in {opened.path} matches {query!r}.")


def _catalog_and_query(words: list[str]) -> tuple[Catalog, str]:
    """The catalogue and the query, with a word of advice where they cannot be told apart."""
    if len(words) == 1:
        if _is_catalog(words[0]):
            raise SettingError(
                f"What to search for is missing: {words[0]!r} is a catalogue. Run, for example,"
                f' `errands search {words[0]} "red shoes"`.'
            )
        return Catalog.open(), words[0]
    if len(words) == 2 and _is_catalog(words[0]):
        return Catalog.open(words[0]), words[1]
    raise SettingError(
        f"{words[0]!r} is not a catalogue. If these are the words of one query, put it in quotes:"
        f' `errands search "{" ".join(words)}"`.'
    )


def _is_catalog(name: str) -> bool:
    try:
        return (locate(name) / "manifest.json").is_file()
    except CatalogError:
        return False
