"""What an input keeps of a text: HTML's value sanitisation, type by type."""

import datetime
import math
import re
from collections.abc import Mapping
from decimal import ROUND_FLOOR, Decimal, InvalidOperation
from typing import Final

__all__ = ["cut", "is_number", "loose_number", "number_text", "sanitize", "trimmed", "valid"]

# Digits are those of ASCII, as everywhere in HTML.
_FLOAT = re.compile(r"-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?", re.A)
_LOOSE = re.compile(r"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d+)?", re.A)
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")
_DATE = re.compile(r"(\d{4,6})-(\d\d)-(\d\d)", re.A)
_MONTH = re.compile(r"(\d{4,6})-(\d\d)", re.A)
_WEEK = re.compile(r"(\d{4,6})-W(\d\d)", re.A)
_TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,3})?)?", re.A)
_LINES = re.compile(r"[\r\n]")
_SPACES: Final = " \t\n\f\r"
_SCRIPT_SPACES: Final = (
    " \t\n\v\f\r\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
Attributes = Mapping[str, str | None]


def is_number(text: str) -> bool:
    """Whether a text is a valid floating-point number of HTML."""
    return _FLOAT.fullmatch(text) is not None and math.isfinite(float(text))


def loose_number(text: str) -> float | None:
    """What an agent may write for a slider's position: as HTML, but for a sign or a point more."""
    number = float(text) if _LOOSE.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None


def trimmed(text: str) -> str:
    """Without the spaces around it that scripts call so."""
    return text.strip(_SCRIPT_SPACES)


def number_text(number: float) -> str:
    """A number as a browser writes it."""
    if number == int(number) and abs(number) < 1e21:
        return str(int(number))
    if 1e-6 <= abs(number) < 1e-4:
        return format(Decimal(repr(number)), "f")
    return repr(number).replace("e-0", "e-")


def _year_and_month(year: str, month: str) -> bool:
    return int(year) > 0 and 1 <= int(month) <= 12


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None or not _year_and_month(match[1], match[2]):
        return False
    year = int(match[1])
    if year > 9999:
        year = 2000 + year % 400
    try:
        datetime.date(year, int(match[2]), int(match[3]))
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    match = _TIME.fullmatch(text)
    return match is not None and (
        int(match[1]) < 24 and int(match[2]) < 60 and int(match[3] or 0) < 60
    )


def _is_week(text: str) -> bool:
    match = _WEEK.fullmatch(text)
    if match is None or int(match[1]) == 0:
        return False
    year = int(match[1])
    last = datetime.date(2000 + year % 400 if year > 9998 else year, 12, 28).isocalendar().week
    return 1 <= int(match[2]) <= last


def valid(kind: str, text: str) -> bool:
    """Whether an input of this type can hold the text as it is."""
    match kind:
        case "number" | "range":
            return is_number(text)
        case "date":
            return _is_date(text)
        case "month":
            month = _MONTH.fullmatch(text)
            return month is not None and _year_and_month(month[1], month[2])
        case "week":
            return _is_week(text)
        case "time":
            return _is_time(text)
        case "datetime-local":
            day, _, time = text.replace(" ", "T", 1).partition("T")
            return _is_date(day) and _is_time(time)
        case "color":
            return _COLOR.fullmatch(text) is not None
    return True


def sanitize(kind: str, text: str, attributes: Attributes) -> str:
    """The live value of an input of this type that is given the text."""
    match kind:
        case "text" | "search" | "tel" | "password":
            return _LINES.sub("", text)
        case "url":
            return _LINES.sub("", text).strip(_SPACES)
        case "email":
            text = _LINES.sub("", text)
            if "multiple" in attributes:
                return ",".join(part.strip(_SPACES) for part in text.split(","))
            return text.strip(_SPACES)
        case "number" | "date" | "month" | "week" | "time":
            return text if valid(kind, text) else ""
        case "datetime-local":
            return _date_and_time(text) if valid(kind, text) else ""
        case "color":
            text = text.lower()
            if re.fullmatch(r"#[0-9a-f]{3}", text):
                text = "#" + "".join(digit * 2 for digit in text[1:])
            return text if valid(kind, text) else "#000000"
        case "range":
            return _ranged(text, attributes)
        case "file":
            return ""
    return text


def _date_and_time(text: str) -> str:
    day, _, time = text.replace(" ", "T", 1).partition("T")
    hour, minute, *seconds = time.split(":")
    whole, _, fraction = (seconds[0] if seconds else "00").partition(".")
    fraction = fraction.rstrip("0")
    tail = f":{whole}.{fraction}" if fraction else f":{whole}" if whole != "00" else ""
    return f"{day}T{hour}:{minute}{tail}"


def _decimal(text: str | None) -> Decimal | None:
    if text is None or len(text) > 400 or not is_number(text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _ranged(text: str, attributes: Attributes) -> str:
    """A slider's position: inside its bounds and on a step."""
    least = _decimal(attributes.get("min"))
    low = least if least is not None else Decimal(0)
    base = low if least is not None else _decimal(attributes.get("value")) or low
    most = _decimal(attributes.get("max"))
    high = max(low, most if most is not None else Decimal(100))
    number = _decimal(text)
    value = low + (high - low) / 2 if number is None else min(max(number, low), high)
    stated = attributes.get("step") or ""
    if stated.strip().lower() != "any":
        step = _decimal(stated)
        if step is None or step <= 0:
            step = Decimal(1)
        steps = ((value - base) / step + Decimal("0.5")).to_integral_value(ROUND_FLOOR)
        value = base + steps * step
        if value > high:
            value -= step
        if value < low:
            value += step
        value = min(max(value, low), high)
    elif number is not None and value == number:
        return number_text(float(number))
    return number_text(float(value))


def cut(text: str, longest: str | None) -> str:
    """What fits into `maxlength`, which counts as browsers do (UTF-16)."""
    if longest is None or not re.fullmatch(r"\s*\+?\d{1,9}.*", longest, re.S):
        return text
    match = re.search(r"\d+", longest)
    assert match is not None
    limit = int(match[0])
    if len(text) * 2 <= limit:
        return text
    units = text.encode("utf-16-le", "surrogatepass")[: limit * 2]
    return units.decode("utf-16-le", "replace")
