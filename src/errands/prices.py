"""Prices as people write them: 12,50 €, $1,299.00, 5 - 20 EUR, CHF 1'299.50.

`prices_of` reads a cell of a table, which is a price or else has a reason why not; `money` finds a
price and its currency in the text of a page, `number_money` reads one whose currency is said
elsewhere. By hand because price-parser reads no ranges and no signs
(docs/explanation/dependencies.md). How the original reads the prices of its own files is
`errands.shop.product.parse_price`.
"""

import re
from typing import Any, Final, NamedTuple

__all__ = ["DEAREST", "BadPrice", "Money", "money", "number_money", "prices_of"]

DEAREST: Final = 1_000_000.0
"""No goal can ask for more: its price cap would forbid the purchase."""

_LONGEST: Final = 100

_CELL_NUMBER: Final = re.compile(r"\d(?:[\d.,'’]|[   ](?=\d{3}(?!\d)))*")
_JOINT: Final = re.compile(r"[^\d]*?(?:[-–—~]|\bto\b|\bbis\b|\ba\b|\.\.)[^\d]*", re.IGNORECASE)
_CELL_MINUS: Final = re.compile(r"[-−]\s*\D{0,4}$")


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
    found = list(_CELL_NUMBER.finditer(text))
    if not found:
        raise BadPrice("price is not a number")
    if len(found) > 2:
        raise BadPrice("price is more than a range")
    if _CELL_MINUS.search(text[: found[0].start()]):
        raise BadPrice("price is negative")
    if len(found) == 2 and not _JOINT.fullmatch(text[found[0].end() : found[1].start()]):
        raise BadPrice("price is more than a range")
    return _checked([_number(one[0], decimal) for one in found])


def _number(text: str, decimal: str) -> float:
    number = _read_number(text, decimal)
    if number is None:
        raise BadPrice("price is not a number")
    return number


def _checked(found: list[float]) -> tuple[float, ...]:
    if any(price < 0 for price in found):
        raise BadPrice("price is negative")
    if any(price > DEAREST for price in found):
        raise BadPrice("price is above a million")
    # What costs nothing was not priced: shops write 0 for "not known".
    given = sorted({round(price, 2) for price in found if price >= 0.005})
    return tuple(given)


def _read_number(text: str, decimal: str = "auto", currency: str = "") -> float | None:
    """A number as people write it, thousands marked or not."""
    digits = re.sub(r"['’\s]", "", text).rstrip(".,")
    if decimal == "auto":
        decimal = _decimal_mark(digits, currency)
    thousands = "," if decimal == "." else "."
    try:
        return float(digits.replace(thousands, "").replace(decimal, "."))
    except ValueError:
        return None


def _decimal_mark(digits: str, currency: str) -> str:
    """Which of . and , comes before the cents."""
    comma, dot = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and dot >= 0:
        return "," if comma > dot else "."
    last = max(comma, dot)
    if last < 0:
        return "."
    mark, other = digits[last], "." if dot < 0 else ","
    # 1,299 is a thousand; 1.299 is one where the currency has a decimal comma.
    thousand = len(digits) - last == 4 and (mark == "," or currency in ("EUR", "CHF"))
    return other if thousand or digits.count(mark) > 1 else mark


class Money(NamedTuple):
    """One price or the two ends of a range, and their currency."""

    prices: tuple[float, ...] = ()
    currency: str = ""


_SYMBOLS: Final = {
    "$": "USD", "us $": "USD", "us$": "USD", "usd": "USD", "£": "GBP", "gbp": "GBP", "€": "EUR",
    "eur": "EUR", "¥": "JPY", "jpy": "JPY", "₹": "INR", "inr": "INR", "c $": "CAD", "ca$": "CAD",
    "cad": "CAD", "au $": "AUD", "a$": "AUD", "aud": "AUD", "chf": "CHF", "zł": "PLN",
    "kr": "SEK", "rs.": "INR",
}  # fmt: skip
_SYMBOL: Final = "|".join(re.escape(each) for each in sorted(_SYMBOLS, key=len, reverse=True))
_SPACED: Final = r"(?<!\d)(?<!\d[.,])\d{1,3}(?:[ \u00a0\u202f]\d{3}){1,4}(?:[.,]\d{1,2})?(?!\d)"
_NUMBER: Final = rf"(?:{_SPACED}|\d(?:[\d.,'’]{{0,18}}\d)?)"
_MONEY: Final = re.compile(
    rf"(?P<before>{_SYMBOL})\s?(?P<one>{_NUMBER})|(?P<two>{_NUMBER})\s?(?P<after>{_SYMBOL})",
    re.IGNORECASE,
)
_BARE: Final = re.compile(_NUMBER)
_MACHINE: Final = re.compile(r"[-+]?\d{1,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?")
_MINUS: Final = re.compile(r"(?:^|[\s(:])[-−]$")
_NEVER_SPACED: Final = ("USD", "GBP", "INR", "JPY", "AUD", "CAD")
"""Behind a sign of these, a space ends the number: `$20 300 sold`."""
_TO: Final = re.compile(r"\s*(?:to|-|–|—)\s*", re.IGNORECASE)
_LEAST: Final = 0.005
_HIGHEST: Final = 1e9


def money(text: str) -> Money:
    """The first price in a text, with the second end where it is a range.

    >>> money("$1,299.00"), money("US $5.00 to $20.50"), money("1.299,50 €"), money("free")
    (Money(prices=(1299.0,), currency='USD'), Money(prices=(5.0, 20.5), currency='USD'), \
Money(prices=(1299.5,), currency='EUR'), Money(prices=(), currency=''))
    """
    found = list(_MONEY.finditer(text[:2000]))
    at = next(
        (at for at, one in enumerate(found) if not _MINUS.search(text[: one.start()][-2:])), None
    )
    if at is None:
        return Money()
    first = found[at]
    currency = _SYMBOLS[(first["before"] or first["after"]).lower()]
    prices = [_written(first, currency)]
    if at + 1 < len(found) and _TO.fullmatch(text[first.end() : found[at + 1].start()]):
        prices.append(_written(found[at + 1], currency))
    usable = tuple(price for price in prices if price is not None)
    return Money(usable, currency) if usable else Money()


def _written(found: re.Match[str], currency: str) -> float | None:
    digits = found["one"] or found["two"]
    if found["one"] and currency in _NEVER_SPACED:
        digits = digits.split()[0]
    return _possible(_read_number(digits, currency=currency))


def number_money(text: str, currency: str) -> Money:
    """A price that is written without its currency, as attributes and data have it.

    What is a number to a machine is that number, its only mark a decimal point, as schema.org wants
    it; anything else is read as people write it.

    >>> number_money("12.500", "EUR").prices, number_money("1 299,00", "EUR").prices
    ((12.5,), (1299.0,))
    """
    said, letters = text[:200].strip(), currency.strip().upper()[:3]
    found = _BARE.search(said)
    if _MACHINE.fullmatch(said):
        price = _possible(float(said))
    elif found and not _MINUS.search(said[: found.start()].rstrip()[-2:]):
        price = _possible(_read_number(found[0], currency=letters))
    else:
        price = None
    return Money() if price is None else Money((price,), letters)


def _possible(price: float | None) -> float | None:
    """A price that can be paid; None for less than nothing, for specks and for fortunes."""
    if price is None or not (price == 0 or _LEAST <= price < _HIGHEST):
        return None
    return price
