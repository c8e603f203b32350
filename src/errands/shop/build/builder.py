"""Building a catalogue, once, from WebShop's own files or from the generator.

The input is cut into pieces of a fixed number of products. Worker processes build chunks of them,
this process puts the chunks together in order, so the bytes of a catalogue do not depend on how
many work on it. What is kept in memory is a few numbers for each product.
"""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from errands.atomic import atomic_directory
from errands.errors import CatalogError, DataError
from errands.progress import Progress, silent
from errands.shop.build.chunk import BuiltChunk, Raw, Recipe, build_chunk, samples
from errands.shop.build.items_file import PIECE, ItemsFile, Piece, complain, read_piece
from errands.shop.build.json_scan import MalformedJson
from errands.shop.build.process_map import cores, in_order
from errands.shop.build.side_file import SideFile, scan_nouns, scan_side
from errands.shop.build.writer import CatalogWriter
from errands.shop.catalog.compression import SAMPLES, train
from errands.shop.catalog.manifest import Manifest, SourceFile
from errands.shop.goals import SHUFFLE_SEED
from errands.shop.rewards.nouns import tagger
from errands.shop.synthetic.difficulty import PAPER, Difficulty
from errands.shop.synthetic.difficulty import difficulty as known_difficulty
from errands.shop.synthetic.generator import MOST_PRODUCTS, make_product

__all__ = ["DEFAULT_TAGGER", "build_catalog", "generate_catalog"]

DEFAULT_TAGGER = "lexicon"
SMALL_FILE: Final = 24_000_000
"""Bytes of an items file that is read faster than worker processes are started."""
SMALL_NUMBER: Final = 4 * PIECE


@dataclasses.dataclass(frozen=True, slots=True)
class _BuildWork:
    """Builds chunks; can be sent to other processes."""

    raws: Callable[[Any], list[Raw]]
    """The products of a piece."""
    recipe: Recipe

    def __call__(self, piece: Any) -> BuiltChunk:
        return build_chunk(self.raws(piece), self.recipe)


def _read_raws(items: Path, mined: SideFile, human: SideFile | None, piece: Piece) -> list[Raw]:
    """The products of a piece of an items file."""
    records = read_piece(items, piece)
    asins = [record.get("asin") if isinstance(record, dict) else None for record in records]
    # Of an id that is no text no file says anything.
    texts = [asin if isinstance(asin, str) else "" for asin in asins]
    said = [None] * len(texts) if human is None else human.find(texts)
    return list(map(Raw, records, mined.find(texts), said))


def _generate_raws(products: int, seed: int, difficulty: Difficulty, piece: range) -> list[Raw]:
    """Some products of a generated catalogue."""
    made = (
        make_product(number, seed=seed, products=products, difficulty=difficulty)
        for number in piece
    )
    return [Raw(one.record, one.attributes, one.human) for one in made]


def build_catalog(
    out: Path,
    *,
    items: Path,
    attributes: Path,
    human: Path | None = None,
    nouns: Path | None = None,
    tagger_name: str = DEFAULT_TAGGER,
    seed: int = SHUFFLE_SEED,
    workers: int | None = None,
    replace: bool = False,
    progress: Progress = silent,
) -> Manifest:
    """Build a catalogue from the original WebShop files; `workers` None means all cores."""
    for path in (items, attributes, human, nouns):
        if path is not None and not path.is_file():
            raise DataError(
                f"{path} is not a file; expected a WebShop JSON file."
                " `errands data` says where such files are."
            )
    processes = _processes(workers, items.stat().st_size > SMALL_FILE)
    chosen = tagger(tagger_name)
    with (
        atomic_directory(out, replace=replace) as folder,
        CatalogWriter(folder, tagger=chosen.name, seed=seed) as writer,
    ):
        scratch = folder / "scratch"
        sources: list[SourceFile] = []

        def scanned(
            scan: Callable[[Path, Path], tuple[SideFile, SourceFile]], path: Path
        ) -> SideFile:
            progress(f"reading {path.name}", 0, None)
            side, source = scan(path, scratch / f"side{len(sources)}")
            sources.append(source)
            return side

        mined = scanned(scan_side, attributes)
        said = None if human is None else scanned(scan_side, human)
        known = None if nouns is None else scanned(scan_nouns, nouns)
        total = items.stat().st_size
        file = ItemsFile(items, lambda done: progress("reading products", done, total))
        raws = partial(_read_raws, items, mined, said)
        work = _BuildWork(raws, Recipe(tagger_name, known, b""))
        try:
            dictionary = _write_chunks(writer, work, file.pieces(), processes)
        except MalformedJson:
            complain(items)
        for path, matched in ((attributes, writer.with_mined), (human, writer.with_human)):
            if len(writer) and path is not None and path.stat().st_size > 2 and not matched:
                raise DataError(
                    f"{path} says nothing about any of the products in {items}; expected a JSON"
                    " object with their asins as names."
                )
        products = SourceFile(items.name, file.bytes, file.sha256)
        made: dict[str, Any] = {"by": "build"}
        if nouns is not None:
            made["products in the nouns file"] = writer.with_nouns
        return writer.finish(made, (products, *sources), dictionary, progress)


def generate_catalog(
    out: Path,
    *,
    products: int,
    seed: int = 1,
    difficulty: str = PAPER.name,
    tagger_name: str = DEFAULT_TAGGER,
    workers: int | None = None,
    replace: bool = False,
    progress: Progress = silent,
) -> Manifest:
    """Build a catalogue of our own making; the same arguments give the same bytes anywhere."""
    knobs = known_difficulty(difficulty)
    if not 1 <= products <= MOST_PRODUCTS:
        raise CatalogError(f"{products} products were asked for; expected 1 to {MOST_PRODUCTS:,}.")
    processes = _processes(workers, products > SMALL_NUMBER)
    chosen = tagger(tagger_name)
    with (
        atomic_directory(out, replace=replace) as folder,
        CatalogWriter(folder, tagger=chosen.name, seed=SHUFFLE_SEED) as writer,
    ):
        raws = partial(_generate_raws, products, seed, knobs)
        work = _BuildWork(raws, Recipe(tagger_name, None, b""))
        pieces = (range(start, min(start + PIECE, products)) for start in range(0, products, PIECE))

        def report(done: int) -> None:
            progress("making products", done, products)

        dictionary = _write_chunks(writer, work, pieces, processes, report)
        made = {"by": "generate", "products": products, "seed": seed, "difficulty": knobs.name}
        return writer.finish(made, (), dictionary, progress)


def _processes(workers: int | None, large: bool) -> int:
    """How many processes to work with."""
    if workers is not None and workers < 1:
        raise CatalogError(f"{workers} workers were asked for; expected 1 or more.")
    return (workers or cores()) if large else 1


def _write_chunks(
    writer: CatalogWriter,
    work: _BuildWork,
    pieces: Iterator[Any],
    workers: int,
    report: Callable[[int], None] = lambda done: None,
) -> bytes:
    """Build all chunks and put them together; gives the dictionary that compressed them."""
    first = next(pieces, None)
    if first is None:
        return b""
    dictionary = train(samples(work.raws(first)[:SAMPLES], work.recipe))
    work = dataclasses.replace(work, recipe=dataclasses.replace(work.recipe, dictionary=dictionary))
    done = 0
    for piece in in_order(work, chain([first], pieces), workers):
        writer.take(piece)
        done += len(piece.asins)
        report(done)
    return dictionary
