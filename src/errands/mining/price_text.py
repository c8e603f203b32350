"""Prices as people write them: 12,50 €, $1,299.00, 5 - 20 EUR, CHF 1'299.50."""

import re
from typing import Any, Final

__all__ = ["DEAREST", "BadPrice", "prices_of"]

DEAREST: Final = 1_000_000.0
"""No goal can ask for more: its price cap would forbid the purchase."""

_LONGEST: Final = 100

_NUMBER: Final = re.compile(r"\d(?:[\d.,'’]|[   ](?=\d{3}(?!\d)))*")
_JOINT: Final = re.compile(r"[^\d]*?(?:[-–—~]|\bto\b|\bbis\b|\ba\b|\.\.)[^\d]*", re.IGNORECASE)
_MINUS: Final = re.compile(r"[-−]\s*\D{0,4}$")


class BadPrice(Exception):
    """A text that is no price; the message is the reason it is counted under."""


def prices_of(value: Any, decimal: str = "auto") -> tuple[float, ...]:
    """One price, the two ends of a range, or nothing where nothing is said.

    `decimal` says which of . and , comes before the cents. "auto" takes the last one of both;
    alone, a comma before exactly three digits parts thousands, and anything else cents.

    >>> prices_of("12,50 €"), prices_of("$1,299.00"), prices_of("5 - 20.5 EUR"), prices_of("")
    ((12.5,), (1299.0,), (5.0, 20.5), ())
    """
    if value is None or isinstance(value, bool):
        return ()
    if isinstance(value, int) and abs(value) > DEAREST:
        # Some are too large for a float.
        raise BadPrice("price is negative" if value < 0 else "price is above a million")
    if isinstance(value, int | float):
        return _checked([float(value)]) if value == value else ()
    text = str(value).strip()
    if not text or text.lower() in ("nan", "none", "null", "n/a", "na", "-"):
        return ()
    if len(text) > _LONGEST:
        raise BadPrice("price is a long text")
    found = list(_NUMBER.finditer(text))
    if not found:
        raise BadPrice("price is not a number")
    if len(found) > 2:
        raise BadPrice("price is more than a range")
    if _MINUS.search(text[: found[0].start()]):
        raise BadPrice("price is negative")
    if len(found) == 2 and not _JOINT.fullmatch(text[found[0].end() : found[1].start()]):
        raise BadPrice("price is more than a range")
    return _checked([_number(one[0], decimal) for one in found])


def _number(text: str, decimal: str) -> float:
    digits = re.sub(r"['’\s   ]", "", text).rstrip(".,")
    if decimal == "auto":
        decimal = _found_decimal(digits)
    thousands = "," if decimal == "." else "."
    plain = digits.replace(thousands, "").replace(decimal, ".")
    try:
        return float(plain)
    except ValueError:
        raise BadPrice("price is not a number") from None


def _found_decimal(digits: str) -> str:
    comma, dot = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and dot >= 0:
        return "," if comma > dot else "."
    if dot >= 0:
        return "." if digits.count(".") == 1 else ","
    if comma >= 0:
        parted = digits.count(",") > 1 or len(digits) - comma == 4
        return "." if parted else ","
    return "."


def _checked(found: list[float]) -> tuple[float, ...]:
    if any(price < 0 for price in found):
        raise BadPrice("price is negative")
    if any(price > DEAREST for price in found):
        raise BadPrice("price is above a million")
    # What costs nothing was not priced: shops write 0 for "not known".
    given = sorted({round(price, 2) for price in found if price >= 0.005})
    return tuple(given)
