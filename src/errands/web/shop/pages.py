"""Markup that the website adds to the shop's own pages: the score in words, the goal, errors.

What had been wanted is shown after the purchase only: a visitor knows the instruction, nothing
else.
"""

import json
from collections.abc import Sequence
from typing import Final

import msgspec

from errands.crowd.shopping.assignments import completion_code
from errands.crowd.shopping.steps import LoggedPurchase
from errands.markup import Markup, html, join
from errands.shop.goals import NO_CAP, Goal
from errands.shop.render.html import SiteFrame, document
from errands.web.core.http_errors import HttpError
from errands.web.core.places import SHOP, bar
from errands.web.shop.assets import site_assets

__all__ = ["NEW_SESSION", "Link", "error_page", "explain", "goal_details", "site_frame"]

Link = tuple[str, str]
"""What a link says, and where it leads."""

NEW_SESSION: Final = "/shop/new"
"""Leads to a new session, wherever `/` leads."""

_KINDS: Final = {
    1.0: "Full marks: it is the kind of product that was wanted.",
    0.5: "Half marks: it comes from another category, and its title has little of what was wanted.",
    0.1: "A tenth: its title says next to nothing of what was wanted.",
    0.0: "None: its title says nothing of what was wanted, so the whole score is 0.",
}
_TITLES: Final = {
    "not_found": "There is no such page",
    "no_page": "There is no such page",
    "no_goal": "There is no such goal",
    "no_product": "There is no such product",
    "no_option": "There is no such option",
    "bought_already": "You have bought something already",
    "method_not_allowed": "That does not work here",
    "too_large": "That is too long",
    "timeout": "That took too long",
    "busy": "The shop is busy",
    "unavailable": "The shop is closed for a moment",
    "internal": "Something went wrong on our side",
}


def explain(purchase: LoggedPurchase, goal: Goal) -> dict[str, str]:
    """Each part of a reward in plain words."""
    parts = purchase.parts
    kind = float(parts["r_type"])
    attributes, options = len(goal.attributes), len(goal.goal_options)
    matched = round(float(parts["r_att"]) * attributes)
    chosen = round(float(parts.get("r_option", 0)) * options)
    affordable = bool(parts["r_price"])
    properties = ", ".join(goal.attributes)
    explanation = {
        "Kind of product": _KINDS.get(kind, f"It counts {kind:g}."),
        "Properties": f"{matched} of the {attributes} that were wanted: {properties}.",
        "Options": f"{chosen} of the {options} that were wanted: {_options(goal)}.",
        "Price": f"It costs ${purchase.price:,.2f}; {_limit(goal, affordable)}",
    }
    if not options:
        explanation["Options"] = "None were asked for."
    explanation["Together"] = (
        f"{matched + chosen + affordable} of {attributes + options + 1} requirements were met"
        f" (properties, options and the price), times {kind:g} for the kind of product:"
        f" {purchase.reward:.3g} of 1."
    )
    return explanation


def goal_details(session: str, goal: Goal) -> Markup:
    """What stands below the score: the code, the goal's record, a link to go on."""
    rows = (
        ("instruction text", goal.instruction_text),
        ("asin", goal.asin),
        ("options", json.dumps(msgspec.to_builtins(goal.goal_options), ensure_ascii=False)),
        ("attrs", json.dumps(goal.attributes, ensure_ascii=False)),
        ("price upper", _price(goal)),
        ("category", goal.category),
        ("product category", goal.product_category),
        ("query", goal.query),
    )
    details = join(
        html('<dt>{}</dt><dd id="goal-{}">{}</dd>', name, name.replace(" ", "-"), value)
        for name, value in rows
    )
    return html(
        '<section class="wanted" aria-labelledby="target">'
        '<details><summary><h2 id="target">What was wanted</h2></summary><dl>{}</dl>'
        "</details></section>\n"
        '<p class="code">Your code: <strong id="code">{}</strong></p>\n'
        '<p class="again"><a href="{}">Shop for something else</a></p>\n',
        details,
        completion_code(session),
        NEW_SESSION,
    )


def _price(goal: Goal) -> Markup:
    """The limit as the original writes it, and for people."""
    limit = "none" if goal.price_upper == NO_CAP else f"${goal.price_upper:,.2f}"
    return html('<span data-label="{}">{}</span>', limit, goal.price_upper)


def _options(goal: Goal) -> str:
    if isinstance(goal.goal_options, dict):
        return ", ".join(f"{name} {value}" for name, value in goal.goal_options.items())
    return ", ".join(goal.goal_options)


def _limit(goal: Goal, affordable: bool) -> str:
    if goal.price_upper == NO_CAP:
        return "any price was fine."
    verdict = "that is within" if affordable else "that is above"
    return f"{verdict} the limit of ${goal.price_upper:,.2f}."


def error_page(error: HttpError, links: Sequence[Link] = ()) -> str:
    """The page of an error, for people: what is the matter, and where to go on."""
    title = _TITLES.get(error.code, "That did not work")
    items = join(
        html('<li><a class="btn" href="{}">{}</a></li>', address, name)
        for name, address in links or [("Go to the shop", NEW_SESSION)]
    )
    body = html(
        '<header class="bar"><div class="brand"></div></header>\n<main>\n'
        '<div class="notice"><h1>{}</h1><p>{}</p>\n<ul class="ways">{}</ul></div>\n</main>',
        title,
        error.message,
        items,
    )
    return document(title, "notice-page", body, site_frame())


def site_frame(address: str = "") -> SiteFrame:
    """What stands around every page; `address` is where the shop begins for who sees it."""
    assets = site_assets()
    above = bar(SHOP, address, is_silent=True)
    return SiteFrame(assets.sheet, assets.icon, assets.script, above)
