"""Prices as people write them: 12,50 €, $1,299.00, 50.700₫, Rp 50.000, CHF 1'299.50, 5 - 20 EUR.

`prices_of` reads a cell of a table, which is a price or else has a reason why not; `money` finds a
price and its currency in the text of a page, `number_money` reads one whose currency is said
elsewhere, and `usual_decimal` tells from many prices which mark comes before their cents. What a
mark means is decided by the currency (`errands.currencies`), and what is left open is no price
rather than a wrong one. By hand because price-parser reads no ranges, no signs and no currencies'
habits (docs/explanation/dependencies.md). How the original reads the prices of its own files is
`errands.shop.product.parse_price`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from errands.currencies import (
    CODES,
    EVERYDAY_WORDS,
    NO_HABITS,
    SIGNS,
    UNKNOWN,
    Habits,
    cent_digits,
    code_of,
    decimal_mark,
)

__all__ = [
    "DEAREST", "BadPrice", "Money", "currency_in", "money", "number_money", "prices_of",
    "usual_decimal",
]  # fmt: skip

DEAREST: Final = 1_000_000.0
"""No goal can ask for more: its price cap would forbid the purchase."""
_LEAST: Final = 0.005
_HIGHEST: Final = 1e9
_LONGEST_CELL: Final = 100
_LONGEST_TEXT: Final = 2_000


class BadPrice(Exception):
    """A text that is no price; the message is the reason it is counted under."""


class Money(NamedTuple):
    """One price or the two ends of a range, and their currency."""

    prices: tuple[float, ...] = ()
    currency: str = ""


# Numbers.

_PLAINLY: Final = str.maketrans(
    {
        **{chr(start + digit): str(digit) for start in (0x660, 0x6F0, 0x966, 0xFF10)
           for digit in range(10)},
        "٫": ".", "٬": ",", "．": ".", "，": ",", "＄": "$", "￥": "¥", "￡": "£", "￦": "₩",
        "−": "-", "’": "'", "\u00a0": " ", "\u2007": " ", "\u2009": " ", "\u202f": " ",
        "\u200e": " ", "\u200f": " ",
    }
)  # fmt: skip
"""Digits, marks and spaces of the world in their plainest form, one for one."""

_SPACED: Final = r"\d{1,3}(?: \d{3}){1,4}(?:[.,]\d{1,3})?(?![.,]?\d)"
_NUMBER: Final = rf"(?:{_SPACED}|\d(?:[\d.,']{{0,18}}\d)?|[.,]\d{{1,2}}(?!\d))"
_MACHINE: Final = re.compile(r"[-+]?\d{1,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?")
_NO_CENTS: Final = re.compile(r" ?[-–—]")
"""What stands in the place of cents: 1.299,-"""


def _value(digits: str, decimal: str) -> float | None:
    """A number by its marks; None where they stand at places that make no sense."""
    digits = digits.replace("'", "").replace(" ", "").rstrip(".,")
    whole, mark, cents = digits.rpartition(decimal) if decimal in digits else (digits, "", "")
    other = "," if decimal == "." else "."
    groups = re.split(r"[.,]", whole)
    grouped = len(groups) > 1
    if other in cents or (mark and decimal in whole):
        return None
    if grouped and not (
        1 <= len(groups[0]) <= 3
        and len(groups[-1]) == 3
        and all(2 <= len(group) <= 3 for group in groups[1:])
    ):
        return None
    try:
        return float(f"{''.join(groups) or '0'}.{cents or '0'}")
    except ValueError:
        return None


def _read_number(text: str, currency: str = "", decimal: str = "") -> float | None:
    """A number as people write it, thousands marked or not.

    `decimal` is the mark before the cents where it is known. Two marks say by themselves which
    of them that is, and so does one before other than three digits.
    """
    digits = text.rstrip(".,")
    comma, dot = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and dot >= 0:
        return _value(digits, "," if comma > dot else ".")
    last = max(comma, dot)
    if last < 0:
        return _value(digits, ".")
    mark, other = digits[last], "." if dot < 0 else ","
    behind = len(digits) - last - 1
    if digits.count(mark) > 1:
        # 1.299.000 has two marks of thousands, 1.299.00 one of cents.
        return _value(_before_last(digits, mark, other) if behind < 3 else digits, other)
    leading = digits[:last]
    if behind != 3 or len(leading.lstrip("0")) > 3 or leading in ("", "0") or " " in leading:
        return _value(digits, mark)
    return _value(digits, mark if _parts_cents(mark, currency, decimal) else other)


def _before_last(digits: str, mark: str, other: str) -> str:
    """The same number with its last mark as the other one, which then is that of the cents."""
    thousands, _, cents = digits.rpartition(mark)
    return f"{thousands}{other}{cents}"


def _parts_cents(mark: str, currency: str, decimal: str) -> bool:
    """Whether a mark before exactly three digits, as in 1.299, is that of the cents after all."""
    if not currency:
        return mark == (decimal or ".")
    if cent_digits(currency) != 3:
        # Cents have two digits: 1.299 is exact only where a point can be nothing else.
        return (
            mark == "." == (decimal or ".") == decimal_mark(currency) and cent_digits(currency) > 0
        )
    return mark == (decimal or decimal_mark(currency))


def _possible(price: float | None) -> float | None:
    """A price that can be paid; None for less than nothing, for specks and for fortunes."""
    if price is None or not (price == 0 or _LEAST <= price < _HIGHEST):
        return None
    return price


# Signs.


def _any_of(signs: Iterable[str]) -> str:
    return "|".join(re.escape(sign) for sign in sorted(signs, key=lambda one: (-len(one), one)))


_LETTER: Final = r"[^\W\d_]"
_EXACT: Final = {"R", "DA", "DT", "LE", "SR", "RM", "JD", "KD", "TL", "Dh", "Fr", "Bs", "Gs"}
"""Signs that are words or scraps of words unless they are spelt like this."""
_LOOSE: Final = [sign for sign in SIGNS if sign not in _EXACT]
_SIGN: Final = (
    rf"(?:(?i:(?<!{_LETTER})(?:{_any_of(sign for sign in _LOOSE if sign[0].isalpha())}"
    r"|usd|eur|gbp|jpy|inr|cad|aud|chf|brl|pln|sek|nok|dkk|czk|huf|rub|krw|vnd|idr|cny|thb|php)"
    rf"(?!{_LETTER}))"
    rf"|(?<!{_LETTER})(?:{_any_of([*CODES, *_EXACT])})(?!{_LETTER})"
    rf"|{_any_of(sign for sign in _LOOSE if not sign[0].isalpha())})"
)
_CODE: Final = rf"(?:{_any_of(CODES)})(?!{_LETTER})"
_MONEY: Final = re.compile(
    rf"(?P<before>{_SIGN})(?:(?<={_LETTER})\.)?:? ?(?:(?P<second>{_SIGN}) ?)?(?P<one>{_NUMBER})"
    rf"(?:[.,][-–—]{{1,2}})?(?: ?(?P<code>{_CODE}))?"
    rf"|(?<![^\W_])(?<!\d[.,])(?P<two>{_NUMBER})(?:[.,][-–—]{{1,2}})?"
    rf"(?:(?P<glued>{_SIGN})(?:(?P<cents>\d\d)(?!\d))?| (?P<after>{_SIGN})(?!\d))?"
)
_FIND_SIGN: Final = re.compile(_SIGN)


def currency_in(text: str, habits: Habits = NO_HABITS) -> str:
    """The currency that a text names; empty where it names none.

    >>> currency_in("50.700₫"), currency_in("12,50"), currency_in("129 kr", Habits("NOK"))
    ('VND', '', 'NOK')
    """
    signs = [found[0] for found in _FIND_SIGN.finditer(text[:_LONGEST_CELL].translate(_PLAINLY))]
    exact = [sign for sign in signs if sign in CODES and sign not in EVERYDAY_WORDS]
    return code_of([*exact, *signs][0], habits) if signs else ""


# Prices in the text of a page.

_MINUS: Final = re.compile(r"(?:^|[\s(:])-$")
_TO: Final = re.compile(
    r" {0,3}(?:to|bis|until|à|a|až|do|до|-|–|—|~|\.\.\.?|…) {0,3}", re.IGNORECASE
)
_SCALED: Final = re.compile(
    r" ?(?:k|m|mio|mil|mn|bn|rb|ribu|jt|juta|lakhs?|crores?|cr|million|billion|thousand|tsd|tys|тыс"
    r"|млн|triệu|tr)\b\.?|[万億亿千]|%", re.IGNORECASE,
)  # fmt: skip
_OFTEN: Final = re.compile(
    r" ?(?:/|per|a|pro|par|al|por) ?"
    r"(?:mo|mth|month|monat|mois|mes|mese|maand|yr|year|jahr|week)\b",
    re.IGNORECASE,
)
_EACH: Final = re.compile(r" ?(?:/|per|pro|je) ?(?:\d{1,4} ?)?[a-zµ²³]", re.IGNORECASE)
_NOT_ASKED: Final = re.compile(
    r"\b(?:was|were|save|saved|saving|savings|off|rrp|msrp|mrp|uvp|list price|regular price"
    r"|old price|retail price|typical price|statt|instead of|before|vorher|sparen|ersparnis"
    r"|au lieu de|économisez|antes|ahorra|ahorras|precio anterior|prezzo precedente|invece di"
    r"|avant|reg|shipping|delivery|versand|postage|livraison|envío|spedizione)"
    r"[.:]? {0,3}(?:price[.:]? {0,3})?(?:up to )?$",
    re.IGNORECASE,
)
_FOR: Final = re.compile(r"\d ?(?:for|für|pour|voor|por|per|/) ?$", re.IGNORECASE)
_START: Final = re.compile(
    r"(?:[^\d]{0,30}(?:[:(]|\bfrom|\bvon|\bde|\bdesde|\bda|\bод|\bот) ?)?", re.I
)
_CENTS_APART: Final = re.compile(
    r"(\D{0,8})(\d{1,3}(?:[.,]\d{3})*)(?: [.,]? ?|[.,] )(\d\d)(\D{0,8})"
)
_CENTS_BEHIND: Final = re.compile(r"(?<=\d) (?=[.,]\d\d(?![\d.,]))")
_NEVER_SPACED: Final = frozenset("USD GBP INR JPY AUD CAD".split())
"""Behind a sign of these, a space ends the number: `$20 300 sold`."""


class _Price(NamedTuple):
    """A number in a text, with its sign if it has one."""

    start: int
    end: int
    digits: str
    sign: str
    is_before: bool
    """Whether the sign stands before the number."""

    def amount(self, currency: str, habits: Habits) -> float | None:
        digits = self.digits
        if self.is_before and currency in _NEVER_SPACED and not re.search(r"[.,]\d\d$", digits):
            digits = digits.split()[0]
        usual = habits.decimal if habits.currency in ("", UNKNOWN, currency) else ""
        return _possible(_read_number(digits, currency, usual))


def money(text: str, habits: Habits = NO_HABITS) -> Money:
    """The first price in a text that is asked now, with the second end where it is a range.

    Prices that were (`was $50`), that are saved, of a month or a kilo, and of several (`2 for $5`)
    are passed over where another one is told; `habits` tell which dollar `$` is.

    >>> money("$1,299.00"), money("US $5.00 to $20.50"), money("1.299,50 €"), money("free")
    (Money(prices=(1299.0,), currency='USD'), Money(prices=(5.0, 20.5), currency='USD'), \
Money(prices=(1299.5,), currency='EUR'), Money(prices=(), currency=''))
    """
    plain = text[:_LONGEST_TEXT].translate(_PLAINLY)
    if currency_in(plain):
        plain = _with_cents(plain)
    found = list(_found(plain))
    unit = Money()
    for at, price in enumerate(found):
        before, after = plain[: price.start], plain[price.end : price.end + 40]
        if not price.sign or _is_passed_over(before, after):
            continue
        currency = code_of(price.sign, habits)
        ends = [price.amount(currency, habits)]
        if (first := _first_end(plain, found, at)) is not None:
            ends.insert(0, first.amount(currency, habits))
        elif (second := _second_end(plain, found, at)) is not None:
            ends.append(second.amount(currency, habits))
        usable = tuple(end for end in ends if end is not None)
        if len(usable) < len(ends):
            continue
        if _EACH.match(after) and at + 1 < len(found):
            unit = unit if unit.prices else Money(usable, currency)
            continue
        return Money(usable, currency)
    return unit


def _with_cents(text: str) -> str:
    """A price whose cents stand apart, as `$12 99` or `119. 95`, in one number."""
    text = _CENTS_BEHIND.sub("", text)
    apart = _CENTS_APART.fullmatch(text.strip())
    if apart is None:
        return text
    return f"{apart[1]}{apart[2]}{',' if '.' in apart[2] else '.'}{apart[3]}{apart[4]}"


def _found(text: str) -> Iterator[_Price]:
    for one in _MONEY.finditer(text):
        if one["one"]:
            signs = [sign for sign in (one["code"], one["second"], one["before"]) if sign]
            exact = next((sign for sign in signs if sign in CODES), signs[-1])
            alone = (
                exact not in EVERYDAY_WORDS or not (text[: one.start()] + text[one.end() :]).strip()
            )
            yield _Price(one.start(), one.end(), one["one"], exact if alone else "", True)
        else:
            sign = one["glued"] or one["after"] or ""
            digits = one["two"]
            if one["cents"]:
                digits = (
                    f"{digits}.{one['cents']}" if "." not in digits else f"{digits},{one['cents']}"
                )
            if sign in EVERYDAY_WORDS and (text[: one.start()] + text[one.end() :]).strip():
                sign = ""
            yield _Price(one.start(), one.end(), digits, sign, False)


def _is_passed_over(before: str, after: str) -> bool:
    return bool(
        _MINUS.search(before[-2:])
        or _NOT_ASKED.search(before[-40:])
        or _FOR.search(before[-10:])
        or _SCALED.match(after)
        or _OFTEN.match(after)
    )


def _first_end(text: str, found: list[_Price], at: int) -> _Price | None:
    """The first end of `5 - 20 €`, whose sign is at the second."""
    if at == 0 or found[at].is_before or found[at - 1].sign:
        return None
    first = found[at - 1]
    joined = _TO.fullmatch(text[first.end : found[at].start])
    return first if joined and _START.fullmatch(text[: first.start].lstrip()) else None


def _second_end(text: str, found: list[_Price], at: int) -> _Price | None:
    """The second end of a range, which has the same sign or, as in `$5 - 20`, none."""
    if at + 1 >= len(found):
        return None
    first, second = found[at], found[at + 1]
    if not _TO.fullmatch(text[first.end : second.start]):
        return None
    is_plain = first.is_before and not re.match(rf" ?(?:{_LETTER}|%)", text[second.end :])
    return second if second.sign or is_plain else None


def number_money(text: str, currency: str, habits: Habits = NO_HABITS) -> Money:
    """A price that is written without its currency, as attributes and data have it.

    What is a number to a machine is that number, its only mark a decimal point, as schema.org wants
    it; anything else is read as people write it.

    >>> number_money("12.500", "EUR").prices, number_money("1 299,00", "EUR").prices
    ((12.5,), (1299.0,))
    """
    said = text[:200].strip().translate(_PLAINLY)
    letters = code_of(currency, habits) or currency.strip().upper()[:3]
    found = next(_found(said), None)
    if _MACHINE.fullmatch(said):
        price = _possible(float(said))
    elif found and not _MINUS.search(said[: found.start].rstrip()[-2:]):
        price = found._replace(is_before=False).amount(letters, habits)
    else:
        price = None
    return Money() if price is None else Money((price,), letters)


# Prices in the cells of a table.

_CELL_NUMBER: Final = re.compile(r"(?:(?<![^\s$€£])[.,])?\d(?:[\d.,']| (?=\d{3}(?!\d)))*")
_CELL_JOINT: Final = re.compile(r"[-–—~…]|\bto\b|\bbis\b|\ba\b|\bà\b|\.\.", re.IGNORECASE)
_CELL_MINUS: Final = re.compile(r"-\s{0,3}[^\s\d]{0,4}\s{0,3}$")
_CELL_PENCE: Final = re.compile(r" ?(?:¢|(?:c|p|ct|cents?|pence)(?![\w$]))", re.IGNORECASE)
_SCIENTIFIC: Final = re.compile(r"\d{1,2}(?:\.\d{1,20})?[eE][+-]?\d{1,2}")
"""A number as data frames write it: 2.79e+01."""
_CELL_NOTHING: Final = frozenset({"", "nan", "none", "null", "n/a", "na", "-"})


def prices_of(value: Any, decimal: str = "auto", currency: str = "") -> tuple[float, ...]:
    """One price, the two ends of a range, or nothing where nothing is said.

    `decimal` says which of . and , comes before the cents, `currency` in what the table is priced
    where its cells do not say. "auto" goes by the currency; without one, it takes the last of two
    marks, and of one alone a comma before exactly three digits parts thousands, and anything else
    cents.

    >>> prices_of("12,50 €"), prices_of("$1,299.00"), prices_of("5 - 20.5 EUR"), prices_of("")
    ((12.5,), (1299.0,), (5.0, 20.5), ())
    >>> prices_of("50.700₫"), prices_of("1.299", currency="EUR"), prices_of("1.299")
    ((50700.0,), (1299.0,), (1.3,))
    >>> prices_of("2.79e+01"), prices_of("1.0e-02")
    ((27.9,), (0.01,))
    """
    if value is None or isinstance(value, bool):
        return ()
    if isinstance(value, int) and abs(value) > DEAREST:
        # Some are too large for a float.
        raise BadPrice("price is negative" if value < 0 else "price is above a million")
    if isinstance(value, int | float):
        return _checked([float(value)]) if value == value else ()
    text = str(value).strip().translate(_PLAINLY)
    if text.lower() in _CELL_NOTHING:
        return ()
    if _SCIENTIFIC.fullmatch(text):
        return prices_of(float(text))
    if len(text) > _LONGEST_CELL:
        raise BadPrice("price is a long text")
    if re.search(r"\d[.,] \d", text):
        text = _with_cents(text)
    found = list(_CELL_NUMBER.finditer(text))
    if not found:
        raise BadPrice("price is not a number")
    paid = currency_in(text) or currency
    if len(found) == 2 and (cents := _cents_apart(text, found)):
        found, numbers = found[:1], [_read_number(cents, paid)]
    else:
        numbers = [_cell_number(text, one, decimal, paid) for one in found[:2]]
    if len(found) > 2:
        raise BadPrice("price is more than a range")
    if _CELL_MINUS.search(text[: found[0].start()]):
        raise BadPrice("price is negative")
    if len(found) == 2 and not _CELL_JOINT.search(text[found[0].end() : found[1].start()]):
        raise BadPrice("price is more than a range")
    if any(number is None for number in numbers):
        raise BadPrice("price is not a number")
    return _checked([number for number in numbers if number is not None])


def _cents_apart(text: str, found: list[re.Match[str]]) -> str:
    """The number of `12€99`; empty where two numbers are two."""
    between = text[found[0].end() : found[1].start()]
    if between in ("€", "£", "$") and re.fullmatch(r"\d\d", found[1][0]):
        return f"{found[0][0]}.{found[1][0]}"
    return ""


def _cell_number(text: str, one: re.Match[str], decimal: str, currency: str) -> float | None:
    """A number of a cell; pence are parts of a pound."""
    after = text[one.end() :]
    if _SCALED.match(after):
        return None
    known = decimal if decimal != "auto" else ""
    if one[0][-1] in ".," and _NO_CENTS.match(after):
        known = one[0][-1]
    digits = one[0].rstrip(".,")
    if known and digits.count(known) <= 1:
        number = _value(digits, known)
    else:
        number = _read_number(digits, currency)
    pence = _CELL_PENCE.match(after)
    return number / 100 if number is not None and pence else number


def _checked(found: list[float]) -> tuple[float, ...]:
    if any(price < 0 for price in found):
        raise BadPrice("price is negative")
    if any(price > DEAREST for price in found):
        raise BadPrice("price is above a million")
    # What costs nothing was not priced: shops write 0 for "not known".
    given = sorted({round(price, 2) for price in found if price >= _LEAST})
    return tuple(given)


# Many prices together.

_MARKED: Final = re.compile(r"(?<![\d.,])(\d{1,12})([.,])(\d{1,4})(?![\d.,])")
_BOTH: Final = re.compile(r"\d((?:\.\d{3}){1,4},|(?:,\d{2,3}){1,4}\.)\d{1,2}(?!\d)")
_MANY: Final = 5


def usual_decimal(texts: Iterable[str]) -> str:
    """Which of . and , comes before the cents in most of these prices; empty where none shows it.

    A column that has 1.299 and 49,90 says by the second what the first is. So does one of many
    prices in which a point is always before three digits: cents are not.

    >>> usual_decimal(["1.299", "9,90"]), usual_decimal(["1,299"]), usual_decimal(["1.299"] * 5)
    (',', '', ',')
    """
    shown = {".": 0, ",": 0}
    in_threes = {".": 0, ",": 0}
    for text in texts:
        plain = text[:_LONGEST_CELL].translate(_PLAINLY)
        if both := _BOTH.search(plain):
            shown[both[1][-1]] += 1
            continue
        for whole, mark, behind in _MARKED.findall(plain):
            if len(behind) == 3 and 1 <= len(whole) <= 3 and whole != "0":
                in_threes[mark] += 1
            elif len(behind) < 3 or whole == "0":
                shown[mark] += 1
    if any(shown.values()):
        return max(shown, key=lambda mark: (shown[mark], mark)) if shown["."] != shown[","] else ""
    if in_threes["."] >= _MANY:
        return ","
    return "." if in_threes[","] >= _MANY else ""
