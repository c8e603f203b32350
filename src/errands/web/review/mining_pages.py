"""The pages on which a person goes through mined candidates: the question, and the answers so far.

Plain functions from what is known to markup. All text of products goes through `esc`.
"""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from errands.mining.candidates import AttributeCandidate
from errands.mining.phrases import words
from errands.mining.review import Review, ReviewProgress
from errands.mining.uses import DROP, USES
from errands.reports.html.markup import badge, cut, esc, table
from errands.web.core.assets import Assets

__all__ = ["ASSETS", "HEADERS", "PLACE", "ROWS", "decided_page", "question_page", "sorry_page"]

PLACE: Final = "/mining"
DECIDED: Final = f"{PLACE}/decided"
ASSETS: Final = Assets("mining", __file__)
ROWS: Final = 100
"""Answers on one page."""
LATEST: Final = 6
"""Answers that stand below the question."""

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:;"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_SAID: Final = {
    "good for": "It is good for …",
    "has": "It has …",
    "which is": "One which is …",
    "is a": "It is a …",
}
_WORD: Final = re.compile(r"[^\W_]+")


def document(title: str, body: str, *, here: str, below: str = "") -> bytes:
    """A whole page; `body` and `below` are markup that is safe already."""
    ways = "".join(
        f'<a href="{address}"{" aria-current=page" if address == here else ""}>{name}</a>'
        for address, name in ((PLACE, "Question"), (DECIDED, "Answers"))
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<title>{esc(title)} - Errands</title>\n<link rel="icon" href="data:,">\n'
        f"{ASSETS.tags}</head>\n<body>\n"
        '<a class="skip" href="#main">Skip to the content</a>\n'
        '<header class="top"><div class="inner"><p class="brand">Errands</p>'
        f"<h1>{esc(title)}</h1>{below}</div></header>\n"
        f'<nav class="jump" aria-label="Site"><div class="inner">{ways}</div></nav>\n'
        f'<main id="main" tabindex="-1">{body}</main>\n</body>\n</html>\n'
    ).encode("utf-8", "replace")


def _progress(progress: ReviewProgress) -> str:
    told = (
        f"{progress.decided:,} of {progress.total:,} answered: {progress.kept:,} kept,"
        f" {progress.dropped:,} dropped"
    )
    return (
        f'<p>{told}</p><progress max="{max(progress.total, 1)}" value="{progress.decided}"'
        ' aria-label="Candidates answered"></progress>'
    )


def question_page(review: Review, one: AttributeCandidate | None, check: str) -> bytes:
    """The candidate to decide about; without one, that all is done."""
    below = _progress(review.progress())
    body = _done(check) if one is None else _question(review, one, check)
    return document("Attributes", body + _latest(review), here=PLACE, below=below)


def _done(check: str) -> str:
    return (
        '<section><div class="card question"><h2>All candidates are answered.</h2>'
        "<p>End the command with Ctrl-C, then run <code>errands mine assign</code>.</p>"
        f'<form method="post" action="{PLACE}/undo">{_hidden(check=check)}'
        '<p class="others"><button class="button plain" data-key="u">Undo <kbd>u</kbd></button></p>'
        "</form></div></section>"
    )


def _hidden(**fields: str) -> str:
    return "".join(
        f'<input type="hidden" name="{name}" value="{esc(value)}">'
        for name, value in fields.items()
    )


def _question(review: Review, one: AttributeCandidate, check: str) -> str:
    proposal = one.proposal
    said = review.decisions.made.get(one.phrase)
    answered = f'<p class="note">Answered before: {badge(esc(said), "insider")}</p>' if said else ""
    groups = "".join(
        f"<li>{esc(cut(held.name, 60))} <small>#{held.rank:,}, {held.products:,} products,"
        f" score {held.score:.4f}</small>"
        for held in one.groups[:5]
    )
    if len(one.groups) > 5:
        groups += f"<li><small>and {len(one.groups) - 5:,} more</small>"
    examples = "".join(f"<li>{_marked(example, one.phrase.split(' '))}" for example in one.examples)
    uses = "".join(
        _choice(str(number), use, _SAID[use], proposal.use) for number, use in enumerate(USES, 1)
    )
    why = f"{'drop' if proposal.use == DROP else f'“{esc(proposal.use)}”'}, {esc(proposal.reason)}"
    return (
        '<section><div class="card question">'
        f'<h2 class="phrase" id="phrase">{esc(one.phrase)}</h2>{answered}'
        f'<p class="why">The filter proposes: {why}.</p>'
        f'<form method="post" action="{PLACE}" aria-labelledby="phrase">'
        f"{_hidden(check=check, phrase=one.phrase)}"
        f'<div class="uses">{uses}{_choice("d", DROP, "Drop it", proposal.use)}</div></form>'
        f'<div class="others"><form method="post" action="{PLACE}/undo">{_hidden(check=check)}'
        '<button class="button plain" data-key="u">Undo <kbd>u</kbd></button></form>'
        f'<form method="post" action="{PLACE}/later">{_hidden(check=check, phrase=one.phrase)}'
        '<button class="button plain" data-key="n">Later <kbd>n</kbd></button></form></div>'
        '<p class="note keys">Keys: 1 to 4, d or space to drop, Enter or a to agree with the'
        " filter.</p>"
        f'<h3>Where it stands</h3><ul class="examples">{examples}</ul>'
        f"<h3>{one.products:,} products, best of</h3><ul>{groups}</ul></div></section>"
    )


def _choice(key: str, use: str, said: str, proposed: str) -> str:
    is_proposed = use == proposed
    mark = ' <span class="badge insider">proposed</span>' if is_proposed else ""
    kind = "choice proposed" if is_proposed else "choice"
    drop = " drop" if use == DROP else ""
    return (
        f'<button class="{kind}{drop}" name="use" value="{esc(use)}" data-key="{key}">'
        f"<kbd>{key}</kbd><span>{esc(said)}</span>{mark}</button>"
    )


def _marked(text: str, phrase: Sequence[str]) -> str:
    """A product's words, those of the phrase marked."""
    made, at = "", 0
    for found in _WORD.finditer(text):
        if found[0].lower() in phrase and words(found[0]):
            made += f"{esc(text[at : found.start()])}<mark>{esc(found[0])}</mark>"
            at = found.end()
    return made + esc(text[at:])


def _latest(review: Review) -> str:
    shown = list(review.decisions.made.items())[-LATEST:][::-1]
    if not shown:
        return ""
    listed = "".join(f"<li>{_link(phrase)} {_badge(use)}" for phrase, use in shown)
    return f'<section><h2>Answered last</h2><ul class="latest card">{listed}</ul></section>'


def _link(phrase: str) -> str:
    return f'<a href="{PLACE}?phrase={esc(quote(phrase, safe=""))}">{esc(phrase)}</a>'


def _badge(use: str) -> str:
    return badge(esc(use), "failed" if use == DROP else "won")


def decided_page(review: Review, offset: int) -> bytes:
    """The answers so far, the last first; each can be opened and changed."""
    made = list(review.decisions.made.items())[::-1]
    shown = made[offset : offset + ROWS]
    rows = [[_link(phrase), _badge(use), _agreed(review, phrase, use)] for phrase, use in shown]
    body = (
        table(["candidate", "answer", "the filter"], rows, f"{len(made):,} answers") if rows else ""
    )
    ways = [
        f'<a class="button plain" href="{DECIDED}?offset={at}">{name}</a>'
        for name, at in (("Newer", offset - ROWS), ("Older", offset + ROWS))
        if 0 <= at < len(made)
    ]
    none = "<p>There are none yet.</p>"
    return document(
        "Answers",
        f'<section>{body or none}<p class="others">{"".join(ways)}</p></section>',
        here=DECIDED,
        below=_progress(review.progress()),
    )


def _agreed(review: Review, phrase: str, use: str) -> str:
    one = review.find(phrase)
    if one is None:
        return "of another review"
    return "agrees" if one.proposal.use == use else f"proposed {esc(one.proposal.use)}"


def sorry_page(message: str) -> bytes:
    """What cannot be done, and why."""
    body = f'<section><div class="callout bad"><p>{esc(message)}</p></div></section>'
    return document("That did not work", body, here="")
