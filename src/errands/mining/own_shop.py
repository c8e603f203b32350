"""The steps from a table of products to a shop, each from files to a file; and all at once."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final, NamedTuple

from errands.atomic import atomic_files
from errands.errors import DataError
from errands.mining.assignment import MOST_ASKED, AssignmentCounts, AttributeAssignment
from errands.mining.candidates import SAMPLE, Candidates, mine, sampled, stream_items
from errands.mining.findable import FoundKinds, found_kinds
from errands.mining.phrases import FIELDS
from errands.mining.product_file import ProductFile, RowCounts
from errands.mining.review import kept_uses, ranks_of
from errands.mining.table.column_map import ColumnMap
from errands.progress import Progress, silent
from errands.shop.build.builder import build_catalog
from errands.shop.build.export import JsonFile
from errands.shop.build.json_stream import stream_object
from errands.shop.catalog.catalog import Catalog
from errands.shop.catalog.manifest import Manifest

ENOUGH: Final = 10
"""Products with an instruction that a shop needs; half of them in a shop of less than twenty."""
FEW: Final = 1 / 3
"""The share of products with two attributes to ask for, below which one will do."""

__all__ = ["MinedShop", "give_out", "make_shop", "mine_file", "take_products"]


def take_products(
    table: Path,
    out: Path,
    column_map: ColumnMap | None = None,
    *,
    replace: bool = False,
    progress: Progress = silent,
) -> tuple[RowCounts, ColumnMap]:
    """Write the products of a table as an items file; what became of the rows, and the map used."""
    file = ProductFile(
        table, column_map, progress=lambda done, of: progress("reading products", done, of)
    )
    with atomic_files([out], replace=replace) as [work], JsonFile(work, "[]") as items:
        for item in file.items():
            items.element(item)
        if not file.taken.products:
            reasons = ", ".join(
                f"{reason}: {count:,}" for reason, count in file.taken.dropped.items()
            )
            raise DataError(
                f"{table} holds no products ({reasons or 'it has no rows'}); look at the map of its"
                " columns."
            )
    return file.taken, file.map


def mine_file(
    items: Path,
    *,
    by: str = "category",
    top: int = 200,
    size: int = 2,
    least: int = 2,
    fields: Sequence[str] = FIELDS,
    sample: int = SAMPLE,
    seed: int = 0,
    lone: bool = True,
    progress: Progress = silent,
) -> Candidates:
    """The candidates of an items file, or of a sample of a large one."""
    total = items.stat().st_size if items.is_file() else None
    records = sampled(
        stream_items(items, lambda done: progress("reading products", done, total)), sample, seed
    )
    return mine(
        records,
        by=by,
        top=top,
        size=size,
        least=least,
        fields=fields,
        lone=lone,
        progress=progress,
    )


def give_out(
    items: Path,
    uses: Mapping[str, str],
    out: Path,
    *,
    least: int = 2,
    most: int = MOST_ASKED,
    fields: Sequence[str] = FIELDS,
    ranks: Mapping[str, int] | None = None,
    replace: bool = False,
    progress: Progress = silent,
) -> AssignmentCounts:
    """Give kept attributes to the products of an items file, and write what they then ask for."""
    if not uses:
        raise DataError(
            "No attribute is kept, so none can be given out; run `errands mine review`, or take the"
            " filter's word with --accept-rest."
        )
    assignment = AttributeAssignment(uses, least=least, most=most, fields=fields, ranks=ranks)
    return _write_entries(items, assignment, out, replace=replace, progress=progress)


def _write_entries(
    items: Path, assignment: AttributeAssignment, out: Path, *, replace: bool, progress: Progress
) -> AssignmentCounts:
    total = items.stat().st_size if items.is_file() else None
    records = stream_items(items, lambda done: progress("giving attributes", done, total))
    with atomic_files([out], replace=replace) as [work], JsonFile(work, "{}") as file:
        for asin, entry in assignment.entries(records):
            file.member(asin, entry)
    return assignment.made


def _apart(mined: Candidates, uses: Mapping[str, str]) -> dict[str, str]:
    """Uses without phrases of one product that have a word in common with another such phrase:
    of "flexible rubber hose" either half says enough."""
    words: set[str] = set()
    kept: dict[str, str] = {}
    for one in mined.candidates:
        own = set(one.phrase.split(" "))
        if one.phrase in uses and (one.products > 1 or not own & words):
            kept[one.phrase] = uses[one.phrase]
            words |= own
    return kept


class MinedShop(NamedTuple):
    """A shop, and how it came to be."""

    taken: RowCounts
    columns: ColumnMap
    mined: Candidates
    assigned: AssignmentCounts
    manifest: Manifest
    catalog: Path
    shared_by: int
    """Products that had to say a phrase for it to be an attribute."""
    asked: int
    """Attributes that an instruction had to ask for."""
    found: FoundKinds
    """Whether searching for what goals ask for finds it."""


def make_shop(
    table: Path,
    out: Path,
    column_map: ColumnMap | None = None,
    *,
    by: str = "category",
    top: int = 200,
    least: int | None = None,
    as_is: bool = False,
    warn: Callable[[str], None] = lambda sentence: None,
    replace: bool = False,
    progress: Progress = silent,
) -> MinedShop:
    """All steps, with the filter's proposals taken as they are; the files stay beside the shop.

    An attribute is said by two products of a group, and an instruction asks for `least` of them
    (None: two). Where only few products get an instruction that way, one will do if `least` is
    None, then what a single product says; the shop may still be without goals. If one of the steps
    fails, nothing is left of those before it. A table that seems to have prices, options or
    pictures of which the products have none is an error, unless it is to be taken `as_is`; what is
    merely odd is told to `warn` before anything is built.
    """
    outs = [out / name for name in ("items.json", "candidates.json", "attributes.json")]
    was_there = out.exists()
    attempts = [(2, 2), (2, 1), (1, 1)] if least is None else [(2, least), (1, least)]
    try:
        with atomic_files(outs, replace=replace) as [items, candidates, attributes]:
            counts, columns = take_products(table, items, column_map, progress=progress)
            sure = [one.sentence for one in counts.doubts if one.sure]
            if sure and not as_is:
                raise DataError(
                    f"Nothing was built: {' '.join(sure)} --as-is builds it all the same."
                )
            for doubt in counts.doubts:
                warn(doubt.sentence)
            enough = min(ENOUGH, -(-counts.products // 2))
            mine_those = cache(partial(mine_file, items, by=by, top=top, progress=progress))
            for shared_by, asked in attempts:
                mined = mine_those(least=shared_by)
                uses = _apart(mined, kept_uses(mined, {}, accept_rest=True))
                assigned = _write_entries(
                    items,
                    AttributeAssignment(uses, least=asked, ranks=ranks_of(mined)),
                    attributes,
                    replace=True,
                    progress=progress,
                )
                needed = enough if asked == 1 else max(enough, int(FEW * counts.products))
                if assigned.with_instruction >= needed:
                    break
            mined.write(candidates)
            manifest = build_catalog(
                out / "shop", items=items, attributes=attributes, replace=replace, progress=progress
            )
    except BaseException:
        if not was_there:
            with contextlib.suppress(OSError):
                out.rmdir()
        raise
    # Only now: who is tired of waiting for this has a shop with all its files.
    wanted = {asin for asin, entry in stream_object(outs[2]) if "instruction" in entry}
    records = (record for record in stream_items(outs[0]) if record["asin"] in wanted)
    found = found_kinds(Catalog.open(out / "shop"), records, progress)
    return MinedShop(
        counts, columns, mined, assigned, manifest, out / "shop", shared_by, asked, found
    )
