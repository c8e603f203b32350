"""`errands experiment nouns`: what the choice of a noun tagger changes."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer

from errands.cli.output import Json, print_json, results, table
from errands.errors import DataError
from errands.experiments.noun_study import Study, run_study
from errands.shop.product import Product, Unusable, parse_product
from errands.shop.rewards.nouns import nouns_from_file, tagger

__all__ = ["nouns"]


def nouns(
    items: Path = typer.Option(..., help="An items file of WebShop's form."),
    known: Path | None = typer.Option(
        None, "--nouns", help="Also compare with this file of nouns per product."
    ),
    taggers: list[str] | None = typer.Option(
        None, "--tagger", help="Taggers to compare, the first with all others."
    ),
    limit: int = typer.Option(2000, min=2, help="Use the first so many products."),
    as_json: bool = Json,
) -> None:
    """Tell how near taggers come to the original's title scores, and what rewards they move.

    Example:

    \b
      errands experiment nouns --items items_shuffle_1000.json --limit 500
    """
    files = {known.name: nouns_from_file(known)} if known else {}
    chosen = [tagger(name) for name in taggers or ("lexicon", "lexicon-lower")]
    result = run_study(_read_products(items, limit), chosen, files)
    if as_json:
        print_json(result)
    else:
        _show(result)


def _read_products(path: Path, limit: int) -> Sequence[Product]:
    try:
        records = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise DataError(f"Cannot read the items file {path}: {error.strerror}.") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise DataError(f"The items file {path} is not JSON: {error}.") from None
    if not isinstance(records, list):
        raise DataError(f"The items file {path} is not a list of product records.")
    products: dict[str, Product] = {}
    for record in records:
        try:
            product = parse_product(record, None)
        except Unusable:
            continue
        products.setdefault(product.asin, product)
        if len(products) == limit:
            break
    if len(products) < 2:
        raise DataError(f"The items file {path} has fewer than two usable products to compare.")
    return list(products.values())


def _show(study: Study) -> None:
    rows = [
        (
            row.tagger,
            row.pair,
            f"{row.expected:.3f}" if row.expected else "< 0.05",
            f"{row.got:.4f}",
            f"{row.deviation:+.4f}",
            "yes" if row.met else "no",
        )
        for row in study.expectations
    ]
    headings = ("tagger", "pair", "expected", "got", "deviation", "within bounds")
    title = "Title scores that the original's tests expect of spaCy"
    results.print(table(*headings, rows=rows, title=title))
    shares = [
        (share.change, share.among, f"{share.pairs:,}", f"{share.share:.2%}")
        for share in study.shares
    ]
    title = f"Ordered pairs of {study.products} products whose type reward changes"
    results.print(table("change", "among", "pairs", "share", rows=shares, left=2, title=title))
