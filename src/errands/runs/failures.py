"""What cost an episode its reward: one name for every episode below 1, none for those at 1.

The names exclude each other; the first rule that holds decides. They are found while an episode is
played, from what its pages showed and what the reward is made of, and are kept beside the parts of
the reward, where no agent sees them.

WebShop. A product is perfect if some choice of its options earns a reward of 1. One is found once
a page of results shows the wanted product, or a perfect one is opened.

| | name | when |
|---|---|---|
| nothing bought | gave up | the last action is `wait`, or three times the same without effect |
| | invalid actions | half of the actions or more were invalid |
| | never found | none was found |
| | out of steps | one was found |
| bought | never found | none was found |
| | wrong product | the type is not right |
| | missing attribute, wrong option, over price | that part lost most; of equal ones the first |
| | unknown | the reward has no parts that say so |

TurkingBench. A field that counts loses what its score has less than 1.

| | name | when |
|---|---|---|
| not submitted | invalid actions | half of the actions or more were invalid |
| | not submitted | else |
| submitted | nothing counted | no field of the page counts under the rules |
| | left empty | fields without an answer lost most, or as much as any others |
| | wrong choice | among fields with one: radio buttons, check boxes and selections |
| | wrong number | likewise: ranges |
| | wrong text | likewise: all others |

Episodes that were kept before there were names have one as far as their parts tell: purchases of
the shop by what the reward lost, all others `unknown`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

__all__ = [
    "FAILURES",
    "UNKNOWN",
    "FieldLoss",
    "ShopTrace",
    "failure_of",
    "shop_failure",
    "turk_failure",
]

UNKNOWN: Final = "unknown"
FAILURES: Final[Mapping[str, Mapping[str, str]]] = {
    "shop": {
        "never found": "the wanted product was in no results seen, and no perfect one was opened",
        "wrong product": "another type of product was bought, though the right one was found",
        "missing attribute": "what was bought lacks attributes, which cost most",
        "wrong option": "options were not chosen or wrong, which cost most",
        "over price": "the price was too high, which cost most",
        "gave up": "nothing bought: it waited, or repeated one action without effect",
        "invalid actions": "nothing bought: half of the actions or more were invalid",
        "out of steps": "nothing bought in time, though the right product was found",
        UNKNOWN: "what was kept of the episode does not tell",
    },
    "turk": {
        "not submitted": "the steps ran out first",
        "invalid actions": "not submitted: half of the actions or more were invalid",
        "nothing counted": "no field of the page counts under the rules",
        "left empty": "fields without an answer cost most",
        "wrong choice": "radio buttons, check boxes and selections cost most",
        "wrong number": "ranges cost most",
        "wrong text": "texts that differ from people's cost most",
        UNKNOWN: "what was kept of the episode does not tell",
    },
}
"""The names of each domain, in the order of reports, and what they mean."""

GIVE_UP: Final = "wait"
"""What agents do that have nothing left to try (`errands.agents.factory.give_up`)."""
_IDLE: Final = 3
"""So many times the same without effect, at the end: it has given up."""
_CHOICES: Final = frozenset({"radio", "checkbox", "select"})
_LOSSES: Final = {
    "missing attribute": ("r_att", "w_att"),
    "wrong option": ("r_option", "w_option"),
    "over price": ("r_price", "w_price"),
}
_NOISE: Final = 1e-9


class ShopTrace(NamedTuple):
    """What the pages of an episode showed."""

    found: bool
    """Whether a page of results showed the wanted product, or a perfect one was opened."""
    steps: int
    invalid: int
    """Actions that were not possible."""
    last: str = ""
    """The last action."""
    idle: int = 0
    """How many of the last actions were that one and changed nothing."""


class FieldLoss(NamedTuple):
    """One field that counts."""

    type: str
    is_empty: bool
    score: float


def shop_failure(reward: float, parts: Mapping[str, Any], trace: ShopTrace) -> str:
    """The name of an episode of the shop; `parts` are empty where nothing was bought."""
    if reward >= 1.0:
        return ""
    if parts:
        return _costliest_part(parts) if trace.found else "never found"
    if trace.last == GIVE_UP or trace.idle >= _IDLE:
        return "gave up"
    if _mostly_invalid(trace.steps, trace.invalid):
        return "invalid actions"
    return "out of steps" if trace.found else "never found"


def turk_failure(
    reward: float, fields: Iterable[FieldLoss], *, is_submitted: bool, steps: int, invalid: int
) -> str:
    """The name of an episode on a form page."""
    if reward >= 1.0:
        return ""
    if not is_submitted:
        return "invalid actions" if _mostly_invalid(steps, invalid) else "not submitted"
    losses = dict.fromkeys(("left empty", "wrong choice", "wrong number", "wrong text"), 0.0)
    counted = False
    for field in fields:
        counted = True
        losses[_kind(field)] += 1.0 - field.score
    return _largest(losses) if counted else "nothing counted"


def failure_of(domain: str, reward: float | None, parts: Mapping[str, Any]) -> str:
    """The name of a kept episode; empty for a reward of 1, and for errors, which have none (or
    NaN)."""
    if reward is None or not reward < 1.0:
        return ""
    name = parts.get("failure")
    if isinstance(name, str) and name in FAILURES.get(domain, {}):
        return name
    return _costliest_part(parts) if domain == "shop" else UNKNOWN


def _mostly_invalid(steps: int, invalid: int) -> bool:
    return invalid > 0 and 2 * invalid >= steps


def _kind(field: FieldLoss) -> str:
    if field.is_empty:
        return "left empty"
    if field.type in _CHOICES:
        return "wrong choice"
    return "wrong number" if field.type == "range" else "wrong text"


def _costliest_part(parts: Mapping[str, Any]) -> str:
    """Which part of a purchase's reward lost most."""
    try:
        if float(parts["r_type"]) < 1.0:
            return "wrong product"
        losses = {
            name: float(parts[weight]) * (1.0 - float(parts[value]))
            for name, (value, weight) in _LOSSES.items()
            if value in parts
        }
    except (KeyError, TypeError, ValueError):
        return UNKNOWN
    return _largest(losses) if any(loss > _NOISE for loss in losses.values()) else UNKNOWN


def _largest(losses: Mapping[str, float]) -> str:
    """The name that lost most; of equal ones the first."""
    most = max(losses.values())
    return next(name for name, loss in losses.items() if loss >= most - _NOISE)
