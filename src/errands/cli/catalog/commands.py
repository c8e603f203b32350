"""`errands catalog`: build, generate, inspect, check and export catalogues; freeze their goals."""

import re
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import typer

from errands.atomic import atomic_write
from errands.cli.completion import catalog_names
from errands.cli.options import CatalogData
from errands.cli.output import (
    Force,
    Json,
    answer,
    print_json,
    printable,
    program,
    progress_bar,
    refuse_to_replace,
    remarks,
    results,
    table,
    write_new,
)
from errands.errors import CatalogError, DamageError, SettingError
from errands.home import catalogs_dir
from errands.progress import Progress
from errands.shop.catalog.catalog import Catalog
from errands.shop.catalog.library import locate, names
from errands.shop.catalog.manifest import Manifest
from errands.shop.catalog.verification import damage
from errands.shop.fresh.draw import fresh_goals
from errands.shop.goals import SHUFFLE_SEED, SPLITS, GoalSet, select_goals, write_goals
from errands.shop.product import Product
from errands.shop.rewards.nouns import tagger as noun_tagger
from errands.shop.splits import DISJOINT, overlap_remark, split_indices
from errands.shop.synthetic.difficulty import DIFFICULTIES

__all__ = ["app"]

app = typer.Typer(
    name="catalog",
    help="Build, generate, inspect, check and export catalogues.",
    no_args_is_help=True,
)

_CATALOG = typer.Argument(
    "demo",
    metavar="[CATALOG]",
    help="A catalogue's directory or name.",
    autocompletion=catalog_names,
)
_ITEMS = typer.Option(..., help="Products, as in items_shuffle.json.")
_ATTRIBUTES = typer.Option(
    ..., help="Mined attributes and synthetic instructions, as in items_ins_v2.json."
)
_HUMAN = typer.Option(None, help="Human instructions, as in items_human_ins.json.")
_FORCE = typer.Option(False, "--force", help="Replace a catalogue that is there already.")
_TAGGER = typer.Option(
    "lexicon",
    help="Noun tagger: lexicon, lexicon-lower or spacy:MODEL (install the extra `spacy`).",
)
_WORKERS = typer.Option(
    None,
    min=1,
    help="Worker processes, all cores unless told; small catalogues need none. The same bytes.",
)


@app.command()
def build(
    out: Path = typer.Argument(help="The directory to make."),
    items: Path = _ITEMS,
    attributes: Path = _ATTRIBUTES,
    human: Path | None = _HUMAN,
    nouns: Path | None = typer.Option(
        None, help="Nouns of titles by asin, instead of the tagger's."
    ),
    tagger: str = _TAGGER,
    seed: int = typer.Option(SHUFFLE_SEED, help="Of range prices and price caps."),
    workers: int | None = _WORKERS,
    force: bool = _FORCE,
    as_json: bool = Json,
) -> None:
    """Build a catalogue from the original WebShop files.

    Example:

    \b
      errands catalog build shop-1k --items items_shuffle_1000.json \\
        --attributes items_ins_v2_1000.json --human items_human_ins.json
    """
    from errands.shop.build.builder import build_catalog

    with progress_bar() as bar:
        manifest = build_catalog(
            out,
            items=items,
            attributes=attributes,
            human=human,
            nouns=nouns,
            tagger_name=tagger,
            seed=seed,
            workers=workers,
            replace=force,
            progress=bar,
        )
    _report(out, manifest, as_json)


@app.command()
def generate(
    out: Path = typer.Argument(help="The directory to make."),
    products: int = typer.Option(5000, help="How many products."),
    seed: int = typer.Option(1, help="The same seed gives the same catalogue on every machine."),
    difficulty: str = typer.Option(
        "paper",
        help="easy, paper (agents score about as on the original's data) or hard.",
    ),
    tagger: str = _TAGGER,
    workers: int | None = _WORKERS,
    force: bool = _FORCE,
    as_json: bool = Json,
) -> None:
    """Generate a catalogue of our own products, pictures, instructions and goals.

    Example: errands catalog generate big --products 100000 --seed 7
    """
    from errands.shop.build.builder import generate_catalog

    with progress_bar() as bar:
        manifest = generate_catalog(
            out,
            products=products,
            seed=seed,
            difficulty=difficulty,
            tagger_name=tagger,
            workers=workers,
            replace=force,
            progress=bar,
        )
    _report(out, manifest, as_json)


@app.command()
def export(
    catalog: str = typer.Argument(help="A catalogue's directory or name."),
    items: Path = _ITEMS,
    attributes: Path = _ATTRIBUTES,
    human: Path | None = _HUMAN,
    nouns: Path | None = typer.Option(None, help="Nouns of titles by asin."),
    force: bool = typer.Option(False, "--force", help="Replace files that are there already."),
    as_json: bool = Json,
) -> None:
    """Write a catalogue in the formats of the original WebShop files.

    A catalogue that is built from them is the same catalogue.

    Example:

    \b
      errands catalog export demo --items items.json --attributes attributes.json \\
        --human human.json
    """
    from errands.shop.build.export import export_catalog

    opened = Catalog.open(catalog)
    with progress_bar() as bar:
        written = export_catalog(
            opened,
            items=items,
            attributes=attributes,
            human=human,
            nouns=nouns,
            replace=force,
            progress=bar,
        )
    manifest = opened.manifest
    if as_json:
        files = {
            name: {"path": file.path, "products": file.members, "bytes": file.bytes}
            for name, file in written.items()
        }
        print_json({"seed": manifest.seed, "tagger": manifest.tagger, "files": files})
        return
    for file in written.values():
        results.print(f"{file.path}: {file.members:,} products, {file.bytes:,} bytes.")
    if human is None and manifest.goals.get("human"):
        results.print(f"Left out: {manifest.goals['human']:,} human goals; --human writes them.")
    if nouns is None and "products in the nouns file" in manifest.made:
        results.print("Left out: nouns that came from a file; --nouns writes them.")
    given = " ".join(f"--{name} {shlex.quote(str(file.path))}" for name, file in written.items())
    # A manifest's tagger bears its version.
    tagger = re.sub(r"-[\d.]+$", "", manifest.tagger)
    if tagger != "file":
        given += f" --tagger {tagger}"
    results.print(f"The same again: {program()} catalog build OUT {given} --seed {manifest.seed}")


@app.command()
def info(
    catalog: str = _CATALOG,
    quick: bool = typer.Option(False, "--quick", help="Count nothing: only what is written down."),
    against: str | None = typer.Option(
        None, metavar="paper", help="Instead, how hard its goals are, beside real ones."
    ),
    goals: str | None = typer.Option(
        None, help="With --against: human (where there are), synthetic, or a goal file."
    ),
    sample: int | None = typer.Option(
        None, min=1, help="With --against: how many goals to draw; 500 unless told."
    ),
    seed: int | None = typer.Option(None, help="With --against: of what is drawn; 0 unless told."),
    as_json: bool = Json,
) -> None:
    """Say what a catalogue holds, beside the paper's, and what it was made from.

    With --against paper, say how hard its goals are, beside the real ones: their wording, how
    special their wishes are, where search finds the target, how often another product would do, and
    what the rule and the choice oracle score.

    Examples:

    \b
      errands catalog info shop-1k
      errands catalog info demo --against paper
      errands catalog info demo --against paper --goals my-goals.json --sample 200 --json
    """
    opened = Catalog.open(catalog)
    if against is not None:
        if quick:
            raise SettingError("--against counts, --quick does not: leave out one of them.")
        _compare(opened, against, goals, sample or 500, seed or 0, as_json)
        return
    if goals is not None or sample is not None or seed is not None:
        raise SettingError("--goals, --sample and --seed are of a comparison: add --against paper.")
    manifest = opened.manifest
    index = opened.index
    facts: dict[str, Any] = {
        "path": str(opened.path),
        "products": manifest.products,
        "goals": manifest.goals,
        "dropped": manifest.dropped,
        "terms": len(index),
        "indexed tokens": index.statistics.tokens,
        "bytes": sum(file.bytes for file in manifest.files.values()),
        "made": manifest.made,
        "sources": msgspec.to_builtins(manifest.sources),
        "price seed": manifest.seed,
        "tagger": manifest.tagger,
        "format": manifest.format,
        "errands": manifest.errands,
        "checksum": manifest.checksum,
    }
    counted = None if quick else _counted(opened)
    if as_json:
        print_json(facts if counted is None else {**facts, "statistics": counted})
        return
    shown = table("fact", "value", title=f"Catalogue {catalog}")
    shown.show_header = False
    for name, value in facts.items():
        shown.add_row(name, _plain(value))
    results.print(shown)
    if counted is not None:
        rows = [
            (name, _figure(both["here"]), _figure(both["paper"])) for name, both in counted.items()
        ]
        headings = ("statistic", "here", "in the paper")
        results.print(table(*headings, rows=rows, title="Beside the paper's"))


def _counted(opened: Catalog) -> dict[str, dict[str, Any]]:
    """Each statistic of a catalogue, with the paper's."""
    from errands.shop.build.statistics import PAPER, catalog_statistics

    with progress_bar() as bar:
        here = msgspec.to_builtins(catalog_statistics(opened, bar))
    paper = msgspec.to_builtins(PAPER)
    return {
        name.replace("_", " "): {"here": here[name], "paper": paper[name] or None} for name in here
    }


def _compare(
    opened: Catalog, against: str, goals: str | None, sample: int, seed: int, as_json: bool
) -> None:
    """Print each statistic of a catalogue's goals beside the real one."""
    from errands.experiments.goal_study import beside_the_real, default_goals, goal_statistics

    if against != "paper":
        raise SettingError(f"--against {against}: expected paper.")
    kind = goals or default_goals(opened)
    with progress_bar() as bar:
        counted = goal_statistics(opened, kind, sample=sample, seed=seed, progress=bar)
    rows = beside_the_real(counted, kind)
    if as_json:
        print_json({"path": opened.path, "goals": kind, "seed": seed, "statistics": rows})
        return
    headings = ("statistic", "here", "real", "real: counted on")
    shown = [(row.name, _short(row.here), _short(row.real), row.of) for row in rows]
    results.print(table(*headings, rows=shown, title=f"{kind} goals of {opened.path}"))


def _short(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _figure(value: Any) -> str:
    if value is None:
        return "not given"
    if isinstance(value, dict):
        return "\n".join(f"{name} {share:.1%}" for name, share in value.items())
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


@app.command("list")
def list_catalogs(as_json: bool = Json) -> None:
    """List the catalogues that can be named: demo, and those in Errands' home.

    Example: errands catalog list
    """
    advice = f"A catalogue built as {catalogs_dir()}/NAME can be named NAME."
    answer(as_json, names(), *names(), advice)


@app.command()
def verify(catalog: str = _CATALOG, as_json: bool = Json) -> None:
    """Check every file of a catalogue against the checksums of its manifest.

    Example: errands catalog verify shop-1k
    """
    # Not by opening it: that may be just what fails.
    folder = locate(catalog)
    problems = damage(folder)
    if as_json:
        print_json({"path": folder, "ok": not problems, "problems": problems})
    elif not problems:
        results.print(f"{folder}: every file is as it was built.")
    if problems:
        raise DamageError(f"{folder} is damaged: {'; '.join(problems)}. Build it again.")


@app.command()
def goals(
    catalog: str = _CATALOG,
    out: Path | None = typer.Option(
        None, help="The goal file to write; without it, generated instructions are printed."
    ),
    kind: str | None = typer.Option(
        None,
        "--goals",
        help="The goals to freeze: synthetic (unless told), human, or another goal file.",
    ),
    split: str | None = typer.Option(
        None, help=f"Only those of a split: {', '.join([*DISJOINT, *SPLITS])}."
    ),
    limit: int | None = typer.Option(None, help="Only so many, drawn by weight as the original."),
    generate: int | None = typer.Option(
        None, metavar="N", help="Write so many new goals, each for another product."
    ),
    difficulty: str | None = typer.Option(
        None, help=f"With --generate: {', '.join(DIFFICULTIES)}; paper unless told."
    ),
    disjoint_from: list[str] = typer.Option(
        [], help="With --generate: share no product and no wording with this goal file or set."
    ),
    seed: int | None = typer.Option(
        None, help="Of generated goals (0 unless told); else: draw prices and price caps anew."
    ),
    force: bool = typer.Option(False, "--force", help="Replace a file that is there already."),
) -> None:
    """Freeze a goal set, with the prices that rewards use, in one file; or write new goals.

    New goals are for any catalogue: instructions as people write them, from the products' own
    attributes and options. Other seeds give others, and the same seed the same.

    Examples:

    \b
      errands catalog goals demo --goals human --split disjoint-test --out test-goals.json
      errands catalog goals demo --generate 5 --difficulty hard
      errands catalog goals demo --generate 500 --seed 1 --out train.json
      errands catalog goals demo --generate 200 --seed 2 --out test.json \\
        --disjoint-from train.json --disjoint-from human
    """
    if generate is None and (difficulty is not None or disjoint_from):
        raise SettingError("--difficulty and --disjoint-from are of new goals: add --generate N.")
    if generate is None and out is None:
        raise SettingError("Where to write the goals is missing: --out FILE.")
    if generate is not None and (kind is not None or split is not None or limit is not None):
        raise SettingError("--generate writes new goals: leave out --goals, --split and --limit.")
    if out is not None and out.exists() and not force:
        raise CatalogError(f"{out} exists already; name another file, or pass --force.")
    opened = Catalog.open(catalog)
    made: dict[str, Any] = {}
    chosen: GoalSet
    overlap = ""
    with progress_bar() as bar:
        if generate is None:
            chosen = opened.goals(kind or "synthetic", seed)
            if split is not None or limit is not None:
                wanted = set(split_indices(split, chosen))
                overlap = overlap_remark(split, chosen)
                chosen = select_goals(chosen, where=lambda i, goal: i in wanted, limit=limit)
        else:
            how: dict[str, Any] = {"seed": seed or 0, "difficulty": difficulty or "paper"}
            made = {"by": "generate", **how, "catalog": opened.manifest.checksum}
            chosen = fresh_goals(opened, generate, **how, disjoint_from=disjoint_from, progress=bar)
        if out is not None:
            products = _told(opened, bar)
            try:
                atomic_write(out, lambda work: write_goals(work, chosen, products, made))
            except OSError as failure:
                raise CatalogError(f"{out} cannot be written ({failure.strerror}).") from None
    if out is not None:
        results.print(f"{out}: {len(chosen):,} goals and {len(opened):,} prices.")
        if overlap:
            remarks.print(f"Note: {overlap}.")
        return
    for index in range(len(chosen)):
        results.print(printable(chosen[index].instruction_text))


def _told(opened: Catalog, progress: Progress) -> Iterator[Product]:
    """All products of a catalogue, told as they are read."""
    for done, product in enumerate(opened, 1):
        if not done % 1000:
            progress("reading prices", done, len(opened))
        yield product


@app.command()
def nouns(
    title: str = typer.Argument(help="A product title."),
    tagger: str = _TAGGER,
    as_json: bool = Json,
) -> None:
    """Print the nouns that a tagger finds in a title, on which the type reward rests.

    Example: errands catalog nouns "Wireless Bluetooth Headphones, Black"
    """
    chosen = noun_tagger(tagger)
    found = chosen.nouns(title)
    answer(as_json, {"tagger": chosen.name, "nouns": found}, " ".join(found))


@app.command()
def queries(
    catalog: str = _CATALOG,
    out: Path = typer.Option(..., help="The folder to write the two files to."),
    force: bool = typer.Option(False, "--force", help="Replace files that are there already."),
) -> None:
    """Write what people, and a query model, would search for, for a generated catalogue.

    goal_query_map.json has people's queries in order, goal_query_predict.json a model's: the form
    of the original's files, which the choice oracle reads.

    Examples:

      errands catalog queries demo --out queries

      errands run shop-demo --agent choice-oracle --set query=human-last
      --set queries=queries/goal_query_map.json
    """
    from errands.shop.synthetic.difficulty import difficulty
    from errands.shop.synthetic.queries import search_queries

    opened = Catalog.open(catalog)
    manifest = opened.manifest
    if manifest.difficulty is None:
        raise CatalogError(
            f"{opened.path} was built from files, so nobody knows what people would search for;"
            " expected a catalogue made by `errands catalog generate`."
        )
    knobs, seed = difficulty(manifest.difficulty), int(manifest.made["seed"])
    searches = list(search_queries(seed, manifest.products, knobs))
    files = {
        "goal_query_map.json": {one.instruction: one.people for one in searches},
        "goal_query_predict.json": {one.instruction: one.predicted for one in searches},
    }
    for name, content in files.items():
        file = out / name
        if file.exists() and not force:
            raise CatalogError(f"{file} exists already; name another folder, or pass --force.")
        try:
            out.mkdir(parents=True, exist_ok=True)
            text = msgspec.json.format(msgspec.json.encode(content), indent=1)
            atomic_write(file, partial(_write_bytes, text))
        except OSError as failure:
            raise CatalogError(f"{file} cannot be written ({failure.strerror}).") from None
    results.print(f"{out}: queries for {len(searches):,} instructions, in two files.")


def _write_bytes(content: bytes, path: Path) -> None:
    path.write_bytes(content)


@app.command()
def picture(
    asin: str = typer.Argument(help="The product's id."),
    catalog: str = CatalogData,
    value: str | None = typer.Option(None, help="The picture of this option value."),
    out: Path | None = typer.Option(None, help="The SVG file to write; else standard output."),
    force: bool = Force,
) -> None:
    """Draw the picture of a generated product, or of one of its options.

    Example: errands catalog picture ASIN --out shoe.svg, with an id from `errands search`.
    """
    from errands.shop.render.images import picture as draw

    refuse_to_replace(out, force)
    opened = Catalog.open(catalog)
    if asin not in opened:
        raise CatalogError(f"There is no product {asin!r} in {opened.path}.")
    product = opened[asin]
    if value is not None and value not in product.option_images:
        known = ", ".join(product.option_images) or "none"
        raise CatalogError(f"{asin} has no option value {value!r}; it has: {known}.")
    reference = (product.option_images[value] if value is not None else None) or product.image
    if not reference.startswith("picture:"):
        raise CatalogError(f"{asin} is not a generated product; its picture is {reference}")
    drawn = draw(reference)
    if out is None:
        typer.echo(drawn)
        return
    write_new(out, drawn, replace=True)
    remarks.print(f"{out} written.")


def _report(out: Path, manifest: Manifest, as_json: bool) -> None:
    """The closing report: what is there, and what was left out and why."""
    if as_json:
        print_json({"path": out, **msgspec.structs.asdict(manifest)})
        return
    counts = ", ".join(f"{count:,} {kind} goals" for kind, count in manifest.goals.items())
    products = "1 product" if manifest.products == 1 else f"{manifest.products:,} products"
    results.print(f"{out}: {products}, {counts}.")
    if not any(manifest.goals.values()):
        results.print("There are no goals in it: an environment needs some.")
    if not manifest.dropped:
        results.print("Nothing was left out.")
    for reason, count in manifest.dropped.items():
        results.print(f"Left out {count:,}: {reason}")


def _plain(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return "\n".join(f"{name}: {_plain(item)}" for name, item in value.items()) or "none"
    if isinstance(value, list | tuple):
        lines = (f"{item['name']} ({item['bytes']:,} bytes) {item['sha256']}" for item in value)
        return "\n".join(lines) or "none"
    return str(value)
