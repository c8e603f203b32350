"""One episode, step by step, with the page as the agent saw it.

No script is needed to walk through it and to read its pages: each step is a radio button, so
arrow keys lead from one to the next, and the style sheet shows what belongs to the chosen one. A
page that comes back within an episode is written once. Pages are the weight of a report, so an
episode gets an allowance: what does not fit is named, with the command that shows it.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from errands.markup import EMPTY, Markup, html, join
from errands.reports.formatting import count, dollars, duration
from errands.reports.html.elements import badge, cut
from errands.reports.html.frames import StyleSheets, is_page, pack, visible_text
from errands.reports.html.messages import answer_badge, call_before, model_calls
from errands.runs.episode import Episode, RunInfo, Step, Summary
from errands.runs.replay import ReplayedPage

__all__ = [
    "MOST_STEPS",
    "PageView",
    "Watch",
    "end_card",
    "instruction_of",
    "outcome",
    "packed_block",
    "page_text",
    "replay",
    "step_card",
    "views",
]

MOST_STEPS: Final = 100
"""Of longer episodes the first and the last half of so many are shown."""
MOST_TEXT: Final = 20_000
MOST_SOURCE: Final = 3_000
MOST_THOUGHT: Final = 6_000
_SEPARATOR: Final = " [SEP] "


class PageView(NamedTuple):
    """A page as the report can show it; either may be empty."""

    html: str = ""
    text: str = ""
    same: bool | None = None
    """Of a page that was played again: whether it is the one that was recorded."""


Watch = Callable[[RunInfo, Episode], Sequence[PageView | ReplayedPage] | None]
"""Plays an episode again: the page before each action, and the last one."""


def views(info: RunInfo, episode: Episode, watch: Watch | None) -> list[PageView]:
    """The page before each action, and the last: what was kept, else what a new play shows."""
    recorded = [step.observation for step in episode.steps] + [episode.last]
    seen = watch(info, episode) if watch is not None else None
    shown = []
    for place, text in enumerate(recorded):
        again = seen[place] if seen is not None and place < len(seen) else None
        page = again.html if again is not None else ""
        if text is None:
            text = again.text if again is not None else ""
        elif not page and is_page(text):
            page = text
        shown.append(PageView(page, text, again.same if again is not None else None))
    return shown


def instruction_of(view: PageView) -> str:
    """The instruction that a shop's page shows, else nothing."""
    before, mark, after = view.text.partition(f"Instruction:{_SEPARATOR}")
    return after.partition(_SEPARATOR)[0] if mark and len(before) < 200 else ""


def outcome(summary: Summary) -> str:
    """What became of an episode, in one word."""
    if summary.status == "error" or summary.reward is None:
        return "failed"
    return "won" if summary.reward >= 1 else "part" if summary.reward > 0 else "none"


def replay(
    episode: Episode,
    shown: Sequence[PageView],
    *,
    name: str,
    sheets: StyleSheets,
    allowance: float = math.inf,
    command: str = "",
) -> tuple[Markup, int]:
    """The markup of an episode's steps, and how many characters its pages took."""
    steps = episode.steps
    places, gap = _places(len(steps))
    pages, which = _distinct([shown[place] for place in places])
    asked = _asked(steps, places, allowance / 3, command)
    spent = sum(map(len, asked.values()))
    texts, docs, block = _written(pages, which, allowance - spent, sheets)
    parts = []
    for at, place in enumerate(places):
        last = place == len(steps)
        action = "the end" if last else f"step {place + 1}: {steps[place].action}"
        parts.append(
            html(
                '<input type="radio" name="{name}" id="{name}-{place}" class="v{page}"'
                ' data-page="{page}" value="{}" aria-label="{}"{}>'
                '<section class="step">{}{}{}{}{}</section>',
                "end" if last else place + 1,
                cut(action, 120),
                html(" checked") if at == 0 else EMPTY,
                _buttons(name, places, at),
                end_card(episode) if last else step_card(steps[place], place, len(steps)),
                asked.get(place, EMPTY),
                _differs(shown[place]),
                gap if at == len(places) // 2 else EMPTY,
                name=name,
                place=place,
                page=which[at],
            )
        )
    for number, view in enumerate(pages):
        doc = html(' data-doc="{}"', docs[number]) if number in docs else EMPTY
        inner = _page(view, texts[number], number in docs, command)
        parts.append(html('<div class="page p{}"{}>{}</div>', number, doc, inner))
    if block:
        parts.append(packed_block(block, html('class="packed"')))
    made = html(
        '<div class="replay" role="group" aria-label="Steps of {}">{}</div>', name, join(parts)
    )
    return made, len(block) + sum(map(len, texts)) + spent


def _asked(
    steps: Sequence[Step], places: Sequence[int], allowance: float, command: str
) -> dict[int, Markup]:
    """What the model was asked for each step that is shown, as far as it fits."""
    made = {}
    for place in places:
        calls = steps[place].calls if place < len(steps) else ()
        if not calls:
            continue
        inner = model_calls(calls, call_before(steps, place), folded=False)
        if len(inner) > allowance:
            how = html(" <code>{}</code> shows them.", command) if command else EMPTY
            inner = html('<p class="note">Left out to keep the file small.{}</p>', how)
        allowance -= len(inner)
        made[place] = html(
            '<details class="raw calls"><summary>messages to the model ({})</summary>{}</details>',
            count(len(calls), "call"),
            inner,
        )
    return made


def packed_block(block: str, attribute: Markup) -> Markup:
    """Packed pages or style sheets in a document: base64, which `report.js` reads."""
    return html('<script type="text/plain" {}>{}</script>', attribute, block)


def _places(steps: int) -> tuple[list[int], Markup]:
    """Which pages are shown, by number of actions before them; and a word on those left out."""
    everything = list(range(steps + 1))
    if len(everything) <= MOST_STEPS + 1:
        return everything, EMPTY
    half = MOST_STEPS // 2
    omitted = count(len(everything) - MOST_STEPS - 1, "step")
    note = html('<p class="note">{} in the middle of this episode are left out.</p>', omitted)
    return everything[:half] + everything[-half - 1 :], note


def _distinct(shown: Sequence[PageView]) -> tuple[list[PageView], list[int]]:
    """Each page once, and which of them belongs to each step."""
    places: dict[tuple[str, str], int] = {}
    which = [places.setdefault((view.html, view.text), len(places)) for view in shown]
    first = {place: shown[at] for at, place in reversed(list(enumerate(which)))}
    return [first[place] for place in range(len(places))], which


def _written(
    pages: Sequence[PageView], which: Sequence[int], allowance: float, sheets: StyleSheets
) -> tuple[list[Markup], dict[int, int], str]:
    """What fits: the texts, the packed pages by their place in the block, and the block.

    Texts come first, since they are there without a script, too, but may take no more than half.
    The page of the last decision goes before where the episode began and ended.
    """
    decisive = which[-2] if len(which) > 1 else which[-1]
    order = list(dict.fromkeys([decisive, which[0], which[-1], *which]))
    texts = [EMPTY] * len(pages)
    left = allowance / 2
    for place in order:
        made = page_text(pages[place]) if left > 200 else EMPTY
        if len(made) <= left:
            texts[place] = made
            left -= len(made)
    left += allowance / 2
    having = [place for place in sorted(order) if pages[place].html]
    for some in (
        having,
        [p for p in having if p in order[:3]],
        [p for p in having if p == decisive],
    ):
        block = pack([sheets.put(pages[place].html) for place in some]) if some else ""
        if block and len(block) <= left:
            return texts, {place: at for at, place in enumerate(some)}, block
    return texts, {}, ""


def page_text(view: PageView) -> Markup:
    """What the agent read. A shop's text is a list of nodes, and is shown as one."""
    if not view.text:
        return EMPTY
    if _SEPARATOR in view.text:
        nodes = cut(view.text, MOST_TEXT).split(_SEPARATOR)
        return html('<ul class="nodes">{}</ul>', join(html("<li>{}", node) for node in nodes))
    text, most = view.text, MOST_TEXT
    if is_page(text):
        text, most = visible_text(text), MOST_SOURCE
    more = EMPTY
    if len(text) > most:
        more = html('<p class="note">The first {:,} of {:,} characters.</p>', most, len(text))
    return html("<pre>{}</pre>{}", text[:most], more)


def _page(view: PageView, text: Markup, packed: bool, command: str) -> Markup:
    """A page's text; a frame is put before it where scripts run."""
    if text:
        return html('<details class="raw" open><summary>as text</summary>{}</details>', text)
    how = html(" <code>{}</code> shows it.", command) if command else EMPTY
    if packed:
        return html('<p class="note only">This page is shown where scripts may run.{}</p>', how)
    if view.html or view.text:
        return html('<p class="note">This page is left out to keep the file small.{}</p>', how)
    return html('<p class="note">Nothing of this page was kept.</p>')


def _buttons(name: str, places: Sequence[int], at: int) -> Markup:
    back = after = html('<span class="go off"></span>')
    if at > 0:
        back = html('<label class="go" for="{}-{}">← back</label>', name, places[at - 1])
    if at + 1 < len(places):
        after = html('<label class="go" for="{}-{}">next →</label>', name, places[at + 1])
    return html('<div class="gos">{}{}</div>', back, after)


def step_card(step: Step, place: int, steps: int) -> Markup:
    """What the agent did, thought and was told, and what it took."""
    facts = [f"Step {place + 1} of {steps}"]
    if step.seconds:
        facts.append(f"decided in {duration(step.seconds)}")
    if step.tokens_in or step.tokens_out:
        facts.append(f"{step.tokens_in:,} tokens in, {step.tokens_out:,} out")
    if step.cost:
        facts.append(dollars(step.cost))
    if step.calls:
        facts.append(count(len(step.calls), "call"))
    if step.reward:
        facts.append(f"reward {step.reward:.4g}")
    parts = [
        html('<p class="facts">{}{}</p>', " · ".join(facts), _came_of(step)),
        html('<p class="action"><code>{}</code></p>', cut(step.action, 2000)),
    ]
    if step.thought:
        thought = cut(step.thought, MOST_THOUGHT)
        parts.append(html('<blockquote class="thought">{}</blockquote>', thought))
    if step.message:
        parts.append(html('<p class="message">{}</p>', cut(step.message, 1000)))
    return join(parts)


def _came_of(step: Step) -> Markup:
    """Answers that were no plain action, in a word each."""
    odd = [call for call in step.calls if call.outcome not in ("action", "thought")]
    return join(html(" {}", answer_badge(call)) for call in odd[:8])


def end_card(episode: Episode) -> Markup:
    """How an episode ended, with the reward's parts."""
    summary = episode.summary
    kind = outcome(summary)
    if kind == "failed":
        return html(
            '<p class="facts">The end</p><p>{}{} {}</p>',
            badge("failed", "failed"),
            f" ({summary.owner})" if summary.owner else "",
            cut(summary.error, 2000),
        )
    return html(
        '<p class="facts">The end: {} after {}</p><p>{}</p>{}',
        "stopped: no steps left" if summary.status == "truncated" else "finished",
        count(summary.steps, "step"),
        badge(f"reward {summary.reward:.4g}", kind),
        _parts(summary),
    )


def _parts(summary: Summary) -> Markup:
    """What the reward is made of."""
    parts = summary.parts
    if "fields" in parts:
        rows = [
            html("<li><b>{}</b> <i>{}</i> {}", name, kind, _score(score))
            for name, kind, score, *_ in parts["fields"]
        ]
    else:
        rows = [
            html("<li>{} <b>{:.2f}</b>", name.removeprefix("r_"), float(value))
            for name, value in parts.items()
            if name.startswith("r_") and isinstance(value, int | float)
        ]
        if not rows:
            return EMPTY
    return html('<ul class="fields">{}</ul>', join(rows))


def _score(score: float | None) -> Markup:
    if score is None:
        return badge("does not count")
    return badge(f"{score:.2f}", "won" if score >= 1 else "part" if score > 0 else "none")


def _differs(view: PageView) -> Markup:
    if view.same is not False:
        return EMPTY
    return html('<p class="message">Played again, this page is not the one that was recorded.</p>')
