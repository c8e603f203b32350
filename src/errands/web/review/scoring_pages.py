"""What a person sees who scores purchases: the errand, the way, the product, the questions."""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from errands.reports.html.markup import badge, cut, esc, table
from errands.runs.episode import RunInfo
from errands.shop.goals import NO_CAP, Goal
from errands.shop.render.images import picture_source
from errands.shop.rewards.rules import Purchase
from errands.verify.hand_scores import LONGEST_NOTE, TYPES, HandScore
from errands.verify.trajectories import Trajectory

__all__ = ["HOME", "ScoreDraft", "overview_body", "scoring_body"]

HOME: Final = "/scoring"
_MOST_VALUES: Final = 300
"""Offered values of one option that are listed."""
_KINDS: Final = {
    1.0: "Yes, it is that kind of product",
    0.5: "Nearly: related, but another kind",
    0.1: "Hardly: it only shares a word or two",
    0.0: "No, it is something else",
}
_ASKED: Final = {
    "attribute": "Which wanted attributes does it have?",
    "option": "Which wanted options were chosen?",
}
assert set(_KINDS) == set(TYPES)


class ScoreDraft(NamedTuple):
    """What is ticked on the form."""

    type: float | None = None
    attributes: frozenset[int] = frozenset()
    options: frozenset[int] = frozenset()
    price: bool = False
    note: str = ""

    @classmethod
    def of(cls, score: HandScore) -> "ScoreDraft":
        def ticked(held: Sequence[bool]) -> frozenset[int]:
            return frozenset(place for place, is_ticked in enumerate(held) if is_ticked)

        return cls(
            score.type, ticked(score.attributes), ticked(score.options), score.price, score.note
        )


def overview_body(
    chosen: Sequence[Trajectory], scored: Collection[int], info: RunInfo, verified: str
) -> str:
    """How far one is; `verified` is the table, once all are scored."""
    total = len(chosen)
    after = next((place for place in range(1, total + 1) if place not in scored), None)
    rows = [
        [
            f'<a href="{HOME}/{place}">{place}</a>',
            badge("scored", "won") if place in scored else badge("open"),
            esc(cut(one.goal.instruction_text, 140)),
        ]
        for place, one in enumerate(chosen, 1)
    ]
    way = (
        f'<div class="deeds"><a class="btn primary" href="{HOME}/{after}">'
        f"{'Go on' if scored else 'Begin'} with purchase {after}</a></div>"
        if after is not None
        else ""
    )
    blind = (
        '<p class="note">What the machine gave is shown when every purchase is scored.</p>'
        if after is not None
        else ""
    )
    listed = table(["purchase", "state", "what was wanted"], rows)
    return (
        f"<section><h2>{len(scored)} of {total} scored</h2>"
        f'<progress max="{total}" value="{len(scored)}" aria-label="Scored purchases"></progress>'
        f"<p>A run of {esc(info.agent)} on {esc(info.protocol_key)}. For each purchase you say"
        " which of the wanted things the bought product has. A synonym counts, unless the wanted"
        f" value itself was there to be chosen.</p>{blind}{way}</section>{verified}"
        f'<section class="texts"><h2>All</h2>{listed}</section>'
    )


def scoring_body(
    place: int, total: int, done: int, one: Trajectory, draft: ScoreDraft, check: str, wrong: str
) -> str:
    """One purchase with its questions; it is sure that something was bought."""
    assert one.purchase is not None
    said = f'<div class="callout bad" role="alert"><p>{esc(wrong)}</p></div>' if wrong else ""
    steps = "".join(f"<li><code>{esc(cut(action, 300))}</code></li>" for action in one.actions)
    return (
        f'{said}<section class="writing scoring"><p class="note">{done} of {total} are scored.</p>'
        f'<h2>What was wanted</h2><p class="wrote">{esc(one.goal.instruction_text)}</p>'
        f"{_bought(one.purchase)}{_questions(place, one.goal, one.purchase, draft, check)}"
        f'<details class="card guide"><summary>All steps ({len(one.actions)})</summary>'
        f'<ol>{steps}</ol></details></section><div class="deeds">'
        f"{_way(place - 1, 'Previous', total)}{_way(place + 1, 'Next', total)}</div>"
    )


def _bought(purchase: Purchase) -> str:
    product = purchase.product
    bullets = "".join(f"<li>{esc(bullet)}</li>" for bullet in product.bullets)
    offered = "".join(
        f"<p><b>{esc(name)}:</b> {_values(values, purchase.options.get(name))}</p>"
        for name, values in product.options.items()
    )
    attributes = ", ".join(map(esc, product.attributes)) or "none"
    source = picture_source(product.image)
    shown = source.startswith(("https://", "data:image/svg+xml,"))
    image = (
        f'<img src="{esc(source)}" alt="" referrerpolicy="no-referrer" loading="lazy">'
        if shown
        else ""
    )
    return (
        f'<h2>What was bought</h2><div class="card product">{image}<div>'
        f"<h3>{esc(product.title)}</h3>"
        f"<p>{esc(product.price_tag)}; it counts as ${purchase.price:,.2f}</p>"
        f'<p class="note">{esc(product.product_category)}</p></div></div>'
        '<div class="card guide"><h3>Options, the chosen ones marked</h3>'
        f"{offered or '<p>It has none.</p>'}<h3>Features</h3><ul>{bullets or '<li>none</li>'}</ul>"
        f"<h3>Description</h3><p>{esc(product.description) or 'none'}</p></div>"
        '<details class="card guide"><summary>Attributes that a program found in these texts, and'
        f" that no shopper sees</summary><p>{attributes}</p></details>"
    )


def _values(values: Sequence[str], chosen: str | None) -> str:
    listed = [f"<mark>{esc(v)}</mark>" if v == chosen else esc(v) for v in values[:_MOST_VALUES]]
    if chosen is not None and chosen not in values[:_MOST_VALUES]:
        listed.append(f"<mark>{esc(chosen)}</mark>")
    more = f" and {len(values) - _MOST_VALUES:,} more" if len(values) > _MOST_VALUES else ""
    none = "" if chosen is not None else " (none was chosen)"
    return " · ".join(listed) + more + none


def _questions(place: int, goal: Goal, purchase: Purchase, draft: ScoreDraft, check: str) -> str:
    asked = goal.goal_options
    options = (
        [f"{name}: {value}" for name, value in asked.items()]
        if isinstance(asked, dict)
        else list(asked)
    )
    kinds = "".join(
        f'<label class="tick"><input type="radio" name="type" value="{value:g}" required'
        f"{_checked(draft.type == value)}> {esc(text)}</label>"
        for value, text in _KINDS.items()
    )
    if goal.price_upper == NO_CAP:
        price = "The price is fine (there is no limit)"
    else:
        price = f"${purchase.price:,.2f} is at most ${goal.price_upper:,.2f}"
    return (
        f'<h2>Your score</h2><form class="card" method="post" action="{HOME}/{place}">'
        f'<input type="hidden" name="check" value="{esc(check)}">'
        "<fieldset><legend>Is it that kind of product?</legend>"
        f"<small>The goal was made from: {esc(goal.name)}</small>{kinds}</fieldset>"
        f"{_ticks('attribute', goal.attributes, draft.attributes)}"
        f"{_ticks('option', options, draft.options)}"
        "<fieldset><legend>Is the price right?</legend>"
        f'<label class="tick"><input type="checkbox" name="price" value="1"'
        f"{_checked(draft.price)}> {esc(price)}</label></fieldset>"
        '<p class="field"><label for="note">Remark, if you like</label>'
        f'<textarea id="note" name="note" maxlength="{LONGEST_NOTE}">{esc(draft.note)}</textarea>'
        '</p><button class="btn primary" type="submit">Save and go on</button></form>'
    )


def _ticks(name: str, texts: Sequence[str], ticked: Collection[int]) -> str:
    boxes = "".join(
        f'<label class="tick"><input type="checkbox" name="{name}" value="{place}"'
        f"{_checked(place in ticked)}> {esc(text)}</label>"
        for place, text in enumerate(texts)
    )
    said = boxes or '<p class="note">None were wanted.</p>'
    return f"<fieldset><legend>{_ASKED[name]}</legend>{said}</fieldset>"


def _checked(is_checked: bool) -> str:
    return " checked" if is_checked else ""


def _way(place: int, label: str, total: int) -> str:
    if not 1 <= place <= total:
        return ""
    return f'<a class="btn" href="{HOME}/{place}">{label}</a>'
