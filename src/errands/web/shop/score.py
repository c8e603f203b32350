"""The score page's words: what each part of a reward means, and what had been wanted.

All of this is shown after the purchase only: a shopper knows the instruction, nothing else.
"""

import json
from html import escape
from typing import Final

import msgspec

from errands.crowd.shopping.assignments import completion_code
from errands.crowd.shopping.steps import LoggedPurchase
from errands.shop.goals import NO_CAP, Goal

__all__ = ["completion_code", "explain", "wanted"]

_KINDS: Final = {
    1.0: "Full marks: it is the kind of product that was wanted.",
    0.5: "Half marks: it comes from another category, and its title has little of what was wanted.",
    0.1: "A tenth: its title says next to nothing of what was wanted.",
    0.0: "None: its title says nothing of what was wanted, so the whole score is 0.",
}


def explain(bought: LoggedPurchase, goal: Goal) -> dict[str, str]:
    """Each part of a reward in plain words."""
    parts = bought.parts
    kind = float(parts["r_type"])
    attributes, options = len(goal.attributes), len(goal.goal_options)
    found = round(float(parts["r_att"]) * attributes)
    chosen = round(float(parts.get("r_option", 0)) * options)
    affordable = bool(parts["r_price"])
    properties = ", ".join(goal.attributes)
    told = {
        "Kind of product": _KINDS.get(kind, f"It counts {kind:g}."),
        "Properties": f"{found} of the {attributes} that were wanted: {properties}.",
        "Options": f"{chosen} of the {options} that were wanted: {_options(goal)}.",
        "Price": f"It costs ${bought.price:,.2f}; {_limit(goal, affordable)}",
    }
    if not options:
        told["Options"] = "None were asked for."
    wishes = attributes + options + 1
    met = found + chosen + affordable
    told["Together"] = (
        f"{met} of {wishes} wishes came true (properties, options and the price), times {kind:g}"
        f" for the kind of product: {bought.reward:.3g} of 1."
    )
    return told


def wanted(session: str, goal: Goal) -> str:
    """What stands below the score, as markup: the code, the goal's record, a way to go on."""
    rows = (
        ("instruction text", goal.instruction_text),
        ("asin", goal.asin),
        ("options", json.dumps(msgspec.to_builtins(goal.goal_options), ensure_ascii=False)),
        ("attrs", json.dumps(goal.attributes, ensure_ascii=False)),
        ("price upper", str(goal.price_upper)),
        ("category", goal.category),
        ("product category", goal.product_category),
        ("query", goal.query),
    )
    listed = "".join(
        f'<dt>{name}</dt><dd id="goal-{name.replace(" ", "-")}">{_safe(value)}</dd>'
        for name, value in rows
    )
    return (
        '<section class="wanted" aria-labelledby="target">'
        f'<details><summary><h2 id="target">What was wanted</h2></summary><dl>{listed}</dl>'
        "</details></section>\n"
        f'<p class="code">Your code: <strong id="code">{completion_code(session)}</strong></p>\n'
        '<p class="again"><a href="/">Shop for something else</a></p>\n'
    )


def _options(goal: Goal) -> str:
    if isinstance(goal.goal_options, dict):
        return ", ".join(f"{name} {value}" for name, value in goal.goal_options.items())
    return ", ".join(goal.goal_options)


def _limit(goal: Goal, affordable: bool) -> str:
    if goal.price_upper == NO_CAP:
        return "any price was fine."
    verdict = "that is within" if affordable else "that is above"
    return f"{verdict} the limit of ${goal.price_upper:,.2f}."


def _safe(text: str) -> str:
    return escape(text.encode("utf-8", "replace").decode())
