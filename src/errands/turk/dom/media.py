"""Media queries, for a colour screen of 1280 x 800 with a mouse."""

import operator
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

__all__ = ["media_matches"]

_DEEPEST: Final = 20
"""Conditions inside of one another."""
_SCREEN: Final = {"width": 1280.0, "height": 800.0}
_SIGNS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq,
}  # fmt: skip
_WORDS: Final = {
    "orientation": "landscape", "hover": "hover", "any-hover": "hover", "pointer": "fine",
    "any-pointer": "fine", "prefers-color-scheme": "light",
    "prefers-reduced-motion": "no-preference",
    "prefers-contrast": "no-preference", "scripting": "enabled", "display-mode": "browser",
    "forced-colors": "none", "update": "fast",
}  # fmt: skip
_UNITS: Final = {"px": 1.0, "em": 16.0, "rem": 16.0, "pt": 4 / 3, "in": 96.0, "cm": 37.8}
_LENGTH = re.compile(r"([+-]?(?:\d++\.?\d*+|\.\d++))([a-z]*)")


def _pixels(text: str) -> float | None:
    match = _LENGTH.fullmatch(text.strip())
    if match is None:
        return None
    number = float(match[1])
    if not match[2]:
        return number if number == 0 else None
    unit = _UNITS.get(match[2])
    return None if unit is None else number * unit


def _range(feature: str) -> bool | None:
    """`width >= 600px` and `400px < width <= 600px`; None: not of this form."""
    parts = re.split(r"(?:(?<!\s)\s+)?(<=|>=|<|>|=)\s*", feature)
    if len(parts) not in (3, 5):
        return None
    values: list[float] = []
    for part in parts[::2]:
        own = _SCREEN.get(part.strip())
        value = _pixels(part) if own is None else own
        if value is None:
            return False
        values.append(value)
    return all(_SIGNS[sign](*values[i : i + 2]) for i, sign in enumerate(parts[1::2]))


def _feature(feature: str) -> bool:
    ranged = _range(feature)
    if ranged is not None:
        return ranged
    name, colon, value = (part.strip() for part in feature.partition(":"))
    if not colon:
        return name in ("width", "height", "color", "hover", "pointer", "any-hover", "any-pointer")
    if name in _WORDS:
        return _WORDS[name] == value
    own = _SCREEN.get(name.removeprefix("min-").removeprefix("max-").removeprefix("device-"))
    length = _pixels(value)
    if own is None or length is None:
        return False
    return _SIGNS[{"min": ">=", "max": "<="}.get(name[:3], "=")](own, length)


def _query(query: str, depth: int = 0) -> bool:
    query = query.strip()
    negated = query.startswith("not ")
    if negated:
        query = query[4:].strip()
    query = query.removeprefix("only ").strip()
    result = any(
        all(_term(term, depth) for term in re.split(r"(?<!\s)\s+and\s+|(?<=\))\s*and\s+", option))
        for option in re.split(r"(?<!\s)\s+or\s+", query)
    )
    return result != negated


def _term(term: str, depth: int) -> bool:
    term = term.strip()
    if depth > _DEEPEST:
        return False
    if term.startswith("not "):
        return not _term(term[4:], depth + 1)
    if term.startswith("("):
        inner = term.removeprefix("(").removesuffix(")")
        return _query(inner, depth + 1) if inner.startswith(("(", "not ")) else _feature(inner)
    return term in ("all", "screen", "")


@lru_cache(maxsize=1024)
def media_matches(queries: str) -> bool:
    """Whether a list of media queries holds; the empty one does."""
    text = queries.strip().lower()
    return not text or any(_query(query) for query in text[:2000].split(","))
