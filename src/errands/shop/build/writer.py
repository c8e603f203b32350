"""Putting a catalogue together, chunk by chunk, in the directory it will be.

Everything that would cost time while an agent acts is done when a catalogue is built. `build_chunk`
did what needs one product alone; here is what needs the others: ids seen before, prices drawn in
load order, numbering, the index, the order of goals.
"""

import hashlib
import random
import shutil
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from errands import __version__
from errands.errors import DataError
from errands.progress import Progress
from errands.shop.build.chunk import KINDS, REASONS, BuiltChunk
from errands.shop.build.dedup import SeenIds
from errands.shop.catalog.compression import write_dictionary
from errands.shop.catalog.goal_store import GoalWriter
from errands.shop.catalog.manifest import FORMAT, Manifest, SourceFile
from errands.shop.catalog.prices import PricesWriter
from errands.shop.catalog.verification import file_checksum
from errands.shop.records import RecordsWriter, write_array
from errands.shop.search.index import IndexWriter, TermChunk

__all__ = ["CatalogWriter"]


class CatalogWriter:
    """A catalogue on its way; use as a context manager."""

    def __init__(self, work: Path, *, tagger: str, seed: int) -> None:
        """`tagger` is what the manifest calls the tagger of the chunks."""
        self._work = work
        self._tagger = tagger
        self._seed = seed
        self._rng = random.Random(seed)
        self._dropped: Counter[str] = Counter()
        self._seen_ids = SeenIds()
        self._prices = PricesWriter(self._rng)
        self._likeness: list[NDArray[np.bytes_]] = []
        self._contents = hashlib.sha256()
        self.with_nouns = 0
        self.with_mined = 0
        self.with_human = 0
        """Products of which the nouns file or another side file says something."""

    def __enter__(self) -> "CatalogWriter":
        work = self._work
        with ExitStack() as stack:
            self._scratch = work / "scratch"
            self._scratch.mkdir(exist_ok=True)
            (work / "goals").mkdir()
            self._goals = {
                kind: stack.enter_context(closing(GoalWriter(work / "goals" / kind)))
                for kind in KINDS
            }
            self._index = stack.enter_context(closing(IndexWriter(self._scratch)))
            self._products = stack.enter_context(closing(RecordsWriter(work / "products")))
            self._cards = stack.enter_context(closing(RecordsWriter(work / "cards")))
            self._open = stack.pop_all()
        return self

    def __exit__(self, *failure: object) -> None:
        self._open.close()

    def __len__(self) -> int:
        """How many products were taken in."""
        return len(self._seen_ids)

    def take(self, chunk: BuiltChunk) -> None:
        """Take in the next products; ids that were seen before are left out and counted."""
        self._dropped.update(chunk.dropped)
        row = len(self._seen_ids)
        new = self._seen_ids.add(chunk.asins)
        if not new.all():
            self._dropped["product: asin seen before"] += int((~new).sum())
            chunk = _only(chunk, new)
        self._products.extend(chunk.products)
        self._contents.update(chunk.contents.tobytes())
        self._cards.extend(chunk.cards)
        self._likeness.append(chunk.likeness)
        self._index.add(chunk.terms)
        self._prices.take(chunk.prices, chunk.ranges, chunk.range_ends)
        for goals, entries in zip(self._goals.values(), chunk.entries, strict=True):
            goals.take(row, entries)
        for reason, count in enumerate(np.bincount(chunk.reasons).tolist()):
            if count:
                self._dropped[REASONS[reason]] += count
        self.with_mined += int(chunk.mined.sum())
        self.with_human += int(chunk.human.sum())
        self.with_nouns += len(chunk.tagged) - int(chunk.tagged.sum())

    def finish(
        self,
        made: dict[str, Any],
        sources: tuple[SourceFile, ...],
        dictionary: bytes,
        report: Progress,
    ) -> Manifest:
        """Write what needs all products: index, goals, manifest."""
        count = len(self._seen_ids)
        if not count:
            reasons = ", ".join(f"{why} ({number:,})" for why, number in self._dropped.items())
            raise DataError(f"The items file has no usable product: {reasons or 'it is empty'}.")
        self._products.finish()
        write_dictionary(self._work / "products", dictionary)
        self._cards.finish()
        report("writing the index", 0, None)
        self._number()
        report("ordering goals", 0, None)
        prices = self._prices.finish(self._work)
        state = self._rng.getstate()
        for kind, goals in self._goals.items():
            # Each goal set draws its caps as if it were the only one, as in the original.
            self._rng.setstate(state)
            goals.finish(prices, self._rng, weigh=kind == "synthetic")
        self._open.close()
        shutil.rmtree(self._scratch)
        report("checksums", 0, None)
        manifest = Manifest(
            format=FORMAT,
            errands=__version__,
            made=made,
            sources=sources,
            seed=self._seed,
            tagger="file" if self.with_nouns == count else self._tagger,
            products=count,
            goals={kind: len(goals) for kind, goals in self._goals.items()},
            dropped=dict(sorted(self._dropped.items())),
            contents={"products": self._contents.hexdigest()},
            files={
                str(path.relative_to(self._work)): _source_of(path)
                for path in sorted(self._work.rglob("*"))
                if path.is_file()
            },
        ).sealed()
        text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
        (self._work / "manifest.json").write_bytes(text + b"\n")
        return manifest

    def _number(self) -> None:
        """Number the products in id order, and write the index, where likes lie together."""
        asins = self._seen_ids.names()
        order = np.argsort(asins).astype(np.uint32)
        numbers = np.empty(len(asins), np.uint32)
        numbers[order] = np.arange(len(asins), dtype=np.uint32)
        places = np.empty(len(asins), np.uint32)
        places[np.lexsort((numbers, np.concatenate(self._likeness)))] = np.arange(
            len(asins), dtype=np.uint32
        )
        self._likeness.clear()
        write_array(self._work / "rows.npy", order)
        write_array(self._work / "asins.npy", asins[order])
        del asins, order
        self._index.finish(self._work / "index", numbers, places)


def _source_of(path: Path) -> SourceFile:
    """A file's name, size and checksum."""
    return SourceFile(path.name, path.stat().st_size, file_checksum(path))


def _only(chunk: BuiltChunk, mask: NDArray[np.bool_]) -> BuiltChunk:
    """A chunk of some of its products."""
    places = np.cumsum(mask) - 1
    ranged = mask[chunk.ranges]
    noted = mask[chunk.notes]
    return chunk._replace(
        asins=chunk.asins[mask],
        products=chunk.products.only(mask),
        contents=chunk.contents[mask],
        cards=chunk.cards.only(mask),
        likeness=chunk.likeness[mask],
        terms=_only_terms(chunk.terms, mask),
        prices=chunk.prices[mask],
        ranges=places[chunk.ranges[ranged]].astype(np.uint32),
        range_ends=chunk.range_ends[ranged],
        entries=tuple(entries.only(mask) for entries in chunk.entries),
        notes=places[chunk.notes[noted]].astype(np.uint32),
        reasons=chunk.reasons[noted],
        mined=chunk.mined[mask],
        human=chunk.human[mask],
        tagged=chunk.tagged[mask],
    )


def _only_terms(chunk: TermChunk, mask: NDArray[np.bool_]) -> TermChunk:
    """The terms of some of the documents, in the order in which these first have them."""
    mine = np.repeat(mask, chunk.counts)
    numbers, first, ids = np.unique(chunk.ids[mine], return_index=True, return_inverse=True)
    order = np.argsort(first)
    renumbered = np.empty(len(numbers), np.uint32)
    renumbered[order] = np.arange(len(numbers), dtype=np.uint32)
    return TermChunk(
        [chunk.terms[number] for number in numbers[order].tolist()],
        renumbered[ids],
        chunk.tfs[mine],
        chunk.counts[mask],
        chunk.lengths[mask],
    )
