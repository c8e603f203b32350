"""Titles cut into tokens the way spaCy's English tokenizer cuts them.

The title score counts tokens, so where a title is cut matters as much as how a token is tagged:
`DVD/VCR` is two tokens, `4K` is `4` and `K`, `D.O.N.` is one. The rules here are spaCy's published
ones reduced to what occurs in product titles: white space first, then punctuation and units off
both ends of a chunk, then cuts inside what is left.
"""

import re

__all__ = ["chunk_tokens", "tokens"]

_LONGEST = 1_000
_LETTER = r"[^\W\d_]"
_LOWER = r"[a-zß-öø-ÿ]"
_UPPER = r"[A-ZÀ-ÖØ-Þ]"
_PUNCTUATION = "…,:;!?¿¡()[]{}<>_#*&。？！，、；：～·｡।"
_QUOTES = "'\"”“`‘´’‚„»«「」『』（）〔〕【】《》〈〉⟦⟧"
_CURRENCY = "$£€¥฿₽₩₹"
# "Symbol, other" is a Unicode category that `re` cannot name; these blocks hold nearly all of it.
_ICONS = (
    "\u00a6\u00a9\u00ae\u00b0\u0482\u2100-\u2117\u211a-\u214f\u2195-\u2199\u219c-\u21cd\u2300-\u23ff"
    "\u2400-\u24ff\u2500-\u27bf\u2b00-\u2bff\u3200-\u33ff\ufffc\ufffd\U0001f000-\U0001faff"
)
_UNITS = (
    "km²|km³|km/h|km|m²|m³|m/s|mph|mbar|mm²|mm³|mm|mg|mb|m|dm²|dm³|dm|cm²|cm³|cm|ha|µm|nm|yd|in|"
    "ft|kg|g|µg|t|lb|oz|hPa|Pa|MB|kb|KB|gb|GB|tb|TB|T|G|M|K|%"
)

_SINGLE = re.escape(_PUNCTUATION + _QUOTES)
_PREFIX = re.compile(
    rf"§|%|=|—|–|\+(?![0-9])|\.\.+|''|[{_SINGLE}{_ICONS}]|[{re.escape(_CURRENCY)}]"
)
_SUFFIX = re.compile(
    rf"(?:(?<!\.)\.\.+|''|['’][sS]|[—–{_SINGLE}{_ICONS}]|(?<=[0-9])\+|(?<=[0-9])[{re.escape(_CURRENCY)}]"
    rf"|(?<=[0-9])(?:{_UNITS})"
    rf"|(?<=[0-9a-zß-öø-ÿ%²\-+{_SINGLE}])\.|(?<={_UPPER}{_UPPER})\.)$"
)
_INFIX = re.compile(
    rf"\.\.+|…|[{_ICONS}]|(?<=[0-9])[+\-*^](?=[0-9-])"
    rf"|(?:(?<={_LOWER})|(?<=[{_QUOTES}]))\.(?={_UPPER}|[{_QUOTES}])"
    rf"|(?<={_LETTER}),(?={_LETTER})"
    rf"|(?:(?<={_LETTER})|(?<=[0-9]))(?:——|---?|[-–—~])(?={_LETTER})"
    rf"|(?:(?<={_LETTER})|(?<=[0-9]))[:<>=/](?={_LETTER})"
)
_NEGATION = re.compile(r"(?i)([a-z]+)(n['’]t)$")
_CLITIC = re.compile(r"(?i)(i|you|he|she|it|we|they|that|there|who|what)(['’](?:ll|re|ve|m|d))$")
_WHOLE = re.compile(
    r"(?:[A-Za-z]\.|w/o|[ap]\.m\.|e\.g\.|i\.e\.|vs\.|(?:Dr|Mr|Mrs|Ms|St|Co|Inc|Ltd|Jr|Sr)\.)$"
)


def chunk_tokens(chunk: str) -> tuple[str, ...]:
    """The tokens of one chunk between white space."""
    if chunk.isascii() and chunk.isalpha():
        return (chunk,)  # Most are, and no rule cuts letters.
    if len(chunk) > _LONGEST:  # No word: taken in pieces, as each sign at its ends costs a look.
        pieces = (chunk[at : at + _LONGEST] for at in range(0, len(chunk), _LONGEST))
        return tuple(token for piece in pieces for token in chunk_tokens(piece))
    head: list[str] = []
    tail: list[str] = []
    while chunk and not _WHOLE.match(chunk):
        if prefix := _PREFIX.match(chunk):
            head.append(prefix.group())
            chunk = chunk[prefix.end() :]
        elif suffix := _SUFFIX.search(chunk):
            tail.append(suffix.group())
            chunk = chunk[: suffix.start()]
        else:
            break
    if chunk:
        if clitic := _NEGATION.match(chunk) or _CLITIC.match(chunk):
            head.extend(clitic.groups())
        elif _WHOLE.match(chunk):
            head.append(chunk)
        else:
            start = 0
            for cut in _INFIX.finditer(chunk):
                head.extend(piece for piece in (chunk[start : cut.start()], cut.group()) if piece)
                start = cut.end()
            if start < len(chunk):
                head.append(chunk[start:])
    return (*head, *reversed(tail))


def tokens(title: str) -> list[str]:
    """The tokens of a title, in order.

    >>> tokens("Cord (Silver) for DVD/VCR 4K, SC-HT830V")
    ['Cord', '(', 'Silver', ')', 'for', 'DVD', '/', 'VCR', '4', 'K', ',', 'SC', '-', 'HT830V']
    """
    return [token for chunk in title.split() for token in chunk_tokens(chunk)]
