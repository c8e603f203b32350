"""What a writer of instructions sees: the guide, an example, a product, the form.

Ticks and choices are sent by their number, so no text of a product has to survive the way through
a form.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from errands.crowd.instructions.assignments import (
    WriterAccount,
    WritingAssignment,
    WritingSettings,
)
from errands.crowd.instructions.checks import (
    FEWEST_WORDS,
    LONGEST_INSTRUCTION,
    DraftProblem,
    InstructionDraft,
    ShownProduct,
)
from errands.markup import EMPTY, Markup, html, join
from errands.reports.html.elements import badge, cut, table
from errands.shop.render.images import picture_source
from errands.web.core import elements as ui
from errands.web.core.forms import Form

__all__ = [
    "BADGES",
    "draft_of_form",
    "form_body",
    "idle_body",
    "product_view",
    "status_badge",
    "stuck_body",
]

_POINTS: Final = html(
    """
<p>You see a product. Imagine a clever assistant who shops for you, and write what you would say
to have it buy this very product.</p>
<ul>
<li>Use at least one of the product's attributes; more are better where they fit. Tick those that
you used.</li>
<li>Where there are options, choose one value of each, and ask for it.</li>
<li>Say what kind of thing it is, so that it can be found, but do not copy the title: it is there
for you to understand the product. Neither the whole title nor, of a title with six words or more,
four fifths of it in one row are taken.</li>
<li>Say attributes and options in words of your own if that sounds better.</li>
<li>Write as you would speak, and not always the same way: {} words or more, at most
{:,} characters.</li>
</ul>
""",
    FEWEST_WORDS,
    LONGEST_INSTRUCTION,
)

EXAMPLE: Final = html("""
<details class="card example"><summary>Show or hide an example</summary>
<h3>Dorvane Gooseneck Electric Kettle with Thermometer, Matt Finish, Quiet Boil, Pour Over Spout for
Tea and Filter Coffee, Gift Box</h3>
<p class="note">Home &amp; Kitchen › Coffee &amp; Tea › Kettles</p>
<p><b>Attributes:</b> ☑ stainless steel, ☐ easy clean, ☑ quick release</p>
<p><b>Options:</b> colour: ◉ forest green, ○ black; size: ○ 1 litre, ◉ 0.8 litre</p>
<p><b>Good:</b> Could you get me a small kettle in dark green for making pour over coffee? 0.8 litre
is enough. It should be stainless steel, with a lid that comes off quickly.</p>
<p><b>Too little:</b> I want a kettle. <span class="note">No attribute, no option.</span></p>
<p><b>Too much:</b> Buy the Dorvane Gooseneck Electric Kettle with Thermometer, Matt Finish, Quiet
Boil, Pour Over Spout for Tea and Filter Coffee. <span class="note">That is the title.</span></p>
</details>
""")

_NAMES: Final = {
    "attributes": "Attributes",
    "options": "Options",
    "instruction": "Your instruction",
    "comment": "Comment",
}
BADGES: Final = {
    "taken": ("open", ""),
    "submitted": ("waits for review", "part"),
    "accepted": ("approved", "won"),
    "refused": ("rejected", "failed"),
    "given_back": ("returned", ""),
}


def status_badge(status: str) -> Markup:
    return badge(*BADGES[status])


def draft_of_form(form: Form, seen: ShownProduct) -> InstructionDraft:
    """What a form says; numbers that nobody was shown are nothing."""
    ticked = (_place(seen.attributes, number) for number in form.texts("attribute"))
    chosen = {
        name: _place(values, form.text(f"option-{place}"))
        for place, (name, values) in enumerate(seen.options.items())
    }
    return InstructionDraft(
        instruction=form.text("instruction"),
        attributes=tuple(one for one in ticked if one is not None),
        options={name: value for name, value in chosen.items() if value is not None},
        comment=form.text("comment"),
    )


def _place(values: Sequence[str], number: str) -> str | None:
    if not (number.isascii() and number.isdecimal() and len(number) < 9):
        return None
    return values[int(number)] if int(number) < len(values) else None


def idle_body(
    home: str,
    account: WriterAccount,
    settings: WritingSettings,
    last: Sequence[WritingAssignment],
    message: Markup,
) -> Markup:
    """The page of somebody who has no open product."""
    start = EMPTY
    if account.may_write:
        label = "Next product" if last else "First product"
        start = ui.actions(ui.button(label, home, kind="primary"))
    pay = f"Each instruction is paid {ui.dollars(settings.pay)} once it is approved."
    return ui.fragment(
        message,
        ui.section(_status(account), ui.paragraph(pay), start),
        ui.section(_POINTS, title="What to do", kind="guide"),
        EXAMPLE,
        _last(last),
    )


def _status(account: WriterAccount) -> Markup:
    if account.status == "waiting":
        return ui.paragraph("Your trial examples are being reviewed. Come back when that is done.")
    if account.status == "granted":
        return ui.paragraph("You are qualified. Write as many as you like.")
    if account.status == "refused":
        note = ui.paragraph(account.note) if account.note else EMPTY
        return ui.paragraph("You have not been qualified for writing instructions.") + note
    return ui.paragraph(
        f"You begin with {account.trials_wanted} trial examples, which are reviewed before you"
        f" go on. {account.trials_handed_in} of them are submitted."
    )


def form_body(
    home: str,
    assignment: WritingAssignment,
    account: WriterAccount,
    pay: float,
    draft: InstructionDraft | None = None,
    problems: Sequence[DraftProblem] = (),
) -> Markup:
    """A product and the form; with a draft and what is wrong with it, nothing typed is lost."""
    draft = draft or InstructionDraft("", ())
    wrong = {problem.field: problem.message for problem in problems}
    product = assignment.shown
    trial = f"Trial example {account.trials_handed_in + 1} of {account.trials_wanted}."
    # Who has done it before, or has only something to mend, comes to the product sooner.
    is_new = assignment.is_trial and not problems
    one = f"{home}/{assignment.id}"
    return ui.fragment(
        _alert(problems),
        html(
            '<details class="card guide"{}><summary>What to do</summary>{}</details>',
            html(" open") if is_new else EMPTY,
            _POINTS,
        ),
        EXAMPLE,
        ui.section(
            ui.paragraph(trial) if assignment.is_trial else EMPTY,
            product_view(product),
            ui.form(
                one,
                _attributes(product, draft, wrong),
                _options(product, draft, wrong),
                _area(
                    "instruction",
                    f"{FEWEST_WORDS} words or more; not the title.",
                    draft.instruction,
                    wrong,
                    required=True,
                ),
                _area(
                    "comment",
                    "If you like: is something odd here, or hard to do?",
                    draft.comment,
                    wrong,
                ),
                ui.submit(f"Submit for {ui.dollars(pay)}", "primary"),
            ),
            ui.actions(
                ui.button("Return this product", f"{one}/give-back"),
                html(
                    '<span class="note">It goes to somebody else, and does not come again.</span>'
                ),
            ),
            title="The product",
            kind="writing",
        ),
    )


def stuck_body(home: str, message: str, text: str) -> Markup:
    """Something cannot be submitted; what was typed is there to be copied."""
    typed = html('<h2>What you wrote</h2><p class="wrote">{}</p>', text) if text.strip() else EMPTY
    return ui.section(
        ui.callout(message, "bad", role="alert"),
        typed,
        html("<p>{}</p>", ui.link_button("Continue", home)),
    )


def product_view(product: ShownProduct) -> Markup:
    """Picture, title and category of a product."""
    return html(
        '<div class="card product"><img src="{}" alt="The product" width="200" height="200">'
        '<div><h3>{}</h3><p class="note">{}</p></div></div>',
        picture_source(product.image),
        product.title,
        product.category,
    )


def _attributes(product: ShownProduct, draft: InstructionDraft, wrong: Mapping[str, str]) -> Markup:
    ticks = join(
        ui.tick("attribute", place, text, text in draft.attributes)
        for place, text in enumerate(product.attributes)
    )
    return _group("attributes", "Tick those you used, one or more.", ticks, wrong)


def _options(product: ShownProduct, draft: InstructionDraft, wrong: Mapping[str, str]) -> Markup:
    if not product.options:
        return EMPTY
    groups = join(
        html(
            '<fieldset class="option"><legend>{}</legend><div class="choices">{}</div></fieldset>',
            name,
            join(
                ui.tick(
                    *(f"option-{place}", number, value, draft.options.get(name) == value),
                    type="radio",
                    required=True,
                )
                for number, value in enumerate(values)
            ),
        )
        for place, (name, values) in enumerate(product.options.items())
    )
    return _group("options", "Choose one value of each, and ask for it.", groups, wrong)


def _group(name: str, hint: str, content: Markup, wrong: Mapping[str, str]) -> Markup:
    described, problem = _described(name, wrong)
    return html(
        '<fieldset id="{0}" tabindex="-1"{1}><legend>{2}</legend><small id="{0}-hint">{3}</small>'
        "{4}{5}</fieldset>",
        *(name, described, _NAMES[name], hint, problem, content),
    )


def _area(
    name: str, hint: str, text: str, wrong: Mapping[str, str], required: bool = False
) -> Markup:
    described, problem = _described(name, wrong)
    # The first line end of a text area belongs to the markup, not to the text.
    return html(
        '<div class="field"><label for="{0}">{1}</label><small id="{0}-hint">{2}</small>{3}'
        '<textarea id="{0}" name="{0}"{4}{5}>\n{6}</textarea></div>',
        *(name, _NAMES[name], hint, problem, described),
        ui.attributes(aria_invalid="true" if name in wrong else None, required=required),
        text,
    )


def _described(name: str, wrong: Mapping[str, str]) -> tuple[Markup, Markup]:
    if name not in wrong:
        return html(' aria-describedby="{}-hint"', name), EMPTY
    problem = html('<p class="wrong" id="{}-wrong">{}</p>', name, wrong[name])
    return html(' aria-describedby="{0}-hint {0}-wrong"', name), problem


def _alert(problems: Sequence[DraftProblem]) -> Markup:
    if not problems:
        return EMPTY
    lines = join(
        html(
            '<li><a href="#{}">{}</a>: {}</li>',
            *(problem.field, _NAMES[problem.field], problem.message),
        )
        for problem in problems
    )
    message = html(
        "<p>This cannot be submitted yet; nothing you wrote is lost.</p><ul>{}</ul>", lines
    )
    return ui.section(ui.callout(message, "bad", role="alert"))


def _last(last: Sequence[WritingAssignment]) -> Markup:
    if not last:
        return EMPTY
    rows = [
        [
            cut(one.instruction, 160) or "-",
            cut(one.shown.title, 80),
            status_badge(one.status),
            one.note or "-",
        ]
        for one in last
    ]
    shown = table(["instruction", "product", "status", "remark"], rows)
    return ui.section(shown, title="Your last ones", kind="texts")
