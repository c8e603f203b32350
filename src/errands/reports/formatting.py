"""How figures are written, the same on the page and in Markdown."""

from errands.reports.statistics.comparison import format_p
from errands.reports.statistics.estimate import Estimate

__all__ = ["count", "dash", "dollars", "duration", "fixed", "interval", "p_value", "points",
           "share", "whole"]  # fmt: skip

DASH = "–"


def dash(value: float | None, digits: int = 1) -> str:
    """A number, or a dash where there is none."""
    return DASH if value is None else f"{value:,.{digits}f}"


def fixed(value: float, digits: int = 1) -> str:
    """So many digits, and never a minus before nothing."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def whole(value: float | None) -> str:
    return DASH if value is None else f"{value:,.0f}"


def points(estimate: Estimate, digits: int = 1) -> str:
    """A mean with its interval."""
    if estimate.mean is None:
        return DASH
    return f"{fixed(estimate.mean, digits)} {interval(estimate, digits)}"


def interval(estimate: Estimate, digits: int = 1) -> str:
    """An interval alone."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{fixed(estimate.low, digits)}, {fixed(estimate.high, digits)}]"


def share(value: float | None) -> str:
    """A share as a percentage."""
    return DASH if value is None else f"{value:.1%}".replace("%", " %")


def p_value(p: float | None) -> str:
    return DASH if p is None else format_p(p)


def count(number: int, noun: str, nouns: str = "") -> str:
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def dollars(value: float | None) -> str:
    if value is None:
        return DASH
    return f"${value:,.2f}" if value >= 1 or value == 0 else f"${value:.4f}"


def duration(seconds: float | None) -> str:
    """A time as people say it."""
    if seconds is None:
        return DASH
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else f"{seconds * 1e6:.0f} µs"
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
