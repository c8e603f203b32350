"""`errands nouns`: see what a tagger finds in a title, and what the choice of a tagger changes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from errands.errors import DataError
from errands.experiments.noun_study import Study, run_study
from errands.shop.product import Product, Unusable, parse_product
from errands.shop.rewards.nouns import nouns_from_file, tagger

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the group `nouns` to the command line."""
    group = typer.Typer(
        name="nouns",
        no_args_is_help=True,
        help="The nouns of titles, on which the type reward rests.",
    )
    group.command("tag")(tag)
    group.command("study")(study)
    app.add_typer(group)


def tag(
    title: Annotated[str, typer.Argument(help="A product title.")],
    by: Annotated[
        str, typer.Option("--tagger", help="lexicon, lexicon-lower or spacy:MODEL.")
    ] = "lexicon",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Print the nouns that a tagger finds in a title."""
    chosen = tagger(by)
    nouns = chosen.nouns(title)
    if as_json:
        typer.echo(json.dumps({"tagger": chosen.name, "nouns": nouns}, ensure_ascii=False))
    else:
        typer.echo(" ".join(nouns))


def study(
    items: Annotated[Path, typer.Option(help="An items file of WebShop's form.")],
    nouns: Annotated[
        Path | None, typer.Option(help="Also compare with this file of nouns per product.")
    ] = None,
    taggers: Annotated[
        list[str] | None,
        typer.Option("--tagger", help="Taggers to compare, the first with all others."),
    ] = None,
    limit: Annotated[int, typer.Option(min=2, help="Use the first so many products.")] = 2000,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Tell how near taggers come to the original's title scores, and what rewards they move."""
    files = {nouns.name: nouns_from_file(nouns)} if nouns else {}
    chosen = [tagger(name) for name in taggers or ("lexicon", "lexicon-lower")]
    result = run_study(_read_products(items, limit), chosen, files)
    if as_json:
        typer.echo(msgspec.json.encode(result).decode())
    else:
        _show(result, Console())


def _read_products(path: Path, limit: int) -> Sequence[Product]:
    try:
        records = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise DataError(f"Cannot read the items file {path}: {error.strerror}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
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


def _show(study: Study, console: Console) -> None:
    table = Table(title="Title scores that the original's tests expect of spaCy")
    for heading in ("tagger", "pair", "expected", "got", "deviation", "within bounds"):
        table.add_column(heading)
    for row in study.expectations:
        expected = f"{row.expected:.3f}" if row.expected else "< 0.05"
        met = "yes" if row.met else "no"
        table.add_row(
            row.tagger, row.pair, expected, f"{row.got:.4f}", f"{row.deviation:+.4f}", met
        )
    console.print(table)
    table = Table(title=f"Ordered pairs of {study.products} products whose type reward changes")
    for heading in ("change", "among", "pairs", "share"):
        table.add_column(heading, justify="right" if heading in ("pairs", "share") else "left")
    for share in study.shares:
        table.add_row(share.change, share.among, f"{share.pairs:,}", f"{share.share:.2%}")
    console.print(table)
