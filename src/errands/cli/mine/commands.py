"""`errands mine`: from a table of products to a shop with goals."""

import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from errands.cli.output import (
    Json,
    print_json,
    printable,
    program,
    progress_bar,
    remarks,
    results,
    table,
)
from errands.errors import DataError, SettingError

__all__ = ["app"]

app = typer.Typer(
    name="mine",
    no_args_is_help=True,
    help="Your own shop: products of any table, attributes mined from them, goals.",
)

_TABLE = typer.Argument(metavar="FILE", help="Products: CSV, TSV, JSON Lines, JSON or an XML feed.")
_MAP = typer.Option(None, "--map", metavar="TOML", help="Which column holds what; else guessed.")
_FORCE = typer.Option(False, "--force", help="Replace files that are there already.")
_ITEMS = typer.Option(..., help="Products, as `errands mine products` or items_shuffle.json.")
_BY = typer.Option("category", help="What makes a group: category, or query (narrow).")
_TOP = typer.Option(200, min=1, help="Candidates of each group.")
_TEXT = typer.Option(
    "title,features,description", "--text", help="Which texts of a product to look at."
)


@app.command("map")
def write_map(
    products: Path = _TABLE,
    out: Path | None = typer.Option(None, help="The TOML file to write; else standard output."),
    force: bool = _FORCE,
) -> None:
    """Write a map of a table's columns to begin with: what was recognised, and what was not.

    Example:

    \b
      errands mine map products.csv --out map.toml
    """
    from errands.atomic import atomic_files
    from errands.mining.product_file import ProductFile
    from errands.mining.table.column_map import ColumnMap, starter
    from errands.mining.table.table_file import TableFile

    header = TableFile(products).header
    try:
        made = ProductFile(products).map
    except SettingError:
        made = ColumnMap(columns={})
    text = starter(made, header)
    if out is None:
        typer.echo(text, nl=False)
        return
    with atomic_files([out], replace=force) as [work]:
        work.write_text(text, encoding="utf-8")
    results.print(f"{out}: look it over; a title is all that must be there.")


@app.command("products")
def products_command(
    products: Path = _TABLE,
    out: Path = typer.Option(..., help="The items file to write."),
    map_file: Path | None = _MAP,
    force: bool = _FORCE,
    as_json: bool = Json,
) -> None:
    """Read products out of any table, and write them in the original's format.

    Rows without a title, damaged rows, and products with an id or a title that was there before
    are left out and counted.

    Examples:

    \b
      errands mine products products.csv --out items.json
      errands mine products dump.jsonl --map map.toml --out items.json
    """
    from errands.mining.own_shop import take_products
    from errands.mining.table.column_map import read_map

    column_map = None if map_file is None else read_map(map_file)
    with progress_bar() as bar:
        taken, used = take_products(products, out, column_map, replace=force, progress=bar)
    if as_json:
        print_json({"file": out, **_counts(taken, used)})
        return
    _tell_columns(used)
    for doubt in taken.doubts:
        _beware(doubt.sentence)
    results.print(f"{out}: {taken.products:,} products of {taken.rows:,} rows.")
    _tell_counts(taken)


@app.command("attributes")
def attributes(
    items: Path = _ITEMS,
    out: Path | None = typer.Option(
        None,
        help="The file of candidates to write (default: candidates.json beside the items; none with"
        " --against).",
    ),
    by: str = _BY,
    top: int = _TOP,
    words: int = typer.Option(2, min=1, max=3, help="Words of a candidate; the paper took two."),
    least: int = typer.Option(2, min=1, help="Products of a group that must have it."),
    text: str = _TEXT,
    sample: int = typer.Option(
        40_000, min=1, help="Products to look at, drawn from a larger file."
    ),
    seed: int = typer.Option(0, min=0, help="Of that draw."),
    against: Path | None = typer.Option(
        None, metavar="FILE", help="Compare with an existing list, as in items_ins_v2.json."
    ),
    common: int = typer.Option(5, min=1, help="With --against: products of a common attribute."),
    show: int = typer.Option(10, min=0, help="Candidates to print."),
    force: bool = _FORCE,
    as_json: bool = Json,
) -> None:
    """Mine candidates for attributes: telling phrases of each group of products, by TF-IDF.

    Each comes with its score, examples, and what the built-in filter would do with it.

    Examples:

    \b
      errands mine attributes --items items.json
      errands mine attributes --items items.json --by query --top 50 --out candidates.json
      errands mine attributes --items items_shuffle_1000.json --against items_ins_v2_1000.json
    """
    from errands.atomic import atomic_files
    from errands.mining.candidates import stream_items
    from errands.mining.comparison import compare, read_listed
    from errands.mining.own_shop import mine_file
    from errands.mining.phrases import fields_named

    if out is None and against is None:
        out = items.with_name("candidates.json")
    listed = None if against is None else read_listed(against)
    # What is there already is told before the work.
    with atomic_files([] if out is None else [out], replace=force) as works, progress_bar() as bar:
        mined = mine_file(
            items,
            by=by,
            top=top,
            size=words,
            least=least,
            fields=fields_named(text),
            sample=sample,
            seed=seed,
            # The original's list has phrases of two words only.
            lone=against is None,
            progress=bar,
        )
        for work in works:
            mined.write(work)
    compared = None if listed is None else compare(mined, stream_items(items), listed, common)
    dropped = Counter(one.proposal.use for one in mined.candidates)["drop"]
    if as_json:
        print_json(
            {
                "file": out,
                "products": mined.products,
                "by": by,
                "groups": mined.groups,
                "thin": mined.thin,
                "candidates": len(mined.candidates),
                "proposed_to_drop": dropped,
                "against": compared,
            }
        )
        return
    if show and mined.candidates:
        rows = [
            (
                one.phrase,
                f"{one.score:.4f}",
                f"{one.products:,}",
                f"{printable(one.groups[0].name)} #{one.groups[0].rank}",
                f"{one.proposal.use} ({printable(one.proposal.reason)})",
            )
            for one in mined.candidates[:show]
        ]
        headings = ("candidate", "score", "products", "group", "the filter says")
        results.print(table(*headings, rows=rows))
    where = "" if out is None else f"{out}: "
    results.print(
        f"{where}{len(mined.candidates):,} candidates of {mined.products:,} products in"
        f" {len(mined.groups):,} groups; the filter would drop {dropped:,}."
    )
    if mined.thin:
        results.print(f"Without candidates: {mined.thin:,} groups that are too small.")
    if compared is not None:
        results.print(table("beside the list", "number", "share", rows=compared.table()))
    if out is not None:
        remarks.print(f"Next: {program()} mine review {shlex.quote(str(out))}")


@app.command("review")
def review(
    candidates: Path = typer.Argument(help="What `errands mine attributes` wrote."),
    decisions: Path | None = typer.Option(
        None, help="Where answers are kept (default: CANDIDATES.decisions.jsonl)."
    ),
    only: str | None = typer.Option(None, "--group", help="Only the candidates of this group."),
    accept: str | None = typer.Option(
        None, metavar="drops|all", help="Take the filter's word for what is left, and end."
    ),
    web: bool = typer.Option(False, "--web", help="In the browser, on this machine only."),
    port: int = typer.Option(8001, min=0, max=65535, help="With --web; 0 takes a free one."),
    as_json: bool = typer.Option(
        False, "--json", help="Ask nothing: how far it is. Print one JSON document."
    ),
) -> None:
    """Go through the candidates: keep each for one of four uses, or drop it.

    Each answer is on disk before the next question. Keys: 1 good for, 2 has, 3 which is, 4 is a,
    d or space drop, a agree with the filter, n later, u undo, q quit.

    Examples:

    \b
      errands mine review candidates.json
      errands mine review candidates.json --web
      errands mine review candidates.json --accept drops
    """
    from errands.mining.candidates import read_candidates
    from errands.mining.decisions import Decisions, read_decisions
    from errands.mining.review import Review, check_bulk, check_group

    if web and (accept is not None or as_json):
        raise SettingError("--web asks a person; leave it out with --accept and with --json.")
    mined = read_candidates(candidates)
    place = decisions or default_decisions(candidates)
    name = None if only is None else only.strip().lower()
    check_group(mined, name)
    if accept is not None:
        check_bulk(accept)
    if as_json and accept is None:
        # Another review may be writing.
        going = Review(mined, Decisions(place), name)
        _tell_standing(place, going, read_decisions(place))
        return
    with Decisions(place) as answers:
        going = Review(mined, answers, name)
        if accept is not None:
            count = going.accept(accept)
            if as_json:
                _tell_standing(place, going, answers.made, count)
                return
            results.print(f"{count:,} answers of the filter's were taken.")
        elif web:
            _serve_review(going, port)
        else:
            from errands.cli.mine.terminal import ask

            ask(going)
        progress = going.progress()
    results.print(
        f"{place}: {progress.kept:,} kept, {progress.dropped:,} dropped, {progress.left:,} left."
    )


def _tell_standing(place: Path, going: Any, made: Mapping[str, str], accepted: int = 0) -> None:
    said = [made.get(one.phrase) for one in going.candidates]
    print_json(
        {
            "file": place,
            "candidates": len(said),
            "accepted": accepted,
            "left": said.count(None),
            "uses": Counter(use for use in said if use is not None),
        }
    )


def default_decisions(candidates: Path) -> Path:
    return candidates.with_suffix(".decisions.jsonl")


def _serve_review(going: Any, port: int) -> None:
    from errands.web.review.servers import serve_review

    def started(address: str) -> None:
        results.print(f"Review on {address}/mining")
        results.file.flush()
        remarks.print("Only this machine can reach it. Ctrl-C ends it; nothing is lost.")

    serve_review(going, port, started)


@app.command("assign")
def assign(
    items: Path = _ITEMS,
    candidates: Path = typer.Option(..., help="What `errands mine attributes` wrote."),
    out: Path = typer.Option(..., help="The file to write, as in items_ins_v2.json."),
    decisions: Path | None = typer.Option(
        None, help="Answers of a review (default: CANDIDATES.decisions.jsonl)."
    ),
    accept_rest: bool = typer.Option(
        False, "--accept-rest", help="Take the filter's word for candidates without an answer."
    ),
    least: int = typer.Option(2, min=1, help="Attributes that an instruction must ask for."),
    most: int = typer.Option(3, min=1, help="Attributes that an instruction asks for at most."),
    text: str | None = typer.Option(
        None, "--text", help="Which texts of a product to look at (default: those mined)."
    ),
    force: bool = _FORCE,
    as_json: bool = Json,
) -> None:
    """Give the kept attributes to the products that have them, and write synthetic instructions.

    Examples:

    \b
      errands mine assign --items items.json --candidates candidates.json --out attributes.json
      errands catalog build my-shop --items items.json --attributes attributes.json
    """
    from errands.mining.candidates import read_candidates
    from errands.mining.decisions import read_decisions
    from errands.mining.own_shop import give_out
    from errands.mining.phrases import fields_named
    from errands.mining.review import kept_uses, ranks_of

    mined = read_candidates(candidates)
    if decisions is not None and not decisions.is_file():
        raise DataError(
            f"{decisions} is no file of answers; `errands mine review {candidates}` makes one."
        )
    made = read_decisions(decisions or default_decisions(candidates))
    uses = kept_uses(mined, made, accept_rest=accept_rest)
    fields = mined.fields if text is None else fields_named(text)
    with progress_bar() as bar:
        done = give_out(
            items,
            uses,
            out,
            least=least,
            most=most,
            fields=fields,
            ranks=ranks_of(mined),
            replace=force,
            progress=bar,
        )
    each = done.given / max(done.products, 1)
    if as_json:
        print_json(
            {
                "file": out,
                "attributes": len(uses),
                "without_products": len(uses) - len(done.used),
                "products": done.products,
                "with_attributes": done.with_attributes,
                "with_instruction": done.with_instruction,
                "attributes_per_product": round(each, 3),
            }
        )
        return
    results.print(
        f"{out}: {len(uses):,} attributes; {done.with_attributes:,} of {done.products:,} products"
        f" have some ({each:.1f} each), {done.with_instruction:,} have an instruction."
    )
    if not done.with_instruction:
        results.print(
            f"No product has {least} attributes to ask for; a shop needs goals: --least 1."
        )
    built = f"--items {shlex.quote(str(items))} --attributes {shlex.quote(str(out))}"
    remarks.print(f"Next: {program()} catalog build my-shop {built}")


@app.command("shop")
def shop(
    products: Path = _TABLE,
    out: Path = typer.Option(
        ..., help="The directory to make: the shop, and the files on the way."
    ),
    map_file: Path | None = _MAP,
    by: str = _BY,
    top: int = _TOP,
    least: int | None = typer.Option(
        None,
        min=1,
        show_default=False,
        help="Attributes that an instruction must ask for (default: 2, or 1 in a small shop).",
    ),
    as_is: bool = typer.Option(
        False,
        "--as-is",
        help="Build even if the table seems to have prices, options or pictures not read.",
    ),
    force: bool = _FORCE,
    as_json: bool = Json,
) -> None:
    """All steps at once, with the filter's word taken for every candidate.

    OUT/shop is the catalogue; items.json, candidates.json and attributes.json are beside it, and a
    review of the candidates can still follow. Where no product has a price of its own, options or
    pictures although the table seems to have them, nothing is built.

    Example:

    \b
      errands mine shop products.csv --map map.toml --out mine
      errands serve --data mine/shop
    """
    from errands.mining.own_shop import make_shop
    from errands.mining.table.column_map import read_map

    column_map = None if map_file is None else read_map(map_file)
    with progress_bar() as bar:
        made = make_shop(
            products,
            out,
            column_map,
            by=by,
            top=top,
            least=least,
            as_is=as_is,
            warn=_beware,
            replace=force,
            progress=bar,
        )
    if as_json:
        print_json(
            {
                "catalog": made.catalog,
                **_counts(made.taken, made.columns),
                "products": made.manifest.products,
                "candidates": len(made.mined.candidates),
                "with_attributes": made.assigned.with_attributes,
                "with_instruction": made.assigned.with_instruction,
                "shared_by": made.shared_by,
                "asked": made.asked,
                "goals": made.manifest.goals,
                "kinds": made.found,
            }
        )
        _check_goals(made)
        return
    results.print(
        f"{made.catalog}: {made.manifest.products:,} products of {made.taken.rows:,} rows,"
        f" {made.assigned.with_instruction:,} of them with an instruction,"
        f" {made.manifest.goals.get('synthetic', 0):,} synthetic goals."
    )
    _tell_counts(made.taken)
    _check_goals(made)
    _tell_columns(made.columns)
    _tell_kinds(made.found)
    if made.shared_by == 1:
        results.print(
            "Few products have attributes in common, so what only one product says became an"
            " attribute, too: review them (errands mine review"
            f" {shlex.quote(str(made.catalog.with_name('candidates.json')))})."
        )
    elif least is None and made.asked == 1:
        results.print(
            "Few products have two attributes that others have, too, so instructions ask for one"
            " where there are no two."
        )
    remarks.print(f"Next: {program()} serve --data {shlex.quote(str(made.catalog))}")


def _tell_kinds(found: Any) -> None:
    """Whether what goals ask for is found by its kind."""
    if found.targets:
        results.print(
            f"Searching for the kind that a goal names shows its product for"
            f" {found.targets_found:,} of {found.targets:,} products, of {found.kinds:,} kinds."
        )
    if found.lost:
        few = ", ".join(printable(kind) for kind in found.lost[:5])
        results.print(
            f"Searching shows no product of {len(found.lost):,} of the kinds ({few}): say in the"
            " map which column has the kind, [columns] query."
        )


def _check_goals(made: Any) -> None:
    """A shop that agents cannot play in is there, but it is not what was asked for."""
    if not made.manifest.goals.get("synthetic", 0):
        place = shlex.quote(str(made.catalog))
        raise DataError(
            f"{made.catalog} has no goals, for its products say nothing of themselves that an"
            " instruction could ask for; give the table a column of descriptions or features, and"
            f" run this again with --force. As it is, it can be looked at: {program()} serve --data"
            f" {place}"
        )


def _beware(sentence: str) -> None:
    remarks.print(f"Beware: {printable(sentence)}")


def _counts(taken: Any, columns: Any) -> dict[str, Any]:
    """What became of the rows of a table, as JSON."""
    names = "rows products variants dropped remarks separators doubts".split()
    return {**{name: getattr(taken, name) for name in names}, "columns": columns.told()}


def _tell_columns(columns: Any) -> None:
    used = ", ".join(f"{field} = {column}" for field, column in columns.told().items())
    remarks.print(f"Columns: {printable(used)}.")


def _tell_counts(taken: Any) -> None:
    if taken.variants:
        results.print(f"{taken.variants:,} rows are further variants of these products.")
    for name, sign in taken.separators.items():
        results.print(
            f"Values of {printable(name)} are parted by {sign!r} in this table, and were taken"
            " apart; [split] in the map says otherwise."
        )
    for what, counts in (("Left out", taken.dropped), ("Of those taken", taken.remarks)):
        for reason, count in counts.most_common():
            results.print(f"{what} {count:,}: {printable(reason)}")
