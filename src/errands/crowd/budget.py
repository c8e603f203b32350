"""Budgets: dollars that an administrator allows to be spent on a kind of work, and no more.

What counts is promised when work begins, so that a budget is never exceeded later.
"""

from typing import Final

from errands.errors import SettingError

__all__ = ["MOST_BUDGET", "checked_budget", "covers"]

MOST_BUDGET: Final = 1_000_000.0
_EXACT: Final = 5e-7
"""Sums of amounts are compared to a millionth of a dollar: 0.1 + 0.2 is not more than 0.3."""


def covers(budget: float, committed: float, pay: float) -> bool:
    """Whether a budget of which so much is spoken for leaves room for another pay.

    >>> covers(0.3, 0.2, 0.1), covers(0.3, 0.3, 0.1), covers(0.0, 0.0, 0.0)
    (True, False, True)
    """
    return pay <= 0 or committed + pay <= budget + _EXACT


def checked_budget(budget: float) -> float:
    """A budget that is possible."""
    if not 0 <= budget <= MOST_BUDGET:
        raise SettingError(f"Budget: expected 0 to {MOST_BUDGET:,.0f} dollars.")
    return budget
