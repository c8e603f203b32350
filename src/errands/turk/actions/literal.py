"""Literals as language models write them: texts, numbers, lists and dicts, in Python or JSON.

The reader is lenient where the meaning is plain (typographic quotes, an apostrophe inside single
quotes, `true` and `True`), never guesses beyond that, executes nothing, and does a bounded
amount of work for any text.
"""

import re
from typing import Final

__all__ = ["Literal", "Malformed", "Reader"]

Literal = str | int | float | bool | None | list["Literal"] | dict[str, "Literal"]

_SPACE: Final = re.compile(r"\s*+")
_SPACE_AND_COMMENTS: Final = re.compile(r"(?:\s++|#[^\n]*+)*+")
_STRICT_TEXT: Final = re.compile(r"\'(?:[^'\\\n]|\\.)*+'|\"(?:[^\"\\\n]|\\.)*+\"", re.DOTALL)
_PREFIX: Final = re.compile(r"[rRuUfFbB]{1,2}+(?=['\"])")
_WORD: Final = re.compile(r"[^\W\d][\w.]{0,99}+")
_NUMBER: Final = re.compile(r"[+-]?(?:\d[\d_]*+(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?(?![\w.])")
_ODD_NUMBER: Final = re.compile(r"([+-]?)(inf|Infinity|nan|NaN)(?!\w)")
_ESCAPE: Final = re.compile(
    r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|\r\n|.)", re.DOTALL
)
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_NEXT_ARGUMENT: Final = re.compile(
    r"""\s*+(?:['"`“”‘’\[{(\d.+\-)\]}]|[rRuUfFbB]{1,2}['"]|(?:True|False|None|true|false|null|nan|inf)\b
    |[^\W\d]\w{0,40}+\s*+=)""",
    re.VERBOSE,
)
"""What can stand behind a comma between arguments."""

_WORDS: Final[dict[str, Literal]] = {
    "True": True, "true": True, "False": False, "false": False,
    "None": None, "null": None, "undefined": None,
}  # fmt: skip
_CLOSERS: Final = {
    "'": "'", '"': '"', "`": "`", "“": "”“\"", "”": "”\"", "‘": "’‘'", "’": "’'",
}  # fmt: skip
"""Opening quotes, and what may close each."""
_SIMPLE: Final = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a",
    "\\": "\\", "'": "'", '"': '"', "\n": "", "\r\n": "", "\r": "",
}  # fmt: skip

_DEEPEST = 30
_MOST_QUOTES = 5_000
_LONGEST_NUMBER = 400


class Malformed(ValueError):
    """The text is no literal; says why, and how far reading came."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.position = position


class Reader:
    """Reads literals out of one text; all readings share a budget of items.

    While it is `strict`, texts and comments are Python's, to the letter; what is valid Python
    thus means what it means there, and leniency begins where Python ends.
    """

    def __init__(self, text: str, budget: int = 50_000) -> None:
        self.text = text
        self.budget = budget
        self.strict = False

    def skip(self, at: int) -> int:
        """The next position that is not white space."""
        match = (_SPACE_AND_COMMENTS if self.strict else _SPACE).match(self.text, at)
        return match.end() if match else at

    def value(
        self, at: int, ends: str, *, json: bool = False, depth: int = 0
    ) -> tuple[Literal, int]:
        """The literal at a position and where it ends; `ends` are the marks that may follow it."""
        self.budget -= 1
        if depth > _DEEPEST or self.budget < 0:
            raise Malformed("it is nested too deeply or has too many parts", at)
        text, at = self.text, self.skip(at)
        mark = text[at : at + 1]
        if mark in _CLOSERS or _PREFIX.match(text, at):
            return self._texts(at, ends, json)
        if mark == "[" or mark == "(":
            return self._list(at, json, depth)
        if mark == "{":
            return self._dict(at, json, depth)
        if match := _ODD_NUMBER.match(text, at):
            return float(match.group()), match.end()
        if match := _NUMBER.match(text, at):
            return _number(match.group(), at), match.end()
        if match := _WORD.match(text, at):
            if match.group() in _WORDS:
                return _WORDS[match.group()], match.end()
            raise Malformed(f"{_short(match.group())} has no quotes", at)
        if not mark:
            raise Malformed("it ends too early", at)
        raise Malformed(
            f"{_short(text[at : at + 20])} is neither a text in quotes nor a number", at
        )

    def _list(self, at: int, json: bool, depth: int) -> tuple[Literal, int]:
        close = "]" if self.text[at] == "[" else ")"
        items: list[Literal] = []
        at = self.skip(at + 1)
        while not self.text.startswith(close, at):
            item, at = self.value(at, "," + close, json=json, depth=depth + 1)
            items.append(item)
            after, at = self.skip(at), self.separator(at, close)
            if after == at and close == ")" and len(items) == 1:  # brackets around one value
                return item, at + 1
        return items, at + 1

    def _dict(self, at: int, json: bool, depth: int) -> tuple[Literal, int]:
        items: dict[str, Literal] = {}
        at = self.skip(at + 1)
        while not self.text.startswith("}", at):
            key, at = self.value(at, ":", json=json, depth=depth + 1)
            at = self.skip(at)
            if not isinstance(key, str) or not self.text.startswith(":", at):
                raise Malformed("a text in quotes and a colon are missing", at)
            items[key], at = self.value(at + 1, ",}", json=json, depth=depth + 1)
            at = self.separator(at, "}")
        return items, at + 1

    def separator(self, at: int, close: str) -> int:
        """Past a comma, or at the closing mark."""
        at = self.skip(at)
        if self.text.startswith(",", at):
            return self.skip(at + 1)
        if self.text.startswith(close, at):
            return at
        rest = self.text[at : at + 20]
        missing = f"a comma or {close} is missing"
        raise Malformed(f"{missing} before {_short(rest)}" if rest else f"{close} is missing", at)

    def _texts(self, at: int, ends: str, json: bool) -> tuple[str, int]:
        """One text, or several side by side, which Python joins."""
        parts: list[str] = []
        while True:
            part, at = self._text(at, ends, json)
            parts.append(part)
            following = self.skip(at)
            mark = self.text[following : following + 1]
            prefixed = _PREFIX.match(self.text, following) is not None
            if (
                json
                or not (mark in ("'", '"') or prefixed)
                or (not self.strict and following == at)
            ):
                return "".join(parts), at
            self.budget -= 1
            if self.budget < 0:
                raise Malformed("it has too many parts", at)
            at = following

    def _text(self, at: int, ends: str, json: bool) -> tuple[str, int]:
        text, prefix = self.text, ""
        if match := _PREFIX.match(text, at):
            prefix, at = match.group().lower(), match.end()
        mark = text[at]
        if mark in "'\"" and text.startswith(mark * 3, at):
            end = _close_triple(text, at + 3, mark)
            body, after = text[at + 3 : end], end + 3
        elif self.strict:
            if (strict := _STRICT_TEXT.match(text, at)) is None:
                raise Malformed("a quote is not closed", at)
            body, after = strict.group()[1:-1], strict.end()
        else:
            end = _close(text, at, ends, json)
            body, after = text[at + 1 : end], end + 1
        if "b" in prefix or ("f" in prefix and "{" in body):
            raise Malformed("texts with the prefix b or f are not read", at)
        return body if "r" in prefix else _unescape(body, json), after


def _close_triple(text: str, start: int, mark: str) -> int:
    for match in re.compile(rf"\\.|{mark * 3}", re.DOTALL).finditer(text, start):
        if match.group() == mark * 3:
            return match.start()
    raise Malformed("a quote is not closed", len(text))


def _close(text: str, at: int, ends: str, json: bool) -> int:
    """Where the text that opens at a position closes.

    At its first quote with an ending mark behind it; other quotes belong to the text
    (`'don't'`). A comma counts only if an argument can follow, as long as one other quote on
    that line does better; so does a bracket that is inside the text (`'my dogs') barked'`).
    """
    closers = _CLOSERS[text[at]]
    possible = re.compile(rf"\\.|[{closers}]", re.DOTALL)
    fallback, last = -1, 0
    tries = 0
    for match in possible.finditer(text, at + 1):
        here = match.start()
        if text[here] == "\\":
            continue
        tries += 1
        if tries > _MOST_QUOTES:
            break
        if fallback >= 0 and not _same_phrase(text, last, here):
            return fallback
        last = here
        space = _SPACE.match(text, here + 1)
        after = space.end() if space else here + 1
        mark = text[after : after + 1]
        if not mark or (not json and after > here + 1 and mark in "'\""):
            return here
        if mark not in ends:
            continue
        if mark == ",":
            plain = _NEXT_ARGUMENT.match(text, after + 1) is not None
        else:
            inside = rf"[^{closers}\n(]{{0,1000}}+[{closers}]\s*+\)"
            plain = mark != ")" or re.compile(inside).match(text, after + 1) is None
        if plain:
            return here
        if fallback < 0:
            fallback = here
    if fallback >= 0:
        return fallback
    raise Malformed("a quote is not closed", len(text))


def _same_phrase(text: str, start: int, end: int) -> bool:
    """Whether no line ends and no call begins in between."""
    return text.find("\n", start, end) < 0 and text.find("(", start, end) < 0


def _unescape(body: str, json: bool) -> str:
    if "\\" not in body:
        return body

    def plain(match: re.Match[str]) -> str:
        code = match.group(1)
        if code in _SIMPLE:
            return _SIMPLE[code]
        if code[0] in "xuU" and len(code) > 1:
            number = int(code[1:], 16)
            return chr(number) if number <= 0x10FFFF else match.group()
        if code[0] in "01234567":
            return chr(int(code, 8))
        return "/" if json and code == "/" else match.group()

    text = _ESCAPE.sub(plain, body)
    return _PAIR.sub(_join_pair, text) if json else text


def _join_pair(match: re.Match[str]) -> str:
    high, low = (ord(half) for half in match.group())
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def _number(digits: str, at: int) -> int | float:
    if len(digits) > _LONGEST_NUMBER:
        raise Malformed("a number is too long", at)
    try:
        return int(digits) if digits.lstrip("+-").replace("_", "").isdigit() else float(digits)
    except ValueError:
        raise Malformed(f"{_short(digits)} is no number", at) from None


def _short(text: str) -> str:
    """A little of a text, on one line, for a message."""
    return repr(text if len(text) <= 40 else text[:40] + "...")
