"""The pages on which a person goes through mined candidates: the question, and the answers so far.

Plain functions from what is known to markup.
"""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from errands.markup import EMPTY, Markup, html, join
from errands.mining.candidates import AttributeCandidate
from errands.mining.phrases import words
from errands.mining.review import Review, ReviewProgress
from errands.mining.uses import DROP, USES
from errands.reports.html.elements import badge, cut, table
from errands.web.core import document as core
from errands.web.core.assets import Assets

__all__ = ["ASSETS", "HEADERS", "PLACE", "ROWS", "decided_page", "error_page", "question_page"]

PLACE: Final = "/mining"
DECIDED: Final = f"{PLACE}/decided"
ASSETS: Final = Assets("mining", __file__)
ROWS: Final = 100
"""Answers on one page."""
LATEST: Final = 6
"""Answers that stand below the question."""

HEADERS: Final = core.page_headers("img-src data:")

_LABELS: Final = {
    "good for": "It is good for …",
    "has": "It has …",
    "which is": "One which is …",
    "is a": "It is a …",
}
_WORD: Final = re.compile(r"[^\W_]+")


def document(title: str, body: Markup, *, here: str, below: Markup = EMPTY) -> bytes:
    """A whole page; `here` is the address whose link is marked."""
    links = core.navigation(((PLACE, "Question"), (DECIDED, "Answers")), here)
    return core.document(title, body, assets=ASSETS, navigation=links, below=below)


def _progress(progress: ReviewProgress) -> Markup:
    text = (
        f"{progress.decided:,} of {progress.total:,} answered: {progress.kept:,} kept,"
        f" {progress.dropped:,} dropped"
    )
    return html(
        '<p>{}</p><progress max="{}" value="{}" aria-label="Candidates answered"></progress>',
        text,
        max(progress.total, 1),
        progress.decided,
    )


def question_page(review: Review, one: AttributeCandidate | None, check: str) -> bytes:
    """The candidate to decide about; without one, that all is done."""
    below = _progress(review.progress())
    body = _done(check) if one is None else _question(review, one, check)
    return document("Attributes", body + _latest(review), here=PLACE, below=below)


def _done(check: str) -> Markup:
    return html(
        '<section><div class="card question"><h2>All candidates are answered.</h2>'
        "<p>End the command with Ctrl-C, then run <code>errands mine assign</code>.</p>"
        '<form method="post" action="{}/undo">{}'
        '<p class="others"><button class="button plain" data-key="u">Undo <kbd>u</kbd></button></p>'
        "</form></div></section>",
        PLACE,
        _hidden(check=check),
    )


def _hidden(**fields: str) -> Markup:
    return join(
        html('<input type="hidden" name="{}" value="{}">', name, value)
        for name, value in fields.items()
    )


def _question(review: Review, one: AttributeCandidate, check: str) -> Markup:
    use = one.proposal.use
    answer = review.decisions.made.get(one.phrase)
    answered = EMPTY
    if answer:
        answered = html('<p class="note">Answered before: {}</p>', badge(answer, "insider"))
    choices = join(
        _choice(str(number), each, _LABELS[each], use) for number, each in enumerate(USES, 1)
    )
    return html(
        '<section><div class="card question">'
        '<h2 class="phrase" id="phrase">{phrase}</h2>{answered}'
        '<p class="why">The filter proposes: {proposal}, {reason}.</p>'
        '<form method="post" action="{place}" aria-labelledby="phrase">{hidden}'
        '<div class="uses">{choices}</div></form>'
        '<div class="others"><form method="post" action="{place}/undo">{check}'
        '<button class="button plain" data-key="u">Undo <kbd>u</kbd></button></form>'
        '<form method="post" action="{place}/later">{hidden}'
        '<button class="button plain" data-key="n">Later <kbd>n</kbd></button></form></div>'
        '<p class="note keys">Keys: 1 to 4, d or space to drop, Enter or a to agree with the'
        " filter.</p>"
        '<h3>Where it stands</h3><ul class="examples">{examples}</ul>'
        "<h3>{products:,} products, best of</h3><ul>{groups}</ul></div></section>",
        phrase=one.phrase,
        answered=answered,
        proposal="drop" if use == DROP else f"“{use}”",
        reason=one.proposal.reason,
        place=PLACE,
        hidden=_hidden(check=check, phrase=one.phrase),
        check=_hidden(check=check),
        choices=choices + _choice("d", DROP, "Drop it", use),
        examples=join(
            html("<li>{}", _marked(example, one.phrase.split(" "))) for example in one.examples
        ),
        products=one.products,
        groups=_groups(one),
    )


def _groups(one: AttributeCandidate) -> Markup:
    groups = join(
        html(
            "<li>{} <small>#{:,}, {:,} products, score {:.4f}</small>",
            cut(group.name, 60),
            group.rank,
            group.products,
            group.score,
        )
        for group in one.groups[:5]
    )
    if len(one.groups) > 5:
        groups += html("<li><small>and {:,} more</small>", len(one.groups) - 5)
    return groups


def _choice(key: str, use: str, label: str, proposed: str) -> Markup:
    is_proposed = use == proposed
    return html(
        '<button class="choice{}{}" name="use" value="{}" data-key="{}">'
        "<kbd>{}</kbd><span>{}</span>{}</button>",
        " proposed" if is_proposed else "",
        " drop" if use == DROP else "",
        use,
        key,
        key,
        label,
        html(" {}", badge("proposed", "insider")) if is_proposed else EMPTY,
    )


def _marked(text: str, phrase: Sequence[str]) -> Markup:
    """A product's words, those of the phrase marked."""
    pieces: list[str] = []
    at = 0
    for word in _WORD.finditer(text):
        if word[0].lower() in phrase and words(word[0]):
            pieces += [text[at : word.start()], html("<mark>{}</mark>", word[0])]
            at = word.end()
    return join([*pieces, text[at:]])


def _latest(review: Review) -> Markup:
    latest = list(review.decisions.made.items())[-LATEST:][::-1]
    if not latest:
        return EMPTY
    return html(
        '<section><h2>Answered last</h2><ul class="latest card">{}</ul></section>',
        join(html("<li>{} {}", _link(phrase), _badge(use)) for phrase, use in latest),
    )


def _link(phrase: str) -> Markup:
    return html('<a href="{}?phrase={}">{}</a>', PLACE, quote(phrase, safe=""), phrase)


def _badge(use: str) -> Markup:
    return badge(use, "failed" if use == DROP else "won")


def decided_page(review: Review, offset: int) -> bytes:
    """The answers so far, the last first; each can be opened and changed."""
    decisions = list(review.decisions.made.items())[::-1]
    rows = [
        [_link(phrase), _badge(use), _agreement(review, phrase, use)]
        for phrase, use in decisions[offset : offset + ROWS]
    ]
    if rows:
        columns = ["candidate", "answer", "the filter"]
        answers = table(columns, rows, f"{len(decisions):,} answers")
    else:
        answers = html("<p>There are none yet.</p>")
    links = join(
        html('<a class="button plain" href="{}?offset={}">{}</a>', DECIDED, at, name)
        for name, at in (("Newer", offset - ROWS), ("Older", offset + ROWS))
        if 0 <= at < len(decisions)
    )
    return document(
        "Answers",
        html('<section>{}<p class="others">{}</p></section>', answers, links),
        here=DECIDED,
        below=_progress(review.progress()),
    )


def _agreement(review: Review, phrase: str, use: str) -> str:
    one = review.find(phrase)
    if one is None:
        return "of another review"
    return "agrees" if one.proposal.use == use else f"proposed {one.proposal.use}"


def error_page(message: str) -> bytes:
    """What cannot be done, and why."""
    body = html('<section><div class="callout bad"><p>{}</p></div></section>', message)
    return document("That did not work", body, here="")
