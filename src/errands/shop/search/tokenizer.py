"""Where words begin and end in any text: the tokenizer of the search engine.

WebShop's index was cut into words by Lucene's standard tokenizer, which follows the Unicode
text segmentation rules (UAX #29, as of Unicode 9) with rules of its own for emoji. The rules
are written here as one regular expression over *classes*: each character of the text is
first replaced by the letter of its class, and the spans found in that string are cut out of
the text. Which character has which class was observed by asking Lucene 8.11 about every
code point; the answers are in `word_break.txt` (a code point not listed separates words):

    A  letter                         Z  zero-width joiner
    H  Hebrew letter                  c  enclosing keycap
    L  letter that is also an emoji   v  variation selector 15 (text)
    N  digit                          V  variation selector 16 (emoji)
    k  katakana                       x  other combining mark or format character
    I  ideograph or hiragana          t  combining mark of a Southeast Asian script
    T  Southeast Asian letter         E  emoji
    _  underscore and its kind        B  emoji that takes a skin tone
    l  between letters, such as :     m  skin tone
    n  between digits, such as ,      R  regional indicator (half a flag)
    M  between either, such as .      K  # or *, which can be keycaps
    Q  apostrophe                     s  surrogate, only met alone
    D  double quote

Lucene reads text through a window of 255 UTF-16 units, so longer words are chopped, and it
loses what it has buffered when the text ends in half a surrogate pair. Both are kept.
"""

import re
from functools import cache
from pathlib import Path

__all__ = ["WINDOW", "tokens"]

WINDOW = 255
"""The longest token, in UTF-16 units."""


@cache
def _grammar() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The expression for any token, and the one for emoji sequences only."""
    # Possessive throughout: no rule ever needs to give back what it took, and a long run of
    # marks, joiners or underscores must not be scanned again from every position in it.
    marks = "[xtZcvV]*+"
    letters = f"(?:[lMQ]{marks}[AHL]{marks})*+"
    digits = f"(?:[nMQ]{marks}N{marks})*+"
    # An apostrophe after a Hebrew letter belongs to the word even at its end (geresh), unless
    # that letter itself came right after one of the characters between letters.
    hebrew = f"H{marks}(?:Q{marks}|D{marks}H{marks}|{letters})"
    part = f"(?:(?:[AL]{marks}{letters}|{hebrew}|N{marks}{digits})++|(?:k{marks})++)"
    line = f"(?:_{marks})"
    word = f"{line}{{0,{WINDOW}}}+{part}(?:{line}++{part})*+{line}*+"

    # A joiner that an emoji follows links the two; any other is a mark like the rest.
    after = "(?:[xtc]|Z(?![EBLm]))*+"
    joined = f"(?:Z{{1,{WINDOW}}}+(?=[EBL]))?+"
    picture = f"{joined}(?:B{after}m{after}|m{after}|[EBL]{after}V?+)"
    emoji = f"{picture}(?:Z{picture})*+"
    flag = f"R{marks}R{marks}"
    keycap = "K(?:[xtZc]*+Vc|[xtZ]*+c)[xtZc]*+"

    asian = "[Tt][TtxZcvV]*+"
    single = f"I{marks}"
    return re.compile("|".join((word, emoji, flag, keycap, asian, single))), re.compile(emoji)


_START = re.compile("[AHLNkITt_EBmZRK]")
_SIZE = 0x110000


@cache
def _classes() -> str:
    """One class letter per code point, for `str.translate`."""
    parts: list[str] = []
    reached = 0
    for line in Path(__file__).with_name("word_break.txt").read_text("ascii").splitlines()[2:]:
        first, last, letter = line.split()
        start, end = int(first, 16), int(last, 16) + 1
        parts += (" " * (start - reached), letter * (end - start))
        reached = end
    return "".join((*parts, " " * (_SIZE - reached)))


def tokens(text: str) -> list[str]:
    """The words of any text, in order and as spelled there."""
    classes = text.translate(_classes())
    if "s" in classes:
        return _tokens_with_surrogates(text)
    if "L" not in classes:
        spans = [match.span() for match in _grammar()[0].finditer(classes)]
        if all(end - start <= WINDOW // 2 for start, end in spans):
            return [text[start:end] for start, end in spans]
    return [text[start:end] for start, end in _windowed(text, classes)]


def _windowed(text: str, classes: str) -> list[tuple[int, int]]:
    """The spans of all tokens, none longer than the window."""
    spans = []
    start = 0
    while match := _START.search(classes, start):
        start = match.start()
        end = _match(text, classes, start)
        if end:
            spans.append((start, end))
        start = end or start + 1
    return spans


def _match(text: str, classes: str, start: int) -> int:
    """Where the longest token at `start` ends, 0 if none starts there."""
    end = _longest(classes, start, start + WINDOW)
    if _units(text[start:end]) > WINDOW:
        limit = end
        while _units(text[start:limit]) > WINDOW:
            limit -= 1
        end = _longest(classes, start, limit)
    return end


def _longest(classes: str, start: int, limit: int) -> int:
    token, emoji = _grammar()
    match = token.match(classes, start, limit)
    end = match.end() if match else 0
    # The one class that starts both words and emoji sequences.
    if classes.startswith("L", start) and (match := emoji.match(classes, start, limit)):
        return max(end, match.end())
    return end


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _tokens_with_surrogates(text: str) -> list[str]:
    """The tokens of a text with surrogates in it, which may in fact be pairs."""
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    classes = text.translate(_classes())
    ends_in_half = "\ud800" <= text[-1] <= "\udbff"
    spans = (_cut_short if ends_in_half else _windowed)(text, classes)
    return [text[start:end] for start, end in spans]


def _cut_short(text: str, classes: str) -> list[tuple[int, int]]:
    """The spans of the tokens of a text that ends in the first half of a surrogate pair.

    Waiting for the second half, Lucene's reader reports the end of the text one reading too
    early. A token under way is cut there; if there is none, all that was just read is lost.
    """
    spans = []
    start = known = 0
    while start < len(text):
        if known < len(text) and (start == known or _is_open(classes[start:known])):
            limit = min(start + WINDOW, len(text))
            while _units(text[start:limit]) > WINDOW:
                limit -= 1
            early = limit == len(text) and _units(text[start:]) < WINDOW
            if early and start == known:
                break
            known, limit = limit, known if early else limit
        else:
            limit = known
        end = _longest(classes, start, limit)
        if end:
            spans.append((start, end))
        start = end or start + 1
    return spans


def _is_open(classes: str) -> bool:
    """Whether something could follow that would make this, or more of this, a token."""
    return any(
        _longest(classes + more, 0, WINDOW + 2) > len(classes)
        for more in ("x", "A", "N", "H", "R", "c", "E", "ZE")
    )
