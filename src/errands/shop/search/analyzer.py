"""From text to search terms: what the index holds of a product and what a query asks for.

The chain is the one WebShop's index was made with (Anserini's default for English): cut into
words, drop a possessive 's, lower-case, drop stop words, stem. Documents and queries go
through the same function. Words never span white space and most words come back again and
again, so the terms of each white-space separated chunk are remembered.
"""

import re
from functools import lru_cache
from itertools import chain

from errands.shop.search.tokenizer import WINDOW, tokens
from errands.stemming import lucene_stem

__all__ = ["STOP_WORDS", "analyze", "chunks", "raw_tokens", "term_of", "terms_of_chunk"]

_STOP_WORDS = """
a an and are as at be but by for if in into is it no not of on or such that the their then there
these they this to was will with
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

# The rules of `word_break` where only ASCII occurs.
_ASCII_WORDS = re.compile(
    rf"_{{0,{WINDOW}}}+[A-Za-z0-9]\w*+"
    r"(?:['.:,;](?:(?<=[A-Za-z]['.:])(?=[A-Za-z])|(?<=[0-9]['.,;])(?=[0-9]))\w++)*+",
    re.ASCII,
)

_APOSTROPHES = ("'", "\u2019", "\uff07")


def raw_tokens(text: str) -> list[str]:
    """The words of a text as they are spelled there.

    >>> raw_tokens("Women's 3.5mm wi-fi, 日本")
    ["Women's", '3.5mm', 'wi', 'fi', '日', '本']
    """
    if text.isascii():
        words: list[str] = _ASCII_WORDS.findall(text)
        if len(text) <= WINDOW or max(map(len, words), default=0) <= WINDOW:
            return words
    return tokens(text)


@lru_cache(maxsize=2**16)
def term_of(token: str) -> str:
    """The search term a word stands for, or an empty string for a stop word.

    >>> term_of("Women's"), term_of("The"), term_of("RUNNING")
    ('women', '', 'run')
    """
    if token[-1:] in ("s", "S") and token[-2:-1] in _APOSTROPHES:
        token = token[:-2]
    if token.isascii():
        token = token.lower()
        return "" if token in STOP_WORDS else lucene_stem(token)
    # Each code point by itself: Python would look at the place of a sigma in its word and
    # turn the dotted capital I into two characters.
    token = token.replace("\u0130", "i").replace("\u03a3", "\u03c3").lower()
    if token in STOP_WORDS:
        return ""
    if max(token) <= "\uffff":
        return lucene_stem(token)
    # Beyond the first plane the stemmer sees two characters where Python sees one.
    units = "".join(map(chr, memoryview(token.encode("utf-16-le")).cast("H")))
    return lucene_stem(units).encode("utf-16-le", "surrogatepass").decode("utf-16-le")


class _Chunks(dict[str, tuple[str, ...]]):
    """The terms of chunks of text, worked out when first asked for."""

    CAPACITY = 2**16
    LONGEST = 64

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        terms = tuple(filter(None, map(term_of, raw_tokens(chunk))))
        if len(chunk) <= self.LONGEST:
            if len(self) >= self.CAPACITY:
                self.clear()
            self[chunk] = terms
        return terms


terms_of_chunk = _Chunks().__getitem__


def chunks(text: str) -> list[str]:
    """A text in pieces that can be analysed one by one."""
    if text.isascii():
        return text.split()
    return text.split(" ") if _is_whole(text) else [text]


def analyze(text: str) -> list[str]:
    """The search terms of a text, in order, repeats kept.

    >>> analyze("The women's X-Large leggings, $9.99")
    ['women', 'x', 'larg', 'leg', '9.99']
    """
    return list(chain.from_iterable(map(terms_of_chunk, chunks(text))))


def _is_whole(text: str) -> bool:
    """Whether the text is free of surrogates, which matter beyond their own chunk."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
