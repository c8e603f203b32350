"""What a writer of instructions sees: the guide, an example, a product, the form.

Everything that people or products say is escaped. Ticks and choices are sent by their number, so
no text of a product has to survive the way through a form.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from errands.crowd.instructions.assignments import WriterAccount, WritingAssignment
from errands.crowd.instructions.checks import (
    FEWEST_WORDS,
    LONGEST_INSTRUCTION,
    DraftProblem,
    InstructionDraft,
    ShownProduct,
)
from errands.crowd.instructions.collection import WritingSettings
from errands.reports.html.markup import badge, cut, esc, table
from errands.shop.render.images import picture_source
from errands.web.core.forms import Form
from errands.web.crowd.document import button
from errands.web.crowd.site import dollars

__all__ = [
    "draft_of_form",
    "form_body",
    "idle_body",
    "product_view",
    "status_badge",
    "stuck_body",
]

_POINTS: Final = f"""
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
<li>Write as you would speak, and not always the same way: {FEWEST_WORDS} words or more, at most
{LONGEST_INSTRUCTION:,} characters.</li>
</ul>
"""

EXAMPLE: Final = """
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
"""

_NAMES: Final = {
    "attributes": "Attributes",
    "options": "Options",
    "instruction": "Your instruction",
    "comment": "Comment",
}
_BADGES: Final = {
    "taken": ("taken up", ""),
    "submitted": ("waits for review", "part"),
    "accepted": ("accepted", "won"),
    "refused": ("refused", "failed"),
    "given_back": ("given back", ""),
}


def status_badge(status: str) -> str:
    return badge(*_BADGES[status])


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
    said: str = "",
) -> str:
    """The page of somebody who has no product in hand; `said` is markup."""
    told = {
        "waiting": "<p>Your trial examples are being reviewed. Come back when that is done.</p>",
        "refused": "<p>You have not been qualified for writing instructions.</p>"
        + (f"<p>{esc(account.note)}</p>" if account.note else ""),
        "trial": f"<p>You begin with {account.trials_wanted} trial examples, which are reviewed"
        f" before you go on. {account.trials_handed_in} of them are handed in.</p>",
        "granted": "<p>You are qualified. Write as many as you like.</p>",
    }[account.standing]
    deed = ""
    if account.may_write:
        label = "Next product" if last else "First product"
        deed = f'<div class="deeds">{button(label, home, kind="primary")}</div>'
    guide = f'<section class="guide"><h2>What to do</h2>{_POINTS}</section>'
    pay = f"<p>Each instruction is paid {dollars(settings.pay)} once it is accepted.</p>"
    return f"{said}<section>{told}{pay}{deed}</section>{guide}{EXAMPLE}{_last(last)}"


def form_body(
    home: str,
    writing: WritingAssignment,
    account: WriterAccount,
    pay: float,
    draft: InstructionDraft | None = None,
    problems: Sequence[DraftProblem] = (),
) -> str:
    """A product and the form; with a draft and what is wrong with it, nothing typed is lost."""
    draft = draft or InstructionDraft("", ())
    wrong = {problem.field: problem.message for problem in problems}
    seen = writing.shown
    trial = (
        f"<p>Trial example {account.trials_handed_in + 1} of {account.trials_wanted}.</p>"
        if writing.is_trial
        else ""
    )
    # Who has done it before, or has only something to mend, comes to the product sooner.
    is_new = writing.is_trial and not problems
    guide = (
        f'<details class="card guide"{" open" if is_new else ""}><summary>What to do</summary>'
        f"{_POINTS}</details>"
    )
    one = f"{home}/{writing.id}"
    return (
        f"{_alert(problems)}{guide}{EXAMPLE}"
        f'<section class="writing"><h2>The product</h2>{trial}{product_view(seen)}'
        f'<form class="card" method="post" action="{esc(one)}">'
        f"{_attributes(seen, draft, wrong)}{_options(seen, draft, wrong)}"
        + _area(
            "instruction",
            f"{FEWEST_WORDS} words or more; not the title.",
            draft.instruction,
            wrong,
            required=True,
        )
        + _area(
            "comment",
            "If you like: is something odd here, or hard to do?",
            draft.comment,
            wrong,
        )
        + f'<button class="btn primary" type="submit">Hand in for {dollars(pay)}</button></form>'
        f'<div class="deeds">{button("Give this product back", f"{one}/give-back")}'
        '<span class="note">It goes to somebody else, and does not come again.</span></div>'
        "</section>"
    )


def stuck_body(home: str, message: str, wrote: str) -> str:
    """Something cannot be handed in; what was typed is there to be copied."""
    text = f'<h2>What you wrote</h2><p class="wrote">{esc(wrote)}</p>' if wrote.strip() else ""
    return (
        f'<section><div class="callout bad" role="alert"><p>{esc(message)}</p></div>{text}'
        f'<p><a class="btn" href="{esc(home)}">Go on</a></p></section>'
    )


def product_view(seen: ShownProduct) -> str:
    """Picture, title and category of a product."""
    return (
        '<div class="card product">'
        f'<img src="{esc(picture_source(seen.image))}" alt="The product" width="200" height="200">'
        f'<div><h3>{esc(seen.title)}</h3><p class="note">{esc(seen.category)}</p></div></div>'
    )


def _attributes(seen: ShownProduct, draft: InstructionDraft, wrong: Mapping[str, str]) -> str:
    ticks = "".join(
        f'<label class="tick"><input type="checkbox" name="attribute" value="{place}"'
        f"{' checked' if text in draft.attributes else ''}> {esc(text)}</label>"
        for place, text in enumerate(seen.attributes)
    )
    return _group("attributes", "Tick those you used, one or more.", ticks, wrong)


def _options(seen: ShownProduct, draft: InstructionDraft, wrong: Mapping[str, str]) -> str:
    if not seen.options:
        return ""
    groups = "".join(
        f'<fieldset class="option"><legend>{esc(name)}</legend><div class="choices">'
        + "".join(
            f'<label class="tick"><input type="radio" name="option-{place}" value="{number}"'
            f" required{' checked' if draft.options.get(name) == value else ''}>"
            f" {esc(value)}</label>"
            for number, value in enumerate(values)
        )
        + "</div></fieldset>"
        for place, (name, values) in enumerate(seen.options.items())
    )
    return _group("options", "Choose one value of each, and ask for it.", groups, wrong)


def _group(name: str, hint: str, inside: str, wrong: Mapping[str, str]) -> str:
    described, said = _described(name, wrong)
    return (
        f'<fieldset id="{name}" tabindex="-1"{described}><legend>{_NAMES[name]}</legend>'
        f'<small id="{name}-hint">{hint}</small>{said}{inside}</fieldset>'
    )


def _area(name: str, hint: str, text: str, wrong: Mapping[str, str], required: bool = False) -> str:
    described, said = _described(name, wrong)
    invalid = ' aria-invalid="true"' if name in wrong else ""
    needed = " required" if required else ""
    # The first line end of a text area belongs to the markup, not to the text.
    return (
        f'<div class="field"><label for="{name}">{_NAMES[name]}</label>'
        f'<small id="{name}-hint">{hint}</small>{said}'
        f'<textarea id="{name}" name="{name}"{described}{invalid}{needed}>'
        f"\n{esc(text)}</textarea></div>"
    )


def _described(name: str, wrong: Mapping[str, str]) -> tuple[str, str]:
    if name not in wrong:
        return f' aria-describedby="{name}-hint"', ""
    said = f'<p class="wrong" id="{name}-wrong">{esc(wrong[name])}</p>'
    return f' aria-describedby="{name}-hint {name}-wrong"', said


def _alert(problems: Sequence[DraftProblem]) -> str:
    if not problems:
        return ""
    lines = "".join(
        f'<li><a href="#{problem.field}">{_NAMES[problem.field]}</a>: {esc(problem.message)}</li>'
        for problem in problems
    )
    return (
        '<section><div class="callout bad" role="alert"><p>This cannot be taken yet; nothing you'
        f" wrote is lost.</p><ul>{lines}</ul></div></section>"
    )


def _last(last: Sequence[WritingAssignment]) -> str:
    if not last:
        return ""
    rows = [
        [
            esc(cut(one.instruction, 160)) or "-",
            esc(cut(one.shown.title, 80)),
            status_badge(one.status),
            esc(one.note) or "-",
        ]
        for one in last
    ]
    shown = table(["instruction", "product", "status", "remark"], rows)
    return f'<section class="texts"><h2>Your last ones</h2>{shown}</section>'
