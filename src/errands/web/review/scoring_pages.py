"""What a person sees who scores purchases: the errand, the way, the product, the questions."""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from errands.markup import EMPTY, Markup, html, join
from errands.reports.html.elements import badge, cut, table
from errands.runs.episode import RunInfo
from errands.shop.goals import NO_CAP, Goal
from errands.shop.render.images import picture_source
from errands.shop.rewards.rules import Purchase
from errands.verify.hand_scores import LONGEST_NOTE, TYPES, HandScore
from errands.verify.trajectories import Trajectory
from errands.web.core import elements as ui

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
    chosen: Sequence[Trajectory], scored: Collection[int], info: RunInfo, verified: Markup
) -> Markup:
    """How far one is; `verified` is the table, once all are scored."""
    total = len(chosen)
    after = next((place for place in range(1, total + 1) if place not in scored), None)
    rows = [
        [
            html('<a href="{}/{}">{}</a>', HOME, place, place),
            badge("scored", "won") if place in scored else badge("open"),
            cut(one.goal.instruction_text, 140),
        ]
        for place, one in enumerate(chosen, 1)
    ]
    following = EMPTY
    if after is not None:
        label = f"{'Continue' if scored else 'Start'} with purchase {after}"
        following = join(
            (
                ui.paragraph("Automatic scores are shown when every purchase is scored.", "note"),
                ui.actions(ui.link_button(label, f"{HOME}/{after}", "primary")),
            )
        )
    listed = table(["purchase", "state", "instruction"], rows)
    return join(
        (
            ui.section(
                html(
                    '<progress max="{}" value="{}" aria-label="Scored purchases"></progress>'
                    "<p>A run of {} on {}. For each purchase you say which of the wanted things the"
                    " bought product has. A synonym counts, unless the wanted value itself was"
                    " there to be chosen.</p>",
                    *(total, len(scored), info.agent, info.protocol_key),
                ),
                following,
                title=f"{len(scored)} of {total} scored",
            ),
            verified,
            ui.section(listed, title="All", kind="texts"),
        )
    )


def scoring_body(
    place: int, total: int, done: int, one: Trajectory, draft: ScoreDraft, check: str, wrong: str
) -> Markup:
    """One purchase with its questions; it is sure that something was bought."""
    assert one.purchase is not None
    steps = join(html("<li><code>{}</code></li>", cut(action, 300)) for action in one.actions)
    return join(
        (
            ui.callout(wrong, "bad", role="alert") if wrong else EMPTY,
            ui.section(
                ui.paragraph(f"{done} of {total} are scored.", "note"),
                html("<h2>Instruction</h2>"),
                ui.paragraph(one.goal.instruction_text, "wrote"),
                _bought(one.purchase),
                _questions(place, one.goal, one.purchase, draft, check),
                html(
                    '<details class="card guide"><summary>All steps ({})</summary><ol>{}</ol>'
                    "</details>",
                    *(len(one.actions), steps),
                ),
                kind="writing scoring",
            ),
            ui.actions(
                _neighbour(place - 1, "Previous", total), _neighbour(place + 1, "Next", total)
            ),
        )
    )


def _bought(purchase: Purchase) -> Markup:
    product = purchase.product
    source = picture_source(product.image)
    image = EMPTY
    if source.startswith(("https://", "data:image/svg+xml,")):
        image = html('<img src="{}" alt="" referrerpolicy="no-referrer" loading="lazy">', source)
    options = join(
        html("<p><b>{}:</b> {}</p>", name, _values(values, purchase.options.get(name)))
        for name, values in product.options.items()
    )
    return html(
        '<h2>What was bought</h2><div class="card product">{image}<div><h3>{title}</h3>'
        "<p>{price_tag}; it counts as ${price:,.2f}</p>"
        '<p class="note">{category}</p></div></div>'
        '<div class="card guide"><h3>Options, the chosen ones marked</h3>{options}'
        "<h3>Features</h3><ul>{bullets}</ul><h3>Description</h3><p>{description}</p></div>"
        '<details class="card guide"><summary>Attributes that a program found in these texts, and'
        " that no shopper sees</summary><p>{attributes}</p></details>",
        image=image,
        title=product.title,
        price_tag=product.price_tag,
        price=purchase.price,
        category=product.product_category,
        options=options or ui.paragraph("It has none."),
        bullets=join(html("<li>{}</li>", bullet) for bullet in product.bullets or ("none",)),
        description=product.description or "none",
        attributes=", ".join(product.attributes) or "none",
    )


def _values(values: Sequence[str], chosen: str | None) -> Markup:
    shown = list(values[:_MOST_VALUES])
    if chosen is not None and chosen not in shown:
        shown.append(chosen)
    return html(
        "{}{}{}",
        join((html("<mark>{}</mark>", one) if one == chosen else one for one in shown), " · "),
        f" and {len(values) - _MOST_VALUES:,} more" if len(values) > _MOST_VALUES else "",
        "" if chosen is not None else " (none was chosen)",
    )


def _questions(place: int, goal: Goal, purchase: Purchase, draft: ScoreDraft, check: str) -> Markup:
    wanted = goal.goal_options
    options = (
        [f"{name}: {value}" for name, value in wanted.items()]
        if isinstance(wanted, dict)
        else list(wanted)
    )
    kinds = join(
        ui.tick("type", f"{value:g}", text, draft.type == value, type="radio", required=True)
        for value, text in _KINDS.items()
    )
    if goal.price_upper == NO_CAP:
        price = "The price is fine (there is no limit)"
    else:
        price = f"${purchase.price:,.2f} is at most ${goal.price_upper:,.2f}"
    content = ui.form(
        f"{HOME}/{place}",
        html(
            "<fieldset><legend>Is it that kind of product?</legend>"
            "<small>The goal was made from: {}</small>{}</fieldset>",
            *(goal.name, kinds),
        ),
        _ticks("attribute", goal.attributes, draft.attributes),
        _ticks("option", options, draft.options),
        html(
            "<fieldset><legend>Is the price right?</legend>{}</fieldset>",
            ui.tick("price", 1, price, draft.price),
        ),
        ui.text_area("Remark, if you like", "note", draft.note, maxlength=LONGEST_NOTE),
        ui.submit("Save and continue", "primary"),
        check=check,
    )
    return html("<h2>Your score</h2>{}", content)


def _ticks(name: str, texts: Sequence[str], ticked: Collection[int]) -> Markup:
    boxes = join(ui.tick(name, place, text, place in ticked) for place, text in enumerate(texts))
    none = ui.paragraph("None were wanted.", "note")
    return html("<fieldset><legend>{}</legend>{}</fieldset>", _ASKED[name], boxes or none)


def _neighbour(place: int, label: str, total: int) -> Markup:
    return ui.link_button(label, f"{HOME}/{place}") if 1 <= place <= total else EMPTY
